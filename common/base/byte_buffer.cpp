#include "base/byte_buffer.h"

#include "base/assert.h"

namespace base {

void ByteBuffer::append(std::string_view more) {
  // Moving the rest to the front only when the consumed part is the larger one keeps the cost of a byte constant.
  if (front_ > size()) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }
  bytes_.insert(bytes_.end(), more.begin(), more.end());
}

void ByteBuffer::consume(std::size_t count) {
  LAB_ASSERT_CMP(count, <=, size());
  front_ += count;
  if (empty()) {
    bytes_ = {};
    front_ = 0;
  }
}

}  // namespace base
