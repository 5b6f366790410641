// Measures a run's benchmarks (supervise.h) in rounds: of one program, or of two interleaved.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "baselines/compare/write_comparison.h"
#include "baselines/statistics/judge.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/document/tables.h"
#include "reporters/record/run_context.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

std::string ListedBy(const ListedPair& pair, std::size_t side) {
  return side == 0 && pair.base ? *pair.base : pair.contender;
}

// Measures benchmarks in rounds, each in another random order, so that a benchmark's measurements
// are spread over the run. Writes each result to the journal before the next measurement.
class Schedule {
 public:
  Schedule(OpenRun& run, std::ostream& log, int rounds) : run_(run), log_(log), rounds_(rounds) {
    for (const auto& pair : benchmarks()) parts_.try_emplace(pair.contender);
  }
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  int Run() {
    for (const auto& entry : run_.finished()) AddParts(entry, false);
    for (int round = 0; round < rounds_ && MeasureRound(round);) ++round;
    return Finish();
  }

 protected:
  using Parts = std::vector<Part>;

  // Returns whether the benchmark has to be measured in this round.
  virtual bool IsLeft(const ListedPair& benchmark, int round) const = 0;
  // Measures a benchmark. Returns the outcome of each program, or nullopt after an interrupt.
  virtual std::optional<std::vector<Outcome>> Measure(std::size_t benchmark, int round) = 0;
  // Called after a measurement was added to the parts; `is_new` is false for the journal of a
  // resumed run.
  virtual void Add(const JournalEntry& entry, bool is_new) = 0;
  virtual int Finish() = 0;

  const RunRequest& request() const { return run_.request(); }
  const std::vector<ListedPair>& benchmarks() const { return run_.header().benchmarks; }
  std::size_t sides() const { return request().programs.size(); }
  // Returns the results of program `side` (0: BASE or the only program) for the benchmark.
  const Parts& PartsOf(const ListedPair& benchmark, std::size_t side) const {
    return parts_.at(benchmark.contender).at(side);
  }
  record::Record RecordOfSide(const ListedPair& benchmark, std::size_t side) const {
    return RecordOf(ListedBy(benchmark, side), PartsOf(benchmark, side));
  }
  std::vector<Supervised> Done(std::size_t side) const {
    std::vector<Supervised> done;
    for (const auto& pair : benchmarks())
      if (const auto& parts = PartsOf(pair, side); !parts.empty())
        done.push_back({ListedBy(pair, side), parts});
    return done;
  }
  // Writes the run file of a program, for an interrupted run to PATH.part. Sets `path` to its path.
  Merged Write(std::size_t side, const json& about, bool interrupted, std::string& path) const {
    auto merged = MergedRun(Done(side), run_.machines(), about);
    PartFile output(request().outputs.at(side));
    output.Write(JsonText(ToJson(merged), 1) + "\n");
    path = interrupted ? output.part() : request().outputs.at(side);
    output.End(!interrupted, log_);
    return merged;
  }
  // Removes the journal or, if benchmarks are pending ("left"), prints how to continue the run.
  void EndJournal(std::size_t pending, const char* what) {
    if (pending == 0)
      run_.RemoveJournal();
    else if (request().tables == nullptr)
      log_ << fmt::format(
          "{} of {} benchmarks are {}; run the same command with --resume to continue\n", pending,
          benchmarks().size(), what);
  }

  OpenRun& run_;
  std::ostream& log_;
  std::vector<double> seconds_;  // [s] of each measurement

 private:
  // Measures the pending benchmarks of a round. Returns false if the run has to end.
  bool MeasureRound(int round) {
    std::vector<std::size_t> order(benchmarks().size());
    std::iota(order.begin(), order.end(), 0);
    if (request().random_order || sides() == 2)
      order = ShuffledOrder(order.size(), run_.header().seed + static_cast<unsigned>(round));
    for (const auto i : order) {
      const auto& pair = benchmarks()[i];
      if (!IsLeft(pair, round)) continue;
      if (run_.Over()) return false;
      const double begin = cpu::WallSeconds();
      auto outcomes = Measure(i, round);
      if (!outcomes) return false;
      const JournalEntry entry{pair, round, cpu::WallSeconds() - begin, std::move(*outcomes)};
      run_.Append(entry);
      AddParts(entry, true);
    }
    return true;
  }

  void AddParts(const JournalEntry& entry, bool is_new) {
    const bool several = sides() == 2 || request().processes > 1;
    for (std::size_t side = 0; side < sides(); ++side) {
      auto part = PartFrom(ListedBy(entry.benchmark, side), entry.outcomes.at(side),
                           several ? std::optional(entry.block) : std::nullopt, run_.IsPlain(side));
      if (sides() == 1) part.settling = 0;
      parts_[entry.benchmark.contender].at(side).push_back(std::move(part));
    }
    seconds_.push_back(entry.seconds);
    Add(entry, is_new);
  }

  int rounds_;
  std::map<std::string, std::array<Parts, 2>> parts_;  // by ListedPair::contender
};

// Returns whether so many repetitions are noisy that their median is only an estimate.
bool WasNoisy(const Part& part) {
  return !part.failure && part.record.status == record::Status::kOk &&
         !part.record.repetitions.empty() && !record::Summarize(part.record.repetitions);
}

std::ptrdiff_t CleanRepetitions(const Part& part) {
  return std::ranges::count(part.record.repetitions, false, &record::Repetition::noisy);
}

// Measures each benchmark of one program in a process of its own, or in one process per round.
class StandaloneRun : public Schedule {
 public:
  StandaloneRun(OpenRun& run, std::ostream& log) : Schedule(run, log, run.request().processes) {}

 private:
  // A benchmark that failed in one process is not measured in further processes.
  bool IsLeft(const ListedPair& benchmark, int process) const override {
    const auto& parts = PartsOf(benchmark, 0);
    return parts.empty() || (parts.back().block.value_or(0) < process &&
                             RecordOfSide(benchmark, 0).status == record::Status::kOk);
  }

  // Measures the benchmark in a process; with one process per benchmark, retries while it is noisy.
  // Returns the attempt with the most clean repetitions.
  std::optional<std::vector<Outcome>> Measure(std::size_t benchmark, int) override {
    const auto& listed = benchmarks()[benchmark].contender;
    std::vector<Outcome> best;
    std::ptrdiff_t most = 0;
    const int retries = request().processes > 1 ? 0 : request().retries;
    double pause = request().cooldown_seconds;
    for (int attempt = 0;; ++attempt, pause *= 2) {
      auto outcome = run_.RunStandalone(0, listed, {});
      if (!outcome) return std::nullopt;
      const Part part = PartFrom(listed, *outcome, std::nullopt, run_.IsPlain(0));
      if (attempt == 0 || CleanRepetitions(part) > most) best = {std::move(*outcome)};
      most = std::max(most, CleanRepetitions(part));
      if (!WasNoisy(part) || attempt == retries || run_.Over()) return best;
      log_ << fmt::format("{}: noisy; measuring it again in {:g} s\n", listed, pause);
      SleepSeconds(pause);
    }
  }

  void Add(const JournalEntry& entry, bool is_new) override {
    if (is_new) PrintProgress(entry.benchmark);
  }

  void PrintProgress(const ListedPair& benchmark) const {
    const auto record = RecordOf(benchmark.contender, {PartsOf(benchmark, 0).back()});
    const auto timing =
        record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::nullopt;
    const std::size_t all = benchmarks().size() * static_cast<std::size_t>(request().processes);
    const auto done = seconds_.size(), left = all - std::min(all, done);
    std::string result = timing ? fmt::format("{}{}", roofline::MarkOf(timing->noisy),
                                              text::WithPrefix(timing->median, "s"))
                                : std::string(record::Key(record.status));
    if (!timing && !record.reason.empty()) result.append(": ").append(record.reason);
    log_ << fmt::format(
        "[{:{}}/{}] {}  {}{}\n", done, std::to_string(all).size(), all,
        text::Printable(record::BareName(benchmark.contender)), text::Printable(result),
        left > 0 ? "; " + LeftText(seconds_, static_cast<double>(left)) + " left" : std::string());
  }

  int Finish() override {
    const int last = request().processes - 1;
    const auto pending = std::ranges::count_if(
        benchmarks(), [&](const ListedPair& pair) { return IsLeft(pair, last); });
    if (!seconds_.empty()) {
      std::string path;
      const auto merged = Write(0, run_.About(), pending > 0 && StoppedByInterrupt(), path);
      document::Write(document::RunDocument(merged.run), text::TerminalColumns(), run_.tables());
      run_.tables() << std::flush;
    }
    EndJournal(static_cast<std::size_t>(pending), "left");
    if (StoppedByInterrupt()) return InterruptCode();
    return std::ranges::any_of(Done(0), [](const Supervised& benchmark) {
      const auto status = RecordOf(benchmark.listed, benchmark.parts).status;
      return status == record::Status::kFailed || status == record::Status::kWrong;
    });
  }
};

struct Progress {
  std::optional<statistics::Shift> shift;  // NEW / BASE, at the last look
  std::size_t looks = 0;                   // [1] number of past looks (statistics::kLooks)
  bool settled = false;                    // more blocks would not change the verdict
};

constexpr double kMaxSilence = 5;  // [s] maximum time without a line of progress

// Measures two programs in interleaved blocks until the verdict of each benchmark is settled.
class InterleavedRun : public Schedule {
 public:
  InterleavedRun(OpenRun& run, std::ostream& log)
      : Schedule(run, log, statistics::kLooks.back()),
        rule_{static_cast<int>(run.header().benchmarks.size()), run.request().min_effect} {
    for (const auto& pair : benchmarks()) progress_.try_emplace(pair.contender);
  }

 private:
  const Progress& ProgressOf(const ListedPair& pair) const { return progress_.at(pair.contender); }

  bool IsLeft(const ListedPair& pair, int block) const override {
    return !ProgressOf(pair).settled && std::ssize(PartsOf(pair, 1)) <= block;
  }

  using Sides = std::array<std::size_t, 2>;
  using Processes = std::array<std::unique_ptr<InterleavedProcess>, 2>;

  static Sides Order(bool base_first) { return base_first ? Sides{0, 1} : Sides{1, 0}; }

  // Measures one block of a benchmark: windows of BASE and NEW, interleaved.
  std::optional<std::vector<Outcome>> Measure(std::size_t i, int block) override {
    const auto& pair = benchmarks()[i];
    const auto stream = (static_cast<std::uint64_t>(i) << 32) | static_cast<unsigned>(block);
    // [0]: BASE is started first; [i], i > 0: BASE measures window i first.
    const auto base_first = DrawBaseFirst(kWindows + 1, run_.header().seed, stream);
    // Plain programs cannot be stopped between windows: their processes run one after the other.
    const bool plain = run_.IsPlain(0) || run_.IsPlain(1);
    auto processes = plain ? Processes() : Interleave(pair, base_first);
    // If one program's process failed, measures the other program without interleaving.
    const bool one_failed = !plain && processes[0]->answers() != processes[1]->answers();
    std::vector<Outcome> outcomes(2);
    for (const auto side : plain ? Order(base_first[0]) : Sides{0, 1}) {
      auto& process = processes.at(side);
      std::optional<Outcome> outcome;
      if (plain || (one_failed && process->answers())) {
        process.reset();
        outcome = run_.RunStandalone(side, ListedBy(pair, side), WindowFlags(run_.IsPlain(side)));
      } else {
        outcome = run_.Finished(process->End(), process->paths());
      }
      if (!outcome || StoppedByInterrupt()) return std::nullopt;
      outcomes.at(side) = std::move(*outcome);
    }
    return outcomes;
  }

  Processes Interleave(const ListedPair& pair, const std::vector<bool>& base_first) {
    Processes processes;
    const auto both_answer = [&] { return processes[0]->answers() && processes[1]->answers(); };
    for (const auto side : Order(base_first[0])) {
      auto paths = PathsIn(run_.folder(), side == 0 ? "base" : "new");
      auto command = run_.Command(side, ListedBy(pair, side), paths);
      processes.at(side) = std::make_unique<InterleavedProcess>(
          std::move(command), std::move(paths), request().timeout_seconds);
    }
    for (const auto side : Order(base_first[0])) processes.at(side)->Ready();
    for (const auto side : Order(base_first[0]))
      if (both_answer()) processes.at(side)->Settle();
    for (std::size_t window = 1; window < base_first.size(); ++window)
      for (const auto side : Order(base_first[window]))
        if (both_answer()) processes.at(side)->Turn();
    return processes;
  }

  void Add(const JournalEntry& entry, bool is_new) override {
    Progress& progress = progress_[entry.benchmark.contender];
    const auto base = RecordOfSide(entry.benchmark, 0),
               contender = RecordOfSide(entry.benchmark, 1);
    if (base.status != record::Status::kOk || contender.status != record::Status::kOk) {
      progress.settled = true;
      progress.shift.reset();
      PrintResult(entry.benchmark, progress);
      return;
    }
    Look(statistics::MeasureBlocks(base, contender), progress);
    if (progress.settled)
      PrintResult(entry.benchmark, progress);
    else if (is_new && cpu::WallSeconds() - printed_at_ > kMaxSilence)
      Print(fmt::format("{} blocks of {}", PartsOf(entry.benchmark, 1).size(),
                        text::Printable(record::BareName(entry.benchmark.contender))));
  }

  void Look(const statistics::BlocksShift& measured, Progress& progress) const {
    const auto& looks = statistics::kLooks;
    const auto count = static_cast<int>(measured.blocks);
    if (count < looks.at(progress.looks)) return;
    do ++progress.looks;
    while (progress.looks < looks.size() && count >= looks.at(progress.looks));
    progress.shift = measured.paired;
    progress.settled =
        progress.looks == looks.size() || (progress.shift && IsSettled(*progress.shift, rule_));
  }

  // Returns the maximum number of blocks left [1]: no benchmark settles before its last look.
  double MostBlocksLeft() const {
    double left = 0;
    for (const auto& pair : benchmarks())
      if (const auto& progress = ProgressOf(pair); !progress.settled)
        left += statistics::kLooks.back() - static_cast<double>(PartsOf(pair, 1).size());
    return left;
  }

  void PrintResult(const ListedPair& pair, const Progress& progress) {
    std::string what = "no ratio";
    if (progress.shift)
      what =
          fmt::format("{:.3f} ({:.3f} to {:.3f})", std::exp(progress.shift->log_ratio),
                      std::exp(progress.shift->ci95.first), std::exp(progress.shift->ci95.second));
    ++settled_;
    Print(fmt::format("{}  {} after {} blocks", text::Printable(record::BareName(pair.contender)),
                      what, PartsOf(pair, 1).size()));
  }

  void Print(const std::string& what) {
    const double left = MostBlocksLeft();
    log_ << fmt::format("[{}/{}] {}{}\n", settled_, benchmarks().size(), what,
                        left > 0
                            ? "; at most " + LeftText(seconds_, left, run_.SecondsLeft()) + " left"
                            : "")
         << std::flush;
    printed_at_ = cpu::WallSeconds();
  }

  // Writes the run file and reads it again, so that the comparison is that of `dlroof compare`.
  compare::NamedRun WriteAndRead(std::size_t side, bool interrupted) const {
    auto about = run_.About();
    about["interleaved"] =
        record::ToJson(record::InterleavedComparison{run_.header().id, rule_.min_effect});
    std::string path;
    Write(side, about, interrupted, path);
    return {path, record::ReadRunFile(path, log_)};
  }

  // Returns the name map's entries whose benchmark has a result: the run files lack the others.
  compare::NameMap NamesDone() const {
    compare::NameMap names = request().names;
    std::erase_if(names, [&](const auto& mapped) {
      return std::ranges::none_of(benchmarks(), [&](const ListedPair& pair) {
        return record::BareName(pair.contender) == mapped.second && !PartsOf(pair, 1).empty();
      });
    });
    return names;
  }

  // Returns the number of benchmarks that are neither settled nor have a verdict in `result` [1].
  std::size_t PendingIn(const compare::CompareResult& result) const {
    std::set<std::string_view> decided;
    for (const auto& row : result.rows)
      if (row.verdict != statistics::Verdict::kAmbiguous &&
          row.verdict != statistics::Verdict::kInsufficient)
        decided.insert(row.name());
    return static_cast<std::size_t>(std::ranges::count_if(benchmarks(), [&](const auto& pair) {
      return !ProgressOf(pair).settled && !decided.contains(record::BareName(pair.contender));
    }));
  }

  int Finish() override {
    std::size_t pending = run_.Over() ? benchmarks().size() - settled_ : 0;
    const bool interrupted = pending > 0 && StoppedByInterrupt();
    std::optional<compare::NamedRun> base, contender;
    std::optional<compare::CompareResult> result;
    if (!seconds_.empty()) {
      base = WriteAndRead(0, interrupted), contender = WriteAndRead(1, interrupted);
      result = compare::Compare(*base, *contender, {.names = NamesDone()});
      if (pending > 0 && !interrupted) pending = PendingIn(*result);  // the last look
    }
    EndJournal(pending, "not settled");
    if (!result) return StoppedByInterrupt() ? InterruptCode() : 3;
    compare::WriteTable(*result, {base->where, contender->where}, text::TerminalColumns(),
                        run_.tables());
    run_.tables() << std::flush;
    return StoppedByInterrupt() ? InterruptCode() : result->exit_code;
  }

  StopRule rule_;
  std::map<std::string, Progress> progress_;  // by ListedPair::contender
  std::size_t settled_ = 0;
  double printed_at_ = cpu::WallSeconds();  // [s] time of the last line of progress
};

}  // namespace

bool IsSettled(const statistics::Shift& shift, const StopRule& rule) {
  constexpr double kMaxFalse = 0.01;
  const double bound = std::log1p(rule.min_effect);
  const auto& [low, high] = shift.ci95;
  if (low >= -bound && high <= bound) return true;
  const double most =
      std::min(kMaxFalse, statistics::kFalseDiscoveryRate / std::max(1, rule.benchmarks));
  return std::abs(shift.log_ratio) > bound && shift.p_value <= most;
}

int Supervise(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return request.programs.size() == 1 ? StandaloneRun(run, log).Run()
                                      : InterleavedRun(run, log).Run();
}

}  // namespace dlroof::supervise
