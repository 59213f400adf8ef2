// Writing a file so that a reader sees all of it or nothing.
// Not for: including from another folder; who needs a file of ours calls the function that writes it.
#pragma once

#include <string>

namespace report {

// Writes beside the file and renames; what is no regular file (/dev/stdout) is written to directly. Throws std::system_error.
void write_whole(const std::string& path, const std::string& text);

// With every byte that is no UTF-8 (a server's output) replaced by U+FFFD.
std::string valid_utf8(const std::string& text);

}  // namespace report
