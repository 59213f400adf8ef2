#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "net/net.h"
#include "support/files.h"

namespace {

// TMPDIR, with a folder of the test's own.
struct Temporary {
  Temporary() { setenv("TMPDIR", folder.path().c_str(), 1); }
  ~Temporary() { unsetenv("TMPDIR"); }
  std::string lock_of(std::uint16_t port) const { return folder / ("readylist-port-" + std::to_string(port)); }
  bool empty() const { return std::filesystem::is_empty(folder.path()); }
  files::Folder folder;
};

TEST_CASE("a reservation locks a file while it lives and leaves none") {
  const Temporary temporary;
  {
    const net::PortReservation reservation;
    const base::UniqueFd other(open(temporary.lock_of(reservation.port()).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(other);
    CHECK(flock(other.get(), LOCK_EX | LOCK_NB) < 0);
  }
  CHECK(temporary.empty());
}

TEST_CASE("a file that somebody else made in the meantime is not removed") {
  const Temporary temporary;
  std::string path;
  {
    const net::PortReservation reservation;
    path = temporary.lock_of(reservation.port());
    std::filesystem::remove(path);
    files::write(path, "another's");
  }
  CHECK(files::read(path) == "another's");
}

TEST_CASE("reservations that live at the same time are of different ports, whoever releases meanwhile") {
  const Temporary temporary;
  const auto many = [] {
    for (int round = 0; round < 20; ++round) {
      std::set<std::uint16_t> ports;
      std::vector<std::unique_ptr<net::PortReservation>> held;
      for (int i = 0; i < 20; ++i) ports.insert(held.emplace_back(std::make_unique<net::PortReservation>())->port());
      CHECK(ports.size() == held.size());
    }
  };
  std::thread other(many);
  many();
  other.join();
  CHECK(temporary.empty());
}

}  // namespace
