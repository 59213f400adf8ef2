// The memory that a preloaded process and its injector share: a slot for each call that is asked about. POD, no locks: a thread
// takes a free slot, writes its question and sleeps on the slot's state (futex) until the answer is there.
#pragma once

#include <atomic>
#include <cstdint>

namespace inject {

inline constexpr const char* kPageVariable = "LAB_INJECT_PAGE";  // where the page can be opened

struct Slot {
  enum State : std::uint32_t { free, writing, asked, taken, answered };
  std::atomic<std::uint32_t> state;
  std::int32_t tid;
  std::int32_t pid;
  std::int32_t kind;
  std::int64_t number;
  std::uint64_t args[6];
  std::int32_t action;
  std::int32_t error;
  std::uint64_t bytes;
};

struct Page {
  static constexpr int kSlots = 256;    // calls in flight at once; more go on unasked
  std::atomic<std::uint32_t> bell;      // rung for each question; the injector sleeps on it
  std::atomic<std::uint32_t> programs;  // that have opened the page
  std::uint32_t kinds;                  // bit k: kind k is asked about
  Slot slots[kSlots];
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace inject
