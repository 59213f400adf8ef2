#include <fmt/format.h>

#include <unistd.h>
#include <memory>

#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"

namespace cli {
namespace {

// Whether the person at the terminal agrees; where there is none, only --yes does.
bool agreed(const std::string& file) {
  if (isatty(STDIN_FILENO) != 1) throw UserError(fmt::format("{} would be replaced by the starter; say --yes to agree", file));
  fmt::print("Replace {} by the starter? A copy is kept. [y/N] ", file);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int reset(int number, bool yes) {
  const auto lab = chosen_lab(number);
  const std::string file = server_file(lab);
  const std::string shown = grade::shown_path(file);
  if (!make_server_file(lab)) {
    if (!yes && !agreed(shown)) {
      fmt::print("Nothing was changed.\n");
      return 0;
    }
    fmt::print("Your file is kept as {}\n", grade::shown_path(progress_store().back_up(file, lab.name)));
    std::filesystem::copy_file(starter_file(lab), file, std::filesystem::copy_options::overwrite_existing);
  }
  fmt::print("{} is the starter again.\n", shown);
  return 0;
}

}  // namespace

void set_up_reset(Words& words) {
  auto number = std::make_shared<int>();
  auto yes = std::make_shared<bool>(false);
  words.required("N", *number, "The lab's number");
  words.flag("--yes", *yes, "Do not ask");
  words.then([number, yes] { return reset(*number, *yes); });
}

}  // namespace cli
