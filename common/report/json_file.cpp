#include "report/json_file.h"

#include <nlohmann/json.hpp>

#include "report/whole_file.h"

namespace report {

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  write_whole(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace report
