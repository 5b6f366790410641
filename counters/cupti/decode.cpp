#include "counters/cupti/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace dlroof::cupti {
namespace {

using Quantities = std::map<std::string, double>;

constexpr std::string_view kPeak = "peak.";
// [1] share of the DRAM bytes that reads plus writes may differ from their sum: they are of two
// runs.
constexpr double kSumTolerance = 0.02;

// Compilers load constants by half-precision multiply-adds (HFMA2.MMA Rx, -RZ, RZ, ...), which do
// no work and on some chips are the tensor cores' to execute.
constexpr double kMovesShare = 1e-3;          // [1] of all FLOPs: half precision below it is those
constexpr double kHalfFlopsPerWarp = 4 * 32;  // [flop] of one such instruction

bool Usable(double value) { return std::isfinite(value) && value >= 0; }

Quantities SumQuantities(const std::vector<CuptiMetric>& metrics, const Quantities& values,
                         std::vector<std::string>& doubts) {
  Quantities sums;
  std::set<std::string> broken;
  for (const auto& metric : metrics) {
    const auto value = values.find(metric.name);
    if (value == values.end() || !Usable(value->second)) {
      broken.insert(metric.quantity);
      doubts.push_back(
          fmt::format("{} has no usable value, so {} is not known", metric.name, metric.quantity));
      continue;
    }
    sums[metric.quantity] += metric.weight * value->second;
  }
  for (const auto& quantity : broken) sums.erase(quantity);
  return sums;
}

// fp16 or bf16: the type of the call's own pipes; fp16 where it has neither or both.
std::string HalfPipe(const std::vector<std::string>& pipes, double flops,
                     std::vector<std::string>& doubts) {
  const auto has = [&](std::string_view type) {
    return std::ranges::any_of(pipes, [&](const auto& pipe) { return pipe.rfind(type, 0) == 0; });
  };
  const bool fp16 = has("fp16."), bf16 = has("bf16.");
  if (fp16 == bf16 && flops > 0)
    doubts.emplace_back(
        "one counter holds the vector units' fp16 and bf16; all of it is given as fp16");
  return bf16 && !fp16 ? "bf16.vector" : "fp16.vector";
}

// Returns the half-precision work without the constants that it loaded.
double HalfWork(double half, double all, const std::vector<std::string>& pipes) {
  const bool asked = std::ranges::any_of(
      pipes, [](const auto& pipe) { return pipe == "fp16.vector" || pipe == "bf16.vector"; });
  return asked || half >= kMovesShare * all ? half : 0;
}

// Absent: it was not counted.
std::optional<double> SumOf(const Quantities& sums, const char* quantity) {
  const auto sum = sums.find(quantity);
  return sum == sums.end() ? std::nullopt : std::optional(sum->second);
}

Work WorkOf(const Quantities& sums, const std::vector<std::string>& pipes,
            std::vector<std::string>& doubts) {
  Work work;
  double all = 0;
  for (const auto& [quantity, sum] : sums)
    if (IsPipeKey(quantity)) all += work.flops[quantity] = sum;
  if (const auto half = SumOf(sums, "half.vector")) {
    const double flops = HalfWork(*half, all + *half, pipes);
    work.flops[HalfPipe(pipes, flops, doubts)] = flops;
  }
  const auto tags = SumOf(sums, "l1.tags"), shared = SumOf(sums, "shared");
  if (tags && shared) work.bytes[Level::kL1] = *tags + *shared;
  for (const auto& [quantity, level] :
       {std::pair("l2", Level::kL2), std::pair("dram", Level::kDram),
        std::pair("host", Level::kHost), std::pair("link", Level::kHost)})
    if (const auto sum = SumOf(sums, quantity)) work.bytes[level] = *sum;
  return work;
}

void AddDoubts(const Quantities& sums, CuptiCounts& counts) {
  const auto of = [&](const char* quantity) { return SumOf(sums, quantity); };
  const auto total = of("dram"), read = of("dram.read"), write = of("dram.write");
  if (total && read && write && std::abs(*total - *read - *write) > kSumTolerance * *total)
    counts.doubts.push_back(
        fmt::format("DRAM reads and writes add up to {:.4g} byte and their sum counter says {:.4g}",
                    *read + *write, *total));
  bool counted = false, any = false;
  for (const auto& [pipe, flops] : counts.work.flops)
    if (pipe.find(".matrix") != std::string::npos) {
      counted = true;
      any = any || flops > 0;
    }
  const auto used = of("tensor.instructions");
  if (used && *used > of("half.vector").value_or(0) / kHalfFlopsPerWarp && counted && !any)
    counts.doubts.push_back(fmt::format(
        "tensor cores executed {:.4g} instructions, none of a type that was counted", *used));
  if (of("link"))
    counts.doubts.emplace_back("PCIe bytes are those of all processes and of copies beside");
}

}  // namespace

CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes) {
  CuptiCounts counts;
  const auto sums = SumQuantities(metrics, values, counts.doubts);
  counts.work = WorkOf(sums, pipes, counts.doubts);
  counts.seconds = SumOf(sums, "seconds");
  counts.clock_hz = SumOf(sums, "clock");
  for (const auto& [quantity, sum] : sums) {
    if (quantity.rfind(kPeak, 0) == 0 && counts.clock_hz)
      counts.tensor_peaks[quantity.substr(kPeak.size())] = sum * *counts.clock_hz;
    for (const char* detail :
         {"shared", "dram.read", "dram.write", "l2.slices", "l2.fabric", "host", "link"})
      if (quantity == detail) counts.details[quantity] = sum;
  }
  AddDoubts(sums, counts);
  return counts;
}

}  // namespace dlroof::cupti
