// Bytes waiting in order: appended at the back, taken from the front. For what a socket did not take yet.
// Not for: sharing between threads; it has no lock.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace base {

class ByteBuffer {
 public:
  bool empty() const { return front_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - front_; }

  // The bytes in order; valid until the next append or consume.
  std::string_view view() const { return {bytes_.data() + front_, size()}; }

  void append(std::string_view more);

  // Drops `count` bytes from the front; more than size() is a programmer's mistake. An emptied buffer gives its memory back.
  void consume(std::size_t count);

 private:
  std::vector<char> bytes_;
  std::size_t front_ = 0;  // bytes_[0, front_) are consumed
};

}  // namespace base
