// A foreign right server: Boost.Asio. Right for lab 4 but for the lab's rule (it is edge-triggered). Usage: echo_asio PORT
// One read or write at a time for each connection, so nothing is read while output waits; a FIN ends the reads after the last
// write is done.
#include <utility>  // Boost 1.74 uses std::exchange without saying so

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(asio::buffer(bytes_), [self = shared_from_this()](error_code error, std::size_t count) {
      if (!error) self->write(count);
    });
  }

 private:
  void write(std::size_t count) {
    asio::async_write(socket_, asio::buffer(bytes_.data(), count), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read();
    });
  }

  tcp::socket socket_;
  std::array<char, 64 << 10> bytes_;
};

class Acceptor {
 public:
  Acceptor(asio::io_context& context, unsigned short port)
      : acceptor_(context, {asio::ip::address_v4::loopback(), port}), retry_(context) {}

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) std::make_shared<Session>(std::move(socket))->read();
      if (error == asio::error::no_descriptors)
        accept_later();
      else
        accept();
    });
  }

 private:
  // Out of descriptors: the connection stays in the queue, and asking again at once would spin.
  void accept_later() {
    retry_.expires_after(std::chrono::milliseconds(50));
    retry_.async_wait([this](error_code) { accept(); });
  }

  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  asio::io_context context(1);
  Acceptor acceptor(context, static_cast<unsigned short>(std::atoi(argv[1])));
  acceptor.accept();
  context.run();
}
