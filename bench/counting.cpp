#include "bench/counting.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/delta_levels.h"
#include "counters/cpu.h"

namespace dlroof {
namespace {

// The first `threads` of those that threads are pinned to; all allowed ones where they are not.
std::vector<int> CpusOf(const std::vector<int>& cpus, int threads) {
  static const Cpu cpu = ThisCpu();
  std::vector<int> used = cpus.empty() ? cpu.allowed : cpus;
  used.resize(std::min(used.size(), static_cast<size_t>(threads)));
  return used;
}

CountRequest Request(const Workload& workload, const PreparedCall& call,
                     const RunSettings& settings, const std::function<void()>& ready) {
  CountRequest request;
  request.name = ToText(workload.name);
  request.run = call.run;
  request.ready = ready;
  for (const auto& [pipe, flops] : call.modelled.flops)
    if (flops > 0) request.pipes.push_back(pipe);
  request.threads = call.threads > 0 ? call.threads : settings.threads;
  for (const auto& library : AllLibraries()) request.made_by += library.description() + "; ";
  request.seed = settings.seed;
  if (workload.name.device == "gpu") {
    request.model = DeltaModel(workload.name, call.algorithm, settings.gpu);
    return request;
  }
  request.model = [&call, state = workload.cache, threads = request.threads,
                   cpus = settings.cpus](std::string& how) {
    Work work;
    work.bytes = ModelledLevels(call, state, threads, cpus);
    if (!work.bytes.empty()) how = call.levels.how;
    return work;
  };
  return request;
}

}  // namespace

std::map<Level, double> ModelledLevels(const PreparedCall& call, CacheState state, int threads,
                                       const std::vector<int>& cpus) {
  if (call.levels.nests.empty()) return {};
  static const Topology topology = ThisCpu().topology;
  const StartOfCall start = {state == CacheState::kWarm, state != CacheState::kCold};
  return LevelBytes(call.levels, SharesPerThread(topology, CpusOf(cpus, threads)), threads, start);
}

Counting CountPrepared(const Workload& workload, const PreparedCall& call,
                       const RunSettings& settings, const std::function<void()>& ready) {
  Counting counting;
  if (settings.counters != CounterChoice::kOff)
    counting = CountCall(settings.counters, workload.name.device,
                         Request(workload, call, settings, ready), AllCounterSources());
  Work& modelled = counting.work[Provenance::kModelled];
  Work closed = call.modelled;
  closed.bytes.insert(modelled.bytes.begin(), modelled.bytes.end());
  // What a GPU's waves of CTAs read again comes on top of the compulsory bytes.
  if (const auto more = modelled.bytes.find(Level::kDram);
      workload.name.device == "gpu" && more != modelled.bytes.end())
    closed.bytes[Level::kDram] = std::max(closed.bytes[Level::kDram], more->second);
  modelled = std::move(closed);
  return counting;
}

std::string CountersSentence(CounterChoice choice) {
  const auto why = WhyUnavailable(choice, "cpu", AllCounterSources());
  if (why.empty()) return "";
  return fmt::format("--dlroof_counters={}: {}; bytes are modelled\n", Key(choice), why);
}

}  // namespace dlroof
