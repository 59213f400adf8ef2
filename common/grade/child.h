// Starting a program, and what is said of how it ended.
// Not for: servers under test; those are the suite's children.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace grade {

struct ChildSpec {
  std::vector<std::string> argv;                   // argv[0] is looked up in PATH
  std::map<std::string, std::string> environment;  // added to ours
  std::string folder;                              // working folder; empty: ours
  int in = -1;                                     // standard input; -1: the null device
  int out = -1;                                    // standard output; -1: ours
  int err = -1;                                    // standard error; -1: ours
  bool own_group = false;                          // a process group of its own, so that all of it can be ended at once
};

// Starts it with all signals at their default and unblocked. It is killed when we die. A program that cannot be run ends with 127
// after one line on its standard error. Throws std::system_error when there is no process to be had.
pid_t spawn(const ChildSpec& spec);

// waitid's answer in words: "exit status 1", "signal 11 (Segmentation fault)".
std::string how_it_ended(int code, int status);

struct Captured {
  int exit_status = 0;  // 128 + N after signal N, as shells say it
  std::string output;   // standard output and standard error, in the order written
};
// Runs it to its end in our process group, so that Ctrl-C ends both.
Captured capture(ChildSpec spec);

// A folder below the temporary directory that only we can read; removed with its contents when the owner goes away.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws std::runtime_error naming TMPDIR when there is no such directory or no room
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace grade
