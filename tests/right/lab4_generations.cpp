// right: lab 4, a table indexed by descriptor with generations, chunk lists with readv and writev, EPOLLRDHUP never asked for
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>

#include "base/serve.h"

namespace {

constexpr std::size_t kChunk = 16 << 10;
constexpr std::size_t kMostChunks = 64;  // 1 MiB
constexpr std::uint64_t kListener = ~0ull;

struct Chunk {
  std::array<char, kChunk> bytes;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct Slot {
  bool open = false;
  std::uint32_t generation = 0;
  std::deque<std::unique_ptr<Chunk>> chunks;
  bool ended = false;
  std::uint32_t interest = 0;
  std::uint64_t used = 0;  // the time of its last progress, by a counter
};

std::deque<Slot> g_slots;
std::size_t g_open = 0;
std::uint64_t g_now = 0;
int g_epoll;

bool control(int operation, int fd, std::uint32_t events, std::uint64_t data) {
  epoll_event event{.events = events, .data = {.u64 = data}};
  return epoll_ctl(g_epoll, operation, fd, &event) == 0;
}

std::uint64_t name(int fd) {
  return std::uint64_t{g_slots[static_cast<std::size_t>(fd)].generation} << 32 | static_cast<std::uint32_t>(fd);
}

void shut(int fd) {
  Slot& slot = g_slots[static_cast<std::size_t>(fd)];
  control(EPOLL_CTL_DEL, fd, 0, 0);
  close(fd);
  slot.open = slot.ended = false;
  ++slot.generation;
  slot.chunks.clear();
  --g_open;
}

void open_slot(int fd) {
  if (g_slots.size() <= static_cast<std::size_t>(fd)) g_slots.resize(static_cast<std::size_t>(fd) * 2);
  Slot& slot = g_slots[static_cast<std::size_t>(fd)];
  slot.open = true;
  slot.interest = EPOLLIN;
  slot.used = ++g_now;
  ++g_open;
  if (!control(EPOLL_CTL_ADD, fd, EPOLLIN, name(fd))) shut(fd);
}

void evict() {
  std::size_t oldest = 0;
  for (std::size_t i = 1; i < g_slots.size(); ++i)
    if (g_slots[i].open && (!g_slots[oldest].open || g_slots[i].used < g_slots[oldest].used)) oldest = i;
  shut(static_cast<int>(oldest));
}

// Reads into two fresh chunks at once.
bool read_some(int fd, Slot& slot) {
  if (slot.ended || slot.chunks.size() + 2 > kMostChunks) return true;
  auto one = std::make_unique<Chunk>();
  auto two = std::make_unique<Chunk>();
  const iovec room[] = {{one->bytes.data(), kChunk}, {two->bytes.data(), kChunk}};
  const ssize_t count = readv(fd, room, 2);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  const auto got = static_cast<std::size_t>(count);
  slot.ended = got == 0;
  slot.used = ++g_now;
  one->last = std::min(got, kChunk);
  two->last = got - one->last;
  if (one->last > 0) slot.chunks.push_back(std::move(one));
  if (two->last > 0) slot.chunks.push_back(std::move(two));
  return true;
}

bool write_some(int fd, Slot& slot) {
  while (!slot.chunks.empty()) {
    iovec parts[8];
    int used = 0;
    for (const auto& chunk : slot.chunks) {
      if (used == 8) break;
      parts[used++] = {chunk->bytes.data() + chunk->first, chunk->last - chunk->first};
    }
    const ssize_t count = writev(fd, parts, used);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    slot.used = ++g_now;
    for (auto left = static_cast<std::size_t>(count); left > 0;) {
      Chunk& front = *slot.chunks.front();
      const std::size_t piece = std::min(left, front.last - front.first);
      front.first += piece;
      left -= piece;
      if (front.first == front.last) slot.chunks.pop_front();
    }
  }
  return true;
}

void handle(std::uint64_t data) {
  const int fd = static_cast<int>(data & 0xffffffff);
  Slot& slot = g_slots[static_cast<std::size_t>(fd)];
  if (!slot.open || data != name(fd)) return;  // of somebody who has gone
  // Output first: what it frees can be read into at once.
  const bool fine = write_some(fd, slot) && read_some(fd, slot) && write_some(fd, slot);
  if (!fine || (slot.ended && slot.chunks.empty())) return shut(fd);
  std::uint32_t interest = slot.chunks.empty() ? 0u : EPOLLOUT;
  if (!slot.ended && slot.chunks.size() + 2 <= kMostChunks) interest |= EPOLLIN;
  if (interest != slot.interest) control(EPOLL_CTL_MOD, fd, interest, data);
  slot.interest = interest;
}

}  // namespace

// At the descriptor limit the listening socket leaves the set until a descriptor is free: tried again by the clock, and at once
// when somebody goes.
void serve(int listen_fd, const base::Limits& limits) {
  std::signal(SIGPIPE, SIG_IGN);
  g_slots.resize(64);
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
  bool listening = control(EPOLL_CTL_ADD, listen_fd, EPOLLIN, kListener);
  for (;;) {
    std::array<epoll_event, 8> batch;
    const int count = epoll_wait(g_epoll, batch.data(), batch.size(), listening ? -1 : 20);
    const std::size_t open_before = g_open;
    for (int i = 0; i < count; ++i) {
      if (batch[static_cast<std::size_t>(i)].data.u64 != kListener) {
        handle(batch[static_cast<std::size_t>(i)].data.u64);
        continue;
      }
      const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0)
        open_slot(fd);
      else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        listening = !control(EPOLL_CTL_DEL, listen_fd, 0, 0);
    }
    while (g_open > static_cast<std::size_t>(limits.max_connections)) evict();
    if (!listening && (count == 0 || g_open < open_before)) listening = control(EPOLL_CTL_ADD, listen_fd, EPOLLIN, kListener);
  }
}
