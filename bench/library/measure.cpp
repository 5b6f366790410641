// Measure: runs when Google Benchmark runs a benchmark.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>

#include "bench/library/program.h"
#include "bench/runner/run_context.h"
#include "counters/base/error.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/run_file.h"

namespace dlroof::library {
namespace {

// Returns the pipe's key, e.g. "fp32.vector" for "fp32". Throws BadInput for an unknown pipe.
std::string PipeOf(const std::string& key) {
  const auto pipe = key.find('.') == std::string::npos ? key + ".vector" : key;
  if (IsPipeKey(pipe)) return pipe;
  throw BadInput("flops: \"{}\" is no pipe, expected one such as fp32, fp16.matrix, int8.vector",
                 key);
}

double Checked(const std::string& key, double value) {
  if (!(value >= 0 && value <= kLargestNumber))
    throw BadInput("{}: {} is no amount of work, expected a number from 0 to {:g}", key, value,
                   kLargestNumber);
  return value;
}

// Message printed on abort; prepared in advance, because a signal handler must not format text.
char abort_text[512];

void TellAbort(int) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, abort_text, std::strlen(abort_text));
  _exit(2);
}

// During its lifetime, an abort ends the program with one sentence. Google Benchmark aborts if the
// timer is paused while it does not run.
class AbortSentence {
 public:
  explicit AbortSentence(const std::string& name) {
    const auto text = fmt::format(
        "dlroof: {}: the function passed to dlroof::Measure, or Google Benchmark, aborted the "
        "program: call dlroof::Measure once for a benchmark, in place of the loop over its State, "
        "and do not use the State in the function, for example to pause the timer\n",
        name);
    std::strncpy(abort_text, text.c_str(), sizeof abort_text - 1);
    before_ = std::signal(SIGABRT, TellAbort);
  }
  ~AbortSentence() { std::signal(SIGABRT, before_); }
  AbortSentence(const AbortSentence&) = delete;
  AbortSentence& operator=(const AbortSentence&) = delete;

 private:
  void (*before_)(int);
};

// Returns the call with the program's check of its result added.
workload::PreparedCall Verified(workload::PreparedCall call, const std::function<bool()>& check) {
  if (check)
    call.verify = [run = call.run, check] {
      run();
      return workload::Verification{.ok = check(), .how = "by the program's own check"};
    };
  return call;
}

}  // namespace

Work WorkOf(const Call& call) {
  Work work;
  for (const auto& [key, flops] : call.flops) {
    if (Checked(key, flops) == 0) continue;  // as if omitted: the roofs are those of its bytes
    if (!work.flops.emplace(PipeOf(key), flops).second)
      throw BadInput("flops: \"{}\" is given twice (\"fp32\" means \"fp32.vector\")", PipeOf(key));
  }
  for (const auto& [key, bytes] : call.bytes) {
    const auto level = LevelFromKey(key);
    if (!level) throw BadInput("bytes: \"{}\" is no level, expected l1, l2, l3, dram or host", key);
    work.bytes[*level] = Checked(key, bytes);
  }
  return work;
}

std::optional<std::string> Program::Running() const {
  if (ended_.size() >= names_.size()) return std::nullopt;
  return names_[ended_.size()];
}

std::function<workload::PreparedCall(const workload::RunSettings&)> Program::PreparationOf(
    const Call& call, const detail::Callable& callable) {
  return [this, call, callable](const workload::RunSettings& settings) {
    if (!callable.start && settings.threads < call.threads.value_or(1))
      throw Unsupported("the program itself sets the number of threads of this call");
    workload::PreparedCall prepared{.run = callable.once, .repeat = callable.times};
    prepared.modelled = WorkOf(call);
    for (const auto& block : call.memory)
      prepared.memory.push_back({block.begin, block.bytes, block.weights});
    if (!callable.start) return Verified(std::move(prepared), call.check);
    if (!devices_.HasGpu()) throw Unsupported("no GPU can be used: {}", devices_.gpu.reason->text);
    if (!gpu_) gpu_ = devices_.gpu.module->clock(devices_.gpu.device.number);
    prepared.gpu = workload::GpuCapabilities{.enqueue = [start = callable.start](void* stream) {
      start(static_cast<CUstream_st*>(stream));
    }};
    prepared.run = [this, enqueue = prepared.gpu->enqueue] { gpu_->Once(enqueue); };
    prepared.repeat = {};
    return Verified(std::move(prepared), call.check);
  };
}

workload::Workload Program::WorkloadOf(const benchmark::State& state, const std::string& listed,
                                       const Call& call, const detail::Callable& callable) {
  workload::Workload workload{.name = {.device = callable.start ? "gpu" : "cpu"},
                              .other_name = live::RecordName(listed)};
  workload.cache = flags_.cache;
  workload.threads = state.threads() > 1 ? state.threads() : call.threads;
  workload.exact_calls = listed.find("/iterations:") != std::string::npos;
  workload.prepare = PreparationOf(call, callable);
  return workload;
}

void Program::SimulateCall(benchmark::State& state, const workload::Workload& workload) {
  if (workload::NameOf(workload) != simulated_) return state.SkipWithError(record::kNotRun);
  const auto call = workload.prepare(settings_);
  runner::CountSimulatedCall(workload, call, call);
  std::cout << std::flush;
  _exit(0);
}

void Program::RunPass(benchmark::State& state, const workload::Workload& workload) {
  if (state.threads() == 1 && passes_done_.insert(workload::NameOf(workload)).second) {
    pass_(workload);
    runner_->Forget();
  }
  state.SkipWithError(record::kNotRun);
}

void Program::Time(benchmark::State& state, const workload::Workload& workload,
                   const std::string& listed, const detail::Callable& callable) {
  const auto name = workload::NameOf(workload);
  if (record::ReadBenchmarkName(listed).repeats && state.thread_index() == 0)
    runner_->UseAllRepetitions(workload);
  if (state.threads() == 1) {
    const AbortSentence sentence(name);
    runner_->Run(state, workload);
    return runner_->Forget();
  }
  if (callable.start)
    return state.SkipWithError("a benchmark on a GPU has one host thread: remove ->Threads(n)");
  runner::Runner::Team* team = nullptr;
  {
    const std::lock_guard lock(mutex_);
    team = &teams_[name];
  }
  runner_->RunInTeam(state, workload, callable.times, *team);
  if (state.thread_index() == 0) runner_->Forget();
}

void Program::Measure(benchmark::State& state, const Call& call, const detail::Callable& callable) {
  if (!initialized_)
    return state.SkipWithError(
        "dlroof::Initialize(&argc, argv) was not called: use DLROOF_BENCHMARK_MAIN()");
  if (call.threads.value_or(1) < 1)
    return state.SkipWithError("Call::threads: expected a number of at least 1");
  std::optional<std::string> listed;
  {
    const std::lock_guard lock(mutex_);
    if (IsSimulation() && names_.empty()) List();
    if (!IsSimulation()) Begin();
    listed = Running();
  }
  if (!listed)
    return state.SkipWithError(
        "dlroof does not know which benchmark this is: run the benchmarks with a dlroof::Reporter, "
        "and choose them by --benchmark_filter");
  if (!callable.start && record::ReadBenchmarkName(*listed).manual_time)
    return state.SkipWithError(
        "->UseManualTime() is for calls on a GPU: register a call on the CPU with ->UseRealTime()");
  const auto workload = WorkloadOf(state, *listed, call, callable);
  if (IsSimulation())
    SimulateCall(state, workload);
  else if (pass_)
    RunPass(state, workload);
  else
    Time(state, workload, *listed, callable);
}

std::vector<benchmark::BenchmarkReporter::Run> Program::Checked(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs) const {
  auto checked = runs;
  if (!session_) return checked;
  const auto measured = live::RepetitionsOf(runs, *session_);
  auto repetition = measured.begin();
  for (auto& run : checked) {
    if (repetition == measured.end()) break;
    if (run.run_type != benchmark::BenchmarkReporter::Run::RT_Iteration || live::HasNoTime(run))
      continue;
    if (const auto reason = ReasonAgainst(run, *repetition++)) live::MarkFailed(run, reason->text);
  }
  return checked;
}

std::optional<Reason> Program::ReasonAgainst(const benchmark::BenchmarkReporter::Run& run,
                                             const record::Repetition& repetition) const {
  // Google Benchmark's time includes noisy calls and the time between calls: it may be longer than
  // dlroof's, not shorter. Limits of Google Benchmark's time / dlroof's [1], and tolerance [s].
  constexpr double kMinShare = 0.8, kMaxShare = 100, kMinSeconds = 1e-4;
  const bool manual = record::ReadBenchmarkName(run.run_name.str()).manual_time;
  const auto name = live::RecordName(run.run_name.str());
  if (session_->FindMeasured(name)->record.device == "gpu" && !manual)
    return Reason{
        "a call on a GPU is timed by the GPU: register the benchmark with "
        "->UseManualTime()"};
  if (manual || run.threads > 1) return std::nullopt;
  const double calls = static_cast<double>(run.iterations), expected = repetition.seconds * calls;
  const double seconds = run.real_accumulated_time;
  if (seconds >= kMinShare * expected - kMinSeconds && seconds <= kMaxShare * expected + 1)
    return std::nullopt;
  return Reason{
      fmt::format("Google Benchmark's timer shows {:.3g} s for {:.0f} calls that took {:.3g} s: a "
                  "call must not pause or resume the timer",
                  seconds, calls, expected)};
}

}  // namespace dlroof::library

namespace dlroof::detail {

void Measure(benchmark::State& state, const Call& call, const Callable& callable) {
  library::Program::Get().Measure(state, call, callable);
}

}  // namespace dlroof::detail
