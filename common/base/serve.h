// The one function a student writes. The given main (serve_main.cpp) finds or makes the listening socket and calls it.
#pragma once

#include "base/limits.h"

// Serves clients of `listen_fd` for ever; returning ends the program.
// `listen_fd` is a listening TCP socket in BLOCKING mode, owned by the caller, and stays open; other processes may hold
// duplicates of it.
void serve(int listen_fd, const base::Limits& limits);
