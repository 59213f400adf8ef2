#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/skeleton.h"
#include "server_flags.h"

namespace cli {
namespace {

int new_check(int number, const std::string& id) {
  const auto lab = chosen_lab(number);
  if (id.empty() || id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    throw UserError(fmt::format("\"{}\" is no id for a check: lower-case letters, digits and hyphens, like short-write", id));
  if (lab.find(id) != nullptr) throw UserError(fmt::format("lab {} has a check {} already", lab.lab, id));
  fmt::print("To be written (./lab check complains until it is):\n");
  for (const auto& place : add_skeleton(kSourceDir, lab, id)) fmt::print("  {}\n", place);
  return 0;
}

}  // namespace

void set_up_new_check(Words& words) {
  auto number = std::make_shared<int>();
  auto id = std::make_shared<std::string>();
  words.required("LAB", *number, "The lab's number");
  words.required("ID", *id, "The new check's id: the pitfall's name, like short-write");
  words.then([number, id] { return new_check(*number, *id); });
}

}  // namespace cli
