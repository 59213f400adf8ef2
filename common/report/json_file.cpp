#include "report/json_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/errno_text.h"

namespace report {

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // The process's number keeps two graders that run side by side from writing the same file.
  const std::string aside = path + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(aside);
  file << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  file.close();
  if (file && std::rename(aside.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(aside.c_str());
  errno = error;
  base::throw_errno("write " + path);
}

}  // namespace report
