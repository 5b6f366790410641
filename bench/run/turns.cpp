#include "bench/run/turns.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace dlroof {
namespace {

void Write(int to, const std::string& text) {
  // Shorter than a pipe's buffer, so written whole. Who reads it may be gone: then there is no turn
  // either.
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

}  // namespace

bool Turns::Take() {
  if (!ready_) Write(to_, "ready\n");
  ready_ = true;
  char turn = 0;
  ssize_t got = 0;
  do got = read(from_, &turn, 1);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

void Turns::Give(double iterations) { Write(to_, fmt::format("{:.0f}\n", iterations)); }

}  // namespace dlroof
