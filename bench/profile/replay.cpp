#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "baselines/programs/program_report.h"
#include "baselines/statistics/shift.h"
#include "bench/profile/profile.h"
#include "bench/supervise/supervised_program.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {
namespace {

// Returns why this build cannot run the benchmark, or nothing if it can.
std::optional<Reason> UnavailableReason(const std::string& benchmark) {
  if (benchmark.empty()) return Reason{"dlroof has no benchmark of this call"};
  try {
    workload::MakeWorkload(benchmark);
    return std::nullopt;
  } catch (const BadInput& error) {
    return Reason{error.what()};
  }
}

std::string ColdName(const std::string& benchmark) { return benchmark + "/cold"; }

const record::Record* FindRecord(const std::vector<record::Record>& records,
                                 const std::string& name) {
  const auto found = std::ranges::find(records, name, &record::Record::name);
  return found == records.end() ? nullptr : &*found;
}

// The time of a replayed record, or the reason why there is none.
struct StandaloneTiming {
  std::optional<record::Timing> timing;
  std::optional<Reason> reason;
};

StandaloneTiming TimingOf(const record::Record* record) {
  if (record == nullptr) return {std::nullopt, Reason{"dlroof_bench did not measure it"}};
  const auto timing = record::TimeOf(record->repetitions);
  if (timing && record->status == record::Status::kOk) return {timing, std::nullopt};
  return {std::nullopt, Reason{fmt::format("{}: {}", record::Key(record->status),
                                           record->reason.empty() ? "no time" : record->reason)}};
}

// Returns the run file of dlroof_bench, or nothing after an interrupt.
std::optional<record::RunFile> RunStandalone(const ReplayRequest& request,
                                             const std::set<std::string>& names,
                                             const std::optional<int>& threads) {
  const TemporaryFolder folder;
  supervise::NamedRunRequest run{.command = request.command,
                                 .names = {names.begin(), names.end()},
                                 .machine = "none",
                                 .arguments = {"--dlroof_device=cpu"}};
  if (threads) run.arguments.push_back(fmt::format("--dlroof_threads={}", *threads));
  const auto output = supervise::MeasureNamed(run, folder);
  if (!output) return std::nullopt;
  std::ostringstream warnings;
  return record::ReadRunFile(*output, warnings);
}

// Returns the version in "oneDNN 3.2.0 (commit ...)".
std::string VersionOf(const record::RunFile& run) {
  const auto text =
      record::Text(record::Member(record::Member(run.context, "dlroof"), "libraries"), "onednn");
  const auto words = text.substr(0, text.find(" ("));
  const auto version = words.starts_with("oneDNN ") ? words.substr(7) : words;
  return version.empty() ? "not known" : version;
}

// Keeps a CPU busy during its lifetime, as another program would.
class BusyCpu {
 public:
  BusyCpu()
      : thread_([](const std::stop_token& stop) {
          while (!stop.stop_requested()) continue;
        }) {}

 private:
  std::jthread thread_;
};

// Returns the median of all repetitions [s]: what disturbs them is the condition that is measured.
std::optional<double> MedianOfAll(const record::Record* record) {
  if (record == nullptr || record->status != record::Status::kOk) return std::nullopt;
  std::vector<double> seconds;
  for (const auto& repetition : record->repetitions) seconds.push_back(repetition.seconds);
  return seconds.empty() ? std::nullopt : std::optional(Median(std::move(seconds)));
}

using Chosen = std::vector<std::size_t>;

// Returns the names of the benchmarks; with `cold` also of those with cold caches.
std::set<std::string> BenchmarksOf(const Chosen& chosen, const programs::ProgramSummary& summary,
                                   bool cold) {
  std::set<std::string> names;
  for (const auto i : chosen) {
    names.insert(summary.primitives[i].benchmark);
    if (cold) names.insert(ColdName(summary.primitives[i].benchmark));
  }
  return names;
}

// Replays the chosen primitives once more under `condition` ("beside a busy CPU") and adds their
// times as checks. Returns false after an interrupt.
bool AddCheck(const ReplayRequest& request, const std::string& condition, const Chosen& chosen,
              const std::optional<int>& threads, programs::ProgramSummary& summary) {
  const auto replayed = RunStandalone(request, BenchmarksOf(chosen, summary, false), threads);
  if (!replayed) return false;
  for (const auto i : chosen) {
    auto& primitive = summary.primitives[i];
    const auto seconds = MedianOfAll(FindRecord(replayed->records, primitive.benchmark));
    if (seconds && *seconds > 0) primitive.standalone->checks.push_back({condition, *seconds});
  }
  return true;
}

// Measures the primitives that cold caches do not explain beside a busy CPU and on fewer threads,
// which programs have that share the CPUs or start few threads.
void AddChecks(const ReplayRequest& request, const Chosen& chosen,
               programs::ProgramSummary& summary, std::ostream& log) {
  Chosen open;
  for (const auto i : chosen)
    if (programs::NeedsChecks(summary.primitives[i])) open.push_back(i);
  if (open.empty()) return;
  log << fmt::format("dlroof: {} of them are slower in the program: replaying them {}\n",
                     open.size(), "beside a busy CPU, and on fewer threads")
      << std::flush;
  {
    const BusyCpu busy;
    if (!AddCheck(request, "beside a busy CPU", open, summary.threads, summary)) return;
  }
  const int threads = summary.threads.value_or(1) / 2;
  if (threads < 1) return;
  AddCheck(request, fmt::format("on {} thread{}", threads, threads == 1 ? "" : "s"), open, threads,
           summary);
}

// Measures the primitives once more that are faster with cold caches than with warm ones: noise.
void RepeatNoisy(const ReplayRequest& request, const Chosen& chosen, const record::RunFile& run,
                 programs::ProgramSummary& summary) {
  Chosen noisy;
  for (const auto i : chosen) {
    const auto& standalone = summary.primitives[i].standalone;
    if (standalone && standalone->cold_seconds.value_or(HUGE_VAL) < standalone->seconds)
      noisy.push_back(i);
  }
  if (noisy.empty()) return;
  const auto replayed = RunStandalone(request, BenchmarksOf(noisy, summary, true), summary.threads);
  if (replayed) AddStandaloneTimes(run, noisy, replayed->records, summary);
}

}  // namespace

std::vector<std::size_t> ChooseReplayed(int count, programs::ProgramSummary& summary) {
  std::vector<std::size_t> order, chosen;
  for (std::size_t i = 0; i < summary.primitives.size(); ++i)
    if (summary.SecondsOf(summary.primitives[i]) > 0) order.push_back(i);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return summary.SecondsOf(summary.primitives[i]); });
  for (const auto i : order) {
    if (static_cast<int>(chosen.size()) >= count) break;
    auto& primitive = summary.primitives[i];
    const auto reason = UnavailableReason(primitive.benchmark);
    primitive.not_replayed = reason;
    if (!reason) chosen.push_back(i);
  }
  return chosen;
}

void AddStandaloneTimes(const record::RunFile& program, const std::vector<std::size_t>& chosen,
                        const std::vector<record::Record>& records,
                        programs::ProgramSummary& summary) {
  for (const auto i : chosen) {
    auto& primitive = summary.primitives[i];
    const auto* record = FindRecord(records, primitive.benchmark);
    const auto [time, reason] = TimingOf(record);
    if (!time) primitive.not_replayed = reason;
    const auto* inside = FindRecord(program.records, primitive.record);
    const auto its_time = inside == nullptr ? std::nullopt : record::TimeOf(inside->repetitions);
    if (time && !its_time) primitive.not_replayed = Reason{"its calls in the program have no time"};
    if (!time || !its_time) continue;
    programs::StandaloneTime standalone{
        .seconds = time->median,
        .ci95 = time->ci95,
        .noisy = time->noisy,
        .program_seconds = its_time->median,
        .program_ci95 = its_time->ci95,
        .ratio = its_time->median / time->median,
        .ratio_ci95 =
            statistics::RatioInterval(its_time->median, its_time->ci95, time->median, time->ci95),
        .implementation = record->algorithm};
    const auto cold = TimingOf(FindRecord(records, ColdName(primitive.benchmark))).timing;
    if (cold) standalone.cold_seconds = cold->median;
    primitive.standalone = standalone;
  }
}

void Replay(const ReplayRequest& request, record::RunFile& run, std::ostream& log) {
  auto summary = programs::ProgramOf(run.context);
  if (!summary) return;
  const auto chosen = ChooseReplayed(request.count, *summary);
  if (chosen.empty())
    log << "dlroof: --replay: dlroof has no benchmark of the program's primitives\n";
  if (!chosen.empty()) {
    log << fmt::format("dlroof: replaying {} primitive{} standalone\n", chosen.size(),
                       chosen.size() == 1 ? "" : "s")
        << std::flush;
    StopOnInterrupt();
    const auto replayed =
        RunStandalone(request, BenchmarksOf(chosen, *summary, true), summary->threads);
    if (!replayed) {
      log << "dlroof: interrupted: no replay\n";
      return;
    }
    AddStandaloneTimes(run, chosen, replayed->records, *summary);
    RepeatNoisy(request, chosen, run, *summary);
    AddChecks(request, chosen, *summary, log);
    summary->standalone_version = VersionOf(*replayed);
  }
  run.context["dlroof"]["program"] = programs::ToJson(*summary);
}

}  // namespace dlroof::profile
