// System calls that failed: the text of an errno, and the exception that names what was attempted.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace base {

// "EAGAIN (Resource temporarily unavailable)"; "errno 4095" for a number without a name.
std::string errno_text(int error);

// Throws std::system_error for the current errno; `attempt` says what was tried: "epoll_ctl ADD fd 7".
[[noreturn]] inline void throw_errno(const std::string& attempt) {
  throw std::system_error(errno, std::generic_category(), attempt);
}

}  // namespace base
