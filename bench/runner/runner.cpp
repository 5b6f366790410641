#include "bench/runner/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "counters/base/process.h"
#include "reporters/record/google_benchmark.h"

namespace dlroof::runner {
namespace {

constexpr double kWarmUpSeconds = 0.002;  // [s] of untimed calls: fills a core's private caches

class WallTime {
 public:
  explicit WallTime(double& sum) : sum_(sum), begin_(cpu::WallSeconds()) {}
  ~WallTime() { sum_ += cpu::WallSeconds() - begin_; }
  WallTime(const WallTime&) = delete;
  WallTime& operator=(const WallTime&) = delete;

 private:
  double& sum_;
  double begin_;
};

// Returns the kernels and launches in the call's CUDA graph; sets call.gpu->kernels to their names.
Counting KernelsOf(Timer& timer, workload::PreparedCall& call) {
  constexpr const char* kSource = "graph";
  Counting counting;
  try {
    counting.kernels = timer.Kernels(call);
  } catch (const std::exception& error) {
    counting.notes.push_back(
        {kSource, {}, fmt::format("the call's kernels are not known: {}", error.what())});
  }
  if (counting.kernels.empty()) return counting;
  call.gpu.value().kernels.clear();
  double launches = 0;
  for (const auto& kernel : counting.kernels) {
    launches += kernel.launches;
    call.gpu.value().kernels.push_back(kernel.name);
  }
  counting.work[Provenance::kMeasured].launches = launches;
  counting.notes.push_back({kSource, Provenance::kMeasured,
                            fmt::format("the call's CUDA graph has {:.0f} kernel node{}", launches,
                                        launches == 1 ? "" : "s")});
  return counting;
}

// Returns the message of a failed benchmark, with the prefix of its status.
std::string MessageOf(const std::exception& error) {
  if (dynamic_cast<const Unsupported*>(&error) != nullptr)
    return record::kUnsupportedPrefix + std::string(error.what());
  if (dynamic_cast<const WrongResult*>(&error) != nullptr)
    return record::kWrongPrefix + std::string(error.what());
  return error.what();
}

record::Record NewRecord(const workload::Workload& workload) {
  record::Record record{.name = workload::NameOf(workload), .repro = workload.repro};
  record::SplitName(record);
  if (!record::HasOwnForm(record)) record::PutOnDevice(record, workload.name.device);
  return record;
}

// Returns the number of calls per part. Usually that is `calls`, and Google Benchmark rounds its
// number of iterations up to whole parts; with `exact_calls` it divides the number of iterations.
std::int64_t PartOf(const workload::Workload& workload, const benchmark::State& state,
                    std::int64_t calls) {
  if (!workload.exact_calls) return calls;
  auto part = std::min<std::int64_t>(calls, state.max_iterations);
  while (state.max_iterations % part != 0) --part;
  return part;
}

void AddThread(const cpu::ClockReading& spent, Runner::Team& team) {
  {
    const std::lock_guard lock(team.mutex);
    team.others = team.others + spent;
  }
  ++team.ended;
  team.ended.notify_one();
}

// Ends Google Benchmark's loop for a skipped repetition: runs all iterations if an earlier
// repetition did, otherwise none. Google Benchmark aborts the program if repetitions of one
// benchmark, even failed ones, differ in their number of iterations.
void EndLoop(benchmark::State& state, const BenchmarkState& benchmark) {
  if (!benchmark.started || state.iterations() > 0) return;
  const auto part = PartOf(benchmark.workload, state, benchmark.calls_per_part.value());
  while (state.KeepRunningBatch(part)) {
  }
}

}  // namespace

Runner::Runner(workload::RunSettings settings, const RunnerOptions& options)
    : settings_(std::move(settings)),
      options_(options),
      progress_(options.explain, options.benchmarks, cpu::WallSeconds),
      calls_(settings_, {options.best_state, options.turns.has_value(), options.keep_noisy},
             {options.open_gpu, options.gpu}) {
  if (options.turns) turns_.emplace(*options.turns);
}

void Runner::Run(benchmark::State& state, const workload::Workload& workload) {
  auto& benchmark = StateOf(workload);
  const auto next = Next(benchmark);
  if (benchmark.failed) return SkipRest(state, workload);
  const WallTime wall(benchmark.wall_seconds);
  try {
    if (next.wanted) Prepare(benchmark);
    if (!next.wanted || (turns_ && !turns_->WaitForTurn())) {
      VerifyAgain(benchmark);
      return SkipRest(state, workload);
    }
    const double begin = cpu::WallSeconds();
    if (next.pause_seconds > 0) SleepSeconds(next.pause_seconds);
    if (turns_ || next.pause_seconds > 0) WarmUp(workload.cache);
    const auto throttled = Throttled();
    const auto timed = calls_.TimerOf(workload).Time(
        state, calls_.Call(), PartOf(workload, state, benchmark.calls_per_part.value()));
    benchmark.throttled = benchmark.throttled + (Throttled() - throttled);
    if (options_.explain && workload.name.device == "cpu" &&
        workload.cache == workload::CacheState::kWarm) {
      if (!benchmark.watched) benchmark.watched.emplace();
      benchmark.watched->Add(calls_.Call(), calls_.Settings().threads,
                             benchmark.calls_per_part.value());
    }
    Attach(state, benchmark, timed, cpu::WallSeconds() - begin);
    if (turns_) turns_->EndTurn(static_cast<double>(state.iterations()));
    if (!benchmark.timed_algorithm && (IsStored(workload) || calls_.CountsLater(workload) ||
                                       options_.energy.Measures(workload.name.device)))
      benchmark.timed_algorithm = calls_.Call().algorithm;
    if (benchmark.record.repetitions.size() == options_.repetitions) VerifyAgain(benchmark);
  } catch (const std::exception& error) {
    Fail(state, benchmark, MessageOf(error));
  }
}

void Runner::RunInTeam(benchmark::State& state, const workload::Workload& workload,
                       const std::function<void(std::int64_t)>& repeat, Team& team) {
  const bool first = state.thread_index() == 0;
  if (first) {
    team.skipped = false;
    team.others = {};
    team.ended = 0;
    auto& benchmark = StateOf(workload);
    try {
      const auto next = Next(benchmark);
      if (benchmark.failed || !next.wanted) {
        team.skipped = true;
      } else {
        Prepare(benchmark);
        if (next.pause_seconds > 0) SleepSeconds(next.pause_seconds);
      }
    } catch (const std::exception& error) {
      team.skipped = true;
      benchmark.failed = true;
      state.SkipWithError(MessageOf(error).c_str());
      calls_.Drop();
    }
  }
  // `part` is equal in all threads, so that all threads make the same number of calls.
  constexpr std::int64_t kParts = 64;
  const auto part =
      PartOf(workload, state, std::max<std::int64_t>(1, state.max_iterations / kParts));
  const auto throttled = first ? Throttled() : cpu::Throttling{};
  std::optional<cpu::ClockReading> begin;
  while (state.KeepRunningBatch(part)) {
    if (team.skipped) continue;
    if (!begin) begin = cpu::ReadThreadClocks();
    repeat(part);
  }
  if (first && team.skipped && !state.error_occurred()) state.SkipWithError(record::kNotRun);
  if (!begin) return;
  const auto spent = cpu::ReadThreadClocks() - *begin;
  if (!first) return AddThread(spent, team);
  for (int ended; (ended = team.ended) < state.threads() - 1;) team.ended.wait(ended);
  const double calls = static_cast<double>(state.iterations()) * state.threads();
  auto& benchmark = StateOf(workload);
  benchmark.throttled = benchmark.throttled + (Throttled() - throttled);
  Attach(state, benchmark, {RepetitionOfTeam(spent, team.others, calls)}, spent.wall);
}

void Runner::SkipRest(benchmark::State& state, const workload::Workload& workload) {
  EndLoop(state, StateOf(workload));
  state.SkipWithError(record::kNotRun);
}

std::optional<energy::EnergyResult> Runner::MeasureEnergy(const workload::Workload& workload) {
  if (!StateOf(workload).timed_algorithm || !options_.energy.Measures(workload.name.device))
    return std::nullopt;
  energy::EnergyResult found;
  const auto failed = PrepareAgain(workload, [&](bool same_algorithm) {
    found = EnergyOfCall(workload, calls_.Call(), calls_.TimerOf(workload), options_.energy);
    if (!same_algorithm)
      found = {.reason = Reason{"the library chose another algorithm when the call was prepared "
                                "again: " +
                                calls_.Call().algorithm}};
    Store(workload);
  });
  return failed ? energy::EnergyResult{.reason = failed} : found;
}

// Prepares the call of a timed benchmark again, without the algorithms that were wrong, and calls
// `measure`. Returns the message of an exception, after which the device is restored.
std::optional<Reason> Runner::PrepareAgain(
    const workload::Workload& workload, const std::function<void(bool same_algorithm)>& measure) {
  const auto& benchmark = StateOf(workload);
  Release();
  std::optional<Reason> failed;
  try {
    calls_.Take(workload);
    SkipWrongEngines(benchmark.record.wrong_engines, calls_.Call());
    measure(calls_.Call().algorithm == *benchmark.timed_algorithm);
  } catch (const std::exception& error) {
    failed = Reason{error.what()};
  }
  calls_.Drop();
  if (failed) calls_.TimerOf(workload).Recover(workload::NameOf(workload));
  return failed;
}

// Measures the single-threaded calls after all benchmarks were timed, because a second prepared
// call would change the addresses of the timed call's buffers.
std::optional<ParallelTime> Runner::Explain(const workload::Workload& workload) {
  auto& benchmark = StateOf(workload);
  if (!benchmark.watched) return std::nullopt;
  Release();
  const auto name = workload::NameOf(workload);
  const int index = static_cast<int>(std::distance(benchmarks_.begin(), benchmarks_.find(name)));
  const auto begin = [&](ExplainPart part) { progress_.Explain(index, name, part); };
  try {
    benchmark.watched->Explain(workload, settings_, *options_.explain,
                               ExplainBudget(*options_.explain, benchmark.wall_seconds), begin);
  } catch (const std::exception&) {
    return std::nullopt;  // the record keeps the profile of the call on all threads
  }
  return benchmark.watched->Mean();
}

std::optional<Counting> Runner::CountLate(const workload::Workload& workload) {
  if (!StateOf(workload).timed_algorithm || !calls_.CountsLater(workload)) return std::nullopt;
  Counting counting;
  const auto failed = PrepareAgain(workload, [&](bool same_algorithm) {
    counting = Count(workload, calls_.Call(), settings_.counters);
    if (!same_algorithm)
      counting.notes.push_back(
          {.text = "counted when the call was prepared again, with another algorithm: " +
                   calls_.Call().algorithm});
  });
  if (failed) counting.notes = {{.text = fmt::format("not counted: {}", failed->text)}};
  return counting;
}

template <class Result>
std::map<std::string, Result> Runner::OfAll(
    std::optional<Result> (Runner::*pass)(const workload::Workload&)) {
  std::map<std::string, Result> found;
  for (auto& [name, benchmark] : benchmarks_) {
    if (StoppedByInterrupt()) break;
    if (auto result = (this->*pass)(benchmark.workload)) found[name] = std::move(*result);
  }
  return found;
}

cpu::Throttling Runner::Throttled() const {
  return options_.quota != nullptr ? options_.quota->Read() : cpu::Throttling{};
}

void Runner::Release() {
  if (prepared_ != nullptr && prepared_->timed_algorithm) Store(prepared_->workload);
  Forget();
}

void Runner::UseAllRepetitions(const workload::Workload& workload) {
  StateOf(workload).all_repetitions = true;
}

void Runner::Forget() {
  calls_.Drop();
  prepared_ = nullptr;
}

BenchmarkState& Runner::StateOf(const workload::Workload& workload) {
  const auto name = workload::NameOf(workload);
  auto found = benchmarks_.find(name);
  if (found == benchmarks_.end()) {
    auto& measured = options_.session->MeasuredOf(name);
    measured = {NewRecord(workload), options_.own_seconds, options_.keep_noisy};
    found = benchmarks_.emplace(name, BenchmarkState{workload, measured.record}).first;
  }
  if (workload.other_name) found->second.workload = workload;  // its `prepare` is new each time
  return found->second;
}

// Returns whether the prepared call is needed again: for its next repetition in an interleaved run,
// or to be counted. Returns false for benchmarks of other programs (bench/library), whose calls use
// memory that the benchmark function frees.
bool Runner::IsStored(const workload::Workload& workload) {
  const bool again = options_.interleaved && workload.name.device == "gpu";
  return !workload.other_name && (again || calls_.CountsLater(workload));
}

void Runner::Store(const workload::Workload& workload) {
  if (IsStored(workload)) calls_.Store(workload::NameOf(workload));
}

// Decides whether another repetition follows. The first two always run, because Google Benchmark
// may still be searching the iteration count.
NextRepetition Runner::Next(const BenchmarkState& benchmark) const {
  if (!options_.stop || benchmark.all_repetitions || benchmark.record.repetitions.size() < 2)
    return {};
  if (options_.explain && IsTimedLongEnough(*options_.explain, benchmark.wall_seconds))
    return {false, 0};
  return NextAfter(benchmark.record.repetitions, benchmark.spent_seconds, *options_.stop);
}

void Runner::Remember(const record::Repetition& repetition, double seconds,
                      BenchmarkState& benchmark) {
  auto& all = benchmark.record.repetitions;
  if (!all.empty() && all.back().iterations != repetition.iterations) {
    all.clear();
    benchmark.spent_seconds = 0;
    benchmark.verified_again = false;
  }
  all.push_back(repetition);
  benchmark.spent_seconds += seconds;
  if (options_.keep_noisy) return;
  record::MarkNoisy(all);
}

void Runner::Prepare(BenchmarkState& benchmark) {
  if (calls_.Holds() && prepared_ == &benchmark) return;
  Release();
  const auto& workload = benchmark.workload;
  if (!benchmark.verified) progress_.Time(workload::NameOf(workload));
  calls_.Take(workload);
  workload::PreparedCall& call = calls_.Call();
  if (benchmark.verified)
    SkipWrongEngines(benchmark.record.wrong_engines, call);
  else if (call.verify)
    benchmark.record.verified = VerifyCall(call);
  benchmark.verified = true;
  benchmark.record.wrong_engines = call.wrong_engines;
  Counting kernels;
  if (workload.name.device == "gpu") {
    call.run();  // a graph cannot capture first-time work of the library
    kernels = KernelsOf(calls_.TimerOf(workload), call);
  }
  if (!benchmark.counting) {
    benchmark.counting =
        Count(workload, call, calls_.CountsLater(workload) ? "model" : settings_.counters);
    auto& counting = *benchmark.counting;
    if (!kernels.kernels.empty()) counting.kernels = kernels.kernels;
    counting.notes.insert(counting.notes.end(), kernels.notes.begin(), kernels.notes.end());
    for (const auto& [from, work] : kernels.work) counting.work[from].launches = work.launches;
  }
  call.run();  // keeps first-time work of the library out of the timing
  if (!benchmark.calls_per_part)
    benchmark.calls_per_part = calls_.TimerOf(workload).CallsPerPart(call);
  prepared_ = &benchmark;
}

// After the last repetition, verifies the call with inputs of another seed, if it is still
// prepared. Detects a library that returns a stored result, or a call that broke during the timing.
void Runner::VerifyAgain(BenchmarkState& benchmark) {
  if (benchmark.verified_again || prepared_ != &benchmark || !calls_.Holds()) return;
  auto& call = calls_.Call();
  if (!call.new_inputs || benchmark.record.repetitions.empty()) return;
  benchmark.verified_again = true;
  const auto result = VerifyNewInputs(call, settings_.seed);
  auto& how = benchmark.record.verified;
  if (how.find(result) == std::string::npos) how += "; " + result;
}

// Refills the caches by untimed calls. Cold calls flush the caches anyway.
void Runner::WarmUp(workload::CacheState cache) {
  if (cache != workload::CacheState::kWarm) return;
  const double begin = cpu::WallSeconds();
  do calls_.Call().run();
  while (cpu::WallSeconds() - begin < kWarmUpSeconds);
}

// Counts the call in the cache state in which it is timed.
Counting Runner::Count(const workload::Workload& workload, const workload::PreparedCall& call,
                       const std::string& choice) {
  workload::RunSettings settings = calls_.Settings();
  settings.counters = choice;
  return CountPrepared(workload, call, settings, calls_.TimerOf(workload).BeforeCall());
}

// Adds a repetition, which took `seconds` [s] of wall time in all, to the benchmark's record, and
// its numbers to Google Benchmark's state.
void Runner::Attach(benchmark::State& state, BenchmarkState& benchmark, const TimedLoop& timed,
                    double seconds) {
  benchmark.started = true;
  Remember(timed.repetition, seconds, benchmark);
  auto& record = benchmark.record;
  const auto& call = calls_.Call();
  record.algorithm = call.algorithm;
  record.isa = call.isa;
  record.threads =
      state.threads() > 1 ? state.threads() : call.threads.value_or(calls_.Settings().threads);
  record.seed = settings_.seed;
  record.cache = workload::Key(benchmark.workload.cache);
  record.evicted_bytes = timed.evicted_bytes;
  record.heuristic_over_best = call.heuristic_over_best;
  const Counting& counting = benchmark.counting.value();
  record.work = counting.work;
  record.counting = counting.notes;
  if (timed.note) record.counting.push_back({.text = *timed.note});
  if (options_.quota)
    if (const auto stopped = options_.quota->Stopped(benchmark.throttled))
      record.counting.push_back({.source = "limits", .text = stopped->text});
  record.kernels = counting.kernels;
  if (benchmark.watched) {
    record.parallel = benchmark.watched->Mean();
    if (!record.parallel) record.unwatched_reason = benchmark.watched->UnwatchedReason();
  }
  for (const auto& [key, value] :
       record::ToCounters(record, timed.repetition, options_.own_seconds))
    state.counters[key] = value;
  if (options_.keep_noisy) state.counters[record::kNoiseIgnoredCounter] = 1;
  state.SetLabel(record::ToLabel(record));
}

// Marks the benchmark as failed, because all repetitions would fail for the same reason.
void Runner::Fail(benchmark::State& state, BenchmarkState& benchmark, const std::string& message) {
  const auto& workload = benchmark.workload;
  benchmark.failed = true;
  DescribeFailed(message.starts_with(record::kWrongPrefix), benchmark.record);
  state.SetLabel(record::ToLabel(benchmark.record));
  calls_.Drop();
  calls_.TimerOf(workload).Recover(workload::NameOf(workload));
  if (state.iterations() > 0) benchmark.started = true;
  EndLoop(state, benchmark);
  state.SkipWithError(message.c_str());
}

// Sets the algorithm of the call that failed, if it was prepared. If the results of all
// algorithms are wrong, sets the algorithm that the library prefers.
void Runner::DescribeFailed(bool is_wrong, record::Record& record) const {
  if (!calls_.Holds()) return;
  const auto& call = calls_.Call();
  record.algorithm = call.algorithm;
  record.isa = call.isa;
  record.wrong_engines = call.wrong_engines;
  if (!is_wrong || record.wrong_engines.empty()) return;
  record.algorithm = record.wrong_engines.front().algorithm;
  if (record.wrong_engines.size() == 1) record.wrong_engines.clear();
}

bool TurnClient::WaitForTurn() {
  // A failure can be ignored here and in EndTurn: if the supervisor has ended, `read` returns 0.
  if (!ready_) WriteToPipe(pipes_.to_supervisor, "ready\n");
  ready_ = true;
  char turn = 0;
  ssize_t got = 0;
  do got = read(pipes_.from_supervisor, &turn, 1);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

void TurnClient::EndTurn(double iterations) {
  WriteToPipe(pipes_.to_supervisor, fmt::format("{:.0f}\n", iterations));
}

bool UsesManualTime(const workload::Workload& workload) {
  return workload.name.device == "gpu" || workload.cache != workload::CacheState::kWarm;
}

live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options) {
  auto runner = std::make_shared<Runner>(settings, options);
  for (const workload::Workload& workload : workloads) {
    const auto body = [runner, workload](benchmark::State& state) {
      if (StoppedByInterrupt())
        runner->SkipRest(state, workload);
      else
        runner->Run(state, workload);
    };
    auto* const registered = benchmark::RegisterBenchmark(workload::NameOf(workload).c_str(), body)
                                 ->Unit(benchmark::kMicrosecond);
    if (UsesManualTime(workload))
      registered->UseManualTime();
    else
      registered->UseRealTime();
  }
  live::Passes passes{.count = [runner] { return runner->OfAll(&Runner::CountLate); }};
  if (options.explain)
    passes.parallel = [runner] {
      auto found = runner->OfAll(&Runner::Explain);
      runner->EndExplaining();
      return found;
    };
  if (options.energy.cpu)
    passes.energy = [runner] { return runner->OfAll(&Runner::MeasureEnergy); };
  return passes;
}

}  // namespace dlroof::runner
