#include "report/whole_file.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/errno_text.h"

namespace report {
namespace {

// A device or a pipe: renaming would replace it.
bool is_special(const std::string& path) {
  std::error_code missing;
  const auto kind = std::filesystem::status(path, missing).type();
  return kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular;
}

}  // namespace

void write_whole(const std::string& path, const std::string& text) {
  const bool directly = is_special(path);
  // The process's number keeps two graders that run side by side from writing the same file.
  const std::string aside = directly ? path : path + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(aside);
  file << text;
  file.close();
  if (file && (directly || std::rename(aside.c_str(), path.c_str()) == 0)) return;
  const int error = errno;
  if (!directly) std::remove(aside.c_str());
  errno = error;
  base::throw_errno("write " + path);
}

std::string valid_utf8(const std::string& text) {
  const auto replacing = nlohmann::json::error_handler_t::replace;
  return nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, replacing)).get<std::string>();
}

}  // namespace report
