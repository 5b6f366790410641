#include "counters/gpu/counter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof::gpu {
namespace {

std::map<std::string, double> Flat(const Work& work) {
  std::map<std::string, double> flat(work.flops.begin(), work.flops.end());
  for (const auto& [level, bytes] : work.bytes) flat[std::string(Key(level))] = bytes;
  if (work.launches) flat["launches"] = *work.launches;
  return flat;
}

void Erase(Work& work, const std::string& quantity) {
  work.flops.erase(quantity);
  if (const auto level = LevelFromKey(quantity)) work.bytes.erase(*level);
  if (quantity == "launches") work.launches.reset();
}

// Removes from `work` the quantities whose counter failed. Adds a caveat for each removed quantity,
// and one for all untested quantities.
void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& caveats) {
  std::vector<std::string> untested;
  for (const auto& [quantity, value] : Flat(work)) {
    const auto row = FindCopy(judged, quantity).value_or(JudgedCounters::mapped_type());
    if (row.grade == CounterGrade::kFailed) {
      caveats.push_back(
          fmt::format("{} was dropped: its counter failed on a kernel of known work ({})", quantity,
                      row.evidence));
      Erase(work, quantity);
    } else if (row.grade == CounterGrade::kUntested && value > 0) {
      untested.push_back(quantity);
    }
  }
  if (!untested.empty())
    caveats.push_back(
        fmt::format("not tested on a kernel of known work: {}", fmt::join(untested, ", ")));
}

}  // namespace

double CounterTolerance(const std::string& quantity) {
  if (quantity == Key(Level::kDram)) return 0.05;
  return LevelFromKey(quantity) ? 0.10 : 0.01;
}

void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged) {
  const auto found = Flat(counted);
  for (const auto& [quantity, expected] : Flat(known.work)) {
    const auto* const got = FindValue(found, quantity);
    if (got == nullptr || expected <= 0) continue;
    const double error = *got / expected - 1;
    const bool ok = std::abs(error) <= CounterTolerance(quantity);
    auto& row = judged[quantity];
    if (row.grade == CounterGrade::kFailed) continue;
    if (ok && row.grade == CounterGrade::kValidated) continue;
    row.grade = ok ? CounterGrade::kValidated : CounterGrade::kFailed;
    row.evidence = fmt::format("{}: counted {:.4g} of its work", known.name, 1 + error);
  }
}

KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes) {
  constexpr std::size_t kPart = 8, kStrides = 17;  // 17: twice the 8 loads in flight, plus 1
  const std::size_t blocks = std::max<std::size_t>(1, l2_bytes / kPart / block_bytes / kStrides);
  return {static_cast<int>(blocks), blocks * kStrides * block_bytes};
}

namespace {

constexpr CounterOptions kDefaultOptions = {};
constexpr CounterOptions kEverything = {64, true, true};

std::string KeyOf(const std::vector<std::string>& texts, const CounterOptions& options) {
  return fmt::format("{} {} {} {} {}", fmt::join(texts, ","), options.most_passes,
                     options.every_type, options.link, options.patched);
}

// Reserves CUPTI's counters until the result's scope ends. Throws if another thread uses them:
// CUPTI might wait forever.
AtEnd ExclusiveUse(std::atomic<bool>& busy) {
  if (busy.exchange(true))
    throw std::runtime_error("this program is already counting another call on the GPU");
  return AtEnd([&busy] { busy = false; });
}

// Placeholder that says why CUPTI cannot count, until the CUDA module replaces it by the source.
[[maybe_unused]] const bool counter_registered =
    RegisterCounterSource({"cupti",
                           "gpu",
                           Provenance::kMeasured,
                           [] { return Reason{"it needs a GPU, and this run has none"}; },
                           {},
                           true});

}  // namespace

CuptiCounter::CuptiCounter(CuptiParts parts, int device)
    : parts_(std::move(parts)), number_(device) {}

std::optional<Reason> CuptiCounter::UnavailableReason() {
  try {
    Open();
  } catch (const std::exception& error) {
    return Reason{error.what()};
  }
  return std::nullopt;
}

void CuptiCounter::Open() {
  const std::lock_guard lock(opening_);
  if (!std::exchange(opened_, true)) try {
      device_ = OpenCuptiDevice(*parts_.api, BuiltInCuptiTable(), number_);
      if (parts_.identity) identity_ = parts_.identity(number_);
    } catch (const std::exception& error) {
      unavailable_ = Reason{error.what()};
    }
  if (unavailable_) throw std::runtime_error(unavailable_->text);
}

const CuptiPlan& CuptiCounter::PlanFor(const std::vector<std::string>& types,
                                       const CounterOptions& options) {
  const auto key = KeyOf(types, options);
  if (const auto* found = FindValue(plans_, key)) return *found;
  auto plan = PlanCounters(BuiltInCuptiTable(), device_->chip, types, options,
                           AskHostApi(*parts_.api, device_->chip.name, device_->availability));
  if (plan.configs.empty())
    throw std::runtime_error(
        "this device has none of the counters that dlroof knows "
        "(counters/gpu/tables/metrics.json)");
  return plans_.emplace(key, std::move(plan)).first->second;
}

CuptiReading CuptiCounter::Read(const std::string& type, const std::vector<std::string>& pipes,
                                const CounterOptions& options, const RepeatedCall& call) {
  CuptiReading reading;
  const auto types = TensorTypesOf(BuiltInCuptiTable(), type, pipes);
  reading.plan = &PlanFor(types, options);
  reading.values = CountValues(*parts_.api, *device_, *reading.plan, call);
  auto metrics = reading.plan->metrics;
  std::erase_if(metrics, [&](const CuptiMetric& metric) {
    return !reading.values.values.contains(metric.name);
  });
  auto used = pipes;  // plus the type's pipe, so that DecodeCounters can tell fp16 from bf16
  if (!types.empty()) used.push_back(types.front() + ".matrix");
  reading.counts = DecodeCounters(metrics, reading.values.values, used);
  reading.unknown_pipes = CheckUnreadPipes(reading.plan->unread_pipes, reading.counts);
  for (const auto& caveat : reading.values.caveats) reading.counts.caveats.push_back(caveat);
  return reading;
}

void CuptiCounter::TestOn(const KnownCall& known) {
  const RepeatedCall call{known.run, {}};
  RunUncounted(*parts_.api, call);
  const auto reading = Read("", known.pipes, kDefaultOptions, call);
  auto counted = reading.counts.work;
  if (known.work.launches) try {
      counted.launches = static_cast<double>(TraceKernels(*parts_.api, call).size());
    } catch (const CuptiError& error) {  // without a trace the other quantities are still tested
      untested_ =
          Reason{fmt::format("{}: its kernels were not traced: {}", known.name, error.what())};
    }
  JudgeCounters(known, counted, judged_);
}

void CuptiCounter::TestOnce() {
  if (tested_) return;
  untested_.reset();
  try {
    for (const auto& known : parts_.known_calls(device_->chip)) try {
        TestOn(known);
        tested_ = true;
      } catch (const std::exception& error) {
        untested_ = Reason{fmt::format("{}: {}", known.name, error.what())};
      }
  } catch (const std::exception& error) {
    untested_ = Reason{error.what()};
  }
}

const JudgedCounters& CuptiCounter::SelfTest() {
  const auto use = ExclusiveUse(busy_);
  Open();
  TestOnce();
  return judged_;
}

Counted CuptiCounter::CountNow(const CountRequest& request, const CounterOptions& options) {
  const RepeatedCall call{request.run, request.ready};
  RunUncounted(*parts_.api, call);
  const auto reading = Read(request.type, request.pipes, options, call);
  Counted counted{.work = reading.counts.work, .caveats = reading.counts.caveats};
  try {
    const auto kernels = TraceKernels(*parts_.api, call);
    counted.work.launches = static_cast<double>(kernels.size());
    counted.kernels = LaunchedKernels(kernels, identity_);
  } catch (const CuptiError& error) {
    counted.caveats.push_back(fmt::format("the kernels were not traced: {}", error.what()));
  }
  if (untested_)
    counted.caveats.push_back("the self-test of the counters is incomplete: " + untested_->text);
  DropFailed(judged_, counted.work, counted.caveats);
  counted.how = HowCounted(device_->chip.name, reading);
  return counted;
}

Counted CuptiCounter::Count(const CountRequest& request, const CounterOptions& options) {
  const auto use = ExclusiveUse(busy_);
  Open();
  auto parts = request.pipes;
  parts.push_back(request.type);
  parts.push_back(request.name);
  const auto key = KeyOf(parts, options);
  if (const auto* found = FindValue(counted_, key)) return *found;
  TestOnce();
  return counted_.emplace(key, CountNow(request, options)).first->second;
}

CounterSource CuptiSourceOf(const std::shared_ptr<CuptiCounter>& counter) {
  CounterSource source{.name = "cupti",
                       .device = "gpu",
                       .provenance = Provenance::kMeasured,
                       .counts_everything = true};
  source.unavailable = [counter] { return counter->UnavailableReason(); };
  source.count = [counter](const CountRequest& request) {
    CounterOptions options = request.everything ? kEverything : kDefaultOptions;
    options.patched = !request.blocks_wait;
    return counter->Count(request, options);
  };
  return source;
}

}  // namespace dlroof::gpu
