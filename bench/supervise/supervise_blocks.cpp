#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "baselines/formats/write_comparison.h"
#include "baselines/statistics/judge.h"
#include "bench/supervise/journal.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

// Noisy blocks do not count, but time does.
constexpr int kMostBlocks = 2 * statistics::kLooks.back();

// One block of one pair.
class Block {
 public:
  Block(OpenRun& run, const ListedPair& pair, std::vector<bool> base_first)
      : run_(run), listed_{pair.base, pair.contender}, base_first_(std::move(base_first)) {}

  // BASE's outcome and NEW's. Absent: interrupted.
  std::optional<std::vector<Outcome>> Run() {
    for (const auto side : Order(0)) Start(side);
    for (const auto side : Order(0)) answers_.at(side) = sides_.at(side)->Ready();
    for (const auto side : Order(0))
      Let(side, [](InterleavedProcess& one) { return one.Settle(); });
    for (std::size_t window = 1; window < base_first_.size(); ++window)
      for (const auto side : Order(window))
        Let(side, [](InterleavedProcess& one) { return one.Turn().has_value(); });
    std::vector<Outcome> outcomes;
    for (std::size_t side = 0; side < 2; ++side) {
      auto outcome = OutcomeOfSide(side);
      if (!outcome || StoppedByInterrupt()) return std::nullopt;
      outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
  }

 private:
  std::array<std::size_t, 2> Order(std::size_t i) const {
    return base_first_.at(i) ? std::array<std::size_t, 2>{0, 1} : std::array<std::size_t, 2>{1, 0};
  }
  bool Together() const { return answers_[0] && answers_[1]; }

  void Start(std::size_t side) {
    auto paths = PathsIn(run_.folder(), side == 0 ? "base" : "new");
    auto command = run_.Command(side, listed_.at(side), paths);
    sides_.at(side) = std::make_unique<InterleavedProcess>(std::move(command), std::move(paths),
                                                           run_.request().timeout_seconds);
  }

  // There are no turns without a partner.
  template <class Action>
  void Let(std::size_t side, const Action& action) {
    if (Together()) answers_.at(side) = action(*sides_.at(side));
  }

  std::optional<Outcome> OutcomeOfSide(std::size_t side) {
    // One that does not answer was waited for already, unless it has just ended.
    if (Together() || !answers_.at(side)) {
      auto& one = *sides_.at(side);
      return run_.Finished(one.End(Together() ? run_.request().timeout_seconds : 1), one.paths());
    }
    // Its partner failed: what it does alone is still worth knowing.
    sides_.at(side).reset();
    return run_.RunStandalone(side, listed_.at(side), WindowFlags());
  }

  OpenRun& run_;
  std::array<std::string, 2> listed_;
  std::vector<bool> base_first_;  // at the start, then in each window
  std::array<std::unique_ptr<InterleavedProcess>, 2> sides_;
  std::array<bool, 2> answers_ = {};
};

struct Progress {
  std::vector<Part> base, contender;
  std::vector<double> log_ratios;
  std::optional<statistics::PairedShift> shift;  // at the last look
  std::size_t looks = 0;
  bool settled = false;  // more blocks would not change what is said of it
  bool failed = false;
};

class Alternation {
 public:
  Alternation(OpenRun& run, std::ostream& log)
      : run_(run),
        log_(log),
        rule_{static_cast<int>(run.header().benchmarks.size()), run.request().min_effect} {
    for (const auto& entry : run.finished()) Keep(entry);
  }

  int Run() {
    for (int block = 0; block < kMostBlocks; ++block) {
      if (!RunRound(block)) break;
    }
    return Finish();
  }

 private:
  const std::vector<ListedPair>& benchmarks() const { return run_.header().benchmarks; }
  Progress& ProgressOf(const ListedPair& pair) { return progress_[pair.contender]; }

  // A block of each benchmark that needs one, in random order: its blocks are spread over the whole
  // run. False: there is none, or the time is over.
  bool RunRound(int block) {
    bool any = false;
    const auto order =
        ShuffledOrder(benchmarks().size(), run_.header().seed + static_cast<unsigned>(block));
    for (const std::size_t i : order) {
      const ListedPair& pair = benchmarks()[i];
      Progress& progress = ProgressOf(pair);
      if (progress.settled) continue;
      any = true;
      if (static_cast<int>(progress.contender.size()) > block) continue;  // done before a resume
      if (run_.Over()) return false;
      const double begin = cpu::WallSeconds();
      const auto sides =
          DrawnSides(kWindows + 1, run_.header().seed,
                     (static_cast<std::uint64_t>(i) << 32) | static_cast<unsigned>(block));
      auto outcomes = Block(run_, pair, sides).Run();
      if (!outcomes) return false;
      const JournalEntry entry{pair, block, cpu::WallSeconds() - begin, std::move(*outcomes)};
      run_.Append(entry);
      const auto before = progress.log_ratios.size();
      Keep(entry);
      CoolDown(progress.log_ratios.size() > before || progress.settled);
    }
    return any;
  }

  void Keep(const JournalEntry& entry) {
    Progress& progress = ProgressOf(entry.benchmark);
    progress.base.push_back(PartFrom(entry.benchmark.base, entry.outcomes.at(0), entry.block));
    progress.contender.push_back(
        PartFrom(entry.benchmark.contender, entry.outcomes.at(1), entry.block));
    seconds_.push_back(entry.seconds);
    const record::Record base = RecordOf(entry.benchmark.base, progress.base);
    const record::Record contender = RecordOf(entry.benchmark.contender, progress.contender);
    if (base.status != record::Status::kOk || contender.status != record::Status::kOk) {
      progress.settled = progress.failed = true;
    } else {
      progress.log_ratios = statistics::BlockLogRatios(base, contender);
      Look(progress);
    }
    if (progress.settled) Say(entry.benchmark, progress);
  }

  void Look(Progress& progress) const {
    if (static_cast<int>(progress.log_ratios.size()) < statistics::kLooks.at(progress.looks))
      return;
    ++progress.looks;
    progress.shift = statistics::MeasureSequentialShift(progress.log_ratios);
    progress.settled = progress.looks == statistics::kLooks.size() ||
                       (progress.shift && statistics::IsSettled(*progress.shift, rule_));
  }

  // Longer and longer while blocks are noisy.
  void CoolDown(bool clean) {
    if (clean) {
      pause_seconds_ = 0;
      return;
    }
    pause_seconds_ = std::clamp(2 * pause_seconds_, run_.request().cooldown_seconds / 8,
                                run_.request().cooldown_seconds);
    SleepSeconds(pause_seconds_);
  }

  // As if each went on to the last look.
  double BlocksLeft() const {
    double left = 0;
    for (const auto& pair : benchmarks()) {
      const auto found = progress_.find(pair.contender);
      const bool known = found != progress_.end();
      if (known && found->second.settled) continue;
      const auto clean = known ? found->second.log_ratios.size() : 0;
      left += statistics::kLooks.back() - static_cast<double>(clean);
    }
    return left;
  }

  void Say(const ListedPair& pair, const Progress& progress) {
    std::string what = "without a ratio";
    if (progress.shift && !progress.failed)
      what = fmt::format("{:.3f} ({:.3f} to {:.3f})", std::exp(progress.shift->shift.log_ratio),
                         std::exp(progress.shift->shift.ci95.first),
                         std::exp(progress.shift->shift.ci95.second));
    ++settled_;
    const double left = BlocksLeft();
    log_ << fmt::format("[{}/{}] {}  {} after {} blocks{}\n", settled_, benchmarks().size(),
                        text::Printable(record::BareName(pair.contender)), what,
                        progress.contender.size(),
                        left > 0 ? "; at most " + LeftText(seconds_, left) + " left" : "");
  }

  std::vector<Supervised> Done(bool base) {
    std::vector<Supervised> done;
    for (const auto& pair : benchmarks()) {
      const auto found = progress_.find(pair.contender);
      if (found == progress_.end() || found->second.contender.empty()) continue;
      done.push_back(
          {base ? pair.base : pair.contender, base ? found->second.base : found->second.contender});
    }
    return done;
  }

  compare::NamedRun Write(bool base) {
    const auto& path = base ? run_.request().outputs.front() : run_.request().outputs.back();
    auto about = run_.About();
    about["interleaved"] =
        compare::ToJson(compare::InterleavedComparison{run_.header().id, rule_.min_effect});
    const auto text = ToJson(MergedRun(Done(base), run_.machines(), about)).dump(1) + "\n";
    WriteFile(path, text, OnDisk::kNow);
    // As `dlroof compare` will see it.
    return {path, record::ParseRunFile(text, path, log_)};
  }

  // Pairs with results; the files have no others.
  compare::NameMap NamesDone() const {
    compare::NameMap names = run_.request().names;
    std::erase_if(names, [&](const auto& mapped) {
      return std::ranges::none_of(benchmarks(), [&](const ListedPair& pair) {
        const auto found = progress_.find(pair.contender);
        return record::BareName(pair.contender) == mapped.second && found != progress_.end() &&
               !found->second.contender.empty();
      });
    });
    return names;
  }

  int Finish() {
    const bool unsettled = settled_ < benchmarks().size();
    if (unsettled && run_.Over())
      log_ << fmt::format(
          "{} of {} benchmarks are not settled; the same command with --resume goes on\n",
          benchmarks().size() - settled_, benchmarks().size());
    else
      run_.Remove();
    if (seconds_.empty()) return StoppedByInterrupt() ? 130 : 3;
    const compare::NamedRun base = Write(true), contender = Write(false);
    const auto result = compare::Compare(base, contender, {.names = NamesDone()});
    formats::WriteTable(result, {base.where, contender.where}, text::TerminalColumns(), std::cout);
    std::cout << std::flush;
    return StoppedByInterrupt() ? 130 : result.exit_code;
  }

  OpenRun& run_;
  std::ostream& log_;
  statistics::StopRule rule_;
  std::map<std::string, Progress> progress_;  // by NEW's listed name
  std::vector<double> seconds_;               // [s] of each block
  double pause_seconds_ = 0;
  std::size_t settled_ = 0;
};

}  // namespace

int SuperviseBlocks(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return Alternation(run, log).Run();
}

}  // namespace dlroof::supervise
