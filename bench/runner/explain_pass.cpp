#include "bench/runner/explain_pass.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace dlroof::runner {
namespace {

// [1] CPU time of the pass / limit: a benchmark takes half of its limit on a quiet machine, and all
// of it if other programs use half of the CPUs' time.
constexpr double kCpuShare = 0.4;

}  // namespace

bool IsTimedLongEnough(const ExplainOptions& options, double spent_seconds) {
  constexpr double kMaxShare = 0.6;
  return options.limit_seconds && spent_seconds > kMaxShare * *options.limit_seconds;
}

cpu::Budget ExplainBudget(const ExplainOptions& options, double spent_seconds,
                          cpu::BudgetClocks clocks) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double limit = options.limit_seconds.value_or(kEndless);
  return cpu::Budget(kCpuShare * limit, limit - spent_seconds, std::move(clocks));
}

std::string_view Words(ExplainPart part) {
  constexpr std::string_view kWords[kExplainParts] = {"on one thread", "with near and far tensors"};
  return kWords[static_cast<int>(part)];
}

void ExplainCall(const workload::Workload& workload, workload::RunSettings settings,
                 const ExplainOptions& options, const cpu::Budget& budget,
                 const std::function<void(ExplainPart)>& begin, runner::WatchedCalls& watched) {
  if (budget.IsSpent())
    return watched.SetInstructionsReason(
        Reason{fmt::format("the limit of {:g} s for this benchmark was over (dlroof explain "
                           "--thorough has none)",
                           options.limit_seconds.value())});
  begin(ExplainPart::kSingleThreaded);
  settings.threads = 1;
  const auto call = workload.prepare(settings);
  watched.AddSingleThreaded(call, budget);
  if (!watched.IsComparable())
    return watched.SetInstructionsReason(Reason{
        fmt::format("on one thread the library uses another algorithm ({})", call.algorithm)});
  if (budget.IsSpent() || !call.explain.folded) return;
  begin(ExplainPart::kNearAndFar);
  watched.AddNearAndFar(call, budget);
}

ExplainProgress::ExplainProgress(const std::optional<ExplainOptions>& options, int benchmarks,
                                 std::function<double()> now)
    : benchmarks_(benchmarks), now_(std::move(now)), begin_(now_()) {
  if (!options) return;
  report_ = options->progress;
  reports_timing_ = options->reports_timing;
}

void ExplainProgress::Time(const std::string& name) {
  const int step = timed_++;
  if (reports_timing_) Report(step, "timing " + name);
}

void ExplainProgress::Explain(int index, const std::string& name, ExplainPart part) {
  Report(benchmarks_ + kExplainParts * index + static_cast<int>(part),
         fmt::format("{}, {}", name, Words(part)));
}

void ExplainProgress::End() { Report((1 + kExplainParts) * benchmarks_, "explained"); }

void ExplainProgress::Report(int step, const std::string& text) {
  constexpr double kFirstGuess = 2;  // [s] assumed time of a step until the first has ended
  if (!report_) return;
  const int steps = (1 + kExplainParts) * benchmarks_;
  const double per_step = step > 0 ? (now_() - begin_) / step : kFirstGuess;
  report_({.step = step, .steps = steps, .text = text, .eta_seconds = per_step * (steps - step)});
}

std::string ProgressLine(const machine::MeasureProgress& progress) {
  const nlohmann::json line = {{"step", progress.step},
                               {"steps", progress.steps},
                               {"text", progress.text},
                               {"eta_seconds", progress.eta_seconds}};
  return line.dump() + '\n';
}

std::optional<machine::MeasureProgress> ParseProgressLine(const std::string& line) {
  const auto read = nlohmann::json::parse(line, nullptr, false);
  try {
    return machine::MeasureProgress{.step = read.at("step"),
                                    .steps = read.at("steps"),
                                    .text = read.at("text"),
                                    .eta_seconds = read.at("eta_seconds")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void WriteProgress(int pipe, const machine::MeasureProgress& progress) {
  const auto line = ProgressLine(progress);
  [[maybe_unused]] const auto written = write(pipe, line.data(), line.size());
}

}  // namespace dlroof::runner
