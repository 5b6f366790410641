#include "bench/tune/bench_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "baselines/tune/tune.h"
#include "bench/run/runner.h"
#include "bench/supervise/merge.h"
#include "bench/supervise/turn_taker.h"
#include "bench/tune/space.h"
#include "bench/tune/tuning_report.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "counters/base/shuffled_order.h"
#include "counters/cpu/clocks.h"

namespace dlroof::tune {
namespace {

constexpr double kLeastPause = 0.25, kMostPause = 2;  // [s]

// One setting of a block.
class Contender {
 public:
  Contender(const BenchTrialRequest& request, const tuning::Setting& setting, const TemporaryFolder& folder,
            std::size_t number)
      : tuned_(UnderSetting(request.name, setting)), timeout_seconds_(request.timeout_seconds) {
    const auto workload = workload::MakeWorkload(workload::ToText(tuned_.name));
    listed_ = workload::ToText(tuned_.name) + (runner::UsesManualTime(workload) ? "/manual_time" : "/real_time");
    const auto who = fmt::format("{}", number);
    const auto names = folder / (who + ".txt");
    WriteFile(names, workload::ToText(tuned_.name) + "\n");
    auto paths = supervise::PathsIn(folder, who);
    auto command = supervise::CommandFor(request.program, {"--dlroof_suite=" + names, "--dlroof_device=cpu"},
                              listed_, "none", paths);
    if (!tuned_.cpus.empty()) command.insert(command.begin(), {"taskset", "-c", tuned_.cpus});
    process_ = std::make_unique<supervise::TurnTaker>(std::move(command), std::move(paths), timeout_seconds_,
                                           tuned_.environment);
  }

  void Start() { answers_ = process_->Ready(); }
  void Settle() { answers_ = answers_ && process_->Settle(); }
  void Turn() { answers_ = answers_ && process_->Turn().has_value(); }

  tuning::TrialResult End() {
    nlohmann::json machines;
    // One that does not answer was waited for already, unless it has just ended.
    const auto end = process_->End(answers_ ? timeout_seconds_ : 1);
    const auto outcome = supervise::OutcomeOf(end, timeout_seconds_, process_->paths(), machines);
    const auto record = supervise::RecordOf(listed_, {supervise::PartFrom(listed_, outcome, 0)});
    if (record.status != record::Status::kOk)
      return {{},
              fmt::format("{}: {}", record::Key(record.status), record.reason),
              record.status == record::Status::kUnsupported};
    tuning::TrialResult result{record.repetitions, {}, false};
    for (auto& window : result.windows) window.seconds *= tuned_.scale;
    if (result.windows.empty()) result.failed = "failed: it ended well, but measured nothing";
    return result;
  }

 private:
  TunedBenchmark tuned_;
  double timeout_seconds_;
  std::string listed_;
  std::unique_ptr<supervise::TurnTaker> process_;
  bool answers_ = false;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

// Calls `action` for each in a drawn order; false: the user asked for an interrupt.
template <class Action>
bool Each(const Contenders& contenders, std::uint64_t seed, const Action& action) {
  for (const auto i : ShuffledOrder(contenders.size(), seed)) {
    if (StoppedByInterrupt()) return false;
    action(*contenders[i]);
  }
  return !StoppedByInterrupt();
}

// False: interrupted.
bool MeasureOne(const BenchTrialRequest& request, tuning::TrialBlock& block, std::uint64_t seed) {
  const double begin = cpu::WallSeconds();
  const TemporaryFolder folder;
  Contenders contenders;
  // Each is prepared alone: it stops itself when it is ready.
  for (std::size_t i = 0; i < block.settings.size(); ++i) contenders.emplace_back();
  for (const auto i : ShuffledOrder(contenders.size(), seed)) {
    if (StoppedByInterrupt()) return false;
    contenders[i] = std::make_unique<Contender>(request, block.settings[i], folder, i);
    contenders[i]->Start();
  }
  if (!Each(contenders, seed, [](Contender& one) { one.Settle(); })) return false;
  for (std::uint64_t window = 1; window <= supervise::kWindows; ++window)
    if (!Each(contenders, seed + window, [](Contender& one) { one.Turn(); })) return false;
  for (auto& contender : contenders) {
    block.results.push_back(contender->End());
    contender.reset();
    if (StoppedByInterrupt()) return false;
  }
  block.seconds = cpu::WallSeconds() - begin;
  return true;
}

}  // namespace

tuning::MeasureBlock BenchTrials(const BenchTrialRequest& request) {
  auto pause = std::make_shared<double>(0);
  return [request, pause](tuning::TrialBlock& block, std::uint64_t seed) {
    if (*pause > 0) SleepSeconds(*pause);
    if (!MeasureOne(request, block, seed)) return false;
    block.seconds += *pause;
    *pause = tuning::IsDisturbed(block) ? std::clamp(2 * *pause, kLeastPause, kMostPause) : 0;
    return true;
  };
}

std::optional<Proposal> ProposalOf(const breakdown::Ledger& ledger, int threads) {
  const auto* largest = ledger.Largest();
  if (largest == nullptr || threads < 2) return std::nullopt;
  switch (largest->kind) {
    case breakdown::PartKind::kForkJoin:
    case breakdown::PartKind::kImbalance:
    case breakdown::PartKind::kSerial:
    case breakdown::PartKind::kSharing:
    case breakdown::PartKind::kStolen:
      return Proposal{{{kThreadsCoordinate, "1"}}, "on 1 thread"};
    default:
      return std::nullopt;
  }
}

std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds) {
  tuning::Tuning tuning{.plan = {.subject = workload::ToText(request.name), .budget_seconds = budget_seconds},
                .best = proposal.setting};
  std::string why;
  const auto effect = tuning::Verify(tuning, {BenchTrials(request)}, why);
  if (!effect) return fmt::format("tried {}: no answer, {}", proposal.words, why);
  return fmt::format("tried {}, by turns: {}{}", proposal.words, EffectText(*effect),
                     effect->confirmed ? "" : ", no sure gain");
}

}  // namespace dlroof::tune
