#include "counters/cupti/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

namespace dlroof::cupti {
namespace {

// Passes more than the plan's that a device may want before something is wrong.
constexpr int kMorePasses = 8;

class AtEnd {
 public:
  explicit AtEnd(std::function<void()> release) : release_(std::move(release)) {}
  ~AtEnd() { release_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  std::function<void()> release_;
};

void MakeReady(CuptiApi& api, const RepeatedCall& call) {
  api.ForgetErrors();
  if (!call.ready) return;
  call.ready();
  api.Synchronize();
}

void RunTimed(CuptiApi& api, const RepeatedCall& call, const SecondsNow& now, double& shortest) {
  const double begin = now();
  call.run();
  api.Synchronize();
  shortest = std::min(shortest, now() - begin);
}

// Runs and returns stop(), which is called even when the run throws: what was started would count
// on.
template <class Run, class Stop>
auto RunThenStop(const Run& run, const Stop& stop) {
  try {
    run();
  } catch (...) {
    try {
      stop();
    } catch (const CuptiError&) {  // The first failure is the one to tell.
    }
    throw;
  }
  return stop();
}

// One pass. Returns true for the last.
bool CountPass(CuptiApi& api, const RepeatedCall& call, const SecondsNow& now, double& shortest) {
  MakeReady(api, call);
  api.StartPass();
  const auto run = [&] {
    api.PushRange();
    RunTimed(api, call, now, shortest);
    api.PopRange();
  };
  return RunThenStop(run, [&] { return api.StopPass(); });
}

void CountConfig(CuptiApi& api, const CuptiDevice& device, const CuptiConfig& config,
                 const RepeatedCall& call, const SecondsNow& now, CountedValues& counted) {
  api.OpenHost(device.chip.name, device.availability);
  const AtEnd close([&] { api.CloseHost(); });
  if (!api.AddMetrics(config.metrics))
    throw std::runtime_error("CUPTI refuses metrics that it took when they were planned");
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
          fmt::format("CUPTI asked for {} passes and was not done after {}", passes, runs));
    last = CountPass(api, call, now, counted.seconds_per_run);
  }
  if (const auto dropped = api.DecodeCounters(); dropped > 0)
    throw std::runtime_error(fmt::format("CUPTI dropped {} of its ranges", dropped));
  if (const auto ranges = api.Ranges(counters); ranges != 1)
    throw std::runtime_error(fmt::format("CUPTI has {} ranges of one call", ranges));
  const auto values = api.Values(counters, config.metrics);
  for (size_t i = 0; i < values.size(); ++i) counted.values[config.metrics.at(i)] = values[i];
  counted.runs += runs;
}

// Absent where there is nothing in it that must be counted.
std::optional<CuptiConfig> WithoutFree(const CuptiConfig& config) {
  if (config.alone) return std::nullopt;
  CuptiConfig rest = config;
  rest.free.clear();
  std::erase_if(rest.metrics, [&](const std::string& metric) {
    return std::ranges::count(config.free, metric) > 0;
  });
  return rest;
}

// Plans are proved against CUPTI's host half; a device may still refuse a configuration.
void CountWhatIsGiven(CuptiApi& api, const CuptiDevice& device, const CuptiConfig& config,
                      const RepeatedCall& call, const SecondsNow& now, CountedValues& counted) {
  try {
    return CountConfig(api, device, config, call, now, counted);
  } catch (const CuptiError& error) {
    const auto rest = WithoutFree(config);
    const bool less = !rest || (!rest->metrics.empty() && !config.free.empty());
    if (!less || error.failure().library != CudaLibrary::kCupti) throw;
    const auto& without = rest ? config.free : config.metrics;
    const auto doubt =
        fmt::format("counted without {}: {}", fmt::join(without, ", "), error.what());
    if (rest) CountConfig(api, device, *rest, call, now, counted);
    counted.doubts.push_back(doubt);
  }
}

}  // namespace

CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number) {
  const int devices = api.DeviceCount();
  if (number >= devices)
    throw std::runtime_error(devices == 0
                                 ? "there is no GPU: see what nvidia-smi says"
                                 : fmt::format("there is no GPU {} but {}", number, devices));
  api.OpenDevice(number);
  api.StartProfiler();
  if (const auto why = SupportSentence(api.Support(number)); !why.empty())
    throw std::runtime_error(why);
  CuptiDevice device{.number = number};
  const auto name = api.ChipName(number);
  const auto* chip = FindChip(table, name);
  if (chip == nullptr)
    throw std::runtime_error(fmt::format(
        "the chip {} is not in the table of counters: dlroof counters lists those that are", name));
  device.chip = *chip;
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  device.availability = api.CounterAvailability();
  api.EnableRanges();
  api.DisableRanges();
  return device;
}

PassesOf AskHostApi(CuptiHostApi& api, const std::string& chip, const CuptiImage& availability) {
  return [&api, chip, availability](const std::vector<std::string>& metrics) -> std::optional<int> {
    api.OpenHost(chip, availability);
    const AtEnd close([&] { api.CloseHost(); });
    if (!api.AddMetrics(metrics)) return std::nullopt;
    return api.Passes(api.Config());
  };
}

CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call, const SecondsNow& now) {
  CountedValues counted{.seconds_per_run = std::numeric_limits<double>::infinity()};
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  for (const auto& config : plan.configs) CountWhatIsGiven(api, device, config, call, now, counted);
  return counted;
}

std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call) {
  MakeReady(api, call);
  api.Subscribe();
  const AtEnd unsubscribe([&] { api.Unsubscribe(); });
  api.StartTrace();
  const auto run = [&] {
    call.run();
    api.Synchronize();
  };
  return RunThenStop(run, [&] { return api.StopTrace(); });
}

double PlainSeconds(CuptiApi& api, const RepeatedCall& call, int runs, const SecondsNow& now) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    MakeReady(api, call);
    RunTimed(api, call, now, shortest);
  }
  return shortest;
}

}  // namespace dlroof::cupti
