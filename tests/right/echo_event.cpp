// A foreign right server: libevent's bufferevents. Right for lab 4. Usage: echo_event PORT
// Reading stops while much output waits, and for good at a client's FIN; the connection is closed when the rest is written.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>

#include <cstdlib>

namespace {

constexpr int kQueue = 512;
constexpr std::size_t kMuch = 256 << 10;
constexpr timeval kRetry{0, 50'000};

std::size_t waiting(bufferevent* client) { return evbuffer_get_length(bufferevent_get_output(client)); }

void echo(bufferevent* client) { bufferevent_write_buffer(client, bufferevent_get_input(client)); }

void on_readable(bufferevent* client, void*) {
  echo(client);
  if (waiting(client) >= kMuch) bufferevent_disable(client, EV_READ);
}

// Called when no more than a quarter of `kMuch` waits.
void on_little_waiting(bufferevent* client, void*) { bufferevent_enable(client, EV_READ); }

void close_when_written(bufferevent* client, void*) {
  if (waiting(client) == 0) bufferevent_free(client);
}

void on_end(bufferevent* client, short what, void*) {
  if ((what & BEV_EVENT_EOF) == 0) return bufferevent_free(client);
  echo(client);
  bufferevent_disable(client, EV_READ);
  bufferevent_setwatermark(client, EV_WRITE, 0, 0);
  bufferevent_setcb(client, nullptr, close_when_written, on_end, nullptr);
  close_when_written(client, nullptr);
}

void on_accepted(evconnlistener* listener, evutil_socket_t fd, sockaddr*, int, void*) {
  bufferevent* client = bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
  bufferevent_setcb(client, on_readable, on_little_waiting, on_end, nullptr);
  bufferevent_setwatermark(client, EV_WRITE, kMuch / 4, 0);
  bufferevent_enable(client, EV_READ | EV_WRITE);
}

void accept_again(evutil_socket_t, short, void* listener) { evconnlistener_enable(static_cast<evconnlistener*>(listener)); }

// Out of descriptors: the connection stays in the queue, and asking again at once would spin.
void on_accept_error(evconnlistener* listener, void*) {
  evconnlistener_disable(listener);
  event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, accept_again, listener, &kRetry);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  signal(SIGPIPE, SIG_IGN);
  event_base* base = event_base_new();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(std::atoi(argv[1])));
  evconnlistener* listener = evconnlistener_new_bind(base, on_accepted, nullptr, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE,
                                                     kQueue, reinterpret_cast<sockaddr*>(&address), sizeof address);
  if (listener == nullptr) return 1;
  evconnlistener_set_error_cb(listener, on_accept_error);
  return event_base_dispatch(base);
}
