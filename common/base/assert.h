// LAB_ASSERT_CMP: a programmer's mistake ends the program and prints both values. Always compiled in.
// Not for: anything a user or the kernel can cause.
#pragma once

#include <cstdlib>
#include <iostream>

// LAB_ASSERT_CMP(used, <=, capacity) aborts with "…: 12 <= 8 does not hold (used <= capacity)".
#define LAB_ASSERT_CMP(left, op, right)                                                                                    \
  do {                                                                                                                     \
    const auto& lab_left = (left);                                                                                         \
    const auto& lab_right = (right);                                                                                       \
    if (!(lab_left op lab_right)) {                                                                                        \
      std::cerr << __FILE__ << ":" << __LINE__ << ": " << lab_left << " " #op " " << lab_right << " does not hold (" #left \
                << " " #op " " #right ")" << std::endl;                                                                    \
      std::abort();                                                                                                        \
    }                                                                                                                      \
  } while (false)
