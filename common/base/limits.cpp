#include "base/limits.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace base {
namespace {

void read_positive(const char* name, int& value) {
  const char* text = std::getenv(name);
  if (text == nullptr) return;
  const char* end = text + std::strlen(text);
  int number = 0;
  auto [stopped_at, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stopped_at != end || number <= 0)
    throw std::invalid_argument(std::string(name) + "=" + text + " is not a positive whole number");
  value = number;
}

}  // namespace

Limits limits_from_environment() {
  Limits limits;
  read_positive("LAB_MAX_CONNECTIONS", limits.max_connections);
  read_positive("LAB_QUEUE", limits.queue);
  read_positive("LAB_WORKERS", limits.workers);
  read_positive("LAB_STOP_MS", limits.stop_ms);
  return limits;
}

}  // namespace base
