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
#include "bench/supervise/primitive_choice.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

// Maximum number of blocks of a benchmark, noisy ones included; only clean blocks count.
constexpr int kMaxBlocks = 2 * statistics::kLooks.back();

// Key of the primitive's choice in the result of a process (Outcome::result).
constexpr const char* kPrimitive = "primitive";

// Measures one block of one benchmark: windows of BASE and NEW, interleaved.
class Block {
 public:
  Block(OpenRun& run, const ListedPair& pair, std::vector<bool> base_first)
      : run_(run), listed_{pair.base.value(), pair.contender}, base_first_(std::move(base_first)) {}

  // Returns the outcomes of BASE and NEW, or nothing after an interrupt.
  std::optional<std::vector<Outcome>> Run() {
    if (run_.IsPlain(0) || run_.IsPlain(1)) return RunWholeProcesses();
    for (const auto side : Order(0)) Start(side);
    for (const auto side : Order(0)) answers_.at(side) = sides_.at(side)->Ready();
    for (const auto side : Order(0))
      LetRun(side, [](InterleavedProcess& process) { return process.Settle(); });
    for (std::size_t window = 1; window < base_first_.size(); ++window)
      for (const auto side : Order(window))
        LetRun(side, [](InterleavedProcess& process) { return process.Turn().has_value(); });
    std::vector<Outcome> outcomes;
    for (std::size_t side = 0; side < 2; ++side) {
      auto outcome = OutcomeOfSide(side);
      if (!outcome || StoppedByInterrupt()) return std::nullopt;
      outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
  }

 private:
  // Plain programs cannot be stopped between windows: their processes follow each other.
  std::optional<std::vector<Outcome>> RunWholeProcesses() {
    std::vector<Outcome> outcomes(2);
    for (const auto side : Order(0)) {
      auto outcome = run_.RunStandalone(side, listed_.at(side),
                                        run_.IsPlain(side) ? PlainWindowFlags() : WindowFlags());
      if (!outcome || StoppedByInterrupt()) return std::nullopt;
      outcomes.at(side) = std::move(*outcome);
    }
    return outcomes;
  }

  std::array<std::size_t, 2> Order(std::size_t i) const {
    return base_first_.at(i) ? std::array<std::size_t, 2>{0, 1} : std::array<std::size_t, 2>{1, 0};
  }
  bool BothAnswer() const { return answers_[0] && answers_[1]; }

  void Start(std::size_t side) {
    auto paths = PathsIn(run_.folder(), side == 0 ? "base" : "new");
    auto command = run_.Command(side, listed_.at(side), paths);
    sides_.at(side) = std::make_unique<InterleavedProcess>(
        std::move(command), std::move(paths), run_.request().timeout_seconds,
        ComparesLibraries() ? kLogOfCreations : Variables());
  }
  bool ComparesLibraries() const { return !run_.request().libraries.empty(); }

  // Applies `action` to the process of program `side` if both processes still answer.
  template <class Action>
  void LetRun(std::size_t side, const Action& action) {
    if (BothAnswer()) answers_.at(side) = action(*sides_.at(side));
  }

  std::optional<Outcome> OutcomeOfSide(std::size_t side) {
    if (BothAnswer() || !answers_.at(side)) {
      // A process that no longer answers gets 1 s to end: it has had its timeout or is just ending.
      auto& process = *sides_.at(side);
      const double seconds = BothAnswer() ? run_.request().timeout_seconds : 1;
      auto outcome = run_.Finished(process.End(seconds), process.paths());
      if (ComparesLibraries() && outcome.result.is_object())
        if (const auto choice = ChoiceIn(ReadFileIfAny(process.paths().out)))
          outcome.result[kPrimitive] = ToJson(*choice);
      return outcome;
    }
    // Only the other program's process failed: measure this side without interleaving.
    sides_.at(side).reset();
    return run_.RunStandalone(side, listed_.at(side), WindowFlags());
  }

  OpenRun& run_;
  std::array<std::string, 2> listed_;
  std::vector<bool> base_first_;  // [0] at the start, [i] in window i
  std::array<std::unique_ptr<InterleavedProcess>, 2> sides_;
  std::array<bool, 2> answers_ = {};
};

struct Progress {
  std::vector<Part> base, contender;
  std::array<std::optional<PrimitiveChoice>, 2> choices;  // of BASE and NEW, if libraries differ
  std::vector<double> log_ratios;
  std::optional<statistics::PairedShift> shift;  // NEW relative to BASE, at the last look
  std::size_t looks = 0;
  bool settled = false;  // more blocks would not change the verdict
  bool failed = false;
};

class InterleavedRun {
 public:
  InterleavedRun(OpenRun& run, std::ostream& log)
      : run_(run),
        log_(log),
        rule_{static_cast<int>(run.header().benchmarks.size()), run.request().min_effect} {
    for (const auto& entry : run.finished()) Add(entry);
  }

  int Run() {
    for (int block = 0; block < kMaxBlocks; ++block) {
      if (!RunRound(block)) break;
    }
    return Finish();
  }

 private:
  const std::vector<ListedPair>& benchmarks() const { return run_.header().benchmarks; }
  Progress& ProgressOf(const ListedPair& pair) { return progress_[pair.contender]; }

  // Measures one block of each benchmark whose verdict is not settled. The random order spreads a
  // benchmark's blocks over the run. Returns false if all are settled or the run has to end.
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
      const auto base_first =
          DrawBaseFirst(kWindows + 1, run_.header().seed,
                        (static_cast<std::uint64_t>(i) << 32) | static_cast<unsigned>(block));
      auto outcomes = Block(run_, pair, base_first).Run();
      if (!outcomes) return false;
      const JournalEntry entry{pair, block, cpu::WallSeconds() - begin, std::move(*outcomes)};
      run_.Append(entry);
      const auto before = progress.log_ratios.size();
      Add(entry);
      CoolDown(progress.log_ratios.size() > before || progress.settled);
    }
    return any;
  }

  void Add(const JournalEntry& entry) {
    Progress& progress = ProgressOf(entry.benchmark);
    const auto& listed = entry.benchmark.base.value();
    progress.base.push_back(PartFrom(listed, entry.outcomes.at(0), entry.block, run_.IsPlain(0)));
    progress.contender.push_back(
        PartFrom(entry.benchmark.contender, entry.outcomes.at(1), entry.block, run_.IsPlain(1)));
    for (std::size_t side = 0; side < 2; ++side)
      if (const auto& result = entry.outcomes.at(side).result; result.contains(kPrimitive))
        progress.choices.at(side) = ChoiceFrom(result.at(kPrimitive));
    seconds_.push_back(entry.seconds);
    const record::Record base = RecordOf(listed, progress.base);
    const record::Record contender = RecordOf(entry.benchmark.contender, progress.contender);
    if (base.status != record::Status::kOk || contender.status != record::Status::kOk) {
      progress.settled = progress.failed = true;
    } else {
      progress.log_ratios = statistics::BlockLogRatios(base, contender);
      Look(base, contender, progress);
    }
    if (progress.settled) PrintResult(entry.benchmark, progress);
  }

  void Look(const record::Record& base, const record::Record& contender, Progress& progress) const {
    const auto& looks = statistics::kLooks;
    const auto measured = statistics::MeasureBlocks(base, contender);
    // The fastest windows of all blocks tell without clean blocks.
    const auto count =
        static_cast<int>(measured.base ? progress.contender.size() : measured.clean_blocks);
    if (count < looks.at(progress.looks)) return;
    do ++progress.looks;
    while (progress.looks < looks.size() && count >= looks.at(progress.looks));
    progress.shift = measured.paired;
    progress.settled = progress.looks == looks.size() ||
                       (progress.shift && statistics::IsSettled(*progress.shift, rule_));
  }

  // Pauses after a noisy block. The pause doubles after each further noisy block in a row.
  void CoolDown(bool clean) {
    if (clean) {
      pause_seconds_ = 0;
      return;
    }
    pause_seconds_ = std::clamp(2 * pause_seconds_, run_.request().cooldown_seconds / 8,
                                run_.request().cooldown_seconds);
    SleepSeconds(pause_seconds_);
  }

  // Returns the number of blocks left if no further benchmark settles before its last look.
  double MostBlocksLeft() const {
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

  void PrintResult(const ListedPair& pair, const Progress& progress) {
    std::string what = "no ratio";
    if (progress.shift && !progress.failed)
      what = fmt::format("{:.3f} ({:.3f} to {:.3f})", std::exp(progress.shift->shift.log_ratio),
                         std::exp(progress.shift->shift.ci95.first),
                         std::exp(progress.shift->shift.ci95.second));
    ++settled_;
    const double left = MostBlocksLeft();
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
      done.push_back({base ? pair.base.value() : pair.contender,
                      base ? found->second.base : found->second.contender});
    }
    return done;
  }

  compare::NamedRun Write(bool base) {
    const auto& path = base ? run_.request().outputs.front() : run_.request().outputs.back();
    auto about = run_.About();
    about["interleaved"] =
        compare::ToJson(compare::InterleavedComparison{run_.header().id, rule_.min_effect});
    for (const auto& [contender, progress] : progress_)
      if (const auto& choice = progress.choices.at(base ? 0 : 1))
        about["primitives"][record::BareName(contender)] = ToJson(*choice);
    const auto text = JsonText(ToJson(MergedRun(Done(base), run_.machines(), about)), 1) + "\n";
    WriteFile(path, text, OnDisk::kNow);
    // Parses the text as `dlroof compare` would, so that both give the same comparison.
    return {path, record::ParseRunFile(text, path, log_)};
  }

  // Returns the name map without pairs that have no results, which the run files do not contain.
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

  // Writes what the libraries chose differently, beside the verdicts.
  void WriteChoices(const compare::CompareResult& result) const {
    std::map<std::string, std::string> verdicts;  // by the benchmark's name in NEW
    for (const auto& row : result.rows)
      if (row.contender != nullptr) verdicts[row.contender->name] = VerdictText(row);
    std::size_t known = 0, changed = 0;
    std::string text;
    for (const auto& pair : benchmarks()) {
      const auto found = progress_.find(pair.contender);
      if (found == progress_.end()) continue;
      const auto& [base, contender] = found->second.choices;
      if (!base || !contender) continue;
      ++known;
      const auto changes = ChangesBetween(*base, *contender);
      if (changes.empty()) continue;
      ++changed;
      const auto name = record::BareName(pair.contender);
      text += fmt::format("  {}  {}\n", text::Printable(name), verdicts[name]);
      for (const auto& change : changes) text += fmt::format("    {}\n", text::Printable(change));
    }
    run_.tables() << fmt::format("\nwhat the libraries chose differently: {} of {} benchmarks\n{}",
                                 changed, known, text);
  }

  static std::string VerdictText(const compare::Comparison& row) {
    const auto verdict = statistics::Key(row.verdict);
    return row.judgement ? fmt::format("{} ({:.3f})", verdict, row.judgement->ratio)
                         : std::string(verdict);
  }

  int Finish() {
    const bool unsettled = settled_ < benchmarks().size();
    if (unsettled && run_.Over() && run_.request().tables == nullptr)
      log_ << fmt::format(
          "{} of {} benchmarks are not settled; run the same command with --resume to continue\n",
          benchmarks().size() - settled_, benchmarks().size());
    else
      run_.RemoveJournal();
    if (seconds_.empty()) return StoppedByInterrupt() ? 130 : 3;
    const compare::NamedRun base = Write(true), contender = Write(false);
    const auto result = compare::Compare(base, contender, {.names = NamesDone()});
    formats::WriteTable(result, {base.where, contender.where}, text::TerminalColumns(),
                        run_.tables());
    if (!run_.request().libraries.empty()) WriteChoices(result);
    run_.tables() << std::flush;
    return StoppedByInterrupt() ? 130 : result.exit_code;
  }

  OpenRun& run_;
  std::ostream& log_;
  statistics::StopRule rule_;
  std::map<std::string, Progress> progress_;  // by the name that NEW lists
  std::vector<double> seconds_;               // [s] of each block
  double pause_seconds_ = 0;
  std::size_t settled_ = 0;
};

}  // namespace

int SuperviseBlocks(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return InterleavedRun(run, log).Run();
}

}  // namespace dlroof::supervise
