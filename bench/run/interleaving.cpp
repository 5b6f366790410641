#include "bench/run/interleaving.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace dlroof {
namespace {

void Write(int to, const std::string& text) {
  // Text shorter than a pipe's buffer is written whole. A failure needs no answer: where the reader
  // is gone the next turn does not come.
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

}  // namespace

bool Interleaving::WaitForTurn() {
  if (!ready_) Write(to_, "ready\n");
  ready_ = true;
  char turn = 0;
  ssize_t got = 0;
  do got = read(from_, &turn, 1);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

void Interleaving::EndTurn(double iterations) { Write(to_, fmt::format("{:.0f}\n", iterations)); }

}  // namespace dlroof
