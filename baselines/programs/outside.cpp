#include "baselines/programs/outside.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

constexpr std::size_t kModules = 8;   // in the table
constexpr double kMatched = 0.9;      // [1] below, the clocks of log and trace do not agree
constexpr double kMinSeconds = 1e-9;  // [s] a range must be longer

// Returns the sample at a time, between the two around it. The time must be within the samples.
CpuSample SampleAt(const std::vector<CpuSample>& samples, double at) {
  const auto after = std::ranges::lower_bound(samples, at, {}, &CpuSample::at);
  if (after == samples.begin()) return samples.front();
  const auto &one = *(after - 1), &other = *after;
  const double share = (at - one.at) / (other.at - one.at);
  const auto between = [&](double CpuSample::*member) {
    return one.*member + share * (other.*member - one.*member);
  };
  return {at, between(&CpuSample::main_cpu), between(&CpuSample::main_waiting),
          between(&CpuSample::others_cpu)};
}

}  // namespace

bool IsCompiled(const TracedProgram& traced) {
  return std::ranges::any_of(traced.modules, [](const auto& module) {
    return module.path.starts_with("OptimizedModule");
  });
}

WindowCost CostOfWindows(const std::vector<StepRange>& steps,
                         const std::vector<TimeRange>& windows) {
  constexpr std::size_t kMin = 3;     // [1] steps
  constexpr std::size_t kWarmUp = 3;  // [1] first steps: slow, and all in the first window
  std::vector<double> inside, outside;
  for (std::size_t i = kWarmUp; i < steps.size(); ++i) {
    const auto& step = steps[i];
    if (!step.begin_seconds || !step.end_seconds) continue;
    const double seconds = *step.end_seconds - *step.begin_seconds;
    const bool in_one = std::ranges::any_of(windows, [&](const TimeRange& window) {
      return window.first <= *step.begin_seconds && *step.end_seconds <= window.second;
    });
    const bool touches = std::ranges::any_of(windows, [&](const TimeRange& window) {
      return window.first < *step.end_seconds && *step.begin_seconds < window.second;
    });
    if (in_one) inside.push_back(seconds);
    if (!touches) outside.push_back(seconds);
  }
  WindowCost cost{static_cast<int>(inside.size()), static_cast<int>(outside.size())};
  if (inside.size() >= kMin && outside.size() >= kMin && Median(outside) > 0)
    cost.ratio = Median(inside) / Median(outside);
  return cost;
}

namespace {

void AddCost(const TracedProgram& traced, document::Document& document) {
  if (traced.hook_seconds > 0)
    document.Say(fmt::format("  beside that dlroof's hooks of modules took {}{}, left out here",
                             text::WithPrefix(traced.hook_seconds, "s"),
                             traced.steps > 0 ? " a step" : ""));
  if (traced.cost.ratio > 0)
    document.Say(fmt::format(
        "  torch.profiler's own cost: {} steps with it take {:.2f} times the {} without (medians)",
        traced.cost.inside, traced.cost.ratio, traced.cost.outside));
  else
    document.Say(
        "  torch.profiler's own cost is not known: too few steps with or without it "
        "(--verify-overhead measures it)");
}

void AddModules(const TracedProgram& traced, document::Document& document) {
  if (traced.modules.empty()) return;
  const double whole = traced.window_seconds / std::max(traced.steps, 1);
  document::Table table{.columns = {fmt::format("modules{}, without those in them",
                                                traced.steps > 0 ? ", per step" : ""),
                                    "time", "share"}};
  for (const auto& module : traced.modules)
    table.rows.push_back({{module.path},
                          {text::WithPrefix(module.seconds, "s")},
                          {fmt::format("{:.1f} %", 100 * module.seconds / whole)}});
  table.first = kModules;
  document.Add(std::move(table));
}

}  // namespace

void AddTraced(const TracedProgram& traced, document::Document& document) {
  if (traced.of_no_step)
    return document.Say(fmt::format(
        "torch.profiler saw {}, but less than one step of it: no operators are in the breakdown "
        "(more steps let it see some)",
        text::WithPrefix(traced.window_seconds, "s")));
  document.Say(fmt::format(
      "torch.profiler saw {}: {:.1f} % of it in oneDNN, {:.1f} % in other operators, {:.1f} % in "
      "neither (Python, the program itself)",
      traced.steps > 0
          ? fmt::format("{} step{} of {} together", traced.steps, traced.steps == 1 ? "" : "s",
                        text::WithPrefix(traced.window_seconds, "s"))
          : text::WithPrefix(traced.window_seconds, "s"),
      100 * traced.onednn_share, 100 * traced.operator_share, 100 * traced.rest_share));
  AddCost(traced, document);
  if (traced.onednn_matched < kMatched)
    document.Say(fmt::format(
        "  {:.0f} % of oneDNN's time lies outside of operators: another thread runs it, or the "
        "clocks of log and trace differ",
        100 * (1 - traced.onednn_matched)));
  AddModules(traced, document);
}

std::optional<OutsideTimes> SplitOutside(const std::vector<CpuSample>& samples,
                                         const TimeRange& range, double onednn_seconds, int threads,
                                         int steps) {
  const auto [begin, end] = range;
  if (samples.size() < 2 || steps < 1 || !(end - begin > kMinSeconds) ||
      begin < samples.front().at || end > samples.back().at)
    return std::nullopt;
  const double outside = end - begin - onednn_seconds;
  if (!(outside > kMinSeconds)) return std::nullopt;
  const auto from = SampleAt(samples, begin), to = SampleAt(samples, end);
  const double on_cpu = std::max(to.main_cpu - from.main_cpu, 0.0);
  const double ready = on_cpu + std::max(to.main_waiting - from.main_waiting, 0.0);
  const double ready_outside = std::clamp(ready - onednn_seconds, 0.0, outside);
  const double waits = ready > 0 ? 1 - on_cpu / ready : 0;
  // In oneDNN's time its other threads are busy.
  const double others = to.others_cpu - from.others_cpu - (threads - 1) * onednn_seconds;
  return OutsideTimes{.computing = ready_outside * (1 - waits) / steps,
                      .waiting = ready_outside * waits / steps,
                      .sleeping = (outside - ready_outside) / steps,
                      .other_cpus = std::max(others, 0.0) / outside};
}

}  // namespace dlroof::programs
