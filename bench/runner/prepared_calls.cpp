#include "bench/runner/prepared_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"

namespace dlroof::runner {
namespace {

constexpr double kCpuWindowSeconds = 0.5;
constexpr double kGpuWindowSeconds = 2;  // 20 x the longest sampling period of NVML

constexpr double kMaxStoredBytes = 4e9;  // [byte] for the tensors of all stored GPU calls

// Returns the algorithm and the names of its kernels, from which a traffic model reads the tiles.
std::string AlgorithmAndKernels(const workload::PreparedCall& call) {
  std::string text = call.algorithm;
  if (call.gpu)
    for (const auto& kernel : call.gpu->kernels) text += ", " + kernel;
  return text;
}

// Returns path, size and modification time of this program's file, to identify program and build.
std::string ThisProgram() {
  namespace fs = std::filesystem;
  const auto file = ProgramPath();
  return fmt::format("{}, {} bytes of {}", file.string(), fs::file_size(file),
                     fs::last_write_time(file).time_since_epoch().count());
}

CountRequest Request(const workload::Workload& workload, const workload::PreparedCall& call,
                     const workload::RunSettings& settings, const std::function<void()>& ready) {
  CountRequest request;
  request.name = workload::NameOf(workload);
  request.type = workload.name.type;
  request.run = call.run;
  request.ready = ready;
  for (const auto& [pipe, flops] : call.modelled.flops)
    if (flops > 0) request.pipes.push_back(pipe);
  request.threads = call.threads.value_or(settings.threads);
  for (const auto& library : workload::AllLibraries())
    request.made_by += library.description() + "; ";
  if (workload.other_name) request.made_by += ThisProgram();
  request.seed = settings.seed;
  request.blocks_wait = call.gpu && call.gpu->blocks_wait;
  if (workload.name.device == "gpu") {
    const workload::Op* const op = workload::FindOp(workload.name.op);
    if (op != nullptr && op->gpu_traffic)
      request.model = op->gpu_traffic(workload.name, AlgorithmAndKernels(call), settings.gpu);
  }
  return request;
}

const CounterSource* Source(std::string_view name, std::string_view device) {
  for (const CounterSource& source : AllCounterSources())
    if (source.name == name && source.device == device) return &source;
  return nullptr;
}

double Bytes(const workload::PreparedCall& call) {
  double bytes = 1;  // not 0, so that calls without known memory are limited too
  for (const auto& region : call.memory) bytes += static_cast<double>(region.bytes);
  return bytes;
}

}  // namespace

Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready) {
  const auto& device = workload.name.device;
  Counting counting;
  if (settings.counters != kNoCounters)
    counting = CountCall(settings.counters, device, Request(workload, call, settings, ready),
                         AllCounterSources());
  // Says why GPU sources cannot count. The run's context does not, because it is made before the
  // GPU is opened. If the user chose a source by name, CountCall has added its note.
  if (device == "gpu" && settings.counters == kAutoCounters)
    for (const auto& [source, reason] :
         UnavailableSources(settings.counters, device, AllCounterSources()))
      counting.notes.push_back({source, {}, reason.text});
  Work& modelled = counting.work[Provenance::kModelled];
  Work closed = call.modelled;
  closed.bytes.insert(modelled.bytes.begin(), modelled.bytes.end());
  // On a GPU, modelled DRAM bytes may exceed compulsory ones: later waves of CTAs read data again.
  if (const auto more = modelled.bytes.find(Level::kDram);
      device == "gpu" && more != modelled.bytes.end())
    closed.bytes[Level::kDram] = std::max(closed.bytes[Level::kDram], more->second);
  modelled = std::move(closed);
  return counting;
}

std::string VerifyCall(workload::PreparedCall& call) {
  for (;;) {
    const workload::Verification found = call.verify();
    if (found.ok && found.tolerance == 0) return found.how;  // no error was computed
    if (found.ok)
      return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                         found.tolerance);
    call.wrong_engines.push_back({call.algorithm, workload::DifferenceText(found)});
    if (!call.next_algorithm || !call.next_algorithm(call))
      throw WrongResult(call.wrong_engines.front().reason);
  }
}

std::string VerifyNewInputs(workload::PreparedCall& call, unsigned seed) {
  constexpr unsigned kOtherSeed = 0x9e3779b9;  // far from the seeds of a call's tensors
  try {
    // A copy of the tensors, and the inputs as f32: four bytes for an element of one byte or more.
    workload::RequireHostMemory((1 + sizeof(float)) * Bytes(call), "a second verification");
    call.new_inputs(seed + kOtherSeed);
  } catch (const Unsupported& error) {
    return fmt::format("not again after the timing: {}", error.what());
  }
  if (const auto found = call.verify(); !found.ok)
    throw WrongResult("after the timing, with other inputs: " + workload::DifferenceText(found));
  return "again after the timing, with other inputs";
}

void SkipWrongEngines(const std::vector<record::WrongEngine>& wrong, workload::PreparedCall& call) {
  for (const auto& [algorithm, reason] : wrong)
    if (call.algorithm == algorithm && call.next_algorithm) {
      if (!call.next_algorithm(call))
        throw std::runtime_error(
            fmt::format("no algorithm is left after {}, which is wrong", algorithm));
      call.wrong_engines.push_back({algorithm, reason});
    }
}

bool MeansGpuCounters(const std::string& choice) {
  const CounterSource* const source = Source(SourceName(choice), "gpu");
  return choice == kAutoCounters ||
         (source != nullptr && source->provenance == Provenance::kMeasured);
}

std::optional<std::string> CountersWarning(const std::string& choice) {
  const CounterSource* const on_gpu = Source(SourceName(choice), "gpu");
  if (on_gpu != nullptr && on_gpu->count) return std::nullopt;  // queried when the GPU is open
  const auto reason =
      UnavailableReason(choice, on_gpu == nullptr ? "cpu" : "gpu", AllCounterSources());
  if (!reason) return std::nullopt;
  return fmt::format("--dlroof_counters={}: {}; bytes are modelled\n", choice, reason->text);
}

energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules) {
  if (!joules || !joules())
    return {.unavailable =
                Reason{"nvml: the driver does not report this GPU's energy (Volta and later do)"}};
  const auto read = [joules] {
    if (const auto now = joules()) return *now;
    throw BadInput("nvml: the driver no longer reports the GPU's energy");
  };
  return {"nvml",
          {{"gpu", true, read, std::nullopt}},
          "the GPU's board, without CPU, host memory, fans, NIC and power supply",
          {}};
}

bool EnergyPass::Measures(const std::string& device) const {
  return cpu && (device == "gpu" || !cpu->from.empty());
}

energy::EnergyResult EnergyOfCall(const workload::Workload& workload,
                                  const workload::PreparedCall& call, const Timer& timer,
                                  const EnergyPass& pass) {
  const bool gpu = workload.name.device == "gpu";
  if (!pass.Measures(workload.name.device)) return {};
  if (timer.BeforeCall())
    return {.reason = Reason{"the energy would include the flushing of caches before each call"}};
  call.run();  // does the library's first-time work
  return energy::MeasureEnergy(gpu ? GpuEnergy(timer.EnergyCounter()) : *pass.cpu, call.run,
                               {gpu ? kGpuWindowSeconds : kCpuWindowSeconds, cpu::WallSeconds,
                                StoppedByInterrupt, energy::CpuSecondsOfOthers});
}

Timer& PreparedCalls::TimerOf(const workload::Workload& workload) {
  if (workload.name.device == "gpu") return gpu_;
  return cpu_;
}

bool PreparedCalls::CountsLater(const workload::Workload& workload) const {
  return workload.name.device == "gpu" && MeansGpuCounters(settings_.counters);
}

void PreparedCalls::Take(const workload::Workload& workload) {
  if (auto stored = stored_.extract(workload::NameOf(workload))) {
    call_ = std::move(stored.mapped());
    stored_bytes_ -= Bytes(*call_);
    TimerOf(workload).SetUp(*call_, workload.cache, threads_);
    return;
  }
  try {
    call_ = Make(workload);
  } catch (const std::exception&) {
    if (stored_.empty()) throw;
    stored_.clear();
    stored_bytes_ = 0;
    call_ = Make(workload);
  }
}

void PreparedCalls::Store(const std::string& name) {
  if (!call_ || stored_bytes_ + Bytes(*call_) > kMaxStoredBytes) return;
  stored_bytes_ += Bytes(*call_);
  stored_.emplace(name, *std::exchange(call_, std::nullopt));
}

void PreparedCalls::Drop() {
  call_.reset();
  cpu_.TearDown();
  gpu_.TearDown();
}

workload::RunSettings PreparedCalls::Settings() const {
  workload::RunSettings settings = settings_;
  settings.threads = threads_;
  return settings;
}

workload::PreparedCall PreparedCalls::Make(const workload::Workload& workload) {
  Timer& timer = TimerOf(workload);
  threads_ = timer.Threads(workload, settings_.threads);
  timer.Open();
  Pin();
  workload::PreparedCall call = workload.prepare(Settings());
  timer.SetUp(call, workload.cache, threads_);
  return call;
}

void PreparedCalls::Pin() {
  if (settings_.cpus.empty()) return;
  if (static_cast<size_t>(threads_) > settings_.cpus.size())
    throw Unsupported("threads{}: this process may use {} CPUs, and each thread needs its own CPU",
                      threads_, settings_.cpus.size());
  const std::vector<int> cpus(settings_.cpus.begin(), settings_.cpus.begin() + threads_);
  if (cpus == pinned_) return;
  for (const auto& library : workload::AllLibraries()) library.pin(cpus);
  pinned_ = cpus;
}

}  // namespace dlroof::runner
