// One client that reads late or not at all: it gets everything in the end, and the server's memory stays bounded.
#include "fixture/slow.h"

namespace {

using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Stream;
using fixture::Wait;

// The FIN comes while output waits, and after everything was read: a FIN together with data has its own check (lab 4).
LAB_CHECK("half-close") {
  Server server(check);
  Client client = fixture::slow_client(server);
  const Stream stream(check);
  Wait wait = fixture::fill(server, client, stream, check.draw(40'000, 60'000));
  const std::size_t size = client.sent();
  check.measured("bytes_sent", static_cast<double>(size));
  report::Story story{"A client sent " + grouped(size) +
                          " bytes, then its FIN, and only then began to read; most of the answer had to wait in your server.",
                      "", "The FIN says that the client has finished sending. It still gets every byte, then your FIN."};

  client.finish();
  if (wait) wait = fixture::come_to_rest(server, client);
  if (wait) wait = fixture::read_back(client);
  const std::size_t back = client.received().size();
  check.measured("bytes_back", static_cast<double>(back));
  story.server_did = grouped(back) + " bytes came back, ";
  if (!wait || back < size || stream.agrees(client.received()) < back) {
    story.server_did += client.over()
                            ? "then the connection ended " + client.ending() + ": " + grouped(size - back) + " were dropped."
                            : "then no more: " + client.unread_text() + ".";
    if (!wait) check.stalled(wait, "half-close-drops-output", std::move(story));
    check.fail("half-close-drops-output", std::move(story));
  }

  wait = client.receive_end();
  if (wait && client.ended() && client.received().size() == size) return;
  story.server_did += wait ? "then the connection ended " + client.ending() + " instead of with a FIN."
                           : "all of them, but the connection was never closed.";
  const char* diagnosis = "half-close-never-closed";
  if (!wait) check.stalled(wait, diagnosis, std::move(story));
  check.fail(diagnosis, std::move(story));
}

std::string mebibytes(std::size_t bytes) {
  const std::size_t tenths = (bytes * 10 + (1 << 19)) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

// The kernel's share is kept small (a few hundred KiB), so that what is taken beyond it lies in the server's memory.
LAB_CHECK("back-pressure") {
  constexpr std::size_t kMost = 40 << 20;
  constexpr std::size_t kTooMuch = 20 << 20;  // twenty times what the lab allows: allocators and runtimes have room to breathe
  Server server(check);
  Client bystander(server);
  const char* delayed = check.lists("blocking-connection") ? "blocking-connection" : "deaf-client-delays-all";
  fixture::warm_up(bystander);
  server.connections_get({64 << 10, 64 << 10});
  std::vector<Client> deaf;
  Client& client = deaf.emplace_back(server, net::Buffers{64 << 10, 64 << 10});
  const Stream stream(check);
  const std::size_t memory = probe::resident_bytes(server.pid());

  Wait wait = fixture::press(server, client, stream, kMost);
  const std::size_t taken = client.sent();
  const std::size_t memory_now = probe::resident_bytes(server.pid());
  const std::size_t grown = memory_now > memory ? memory_now - memory : 0;
  check.measured("bytes_taken", static_cast<double>(taken));
  check.measured("memory_grown", static_cast<double>(grown));
  const std::string did = "A client sent as much as it could, " + grouped(taken) + " bytes, and read nothing";
  report::Story story{did + ".", "", "When 1 MiB waits for a client, stop reading from it: TCP then slows the client down."};
  if (!wait) {
    story.server_did = "Its memory had grown by " + mebibytes(grown) + ".";
    check.stalled(wait, "no-back-pressure", std::move(story));
  }
  if (taken > kTooMuch && grown > kTooMuch) {
    story.server_did =
        "It took all " + mebibytes(taken) + " and grew by " + mebibytes(grown) + "; the limit is 1 MiB a connection.";
    check.fail("no-back-pressure", std::move(story));
  }
  if (client.over() || !client.accepted()) {
    story.server_did = "It closed the connection after " + grouped(taken) + " bytes.";
    story.expected = "A slow client is waited for, not hung up on: stop reading from it until its output has gone.";
    check.fail("hung-up-on-slow-reader", std::move(story));
  }

  const fixture::Others others{deaf, "the client that reads nothing",
                               "Whatever becomes of the full client, the others are served meanwhile."};
  fixture::require_service(bystander, delayed, story.did, &others);
  wait = fixture::read_back(client);
  const std::size_t back = client.received().size();
  const std::size_t right = stream.agrees(client.received());
  if (wait && back == taken && right == taken) return;
  story.did = did + " until no more was taken; then it read everything.";
  story.expected = "Every byte that was taken comes back, in order, however late the client reads.";
  const auto side = client.server_side();
  if (client.over()) {
    story.server_did = grouped(back) + " bytes came back, then the connection ended " + client.ending() + ".";
    check.fail("hung-up-on-slow-reader", std::move(story));
  }
  if (side && side->unread > 0) {
    story.server_did = grouped(back) + " bytes came back, then no more: " + client.unread_text() + ", and nobody reads them.";
    check.stalled(wait, "reading-never-resumes", std::move(story));
  }
  story.server_did = grouped(taken - back) + " bytes never came back; the first that is missing is number " + grouped(right + 1) +
                     ". Your server has read everything and has nothing left to send.";
  if (!wait) check.stalled(wait, "full-queue-drops-bytes", std::move(story));
  check.fail("full-queue-drops-bytes", std::move(story));
}

}  // namespace
