// Calls of a program of ours (target.cpp) that fail, wait or do less, by each method that this machine has.
#include "inject/injector.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>

#include "base/errno_text.h"
#include "base/unique_fd.h"

namespace {

using inject::Answer;
using inject::Call;
using inject::Injector;
using inject::Kind;
using inject::Method;

struct Way {
  Method method;
  const char* program;
  const char* name;
  bool raw;  // sees raw system calls
};

std::vector<Way> ways() {
  std::vector<Way> all;
  if (inject::ability().method == Method::seccomp) {
    all.push_back({Method::seccomp, LAB_TARGET, "seccomp", true});
    if (*LAB_TARGET_STATIC) all.push_back({Method::seccomp, LAB_TARGET_STATIC, "seccomp, static program", true});
  }
  all.push_back({Method::preload, LAB_TARGET, "preload", false});
  return all;
}

// The program, started with `socket` as its descriptor 3.
class Target {
 public:
  Target(const Way& way, const char* mode, int socket, const std::vector<Kind>& kinds, inject::Orders orders = {}) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    output_.reset(ends[0]);
    base::UniqueFd output(ends[1]);
    inject::Line line(way.method, kinds);
    std::vector<std::string> variables = line.environment();
    std::vector<char*> environment;
    for (auto& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      line.install();
      dup2(output.get(), STDOUT_FILENO);
      socket == 3 ? fcntl(3, F_SETFD, 0) : dup2(socket, 3);
      char* arguments[] = {const_cast<char*>(way.program), const_cast<char*>(mode), nullptr};
      execve(way.program, arguments, environment.data());
      _exit(127);
    }
    injector_.emplace(std::move(line), std::move(orders));
  }
  ~Target() { end(); }

  Injector& injector() { return *injector_; }
  pid_t pid() const { return pid_; }

  // All that it says, until it ends.
  std::string said() {
    std::string text;
    char block[200];
    for (ssize_t count; (count = read(output_.get(), block, sizeof block)) > 0;) text.append(block, count);
    return text;
  }
  bool silent() const {
    pollfd ready{output_.get(), POLLIN, 0};
    return poll(&ready, 1, 0) == 0;
  }
  void until_held() {
    for (siginfo_t ended{}; injector_->held().empty(); poll(nullptr, 0, 1)) {
      REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
      REQUIRE(ended.si_pid == 0);  // a target that has ended is never held
    }
  }
  void end() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  base::UniqueFd output_;
  pid_t pid_ = -1;
  std::optional<Injector> injector_;
};

struct Listener {
  base::UniqueFd fd{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  Listener() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(fd.get(), 10) == 0);
    REQUIRE(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  }
  base::UniqueFd dial() const {
    base::UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return client;
  }
};

struct Pair {
  base::UniqueFd ours, theirs;
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
};

inject::Orders all_get(Answer answer) {
  return [answer](const Call&) { return answer; };
}

// The program, held in accept, with a client that waits for it.
struct HeldAccept {
  explicit HeldAccept(const Way& way) : target(way, "accept", listener.fd.get(), {Kind::accept}, all_get(inject::hold())) {
    target.until_held();
  }
  Listener listener;
  base::UniqueFd client = listener.dial();
  Target target;
};

// The first call gets `answer`, the others go on.
inject::Orders first_gets(Answer answer) {
  return [answer, done = std::make_shared<bool>(false)](const Call&) {
    return std::exchange(*done, true) ? inject::go_on() : answer;
  };
}

TEST_CASE("accept fails with the errno that was ordered, once") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    const Listener listener;
    const auto client = listener.dial();
    Target target(way, "accept twice", listener.fd.get(), {Kind::accept}, first_gets(inject::fail_with(ECONNABORTED)));
    CHECK(target.said() == "ECONNABORTED\n0\n");
  }
}

TEST_CASE("without orders every call goes on") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    const Listener listener;
    const auto client = listener.dial();
    Target target(way, "accept", listener.fd.get(), {Kind::accept, Kind::read, Kind::write, Kind::thread_creation});
    CHECK(target.said() == "0\n");
  }
}

TEST_CASE("the orders see who calls what on which descriptor") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    const Listener listener;
    const auto client = listener.dial();
    std::optional<Call> seen;
    Target target(way, "accept", listener.fd.get(), {Kind::accept}, [&](const Call& call) {
      seen = call;
      return inject::go_on();
    });
    CHECK(target.said() == "0\n");
    REQUIRE(seen);
    CHECK(seen->kind == Kind::accept);
    CHECK(seen->tid == target.pid());
    CHECK(seen->pid == target.pid());
    CHECK(seen->fd() == 3);
  }
}

TEST_CASE("orders that throw let the call go on") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    const Listener listener;
    const auto client = listener.dial();
    Target target(way, "accept", listener.fd.get(), {Kind::accept}, [](const Call&) -> Answer { throw 1; });
    CHECK(target.said() == "0\n");
  }
}

TEST_CASE("a raw system call is seen as well") {
  for (const Way& way : ways()) {
    if (!way.raw) continue;
    CAPTURE(way.name);
    const Listener listener;
    Target target(way, "raw accept", listener.fd.get(), {Kind::accept}, all_get(inject::fail_with(EPROTO)));
    CHECK(target.said() == "EPROTO\n");
  }
}

TEST_CASE("a held call waits until it is released") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    HeldAccept held(way);
    Target& target = held.target;
    CHECK(target.silent());
    CHECK(target.injector().holds(target.pid()));
    CHECK_FALSE(target.injector().busy());
    target.injector().release();
    CHECK(target.said() == "0\n");
    CHECK(target.injector().held().empty());
  }
}

TEST_CASE("a held call can be made to fail") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    HeldAccept held(way);
    Target& target = held.target;
    target.injector().release(inject::fail_with(EMFILE));
    CHECK(target.said() == "EMFILE\n");
  }
}

// On kernels before 5.19 the call is interrupted and asked about again; in all cases it comes to its end.
TEST_CASE("signals during a hold do no harm") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    HeldAccept held(way);
    Target& target = held.target;
    for (int signal : {SIGWINCH, SIGUSR1, SIGSTOP, SIGCONT}) kill(target.pid(), signal);
    target.until_held();
    target.injector().orders({});
    target.injector().release();
    CHECK(target.said() == "0\n");
  }
}

TEST_CASE("a target that dies while it is held is held no more") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    HeldAccept held(way);
    Target& target = held.target;
    target.end();
    CHECK(target.injector().held().empty());
    target.injector().release();
  }
}

TEST_CASE("a send is shortened, and only so much is sent") {
  for (const Way& way : ways())
    for (const char* mode : {"send", "write"}) {
      CAPTURE(way.name);
      CAPTURE(mode);
      Pair pair;
      Target target(way, mode, pair.theirs.get(), {Kind::write},
                    [](const Call& call) { return call.fd() == 3 ? inject::shorten_to(4) : inject::go_on(); });
      CHECK(target.said() == "4\n");
      char bytes[20];
      CHECK(recv(pair.ours.get(), bytes, sizeof bytes, 0) == 4);
      CHECK(std::string(bytes, 4) == "0123");
    }
}

TEST_CASE("a receive is shortened, and the rest stays where it is") {
  for (const Way& way : ways())
    for (const char* mode : {"recv", "read"}) {
      CAPTURE(way.name);
      CAPTURE(mode);
      Pair pair;
      REQUIRE(send(pair.ours.get(), "abcdefgh", 8, 0) == 8);
      Target target(way, mode, pair.theirs.get(), {Kind::read},
                    [](const Call& call) { return call.fd() == 3 ? inject::shorten_to(3) : inject::go_on(); });
      CHECK(target.said() == "3\nabc\n");
      char bytes[20];
      CHECK(recv(pair.theirs.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 5);
    }
}

TEST_CASE("a send that cannot be done at once waits in the target, not in the injector") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    Pair pair;
    const std::string filler(4096, 'x');
    std::size_t filled = 0;
    for (ssize_t count; (count = send(pair.theirs.get(), filler.data(), filler.size(), MSG_DONTWAIT)) > 0;)
      filled += static_cast<std::size_t>(count);
    std::atomic<bool> asked{false};
    Target target(way, "send", pair.theirs.get(), {Kind::write}, [&](const Call& call) {
      if (call.fd() == 3) asked = true;
      return call.fd() == 3 ? inject::shorten_to(4) : inject::go_on();
    });
    while (!asked || target.injector().busy()) poll(nullptr, 0, 1);
    std::string taken(filled, '\0');
    for (std::size_t got = 0; got < filled;)
      got += static_cast<std::size_t>(recv(pair.ours.get(), taken.data(), filled - got, 0));
    const std::string said = target.said();
    CHECK((said == "10\n" || said == "4\n"));
  }
}

TEST_CASE("a thread's creation fails; a child's does not") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    for (const char* mode : {"thread", "raw clone"}) {
      if (mode == std::string("raw clone") && !way.raw) continue;
      CAPTURE(mode);
      Target target(way, mode, STDIN_FILENO, {Kind::thread_creation}, all_get(inject::fail_with(EAGAIN)));
      CHECK(target.said() == "EAGAIN\n");
    }
    Target target(way, "fork", STDIN_FILENO, {Kind::thread_creation}, all_get(inject::fail_with(EAGAIN)));
    CHECK(target.said() == "0\n");
  }
}

TEST_CASE("a thread is held before its routine runs") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    Target target(way, "thread", STDIN_FILENO, {Kind::thread_creation, Kind::thread_start},
                  [](const Call& call) { return call.kind == Kind::thread_start ? inject::hold() : inject::go_on(); });
    target.until_held();
    CHECK(target.silent());
    const Call call = target.injector().held().front();
    CHECK(call.kind == Kind::thread_start);
    CHECK(call.pid == target.pid());
    CHECK(call.tid != target.pid());
    target.injector().release();
    CHECK(target.said() == "0\n");
  }
}

TEST_CASE("many threads ask at once") {
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    Pair pair;
    REQUIRE(send(pair.ours.get(), std::string(1000, 'x').data(), 1000, 0) == 1000);
    std::atomic<int> asked{0};
    Target target(way, "many threads", pair.theirs.get(), {Kind::read}, [&](const Call& call) {
      if (call.fd() == 3 && call.tid != call.pid) ++asked;
      return inject::go_on();
    });
    CHECK(target.said() == "1000\n");
    CHECK(asked == 1000);
  }
}

TEST_CASE("a program that the preloaded library does not reach is told apart") {
  if (!*LAB_TARGET_STATIC) return;
  const Listener listener;
  const auto held = all_get(inject::go_on());
  Target reached({Method::preload, LAB_TARGET, "", false}, "accept", listener.fd.get(), {Kind::accept}, held);
  Target unreached({Method::preload, LAB_TARGET_STATIC, "", false}, "accept", listener.fd.get(), {Kind::accept}, held);
  while (!reached.injector().was_seen()) poll(nullptr, 0, 1);
  CHECK(reached.injector().sees(reached.pid()));
  CHECK_FALSE(unreached.injector().sees(unreached.pid()));
}

TEST_CASE("a child that cannot install says why") {
  inject::Line line(Method::seccomp, {Kind::accept});
  const pid_t child = fork();
  if (child == 0) _exit(0);  // ends without a word
  CHECK_THROWS_AS(Injector(std::move(line)), std::system_error);
  waitpid(child, nullptr, 0);
}

}  // namespace
