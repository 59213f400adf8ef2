// The numbers a server must respect, taken from the environment so that whoever starts the server chooses them.
// Not for: reading any other configuration.
#pragma once

namespace base {

struct Limits {
  int max_connections = 10000;  // LAB_MAX_CONNECTIONS: connections served at once (labs 4 and 5 evict beyond it)
  int queue = 64;               // LAB_QUEUE: requests waiting for a worker (lab 6)
  int workers = 4;              // LAB_WORKERS: worker threads (lab 6)
  int stop_ms = 2000;           // LAB_STOP_MS: milliseconds a clean stop may take (lab 6)
};

// Reads the four variables above; a missing one keeps its default.
// Throws std::invalid_argument naming the variable when a value is not a positive decimal number.
Limits limits_from_environment();

}  // namespace base
