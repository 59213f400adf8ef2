// How calls are asked about and answered; one class a method. Used by the injector alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inject/injector.h"

namespace inject {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // --- before and just after fork
  virtual void install() const noexcept = 0;                 // in the child
  virtual std::vector<std::string> environment() const = 0;  // of the child's program
  virtual void open() = 0;                                   // in the parent; throws std::system_error

  // --- on the injector's thread
  struct Question {
    std::uint64_t id = 0;
    Call call;  // without pid and kind until complete()
  };
  virtual std::optional<Question> next() = 0;   // waits; nothing after stop(), or when nobody is left to ask
  virtual void complete(Call& call) const = 0;  // what costs a look at the process
  virtual void handled() = 0;                   // the question that next() returned is answered, or held

  // --- on any thread
  virtual void answer(std::uint64_t id, const Call& call, const Answer& answer) = 0;  // not for hold
  virtual bool waiting(std::uint64_t id, const Call& call) const = 0;                 // the thread still waits for that answer
  virtual bool busy() const = 0;
  virtual bool sees(pid_t pid) const = 0;
  virtual bool was_seen() const = 0;
  virtual void stop() = 0;
};

std::unique_ptr<Exchange> make_notifications(const std::vector<Kind>& kinds);  // seccomp
std::unique_ptr<Exchange> make_page(const std::vector<Kind>& kinds);           // preload

pid_t process_of(pid_t tid);  // 0 when it has ended

}  // namespace inject
