#include "bench/supervise/turn_taker.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "bench/supervise/merge.h"

namespace dlroof::supervise {
namespace {

constexpr double kWindowSeconds = 0.02;
// Guesses of the number of iterations that Google Benchmark makes before repetitions are alike.
constexpr int kMostGuesses = 40;

}  // namespace

const std::vector<std::string>& WindowFlags() {
  static const std::vector<std::string> flags = {
      fmt::format("--benchmark_repetitions={}", kWindows + kAloneRepetitions),
      fmt::format("--benchmark_min_time={}", kWindowSeconds)};
  return flags;
}

TurnTaker::TurnTaker(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
                     const Variables& variables)
    : paths_(std::move(paths)), timeout_seconds_(timeout_seconds) {
  std::filesystem::remove(paths_.run_file);
  command.insert(command.end(), WindowFlags().begin(), WindowFlags().end());
  command.emplace_back("--dlroof_turns=3,4");
  process_ = std::make_unique<WatchedProcess>(command, ProcessFiles{paths_.out, paths_.err, true},
                                              variables);
}

bool TurnTaker::Ready() {
  const bool ready = process_->ReadLine(timeout_seconds_) == "ready";
  if (ready) process_->Stop();
  return ready;
}

bool TurnTaker::Settle() {
  std::string before;
  for (int i = 0; i < kMostGuesses; ++i) {
    const auto iterations = Turn();
    if (!iterations) return false;
    if (*iterations == before) return true;
    before = *iterations;
  }
  return false;
}

std::optional<std::string> TurnTaker::Turn() {
  process_->Continue();
  process_->Send('t');
  auto iterations = process_->ReadLine(timeout_seconds_);
  process_->Stop();
  return iterations;
}

std::optional<ProcessEnd> TurnTaker::End(double seconds) {
  process_->Continue();
  return process_->WaitForEnd(seconds);
}

}  // namespace dlroof::supervise
