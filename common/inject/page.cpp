// Asking through shared memory, for a preloaded library (preload.cpp).
#include "inject/page.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "inject/exchange.h"

namespace inject {
namespace {

class SharedPage : public Exchange {
 public:
  explicit SharedPage(const std::vector<Kind>& kinds) : file_(memfd_create("inject", MFD_CLOEXEC)) {
    if (!file_ || ftruncate(file_.get(), sizeof(Page)) < 0) base::throw_errno("memory for the injector");
    void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (memory == MAP_FAILED) base::throw_errno("memory for the injector");
    madvise(memory, sizeof(Page), MADV_DONTFORK);  // so that whoever maps it has opened it: see sees()
    page_ = static_cast<Page*>(memory);
    for (Kind kind : kinds) page_->kinds |= 1u << static_cast<int>(kind);
  }
  ~SharedPage() override { munmap(page_, sizeof(Page)); }

  void install() const noexcept override {}

  // Opened by way of /proc: a descriptor that is handed down would take a number in the target, and exec needs it again and
  // again.
  std::vector<std::string> environment() const override {
    const char* others = std::getenv("LD_PRELOAD");
    return {std::string("LD_PRELOAD=") + LAB_INJECT_PRELOAD + (others != nullptr ? std::string(":") + others : ""),
            std::string(kPageVariable) + "=/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get())};
  }

  void open() override {}

  std::optional<Question> next() override {
    for (;;) {
      const std::uint32_t rung = page_->bell;
      if (stopping_) return std::nullopt;
      handling_ = true;
      for (int i = 0; i < Page::kSlots; ++i) {
        std::uint32_t asked = Slot::asked;
        if (page_->slots[i].state.compare_exchange_strong(asked, Slot::taken)) return question(i);
      }
      handling_ = false;
      syscall(SYS_futex, &page_->bell, FUTEX_WAIT, rung, nullptr, nullptr, 0);
    }
  }

  void complete(Call&) const override {}
  void handled() override { handling_ = false; }

  void answer(std::uint64_t id, const Call& call, const Answer& answer) override {
    if (!waiting(id, call)) return;
    Slot& slot = page_->slots[id];
    slot.action = static_cast<std::int32_t>(answer.action);
    slot.error = answer.error;
    slot.bytes = answer.bytes;
    slot.state = Slot::answered;
    syscall(SYS_futex, &slot.state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  bool waiting(std::uint64_t id, const Call& call) const override {
    const Slot& slot = page_->slots[id];
    return slot.state == Slot::taken && slot.tid == call.tid && process_of(call.tid) == call.pid;
  }

  bool busy() const override {
    for (const Slot& slot : page_->slots)
      if (slot.state == Slot::asked) return true;
    return handling_;
  }

  bool sees(pid_t pid) const override {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("memfd:inject") != std::string::npos) return true;
    return false;
  }

  bool was_seen() const override { return page_->programs > 0; }

  void stop() override {
    stopping_ = true;
    ++page_->bell;
    syscall(SYS_futex, &page_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  Question question(int index) const {
    const Slot& slot = page_->slots[index];
    Question question;
    question.id = static_cast<std::uint64_t>(index);
    question.call.kind = static_cast<Kind>(slot.kind);
    question.call.tid = slot.tid;
    question.call.pid = slot.pid;
    question.call.number = slot.number;
    std::copy(std::begin(slot.args), std::end(slot.args), question.call.args.begin());
    return question;
  }

  base::UniqueFd file_;
  Page* page_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> handling_{false};
};

}  // namespace

std::unique_ptr<Exchange> make_page(const std::vector<Kind>& kinds) { return std::make_unique<SharedPage>(kinds); }

}  // namespace inject
