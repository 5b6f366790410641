#include "bench/tune/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "baselines/settings/tune.h"
#include "bench/runner/runner.h"
#include "bench/supervise/journal.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/space.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr double kMinPause = 0.25, kMaxPause = 2;  // [s]

// The process that measures one setting in a block.
class SettingProcess {
 public:
  SettingProcess(const BenchTrialRequest& request, const settings::Setting& setting,
                 const TemporaryFolder& folder, std::size_t number)
      : tuned_(UnderSetting(request.name, setting)), timeout_seconds_(request.timeout_seconds) {
    const auto workload = workload::MakeWorkload(workload::ToText(tuned_.name));
    listed_ = record::ListedName(workload::ToText(tuned_.name), runner::UsesManualTime(workload));
    const auto label = std::to_string(number);
    const auto names = folder / (label + ".txt");
    WriteFile(names, workload::ToText(tuned_.name) + "\n");
    auto paths = supervise::PathsIn(folder, label);
    std::vector<std::string> arguments = {"--dlroof_suite=" + names,
                                          "--dlroof_device=" + tuned_.name.device};
    // CUPTI's counters would take longer than the measurement.
    if (OnGpu()) arguments.emplace_back("--dlroof_counters=off");
    auto command = supervise::CommandFor(request.program, arguments, listed_, "none", paths);
    if (tuned_.cpus) command.insert(command.begin(), {"taskset", "-c", *tuned_.cpus});
    process_ = std::make_unique<supervise::InterleavedProcess>(
        std::move(command), std::move(paths), timeout_seconds_, tuned_.environment);
  }

  void Start() { process_->Ready(); }
  void Settle() { process_->Settle(); }
  void Turn() { process_->Turn(); }

  settings::TrialResult End() {
    nlohmann::json machines;
    const auto outcome =
        supervise::OutcomeOf(process_->End(), timeout_seconds_, process_->paths(), machines);
    const auto record = supervise::RecordOf(listed_, {supervise::PartFrom(listed_, outcome, 0)});
    if (record.status != record::Status::kOk)
      return {{},
              Reason{fmt::format("{}: {}", record::Key(record.status), record.reason)},
              record.status == record::Status::kUnsupported};
    settings::TrialResult result{record.repetitions, {}, false};
    for (auto& window : result.windows) {
      const auto seconds = OnGpu() ? DeviceSeconds(window, tuned_.graph) : window.seconds;
      if (!seconds) return {{}, Reason{"failed: the call cannot be captured in a CUDA graph"}};
      window.seconds = *seconds * tuned_.scale;
    }
    if (result.windows.empty())
      result.failure = Reason{"failed: the process succeeded without a result"};
    return result;
  }

 private:
  bool OnGpu() const { return tuned_.name.device == "gpu"; }

  TunedBenchmark tuned_;
  double timeout_seconds_;
  std::string listed_;
  std::unique_ptr<supervise::InterleavedProcess> process_;
};

// Measures one block. Returns false after an interrupt.
bool MeasureOne(const BenchTrialRequest& request, settings::TrialBlock& block, std::uint64_t seed) {
  const double begin = cpu::WallSeconds();
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<SettingProcess>> processes(block.settings.size());
  // Calls action(i) for each setting i in random order. Returns false after an interrupt.
  const auto for_each = [&](std::uint64_t order, const auto& action) {
    for (const auto i : ShuffledOrder(processes.size(), order)) {
      if (StoppedByInterrupt()) return false;
      action(i);
    }
    return !StoppedByInterrupt();
  };
  // Starts one process after the other; each process is stopped (SIGSTOP) when it is ready.
  const auto start = [&](std::size_t i) {
    processes[i] = std::make_unique<SettingProcess>(request, block.settings[i], folder, i);
    processes[i]->Start();
  };
  if (!for_each(seed, start)) return false;
  if (!for_each(seed, [&](std::size_t i) { processes[i]->Settle(); })) return false;
  for (std::uint64_t window = 1; window <= supervise::kWindows; ++window)
    if (!for_each(seed + window, [&](std::size_t i) { processes[i]->Turn(); })) return false;
  for (auto& process : processes) {
    block.results.push_back(process->End());
    process.reset();
    if (StoppedByInterrupt()) return false;
  }
  block.seconds = cpu::WallSeconds() - begin;
  return true;
}

}  // namespace

std::optional<double> DeviceSeconds(const record::Repetition& repetition, bool graph) {
  if (graph) return repetition.gpu ? repetition.gpu->graph_seconds : std::nullopt;
  return repetition.seconds;
}

settings::MeasureBlock BenchTrials(const BenchTrialRequest& request) {
  auto pause = std::make_shared<double>(0);
  return [request, pause](settings::TrialBlock& block, std::uint64_t seed) {
    if (*pause > 0) SleepSeconds(*pause);
    if (!MeasureOne(request, block, seed)) return false;
    block.seconds += *pause;
    *pause = settings::IsNoisy(block) ? std::clamp(2 * *pause, kMinPause, kMaxPause) : 0;
    return true;
  };
}

std::optional<Proposal> ProposalOf(const roofline::Breakdown& breakdown, int threads) {
  const auto* largest = breakdown.Largest();
  if (largest == nullptr || threads < 2 || largest->seconds <= breakdown.noise_seconds)
    return std::nullopt;
  switch (largest->kind) {
    case roofline::ComponentKind::kForkJoin:
    case roofline::ComponentKind::kImbalance:
    case roofline::ComponentKind::kSerial:
    case roofline::ComponentKind::kSharing:
      return Proposal{{{kThreadsCoordinate, "1"}}, "on 1 thread"};
    default:
      return std::nullopt;
  }
}

std::vector<Proposal> GpuProposals(const workload::BenchmarkName& name) {
  std::vector<Proposal> proposals;
  const auto* op = workload::FindOp(name.op);
  if (op == nullptr) return proposals;
  for (const auto& row : op->variants) {
    const bool chosen = std::ranges::any_of(
        row.options, [&](const auto& option) { return workload::HasOption(name, option); });
    for (const auto& option : row.options)
      if (!chosen && workload::WithOption(name, option))
        proposals.push_back({{{row.what, option}}, option});
      else if (workload::HasOption(name, option))
        proposals.push_back({{{kWithoutKnob, option}}, "without " + option});
  }
  return proposals;
}

namespace {

// Returns the device's times of a record's clean repetitions. [s]
std::vector<double> DeviceTimes(const record::Record& record) {
  std::vector<double> times;
  for (const auto& repetition : record.repetitions)
    if (!repetition.noisy) times.push_back(*DeviceSeconds(repetition, false));
  return times;
}

}  // namespace

std::string ComparedText(const Proposal& proposal, const record::Record& before,
                         const record::Record& after) {
  const auto tried = "tried " + proposal.text + ": ";
  for (const auto* record : {&after, &before})
    if (record->status != record::Status::kOk)
      return fmt::format("{}{}{}: {}", tried, record == &before ? "the default is " : "",
                         record::Key(record->status), record->reason);
  const auto old_times = DeviceTimes(before), new_times = DeviceTimes(after);
  if (old_times.empty() || new_times.empty()) return tried + "no clean repetition";
  const double old_seconds = Median(old_times), new_seconds = Median(new_times);
  const bool apart = std::ranges::max(new_times) < std::ranges::min(old_times) ||
                     std::ranges::max(old_times) < std::ranges::min(new_times);
  const auto speed = apart ? fmt::format("{:.2f}x as fast", old_seconds / new_seconds)
                           : std::string("no difference beyond the noise");
  return fmt::format("{}{} on the device instead of {}, {}; {}", tried,
                     text::WithPrefix(new_seconds, "s"), text::WithPrefix(old_seconds, "s"), speed,
                     after.algorithm);
}

std::vector<std::string> TryOnGpu(const std::vector<Proposal>& proposals,
                                  const GpuTryRequest& request) {
  const TemporaryFolder folder;
  std::vector<std::string> names = {workload::ToText(request.name)};
  for (const auto& proposal : proposals)
    names.push_back(workload::ToText(UnderSetting(request.name, proposal.setting).name));
  const auto path =
      supervise::MeasureNamed({.command = "explain",
                               .names = names,
                               .bench = request.bench,
                               .machine = "none",
                               .arguments = {"--dlroof_device=gpu", "--dlroof_counters=off"}},
                              folder);
  if (!path) return {};
  std::ostringstream warnings;
  const auto run = record::ReadRunFile(*path, warnings);
  const auto find = [&](const std::string& name) {
    const auto found = std::ranges::find(run.records, name, &record::Record::name);
    if (found == run.records.end()) throw BadInput("explain: --try: no result of {}", name);
    return *found;
  };
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < proposals.size(); ++i)
    sentences.push_back(ComparedText(proposals[i], find(names[0]), find(names[i + 1])));
  return sentences;
}

std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds) {
  settings::Tuning tuning{
      .plan = {.subject = workload::ToText(request.name), .budget_seconds = budget_seconds},
      .best = proposal.setting};
  std::optional<Reason> reason;
  const auto effect = settings::Verify(tuning, {BenchTrials(request)}, reason);
  if (!effect)
    return fmt::format("tried {}: no result, {}", proposal.text, reason.value_or(Reason{}).text);
  return fmt::format("tried {}, interleaved: {}{}", proposal.text, settings::EffectText(*effect),
                     effect->confirmed ? "" : ", not significant");
}

}  // namespace dlroof::tune
