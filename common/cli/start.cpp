#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"

namespace cli {
namespace {

int start(int number) {
  const auto lab = chosen_lab(number);
  const std::string file = grade::shown_path(server_file(lab));
  const bool made = make_server_file(lab);
  note_lab(lab.lab);
  fmt::print("Lab {}, {}.\n", lab.lab, lab.title);
  fmt::print("{} {}\n", file,
             made ? "was copied from the starter: it is yours to edit." : "is there already and stays as it is.");
  fmt::print("Read {}, open {}, then: ./lab grade {}\n", handout(lab), file, lab.lab);
  return 0;
}

}  // namespace

void set_up_start(Words& words) {
  auto number = std::make_shared<int>();
  words.required("N", *number, "The lab's number");
  words.then([number] { return start(*number); });
}

}  // namespace cli
