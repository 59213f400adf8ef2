#include "grade/build.h"

#include <doctest/doctest.h>

#include <chrono>

#include "server_flags.h"
#include "support/files.h"

namespace {

constexpr const char* kSource = "labs/04-epoll-level/server.cpp";

TEST_CASE("the first error in the student's own file is told") {
  CHECK(grade::first_error("labs/04-epoll-level/server.cpp: In function 'void serve(int, const base::Limits&)':\n"
                           "labs/04-epoll-level/server.cpp:9:1: warning: unused variable\n"
                           "common/base/serve.h:12:6: error: something\n"
                           "labs/04-epoll-level/server.cpp:12:3: error: 'x' was not declared in this scope\n",
                           kSource) == "labs/04-epoll-level/server.cpp:12: error: 'x' was not declared in this scope");
  CHECK(grade::first_error("labs/04-epoll-level/server.cpp:1:10: fatal error: nosuch.h: No such file or directory\n", kSource) ==
        "labs/04-epoll-level/server.cpp:1: fatal error: nosuch.h: No such file or directory");
}

TEST_CASE("an error in a library's template is told at the line that led to it") {
  CHECK(grade::first_error("/usr/include/c++/12/bits/stl_algo.h: In instantiation of 'void std::sort(T, T)':\n"
                           "labs/04-epoll-level/server.cpp:20:12:   required from here\n"
                           "/usr/include/c++/12/bits/stl_algo.h:1938:50: error: no match for 'operator-'\n",
                           kSource) == "labs/04-epoll-level/server.cpp:20: error: no match for 'operator-'");
}

TEST_CASE("what the linker misses is told") {
  CHECK(
      grade::first_error(
          "/usr/bin/ld: libserve_main.a: in function `main':\nserve_main.cpp:81: undefined reference to `serve(int, base::Limits "
          "const&)'\ncollect2: error: ld returned 1 exit status\n",
          kSource) ==
      "labs/04-epoll-level/server.cpp: error: server.cpp must define void serve(int listen_fd, const base::Limits& limits)");
  CHECK(grade::first_error("server.cpp:9: undefined reference to `helper()'\n", kSource) ==
        "labs/04-epoll-level/server.cpp: error: helper() is used or needed, but not defined");
}

TEST_CASE("a serve with another result is told by what it must be") {
  CHECK(grade::first_error("labs/04-epoll-level/server.cpp:2:5: error: ambiguating new declaration of 'int serve(int, const "
                           "base::Limits&)'\n",
                           kSource) ==
        "labs/04-epoll-level/server.cpp:2: error: server.cpp must define void serve(int listen_fd, const base::Limits& limits)");
}

TEST_CASE("of a file without serve one line is said") {
  const files::Folder folder;
  files::write(folder / "server.cpp", "void serve(int) {}\n");
  const auto build = grade::build_server(folder / "server.cpp", "unit-no-serve");
  CHECK_FALSE(build.ok);
  CHECK(build.first_error ==
        folder / "server.cpp" + ": error: server.cpp must define void serve(int listen_fd, const base::Limits& limits)");
  CHECK(build.output == "");
}

TEST_CASE("a server is built once, and again only when there is a reason") {
  const files::Folder folder;
  const std::string name = "unit-" + std::filesystem::path(folder.path()).filename().string();
  const auto source = [&](const std::string& file, const std::string& body) {
    files::write(folder / file, "#include \"base/serve.h\"\nvoid serve(int, const base::Limits&) {" + body + "}\n");
    return folder / file;
  };
  const auto made = [&] { return std::filesystem::last_write_time(std::string(kBuildDir) + "/servers/" + name); };
  const auto first = grade::build_server(source("a.cpp", "int unused = 1;"), name);
  REQUIRE(first.ok);
  CHECK(first.output.find("unused variable") != std::string::npos);
  const auto time = made();
  CHECK(grade::build_server(folder / "a.cpp", name).output == "");  // the same warnings again would only be noise
  CHECK(made() == time);
  // The same text under another name: what was made of a.cpp must not be graded as b.cpp.
  source("b.cpp", "");
  std::filesystem::last_write_time(folder / "b.cpp", time - std::chrono::hours(1));
  CHECK(grade::build_server(folder / "b.cpp", name).ok);
  CHECK(made() != time);
  const auto broken = grade::build_server(source("b.cpp", "oops;"), name);
  CHECK_FALSE(broken.ok);
  CHECK(broken.first_error.starts_with(folder / "b.cpp:2: error: "));
  // The program of the last build still lies there; it must not be taken for this source.
  CHECK_FALSE(grade::build_server(folder / "b.cpp", name).ok);
  for (const char* end : {"", ".d", ".command"}) std::filesystem::remove(std::string(kBuildDir) + "/servers/" + name + end);
}

}  // namespace
