// What the subcommands have in common: the labs, the student's progress, and how a mistake is told.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/lab_spec.h"
#include "report/progress.h"

namespace cli {

// A user's mistake: one line that says what was wrong and what would be right. Exit status 2.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

report::ProgressStore progress_store();  // .lab/ at the project's top

// The lab with that number, or without one the lab last worked on. Throws UserError naming those that exist.
report::LabSpec chosen_lab(const std::optional<int>& number);
// Remembers which lab is worked on.
void note_lab(int lab);

std::string server_file(const report::LabSpec& lab);   // the student's file
std::string starter_file(const report::LabSpec& lab);  // what it is copied from
std::string handout(const report::LabSpec& lab);       // as messages show it

// Copies the starter when the student's file is missing. Whether it did.
bool make_server_file(const report::LabSpec& lab);

// "did you mean \"grade\"?", or, when nothing is near, "there are: ...".
std::string instead(std::string_view word, const std::vector<std::string>& known);

// Prints it wrapped at the terminal's width; pieces that fit on a line, such as commands, stay whole.
void say(const std::vector<std::string>& pieces);

// A word as a shell takes it: quoted when it has to be.
std::string shell_word(const std::string& word);

// Before work that would be lost: `path`, given to `option`, is a file that can be written. Throws UserError.
void refuse_unwritable(const char* option, const std::string& path);

// The check with that id. Throws UserError.
const report::CheckSpec& chosen_check(const report::LabSpec& lab, const std::string& id);

}  // namespace cli
