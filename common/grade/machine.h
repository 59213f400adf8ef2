// What this machine lets a grader see, found by trying it on a child of our own, and which checks that costs.
// Not for: looking at servers.
#pragma once

#include <string>
#include <vector>

#include "report/lab_spec.h"

namespace grade {

// One thing that a grader needs of the machine.
struct Ability {
  std::string id;     // as in lab.json's "evidence"; "descriptors" and "threads" for its "limits"
  std::string what;   // "duplicates of a server's descriptors (pidfd_getfd)"
  std::string found;  // "works", "EPERM (Operation not permitted)", "hard limit 1,048,576"
  bool ok = true;
  bool needed_by_all = false;  // no check can be decided without it; of the others, those that lab.json says
  long available = 0;          // descriptors, threads: how many
};

// Takes about a millisecond and leaves nothing behind.
std::vector<Ability> look_at_machine();

// Why this machine cannot prove the check: the first ability that the check needs and the machine denies. Empty when it can.
std::string obstacle(const std::vector<Ability>& abilities, const report::CheckSpec& check);
// Whether it is this ability that stands in the way.
bool denies(const Ability& ability, const report::CheckSpec& check);

}  // namespace grade
