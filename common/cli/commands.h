// The subcommands of ./lab: one file each, and one table that names them.
// Not for: what they do; that stands in report and grade wherever something else could want it.
#pragma once

#include <vector>

#include "cli/words.h"

namespace cli {

struct Command {
  const char* name;
  const char* about;
  void (*set_up)(Words& words);  // declares its words and what is done with them
};
const std::vector<Command>& commands();

void set_up_check(Words& words);
void set_up_doctor(Words& words);
void set_up_explain(Words& words);
void set_up_grade(Words& words);
void set_up_hint(Words& words);
void set_up_list(Words& words);
void set_up_new_check(Words& words);
void set_up_next(Words& words);
void set_up_reset(Words& words);
void set_up_run(Words& words);
void set_up_selftest(Words& words);
void set_up_start(Words& words);
int where_you_stand();  // no subcommand at all

// Does what the command line says. Exit status: 0 done, 1 points lost or a test failed, 2 used wrongly, 3 the grader's or the
// machine's fault.
int run(int argc, char** argv);

}  // namespace cli
