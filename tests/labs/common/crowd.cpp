// Many clients at once: each is served while all the others stay, whether they talk or not.
#include "fixture/client.h"

namespace {

using fixture::Check;
using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Stall;
using fixture::Wait;

// Whether somebody is served while somebody else is there; and if not, whether it only takes the other to leave.
void serve_two(Server& server) {
  Check& check = server.check();
  Client first(server);
  fixture::require_service(first, "clients-not-served", "The server was started.");
  Client second(server);
  const std::string line = check.text(check.draw(3, 60));
  const Wait wait = fixture::echo(second, line);
  if (wait) return;  // whose bytes they are is looked at with all 64
  report::Story story{
      "Client 1 connected, got its bytes back and stayed. Then client 2 connected and sent " + grouped(line.size()) + " bytes.",
      "Client 2 got no answer: " + second.unread_text() + "; " + server.doing() + ".",
      "Both are served while both are connected."};
  if (wait.stall != Stall::asleep) check.stalled(wait, "clients-not-served", std::move(story));
  first.close();
  const Wait alone = second.receive(line.size());
  if (!alone || second.received() != line) check.stalled(wait, "clients-not-served", std::move(story));
  story.server_did += " As soon as client 1 had left, client 2 got its bytes.";
  check.fail("one-at-a-time", std::move(story));
}

// What a client got instead of its own bytes.
std::string instead(const std::vector<std::string>& lines, const std::string& got) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!got.empty() && lines[i].starts_with(got.substr(0, lines[i].size())))
      return "the bytes of client " + std::to_string(i + 1);
  return grouped(got.size()) + " other bytes";
}

LAB_CHECK("clients-64") {
  constexpr std::size_t kClients = 64;
  constexpr const char* kDiagnosis = "clients-not-served";
  Server server(check);
  if (check.lists("one-at-a-time")) serve_two(server);
  std::vector<Client> clients = fixture::crowd(server, kClients, kDiagnosis);

  std::vector<std::string> lines;
  for (Client& client : clients) {
    lines.push_back(check.text(check.draw(200, 2000)));
    client.push(lines.back());
  }
  for (std::size_t i = 0; i < kClients; ++i) {
    const std::size_t before = 8;  // what crowd() had echoed
    const Wait wait = clients[i].receive(before + lines[i].size());
    const std::string got = clients[i].received().substr(before);
    if (wait && got == lines[i]) continue;
    report::Story story{"64 clients were connected and sent 200 to 2,000 bytes each at the same time; client " +
                            std::to_string(i + 1) + " sent " + grouped(lines[i].size()) + ".",
                        wait && got.size() == lines[i].size()
                            ? "Client " + std::to_string(i + 1) + " got " + instead(lines, got) + "."
                            : "Client " + std::to_string(i + 1) + " got " + grouped(got.size()) + " bytes; " +
                                  (clients[i].over() ? "its connection ended " + clients[i].ending() : clients[i].unread_text()) +
                                  ".",
                        "Each client gets its own bytes back, all of them."};
    if (!wait) check.stalled(wait, kDiagnosis, std::move(story));
    check.fail(kDiagnosis, std::move(story));
  }
}

LAB_CHECK("silent-client") {
  constexpr const char* kDiagnosis = "silent-client-delays-all";
  Server server(check);
  std::vector<Client> silent;
  const fixture::Others others{silent, "a silent client", "A client that says nothing keeps nobody else waiting."};
  silent.emplace_back(server);
  Client other(server);
  fixture::require_service(other, kDiagnosis, "The first client connected and said nothing.", &others);

  const std::size_t more = check.draw(4, 12);
  check.measured("silent_clients", static_cast<double>(more + 1));
  while (silent.size() <= more) silent.emplace_back(server);
  const std::string did = grouped(silent.size()) + " clients had connected and said nothing.";
  Client late(server);
  fixture::require_service(late, kDiagnosis, did, &others);
  fixture::require_service(other, kDiagnosis, did, &others);
}

}  // namespace
