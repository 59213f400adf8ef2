#include "base/errno_text.h"

#include <cstring>

namespace base {

std::string errno_text(int error) {
  const char* name = strerrorname_np(error);
  if (name == nullptr) return "errno " + std::to_string(error);
  return std::string(name) + " (" + strerrordesc_np(error) + ")";
}

}  // namespace base
