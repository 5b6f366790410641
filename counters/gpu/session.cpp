#include "counters/gpu/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace dlroof::gpu {
namespace {

std::string Ordinal(int number) {
  return fmt::format("{}{}", number, number == 2 ? "nd" : number == 3 ? "rd" : "th");
}

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::count(texts, text) > 0;
}

// Returns the requested sets in the table's order, but inserts all tensor sets at the place of the
// table's first tensor set, in the order of `types`.
std::vector<const CuptiSet*> RequestedSets(const CuptiTable& table,
                                           const std::vector<std::string>& types,
                                           const CounterOptions& options) {
  auto order = types;
  if (options.every_type)
    for (const auto& type : TensorTypes(table))
      if (!Contains(order, type)) order.push_back(type);
  const auto tensor = [&](const CuptiSet& set) { return !set.free && !set.type.empty(); };
  std::vector<const CuptiSet*> requested;
  bool placed = false;
  for (const auto& set : table.sets) {
    if (!tensor(set)) {
      if ((!set.alone || options.link) && (set.type.empty() || Contains(order, set.type)))
        requested.push_back(&set);
      continue;
    }
    if (placed) continue;
    placed = true;
    for (const auto& type : order)
      for (const auto& other : table.sets)
        if (tensor(other) && other.type == type) requested.push_back(&other);
  }
  return requested;
}

}  // namespace

std::vector<std::string> TensorTypesOf(const CuptiTable& table, const std::string& type,
                                       const std::vector<std::string>& pipes) {
  std::vector<std::string> types, siblings;
  if (const auto* row = FindCallType(table, type)) types.push_back(row->tensor);
  for (const auto& pipe : pipes) {
    const auto of_pipe = pipe.substr(0, pipe.find('.'));
    const bool matrix = pipe.find(".matrix") != std::string::npos;
    auto& list = matrix ? types : siblings;
    const auto& name = !matrix && of_pipe == "fp32" ? std::string("tf32") : of_pipe;
    if (!Contains(list, name)) list.push_back(name);
  }
  return types.empty() ? siblings : types;
}

CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CounterOptions& options,
                       const PassesOf& passes_of) {
  CuptiPlan plan;
  CuptiConfig together, link;
  // Adds the set to the plan. Returns the reason if it is left out.
  const auto add = [&](const CuptiSet& set) -> std::optional<std::string> {
    const auto metrics = MetricsOf(table, set, chip);
    if (metrics.empty()) return fmt::format("{} has no counter for it", chip.name);
    CuptiConfig with = set.alone ? CuptiConfig{} : together;
    for (const auto* metric : metrics) {
      with.metrics.push_back(metric->name);
      if (set.free) with.free.push_back(metric->name);
    }
    if (set.patches && !options.patched)
      return "its patched kernels might wait for blocks that do not fit on the GPU";
    const auto passes = passes_of(with.metrics);
    if (!passes) return "this device refuses it (a MIG instance?)";
    const int most = set.free ? std::max(together.passes, 1) : options.most_passes;
    with.passes = *passes;
    with.alone = set.alone;
    // Sets with their own configuration (PCIe) are requested explicitly, with any number of passes.
    if (!set.alone && with.passes > most)
      return fmt::format("would take a {} pass", Ordinal(most + 1));
    (set.alone ? link : together) = with;
    for (const auto* metric : metrics) plan.metrics.push_back(*metric);
    return std::nullopt;
  };
  for (const auto* set : RequestedSets(table, types, options))
    if (const auto reason = add(*set); reason && !set->free)
      plan.left_out.push_back({set->name, *reason});
  for (const auto& config : {together, link})
    if (!config.metrics.empty()) plan.configs.push_back(config);
  plan.passes = together.passes + link.passes;
  plan.unread_pipes = MatrixPipes(table, chip);
  for (const auto& metric : plan.metrics) std::erase(plan.unread_pipes, metric.quantity);
  return plan;
}

namespace {

// [1] A device may need this many passes more than planned before counting fails.
constexpr int kMorePasses = 8;

void MakeReady(CuptiApi& api, const RepeatedCall& call) {
  api.ForgetErrors();
  if (!call.ready) return;
  call.ready();
  api.Synchronize();
}

void Run(CuptiApi& api, const RepeatedCall& call) {
  call.run();
  api.Synchronize();
}

// Calls run(), then stop(), even if run() throws, and returns the result of stop().
template <class Run, class Stop>
auto RunThenStop(const Run& run, const Stop& stop) {
  try {
    run();
  } catch (...) {
    try {
      stop();
    } catch (const CuptiError&) {  // reports the first failure instead
    }
    throw;
  }
  return stop();
}

// Executes one pass. Returns true if it was the last one.
bool CountPass(CuptiApi& api, const RepeatedCall& call) {
  MakeReady(api, call);
  api.StartPass();
  const auto run = [&] {
    api.PushRange();
    Run(api, call);
    api.PopRange();
  };
  return RunThenStop(run, [&] { return api.StopPass(); });
}

void CountConfig(CuptiApi& api, const CuptiDevice& device, const CuptiConfig& config,
                 const RepeatedCall& call, CountedValues& counted) {
  api.OpenHost(device.chip.name, device.availability);
  const AtEnd close([&] { api.CloseHost(); });
  if (!api.AddMetrics(config.metrics))
    throw std::runtime_error("CUPTI refuses metrics that it accepted in planning");
  const auto image = api.Config();
  const int passes = api.Passes(image);
  api.EnableRanges();
  CuptiImage counters;
  const AtEnd disable([&] { api.DisableRanges(); });
  counters = api.CounterImage(config.metrics);
  api.SetConfig(image, counters);
  int runs = 0;
  for (bool last = false; !last; ++runs) {
    if (runs == passes + kMorePasses)
      throw std::runtime_error(
          fmt::format("CUPTI announced {} passes and was not done after {}", passes, runs));
    last = CountPass(api, call);
  }
  if (const auto dropped = api.DecodeCounters(); dropped > 0)
    throw std::runtime_error(fmt::format("CUPTI dropped {} ranges", dropped));
  if (const auto ranges = api.Ranges(counters); ranges != 1)
    throw std::runtime_error(fmt::format("CUPTI has {} ranges for one call, expected 1", ranges));
  const auto values = api.Values(counters, config.metrics);
  for (size_t i = 0; i < values.size(); ++i) counted.values[config.metrics.at(i)] = values[i];
  counted.runs += runs;
}

// Returns the configuration without optional metrics, or nullopt if all of it is optional.
std::optional<CuptiConfig> WithoutFree(const CuptiConfig& config) {
  if (config.alone) return std::nullopt;
  CuptiConfig rest = config;
  rest.free.clear();
  std::erase_if(rest.metrics, [&](const std::string& metric) {
    return std::ranges::count(config.free, metric) > 0;
  });
  return rest;
}

// Counts a configuration. If the device rejects it, counts again without optional metrics.
void CountWithFallback(CuptiApi& api, const CuptiDevice& device, const CuptiConfig& config,
                       const RepeatedCall& call, CountedValues& counted) {
  try {
    return CountConfig(api, device, config, call, counted);
  } catch (const CuptiError& error) {
    const auto rest = WithoutFree(config);
    const bool less = !rest || (!rest->metrics.empty() && !config.free.empty());
    if (!less || error.failure.library != CudaLibrary::kCupti) throw;
    const auto& without = rest ? config.free : config.metrics;
    const auto caveat =
        fmt::format("counted without {}: {}", fmt::join(without, ", "), error.what());
    if (rest) CountConfig(api, device, *rest, call, counted);
    counted.caveats.push_back(caveat);
  }
}

}  // namespace

CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number) {
  const int devices = api.DeviceCount();
  if (number >= devices)
    throw std::runtime_error(
        devices == 0 ? "there is no GPU: see nvidia-smi"
                     : fmt::format("there is no GPU {}: CUDA sees {} GPUs, counted from 0", number,
                                   devices));
  api.OpenDevice(number);
  api.StartProfiler();
  if (!api.Supports(number))
    throw std::runtime_error(
        "CUPTI cannot profile this GPU: it needs compute capability 7.5, and a virtual GPU, "
        "confidential computing, SLI or WSL may hide the counters: run ncu, which may report why");
  CuptiDevice device{.number = number};
  const auto name = api.ChipName(number);
  const auto* chip = FindChip(table, name);
  if (chip == nullptr)
    throw std::runtime_error(fmt::format(
        "the chip {} is not in the table of counters (dlroof doctor names them)", name));
  device.chip = *chip;
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  device.availability = api.CounterAvailability();
  api.EnableRanges();
  api.DisableRanges();
  return device;
}

PassesOf AskHostApi(CuptiApi& api, const std::string& chip, const CuptiImage& availability) {
  return [&api, chip, availability](const std::vector<std::string>& metrics) -> std::optional<int> {
    api.OpenHost(chip, availability);
    const AtEnd close([&] { api.CloseHost(); });
    if (!api.AddMetrics(metrics)) return std::nullopt;
    return api.Passes(api.Config());
  };
}

CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call) {
  CountedValues counted;
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  for (const auto& config : plan.configs) CountWithFallback(api, device, config, call, counted);
  return counted;
}

std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call) {
  MakeReady(api, call);
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  api.StartTrace();
  return RunThenStop([&] { Run(api, call); }, [&] { return api.StopTrace(); });
}

void RunUncounted(CuptiApi& api, const RepeatedCall& call) {
  MakeReady(api, call);
  Run(api, call);
}

}  // namespace dlroof::gpu
