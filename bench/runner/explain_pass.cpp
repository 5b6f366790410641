#include "bench/runner/explain_pass.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "counters/caches/callgrind.h"

namespace dlroof::runner {
namespace {

using breakdown::ComponentKind;

// [1] CPU time that the pass may use, as a share of the limit: a benchmark ends in half its limit
// on a quiet machine, and within it if other programs take half of the CPUs' time.
constexpr double kCpuShare = 0.4;

constexpr std::string_view kHowToMeasureAll = "dlroof explain --thorough measures them";

std::optional<ComponentKind> Largest(const workload::Workload& workload,
                                     const ExplainOptions& options,
                                     const timing::WatchedCalls& watched) {
  const auto profile = watched.Mean();
  if (!profile || !options.largest) return std::nullopt;
  return options.largest(workload::NameOf(workload), *profile);
}

void AddLimitReason(const ExplainOptions& options, timing::WatchedCalls& watched) {
  watched.AddInstructionsReason(fmt::format("the limit of {:g} s for this benchmark was over ({})",
                                            options.limit_seconds.value(), kHowToMeasureAll));
}

// Counts by callgrind what single steps could not count.
void Simulate(const workload::Workload& workload, const workload::RunSettings& settings,
              const workload::PreparedCall& call, timing::WatchedCalls& watched) {
  const auto counted = caches::SimulateInstructions(workload::NameOf(workload), settings.seed,
                                                    call.algorithm, call.isa);
  if (counted.count)
    watched.SetInstructions(*counted.count);
  else
    watched.AddInstructionsReason(counted.reason->text);
}

// Measures what the limit allows of what can still change the advice.
void ExplainWithinLimit(const workload::Workload& workload, const workload::PreparedCall& call,
                        const ExplainOptions& options, const cpu::Budget& budget,
                        const std::function<void(ExplainPart)>& begin,
                        timing::WatchedCalls& watched) {
  if (budget.IsSpent()) return AddLimitReason(options, watched);
  auto largest = Largest(workload, options, watched);
  if (largest && NearAndFarDecide(*largest) && call.explain.folded) {
    begin(ExplainPart::kNearAndFar);
    watched.AddNearAndFar(call, budget);
    largest = Largest(workload, options, watched);
  }
  if (watched.HasInstructions()) return;
  if (!largest)
    return watched.AddInstructionsReason(
        fmt::format("without roofs there is no breakdown to divide ({})", kHowToMeasureAll));
  if (!InstructionsDecide(*largest))
    return watched.AddInstructionsReason(
        fmt::format("they would not change the advice ({})", kHowToMeasureAll));
  if (budget.IsSpent()) return AddLimitReason(options, watched);
  begin(ExplainPart::kInstructions);
  watched.AddInstructions(call, budget);
  if (watched.HasInstructions())
    watched.AddPartInstructions(call, budget);
  else
    watched.AddInstructionsReason(std::string(kHowToMeasureAll));
}

}  // namespace

// Both measurements divide the time of the kernel that no measured component explains.
bool NearAndFarDecide(ComponentKind largest) {
  return largest == ComponentKind::kLanes || largest == ComponentKind::kLevels ||
         largest == ComponentKind::kUnexplained;
}

bool InstructionsDecide(ComponentKind largest) {
  return largest == ComponentKind::kKernel || largest == ComponentKind::kLevels ||
         largest == ComponentKind::kUnexplained;
}

bool IsTimedLongEnough(const ExplainOptions& options, double spent_seconds) {
  constexpr double kMostShare = 0.6;
  return options.limit_seconds && spent_seconds > kMostShare * *options.limit_seconds;
}

cpu::Budget ExplainBudget(const ExplainOptions& options, double spent_seconds,
                          cpu::BudgetClocks clocks) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double limit = options.limit_seconds.value_or(kEndless);
  return cpu::Budget(kCpuShare * limit, limit - spent_seconds, std::move(clocks));
}

std::string_view Words(ExplainPart part) {
  constexpr std::string_view kWords[kExplainParts] = {"on one thread", "with near and far tensors",
                                                      "instructions"};
  return kWords[static_cast<int>(part)];
}

void ExplainCall(const workload::Workload& workload, workload::RunSettings settings,
                 const ExplainOptions& options, const cpu::Budget& budget,
                 const std::function<void(ExplainPart)>& begin, timing::WatchedCalls& watched) {
  if (budget.IsSpent()) return AddLimitReason(options, watched);
  begin(ExplainPart::kSingleThreaded);
  settings.threads = 1;
  const auto call = workload.prepare(settings);
  watched.AddSingleThreaded(call, budget);
  if (!watched.IsComparable())
    return watched.AddInstructionsReason(
        fmt::format("on one thread the library uses another algorithm ({})", call.algorithm));
  if (options.limit_seconds)
    return ExplainWithinLimit(workload, call, options, budget, begin, watched);
  begin(ExplainPart::kNearAndFar);
  watched.AddNearAndFar(call, budget);
  if (watched.HasInstructions() || !options.instructions) return;
  begin(ExplainPart::kInstructions);
  watched.AddInstructions(call, budget);
  if (!watched.HasInstructions()) Simulate(workload, settings, call, watched);
  if (watched.HasInstructions()) watched.AddPartInstructions(call, budget);
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
  constexpr double kFirstGuess = 2;  // [s] of a step, before the first has ended
  if (!report_) return;
  const int steps = (1 + kExplainParts) * benchmarks_;
  const double per_step = step > 0 ? (now_() - begin_) / step : kFirstGuess;
  report_({.step = step, .steps = steps, .text = text, .eta_seconds = per_step * (steps - step)});
}

}  // namespace dlroof::runner
