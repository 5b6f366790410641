#include "bench/runner/run_context.h"

#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <ranges>
#include <utility>

#include "bench/runner/prepared_calls.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/version.h"
#include "reporters/record/run_file.h"

namespace dlroof::runner {
namespace {

using nlohmann::json;

// Conventions of counting and statistics, stored in each run file. Conventions of an op's FLOPs are
// added as "flops.conv2d". Files are compared only if these texts are equal (if texts about FLOPs
// differ, their times still are), so do not reword them. Files of versions before 2.0 have "flops"
// instead of "flops.fma"; their convolutions count the padding.
constexpr std::pair<const char*, const char*> kConventions[] = {
    {"flops.fma", "a fused multiply-add is 2; useful work of the definition, without padding"},
    {"bytes.dram", "modelled: compulsory, every tensor of the call once, whole, without padding"},
    {"seconds",
     "median of the undisturbed repetitions, each the mean of its iterations; 95 % interval by "
     "order statistics"},
    {"disturbed",
     "threads waited for a CPU more than 1 % of the time, or the main thread was off its CPU 2 % "
     "of the time "
     "more than in the best repetition"},
    {"disturbed.cores",
     "or a thread had less than 90 % of its core's issue slots right before or after, for another "
     "hardware thread was busy on it, or the threads were over three times as far from each other "
     "(in round "
     "trips of a cache line) as when they were nearest; or only some of its calls are in its time "
     "(clean_calls)"},
    {"cache",
     "warm: calls follow each other on the same data; cold: before each call all its tensors "
     "(cold-weights: its weights) are flushed from the caches of every CPU, outside the timing; "
     "its threads are awake"},
    {"gpu.timed",
     "timed device: median of calls queued behind a waiting kernel, [prepare L2, event, call, "
     "event] each, so that the host is not in it; timed call: between two events around one call "
     "on an idle GPU, its launch included. Apart from it gpu.call_seconds, gpu.throughput_seconds "
     "(calls back to back) and gpu.graph_seconds (replayed as a graph)"},
    {"gpu.timed.graph",
     "timed graph: (time of 2N calls - time of N calls) / N, in CUDA graphs, N is "
     "gpu.graph_calls, median of pairs; timed throughput: the same queued, N is gpu.stream_calls. "
     "gpu.queued_seconds is then the time of timed device"},
    {"gpu.disturbed",
     "SMs below 75 % of their default clock, or the host's threads waited for a CPU more than 1 "
     "% "
     "of its time"},
    {"gpu.l2",
     "cold: in a graph the calls use copies of their tensors (cold-weights: of the weights) in "
     "turn, more than twice the size of L2; before each other call so much is written "
     "(cold-weights: then all but the weights is read)"},
    {"data",
     "seeded uniform random numbers; int8 convolutions without scales small ones, so that sums "
     "fit 8 bit"},
    {"prefixes", "SI: 1 GB = 1e9 byte"}};

json Environment() {
  constexpr std::array<const char*, 9> kVariables = {
      "OMP_NUM_THREADS",      "OMP_WAIT_POLICY",
      "GOMP_SPINCOUNT",       "OMP_DYNAMIC",
      "OMP_THREAD_LIMIT",     "ONEDNN_MAX_CPU_ISA",
      "ONEDNN_CPU_ISA_HINTS", "ONEDNN_DEFAULT_FPMATH_MODE",
      "DLROOF_SYSFS"};
  json environment = json::object();
  for (const char* variable : kVariables)
    if (const char* value = std::getenv(variable)) environment[variable] = value;
  return environment;
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Returns the chosen counter source, and the reasons why sources cannot count on this CPU. Does not
// query GPU sources, because the query opens the GPU.
json Counters(const std::string& choice) {
  json counters = json::object();
  counters["asked"] = choice;
  for (const auto& [source, reason] : UnavailableSources(choice, "cpu", AllCounterSources()))
    counters["unavailable"][source] = reason.text;
  return counters;
}

}  // namespace

json RunContext(const std::string& command, const workload::RunSettings& settings) {
  json libraries = {{"google_benchmark", kGoogleBenchmarkVersion}};
  json conventions = json::object();
  for (const auto& [key, text] : kConventions) conventions[key] = text;
  for (const workload::Op* op : workload::AllOps())
    conventions["flops." + LowerCase(op->name)] = op->flop_convention;
  for (const auto& library : workload::AllLibraries())
    libraries[library.name] = library.description();
  return {{"schema", record::kSchema},
          {"version", kVersion},
          {"commit", kCommit},
          {"compiler", kCompiler},
          {"build_type", kBuildType},
          {"command", command},
          {"conventions", conventions},
          {"ops", roofline::ToJson(roofline::WordsOf(nullptr))},
          {"libraries", libraries},
          {"environment", Environment()},
          {"counters", Counters(settings.counters)},
          {"threads", settings.threads},
          {"seed", settings.seed},
          {"pinned_cpus",
           std::vector<int>(settings.cpus.begin(), settings.cpus.begin() + settings.threads)}};
}

namespace {

// Reads a tensor, which brings it into the simulated caches.
void Touch(const workload::MemoryRegion& region) {
  const auto* bytes = static_cast<const volatile std::uint64_t*>(region.begin);
  for (size_t i = 0; i < region.bytes / sizeof(std::uint64_t); ++i) static_cast<void>(bytes[i]);
}

// Brings the caches into `state`. For a cold call, runs `twin`, the same call on other tensors: it
// caches the library's memory (descriptors, scratchpad, tables), but not the call's tensors.
void BringCachesInto(workload::CacheState state, const workload::PreparedCall& call,
                     const workload::PreparedCall& twin) {
  (state == workload::CacheState::kWarm ? call : twin).run();
  if (state != workload::CacheState::kColdWeights) return;
  for (const auto& region : call.memory)
    if (!region.weights) Touch(region);
}

}  // namespace

std::optional<SimulationRequest> SimulatedCallIn(const std::vector<std::string>& args) {
  constexpr std::string_view kCall = kSimulatedCallFlag, kSeed = "--dlroof_seed=";
  if (std::ranges::none_of(args, [&](const auto& arg) { return arg.starts_with(kCall); }))
    return std::nullopt;
  SimulationRequest request;
  for (const std::string_view arg : args | std::views::drop(1)) {
    const auto seed = ParseNumber<unsigned>(arg.substr(std::min(kSeed.size(), arg.size())));
    if (arg.starts_with(kCall))
      request.name = arg.substr(kCall.size());
    else if (arg.starts_with(kSeed) && seed)
      request.seed = *seed;
    else
      throw BadInput("{}: expected only {}NAME and {}N", arg, kCall, kSeed);
  }
  return request;
}

void CountSimulatedCall(const workload::Workload& workload, const workload::PreparedCall& call,
                        const workload::PreparedCall& twin) {
  CALLGRIND_START_INSTRUMENTATION;  // with empty caches
  BringCachesInto(workload.cache, call, twin);
  CALLGRIND_ZERO_STATS;  // without changing the simulated caches
  call.run();
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  std::cout << JsonText(nlohmann::json{{"algorithm", call.algorithm}}) << '\n';
}

int RunSimulatedCall(const SimulationRequest& request) {
  const workload::Workload workload = workload::MakeWorkload(request.name);
  workload::RunSettings settings;
  settings.seed = request.seed;
  const workload::PreparedCall call = workload.prepare(settings);
  const workload::PreparedCall twin = workload.cache == workload::CacheState::kWarm
                                          ? workload::PreparedCall()
                                          : workload.prepare(settings);
  CountSimulatedCall(workload, call, twin);
  return 0;
}

void RefusePinning(const cpu::Environment& environment) {
  if (const auto variable = cpu::PinningVariable(environment))
    throw BadInput(
        "{} is set, which hides CPUs from the measurement: unset it; dlroof pins threads itself",
        *variable);
}

void RefuseThreadLimit(int threads, const cpu::Environment& environment) {
  const auto most = cpu::OpenMpThreadLimit(environment);
  if (most && *most < threads)
    throw BadInput(
        "OMP_THREAD_LIMIT={0} allows fewer threads than the {1} of this run, and oneDNN's results "
        "would be wrong: unset it, or use --dlroof_threads={0}",
        *most, threads);
}

nlohmann::json LimitsContext(const std::vector<cpu::Limit>& limits) {
  nlohmann::json context;
  for (const auto& limit : limits)
    context.push_back(
        {{"limit", cpu::Key(limit.kind)}, {"found", limit.found}, {"effect", limit.effect}});
  return context;
}

QuotaWatch::QuotaWatch(cpu::CpuQuota quota, cpu::ReadText read)
    : quota_(std::move(quota)),
      read_(std::move(read)),
      begin_(cpu::ParseThrottling(read_(quota_.stat))) {}

cpu::Throttling QuotaWatch::Read() const {
  const auto now = cpu::ParseThrottling(read_(quota_.stat));
  return now && begin_ ? *now - *begin_ : cpu::Throttling{};
}

std::unique_ptr<QuotaWatch> WatchQuota(const cpu::LimitFacts& limits) {
  const auto quota = cpu::QuotaFrom(limits);
  return quota ? std::make_unique<QuotaWatch>(*quota, limits.read) : nullptr;
}

std::optional<Reason> QuotaWatch::Stopped(const cpu::Throttling& during) const {
  if (during.throttled <= 0) return std::nullopt;
  return Reason{fmt::format(
      "{} stopped this process in {:.0f} of {:.0f} periods: no waiting ends that; raise the quota "
      "(docker --cpus, limits.cpu) or use fewer threads",
      cpu::QuotaText(quota_), during.throttled, during.periods)};
}

}  // namespace dlroof::runner
