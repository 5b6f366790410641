#include "bench/run/counting.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/workload/op.h"
#include "counters/cpu/cpu.h"

namespace dlroof::runner {
namespace {

// The first `threads` of those that threads are pinned to; all allowed ones where they are not.
std::vector<int> CpusOf(const std::vector<int>& cpus, int threads) {
  static const cpu::Cpu cpu = cpu::ThisCpu();
  std::vector<int> used = cpus.empty() ? cpu.allowed : cpus;
  used.resize(std::min(used.size(), static_cast<size_t>(threads)));
  return used;
}

CountRequest Request(const workload::Workload& workload, const workload::PreparedCall& call,
                     const workload::RunSettings& settings, const std::function<void()>& ready) {
  CountRequest request;
  request.name = workload::ToText(workload.name);
  request.run = call.run;
  request.ready = ready;
  for (const auto& [pipe, flops] : call.modelled.flops)
    if (flops > 0) request.pipes.push_back(pipe);
  request.threads = call.threads > 0 ? call.threads : settings.threads;
  for (const auto& library : workload::AllLibraries()) request.made_by += library.description() + "; ";
  request.seed = settings.seed;
  request.blocks_wait = call.blocks_wait;
  if (workload.name.device == "gpu") {
    const workload::Op* const op = workload::FindOp(workload.name.op);
    if (op != nullptr && op->gpu_traffic)
      request.model = op->gpu_traffic(workload.name, call.algorithm, settings.gpu);
    return request;
  }
  request.model = [&call, state = workload.cache, threads = request.threads,
                   cpus = settings.cpus](std::string& how) {
    Work work;
    work.bytes = ModelledLevels(call, state, threads, cpus);
    how = work.bytes.empty() ? call.levels.why_not : call.levels.how;
    return work;
  };
  return request;
}

// A GPU's sources are opened when its first call is counted, too late for the run's context: each
// record says why they are silent. CountCall has noted those asked for by name.
void AddSilentSources(std::string_view choice, Counting& counting) {
  if (choice != kAutoCounters) return;
  for (const auto& [source, why] : UnavailableSources(choice, "gpu", AllCounterSources()))
    counting.notes.push_back({source, {}, why});
}

const CounterSource* Source(std::string_view name, std::string_view device) {
  for (const CounterSource& source : AllCounterSources())
    if (source.name == name && source.device == device) return &source;
  return nullptr;
}

}  // namespace

std::map<Level, double> ModelledLevels(const workload::PreparedCall& call, workload::CacheState state, int threads,
                                       const std::vector<int>& cpus) {
  if (call.levels.nests.empty()) return {};
  static const cpu::Topology topology = cpu::ThisCpu().topology;
  const caches::StartOfCall start = {state == workload::CacheState::kWarm, state != workload::CacheState::kCold};
  return caches::LevelBytes(call.levels, caches::SharesPerThread(topology, CpusOf(cpus, threads)), threads, start);
}

Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready) {
  const auto& device = workload.name.device;
  Counting counting;
  if (settings.counters != kNoCounters)
    counting = CountCall(settings.counters, device, Request(workload, call, settings, ready),
                         AllCounterSources());
  if (device == "gpu") AddSilentSources(settings.counters, counting);
  Work& modelled = counting.work[Provenance::kModelled];
  Work closed = call.modelled;
  closed.bytes.insert(modelled.bytes.begin(), modelled.bytes.end());
  // Bytes that a GPU's waves of CTAs read again come on top of the compulsory bytes.
  if (const auto more = modelled.bytes.find(Level::kDram);
      device == "gpu" && more != modelled.bytes.end())
    closed.bytes[Level::kDram] = std::max(closed.bytes[Level::kDram], more->second);
  modelled = std::move(closed);
  return counting;
}

bool MeansGpuCounters(const std::string& choice) {
  const CounterSource* const source = Source(choice, "gpu");
  return choice == kAutoCounters ||
         (source != nullptr && source->provenance == Provenance::kMeasured);
}

std::string CountersSentence(const std::string& choice) {
  const CounterSource* const on_gpu = Source(choice, "gpu");
  // A loaded one is asked when the GPU is open.
  if (on_gpu != nullptr && on_gpu->count) return "";
  const auto why = WhyUnavailable(choice, on_gpu == nullptr ? "cpu" : "gpu", AllCounterSources());
  if (why.empty()) return "";
  return fmt::format("--dlroof_counters={}: {}; bytes are modelled\n", choice, why);
}

}  // namespace dlroof::runner
