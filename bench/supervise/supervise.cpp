#include "bench/supervise/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>

#include "bench/supervise/merge.h"
#include "bench/supervise/open_run.h"
#include "bench/supervise/schedule.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "counters/base/shuffled_order.h"
#include "counters/cpu/clocks.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof::supervise {
namespace {

// A benchmark counts as disturbed when its time is only an estimate.
bool WasDisturbed(const Part& part) {
  return part.failed.empty() && part.record.status == record::Status::kOk &&
         !part.record.repetitions.empty() && !record::Summarize(part.record.repetitions);
}

std::size_t CleanOf(const Part& part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      part.record.repetitions, [](const record::Repetition& repetition) { return !repetition.disturbed; }));
}

class Supervision {
 public:
  Supervision(OpenRun& run, std::ostream& log) : run_(run), log_(log) {
    for (const auto& entry : run.finished()) Keep(entry);
  }

  int Run() {
    const auto& benchmarks = run_.header().benchmarks;
    std::vector<std::size_t> order(benchmarks.size());
    std::iota(order.begin(), order.end(), 0);
    if (run_.request().random_order) order = ShuffledOrder(order.size(), run_.header().seed);
    for (std::size_t turn = 0; turn < order.size(); ++turn) {
      const auto i = order[turn];
      if (parts_.count(benchmarks[i].fresh) > 0) continue;
      if (!run_.Over() && run_.request().before) run_.request().before(turn, benchmarks[i].fresh);
      if (run_.Over()) break;
      const auto entry = RunOne(benchmarks[i]);
      if (!entry) break;
      run_.Append(*entry);
      Keep(*entry);
      Say(benchmarks[i].fresh);
    }
    return Finish();
  }

 private:
  void Keep(const JournalEntry& entry) {
    const auto& listed = entry.benchmark.fresh;
    parts_.insert_or_assign(listed, PartFrom(listed, entry.outcomes.front(), std::nullopt));
    seconds_.push_back(entry.seconds);
  }

  // Absent: interrupted. The attempt with most clean repetitions is kept.
  std::optional<JournalEntry> RunOne(const ListedPair& benchmark) {
    JournalEntry best{benchmark, 0, 0, {}};
    std::size_t most = 0;
    double pause = run_.request().cooldown_seconds;
    const double begin = cpu::WallSeconds();
    for (int attempt = 0;; ++attempt, pause *= 2) {
      auto outcome = run_.RunAlone(0, benchmark.fresh, {});
      if (!outcome) return std::nullopt;
      const Part part = PartFrom(benchmark.fresh, *outcome, std::nullopt);
      if (attempt == 0 || CleanOf(part) > most) best.outcomes = {std::move(*outcome)};
      most = std::max(most, CleanOf(part));
      if (!WasDisturbed(part) || attempt == run_.request().retries || run_.Over()) break;
      log_ << fmt::format("{}: disturbed; once more in {:g} s\n", benchmark.fresh, pause);
      SleepSeconds(pause);
    }
    best.seconds = cpu::WallSeconds() - begin;
    return best;
  }

  void Say(const std::string& listed) const {
    const record::Record record = RecordOf(listed, {parts_.at(listed)});
    const auto timing = record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::nullopt;
    const auto left = run_.header().benchmarks.size() - parts_.size();
    std::string said =
        timing ? fmt::format("{}{}", roofline::MarkOf(timing->disturbed), text::WithPrefix(timing->median, "s"))
               : std::string(record::Key(record.status));
    if (!timing && !record.reason.empty()) said.append(": ").append(record.reason);
    log_ << fmt::format(
        "[{:{}}/{}] {}  {}{}\n", parts_.size(),
        std::to_string(run_.header().benchmarks.size()).size(), run_.header().benchmarks.size(),
        text::Printable(record::BareName(listed)), text::Printable(said),
        left > 0 ? "; " + LeftText(seconds_, static_cast<double>(left)) + " left" : std::string());
  }

  int Finish() {
    std::vector<Supervised> done;
    for (const auto& benchmark : run_.header().benchmarks)
      if (const auto found = parts_.find(benchmark.fresh); found != parts_.end())
        done.push_back({benchmark.fresh, {found->second}});
    const auto missing = run_.header().benchmarks.size() - done.size();
    const auto whole = MergedRun(done, run_.machines(), run_.About());
    if (!done.empty()) {
      WriteFile(run_.request().outputs.front(), ToJson(whole).dump(1) + "\n", OnDisk::kNow);
      terminal::WriteTables(whole.run, text::TerminalColumns(), std::cout);
      std::cout << std::flush;
    }
    if (missing == 0)
      run_.Remove();
    else
      log_ << fmt::format("{} of {} benchmarks are left; the same command with --resume goes on\n",
                          missing, run_.header().benchmarks.size());
    if (StoppedByInterrupt()) return 130;
    return std::ranges::any_of(done,
                               [](const Supervised& one) {
                                 const auto status = RecordOf(one.listed, one.parts).status;
                                 return status == record::Status::kFailed || status == record::Status::kWrong;
                               })
               ? 1
               : 0;
  }

  OpenRun& run_;
  std::ostream& log_;
  std::map<std::string, Part> parts_;
  std::vector<double> seconds_;
};

}  // namespace

int Supervise(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return Supervision(run, log).Run();
}

}  // namespace dlroof::supervise
