// Compiling one student's file into a server, with the flags, the precompiled header and the libraries that CMake has prepared.
// Not for: the project's own programs; CMake builds those.
#pragma once

#include <string>
#include <vector>

namespace grade {

struct Build {
  bool ok = false;
  std::string binary;       // build/servers/<name>
  std::string first_error;  // "labs/04-epoll-level/server.cpp:12: error: ..."; in the student's own file when there is one
  std::string output;       // warnings; after a failure the rest of what the compiler said, trimmed
};

// Compiles `source` (absolute, or from our folder) to build/servers/<name>, unless what is there was made by the same command,
// from the same file, and is newer than everything it was made of. Warnings come with the build that gave them, and not again as
// long as what it made is used. Paths in messages are relative to the project's top. Throws std::system_error.
Build build_server(const std::string& source, const std::string& name, const std::vector<std::string>& more_flags = {});

// A path as messages show it: relative to the project's top when it lies below it.
std::string shown_path(const std::string& path);

// The error that the student can do something about: in `source` when there is one, else the place in it that led to the error,
// else the linker's complaint. Empty when the output holds no error. For build_server, and for its tests.
std::string first_error(const std::string& output, const std::string& source);

}  // namespace grade
