#include "inject/injector.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "inject/exchange.h"

namespace inject {

Line::Line(Method method, const std::vector<Kind>& kinds)
    : exchange_(method == Method::seccomp ? make_notifications(kinds) : make_page(kinds)) {}
Line::Line(Line&&) noexcept = default;
Line::~Line() = default;
void Line::install() const noexcept { exchange_->install(); }
std::vector<std::string> Line::environment() const { return exchange_->environment(); }

Injector::Injector(Line line, Orders orders) : exchange_(std::move(line.exchange_)), orders_(std::move(orders)) {
  exchange_->open();
  // Signals are the business of the threads that were there before.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Injector::~Injector() {
  orders({});
  release();
  exchange_->stop();
  thread_.join();
}

Answer Injector::ask(const Call& call) noexcept try { return orders_(call); } catch (...) {
  return go_on();
}

void Injector::run() {
  while (auto question = exchange_->next()) {
    std::lock_guard lock(mutex_);
    Answer answer;
    if (orders_) {
      exchange_->complete(question->call);
      if (question->call.kind != Kind::other) answer = ask(question->call);
    }
    if (answer.action == Answer::Action::hold)
      held_.push_back({question->id, question->call});
    else
      exchange_->answer(question->id, question->call, answer);
    exchange_->handled();
  }
}

void Injector::orders(Orders orders) {
  std::lock_guard lock(mutex_);
  orders_ = std::move(orders);
}

// A thread that was killed waits no more; nor does one whose call a signal interrupted: it will ask again.
std::vector<Call> Injector::held() const {
  std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const Held& held) { return !exchange_->waiting(held.id, held.call); });
  std::vector<Call> calls;
  for (const Held& held : held_) calls.push_back(held.call);
  return calls;
}

bool Injector::holds(pid_t tid) const {
  const auto calls = held();
  return std::any_of(calls.begin(), calls.end(), [&](const Call& call) { return call.tid == tid; });
}

void Injector::release(const Answer& answer) {
  std::lock_guard lock(mutex_);
  for (const Held& held : std::exchange(held_, {})) exchange_->answer(held.id, held.call, answer);
}

bool Injector::busy() const { return exchange_->busy(); }
bool Injector::sees(pid_t pid) const { return exchange_->sees(pid); }
bool Injector::was_seen() const { return exchange_->was_seen(); }

}  // namespace inject
