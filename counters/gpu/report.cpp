#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/gpu/session.h"

namespace dlroof::gpu {
namespace {

using Quantities = std::map<std::string, double>;

// [1] Accepted relative difference between DRAM reads plus writes and the counter of their sum:
// CUPTI may read that counter in another run of the call.
constexpr double kSumTolerance = 0.02;

// Compilers load constants with half-precision multiply-adds (HFMA2.MMA Rx, -RZ, RZ, ...). These
// instructions are no work, and some chips execute them on tensor cores.
constexpr double kMovesShare = 1e-3;          // [1] of all FLOPs, maximum for loads of constants
constexpr double kHalfFlopsPerWarp = 4 * 32;  // [flop] of one such instruction

bool Usable(double value) { return std::isfinite(value) && value >= 0; }

Quantities SumQuantities(const std::vector<CuptiMetric>& metrics, const Quantities& values,
                         std::vector<std::string>& caveats) {
  Quantities sums;
  std::set<std::string> broken;
  for (const auto& metric : metrics) {
    const auto* const value = FindValue(values, metric.name);
    if (value == nullptr || !Usable(*value)) {
      broken.insert(metric.quantity);
      caveats.push_back(
          fmt::format("{} has no valid value, so {} is unknown", metric.name, metric.quantity));
      continue;
    }
    sums[metric.quantity] += metric.weight * *value;
  }
  for (const auto& quantity : broken) sums.erase(quantity);
  return sums;
}

// Returns the half-precision pipe that the call uses, or the fp16 pipe if it uses none or two.
std::string HalfPipe(const std::vector<std::string>& pipes, double flops,
                     std::vector<std::string>& caveats) {
  const auto has = [&](std::string_view type) {
    return std::ranges::any_of(pipes, [&](const auto& pipe) { return pipe.rfind(type, 0) == 0; });
  };
  const bool fp16 = has("fp16."), bf16 = has("bf16.");
  if (fp16 == bf16 && flops > 0)
    caveats.emplace_back(
        "one counter counts the vector units' fp16 and bf16; all of it is reported as fp16");
  return bf16 && !fp16 ? "bf16.vector" : "fp16.vector";
}

// Returns the half-precision work [flop], or 0 if the instructions only load constants.
double HalfWork(double half, double all, const std::vector<std::string>& pipes) {
  const bool expected = std::ranges::any_of(
      pipes, [](const auto& pipe) { return pipe == "fp16.vector" || pipe == "bf16.vector"; });
  return expected || half >= kMovesShare * all ? half : 0;
}

Work WorkOf(const Quantities& sums, const std::vector<std::string>& pipes,
            std::vector<std::string>& caveats) {
  Work work;
  double all = 0;
  for (const auto& [quantity, sum] : sums)
    if (IsPipeKey(quantity)) all += work.flops[quantity] = sum;
  if (const auto half = FindCopy(sums, "half.vector")) {
    const double flops = HalfWork(*half, all + *half, pipes);
    work.flops[HalfPipe(pipes, flops, caveats)] = flops;
  }
  const auto tags = FindCopy(sums, "l1.tags"), shared = FindCopy(sums, "shared");
  if (tags && shared) work.bytes[Level::kL1] = *tags + *shared;
  for (const auto& [quantity, level] :
       {std::pair("l2", Level::kL2), std::pair("dram", Level::kDram),
        std::pair("host", Level::kHost), std::pair("link", Level::kHost)})
    if (const auto sum = FindCopy(sums, quantity)) work.bytes[level] = *sum;
  return work;
}

void AddCaveats(const Quantities& sums, CuptiCounts& counts) {
  const auto of = [&](const char* quantity) { return FindCopy(sums, quantity); };
  const auto total = of("dram"), read = of("dram.read"), write = of("dram.write");
  if (total && read && write && std::abs(*total - *read - *write) > kSumTolerance * *total)
    counts.caveats.push_back(
        fmt::format("DRAM reads and writes add up to {:.4g} byte, but their sum counter has {:.4g}",
                    *read + *write, *total));
  bool counted = false, any = false;
  for (const auto& [pipe, flops] : counts.work.flops)
    if (pipe.find(".matrix") != std::string::npos) {
      counted = true;
      any = any || flops > 0;
    }
  // [1] Vector instructions that run on tensor cores: the value of their counter, or an estimate
  // from the half-precision FLOPs, as if all warps were full.
  const double vector =
      of("tensor.hfma2").value_or(of("half.vector").value_or(0) / kHalfFlopsPerWarp);
  const auto used = of("tensor.instructions");
  if (used && *used > vector && counted && !any)
    counts.caveats.push_back(
        fmt::format("tensor cores executed {:.4g} instructions, but none of a counted type",
                    *used - of("tensor.hfma2").value_or(0)));
  if (of("link"))
    counts.caveats.emplace_back("PCIe bytes include those of other processes and of copies");
}

}  // namespace

CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes) {
  CuptiCounts counts;
  const auto sums = SumQuantities(metrics, values, counts.caveats);
  counts.work = WorkOf(sums, pipes, counts.caveats);
  for (const auto& [quantity, sum] : sums) {
    for (const char* detail : {"shared", "dram.write", "l2.slices"})
      if (quantity == detail) counts.details[quantity] = sum;
    if (quantity.starts_with("tensor.")) counts.instructions[quantity] = sum;
  }
  AddCaveats(sums, counts);
  return counts;
}

namespace {

// Counters of tensor-core instructions. On some chips the floating-point counter includes vector
// instructions, which "tensor.hfma2" counts.
struct TensorFamily {
  const char* quantity;
  const char* words;
};
constexpr TensorFamily kInteger = {"tensor.imma", "integer"}, kFp64 = {"tensor.dmma", "fp64"},
                       kFloat = {"tensor.hmma", "floating-point"};

const TensorFamily& FamilyOf(std::string_view pipe) {
  return pipe == "int8.matrix" ? kInteger : pipe == "fp64.matrix" ? kFp64 : kFloat;
}

// Number of tensor instructions of a family. `certain` is false if `instructions` may include
// vector instructions. ExecutedOf returns nullopt if the family was not counted.
struct Executed {
  double instructions = 0;
  bool certain = true;
};
std::optional<Executed> ExecutedOf(const CuptiCounts& counts, const TensorFamily& family) {
  const auto all = FindCopy(counts.instructions, family.quantity);
  if (!all || &family != &kFloat || *all == 0)
    return all ? std::optional(Executed{*all}) : std::nullopt;
  const auto vector = FindCopy(counts.instructions, "tensor.hfma2");
  if (!vector) return Executed{*all, false};
  return Executed{std::max(*all - *vector, 0.0)};
}

}  // namespace

std::vector<std::string> CheckUnreadPipes(const std::vector<std::string>& unread_pipes,
                                          CuptiCounts& counts) {
  std::set<const TensorFamily*> read;
  for (const auto& [pipe, flops] : counts.work.flops)
    if (pipe.ends_with(".matrix")) read.insert(&FamilyOf(pipe));
  std::vector<std::string> unknown, zero;
  std::set<std::string> worked;
  for (const auto& pipe : unread_pipes) {
    const auto& family = FamilyOf(pipe);
    const auto executed = ExecutedOf(counts, family);
    (executed && executed->instructions == 0 ? zero : unknown).push_back(pipe);
    if (executed && executed->certain && executed->instructions > 0 && !read.contains(&family))
      worked.insert(fmt::format("{:.4g} {} instructions", executed->instructions, family.words));
  }
  if (counts.work.flops.empty()) return unknown;
  for (const auto& pipe : zero) counts.work.flops[pipe] = 0;
  if (!worked.empty()) {
    counts.work.flops.clear();
    counts.caveats.push_back(
        fmt::format("the FLOPs were dropped as incomplete: tensor cores executed {}, which are not "
                    "counted for a call of this type (--dlroof_counters=cupti:all counts them)",
                    fmt::join(worked, ", ")));
  }
  return unknown;
}

namespace {

std::string DetailText(const CuptiCounts& counts) {
  std::string text;
  const auto add = [&](const char* detail, Level level, const char* format) {
    const double part = FindCopy(counts.details, detail).value_or(0);
    const double total = FindCopy(counts.work.bytes, level).value_or(0);
    if (part > 0 && total > 0) text += fmt::format(fmt::runtime(format), 100 * part / total);
  };
  add("shared", Level::kL1, "; {:.0f} % of L1's bytes are of shared memory");
  add("l2.slices", Level::kL2, "; all slices of L2 moved {:.0f} % of L2's bytes");
  add("dram.write", Level::kDram, "; {:.0f} % of DRAM's bytes are written");
  return text;
}

std::string LeftOutText(const CuptiPlan& plan) {
  const auto reasons = VectorOf<std::string>(plan.left_out, [](const auto& left_out) {
    return fmt::format("{} ({})", left_out.set, left_out.reason);
  });
  return reasons.empty() ? "" : fmt::format("; not counted: {}", fmt::join(reasons, ", "));
}

std::string UnknownText(const std::vector<std::string>& pipes) {
  return pipes.empty() ? ""
                       : fmt::format("; FLOPs not asked: {} (--dlroof_counters=cupti:all)",
                                     fmt::join(pipes, ", "));
}

// From the CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
struct SmLimits {
  int capability, threads, blocks;
};
constexpr SmLimits kLimits[] = {{75, 1024, 16},  {80, 2048, 32},  {86, 1536, 16},
                                {87, 1536, 16},  {89, 1536, 24},  {90, 2048, 32},
                                {100, 2048, 32}, {103, 2048, 32}, {120, 1536, 24}};
constexpr int kRegisters = 65536, kWarp = 32;
constexpr int kRegisterUnit = 256;      // registers are allocated to a warp in this unit
constexpr int kSchedulers = 4;          // of an SM; each gets the same number of warps
constexpr double kSharedUnit = 128;     // [byte] shared memory is allocated to a block in this unit
constexpr double kSystemShared = 1024;  // [byte] reserved per block from capability 8.0 on

double RoundedUp(double value, double unit) { return std::ceil(value / unit) * unit; }

}  // namespace

std::optional<double> Waves(const KernelFacts& kernel, const GpuIdentity& gpu) {
  const auto* limits =
      FindIf(kLimits, [&](const SmLimits& row) { return row.capability == gpu.Capability(); });
  if (limits == nullptr || kernel.threads <= 0 || gpu.sms <= 0) return std::nullopt;
  const double warps = std::ceil(static_cast<double>(kernel.threads) / kWarp);
  const double registers = RoundedUp(std::max(kernel.registers, 1) * kWarp, kRegisterUnit);
  const double available = std::floor(kRegisters / registers / kSchedulers) * kSchedulers;
  const double shared =
      RoundedUp(kernel.shared_bytes + (gpu.Capability() >= 80 ? kSystemShared : 0), kSharedUnit);
  double resident = std::min<double>(limits->blocks, std::floor(limits->threads / (warps * kWarp)));
  resident = std::min(resident, std::floor(available / warps));
  if (shared > 0) resident = std::min(resident, std::floor(gpu.shared_bytes_per_sm / shared));
  if (resident < 1) return std::nullopt;
  return static_cast<double>(kernel.blocks) / (resident * gpu.sms);
}

std::string KernelName(const std::string& symbol) {
  auto name = boost::core::demangle(symbol.c_str());
  if (name.rfind("void ", 0) == 0) name.erase(0, 5);
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == '(' && depth == 0 && i > 0) {
      if (name.compare(i, 11, "(anonymous ") == 0) continue;
      name.erase(i);
      break;
    }
  }
  return name;
}

std::string HowCounted(const std::string& chip, const CuptiReading& reading) {
  const int runs = reading.values.runs;
  const auto text = fmt::format(
      "CUPTI range profiler on {}, {} pass{}, caches in the state after the previous run", chip,
      runs, runs == 1 ? "" : "es");
  return text + DetailText(reading.counts) + UnknownText(reading.unknown_pipes) +
         LeftOutText(*reading.plan);
}

std::vector<LaunchedKernel> MergedLaunches(std::vector<LaunchedKernel> launches) {
  std::vector<LaunchedKernel> merged;
  for (auto& launch : launches) {
    auto* const same = FindIf(merged, [&](const auto& other) {
      return other.name == launch.name && other.facts == launch.facts;
    });
    if (same == nullptr) {
      merged.push_back(std::move(launch));
      continue;
    }
    same->launches += launch.launches;
    if (same->seconds && launch.seconds)
      *same->seconds += *launch.seconds;
    else
      same->seconds.reset();
  }
  return merged;
}

std::vector<LaunchedKernel> LaunchedKernels(const std::vector<TracedKernel>& traced,
                                            const std::optional<GpuIdentity>& gpu) {
  std::vector<LaunchedKernel> launches;
  for (const auto& launch : traced) {
    LaunchedKernel kernel{KernelName(launch.name), 1, launch.seconds, launch.facts};
    if (kernel.facts && gpu) kernel.facts->waves = Waves(*kernel.facts, *gpu);
    launches.push_back(std::move(kernel));
  }
  auto kernels = MergedLaunches(std::move(launches));
  std::ranges::stable_sort(kernels, std::greater(),
                           [](const LaunchedKernel& kernel) { return *kernel.seconds; });
  return kernels;
}

std::string ChipNames(const CuptiTable& table) {
  return fmt::format("{}", fmt::join(table.chips | std::views::transform(&CuptiChip::name), ", "));
}

}  // namespace dlroof::gpu
