// The record as JUnit XML, for what reads the results of tests: GitLab, Jenkins, GitHub's reporters, editors.
// Not for: anything that has to be exact; the record (record.h) is, and this is made from it.
//
// One <testsuite> for the lab, one <testcase> for each check: its id as name, its group as classname, its time in seconds. In it
//   FAIL                                     <failure>
//   TIMEOUT CRASH NO-START LIMIT BUILD       <error>: the server did not get as far as a wrong answer
//   INFRA                                    <error type="INFRA">: the grader's fault, and its message says so
//   SKIPPED, UNSURE, not asked for           <skipped>: nothing was found out, and a red mark would be taken for the server's
//   fault
// type is the diagnosis, or the verdict where no pitfall was recognised; message is one line, the text is the story. The format
// has no place for points: they are properties of the testcase (verdict, points, max_points) and of the suite (score, max_score,
// undecided, and the seed). The server's last lines are <system-err>. Bytes that XML cannot carry are written as \x1b, or as
// U+FFFD where they are no UTF-8. Whoever looks at this file alone does not see undecided points as red; the exit status of `lab
// grade` says 3.
#pragma once

#include <string>

#include "report/record.h"

namespace report {

// `command` repeats the run, but for the check and the seed.
std::string junit_xml(const Record& record, const LabSpec& lab, const std::string& command);
void write_junit(const std::string& path, const Record& record, const LabSpec& lab,
                 const std::string& command);  // throws std::system_error

}  // namespace report
