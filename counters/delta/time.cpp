#include "counters/delta/time.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::delta {
namespace {

// Columns that a wider tile may pad to, over those that the narrowest pads to.
constexpr double kMorePadding = 1 + 1.0 / 16;
constexpr double kSharingCtasPerSm = 1.35;
// A thread holds 64 sums and about as many other registers (volta_scudnn_128x64: 128 threads of 128
// registers).
constexpr double kSumsPerThread = 64, kRegistersPerThread = 128;
// A warp's part of the tile: 32 threads of 8x8 sums.
constexpr double kWarpRows = 64, kWarpColumns = 32;

double Threads(const CtaTile& tile) {
  return std::max(32.0, static_cast<double>(tile.m * tile.n) / kSumsPerThread);
}

// Two K-steps of A and B: one is computed with while the next one arrives.
double SharedBytes(const CtaTile& tile, int64_t element_bytes) {
  return 2 * static_cast<double>((tile.m + tile.n) * tile.k * element_bytes);
}

double Occupancy(const CtaTile& tile, int64_t element_bytes, const GpuSpec& gpu) {
  const double threads = Threads(tile);
  const double registers =
      std::max(threads * kRegistersPerThread, 2 * static_cast<double>(tile.m * tile.n));
  return std::floor(std::min({gpu.registers_per_sm / registers,
                              gpu.shared_bytes_per_sm / SharedBytes(tile, element_bytes),
                              gpu.threads_per_sm / threads, gpu.ctas_per_sm}));
}

int64_t KStep(int64_t n, int64_t element_bytes) {
  return std::max<int64_t>(4, (n <= 32 ? 16 : 32) / element_bytes);
}

int64_t Slices(const ConvLayer& layer, const CtaTile& tile, const GpuSpec& gpu) {
  if (layer.direction != ProductDirection::kBackwardWeights) return 1;
  const auto gemm = GemmOf(layer);
  const int64_t ctas = CeilDiv(gemm.m, tile.m) * CeilDiv(gemm.n, tile.n) * gemm.groups;
  const int64_t steps = CeilDiv(gemm.k, tile.k);
  const int64_t fill = static_cast<int64_t>(gpu.sms) / ctas;
  return std::max<int64_t>(1, std::min(fill, steps / 64));
}

// [clock] Work of each resource in one K-step of one CTA.
struct StepClocks {
  double compute = 0, shared = 0, l1 = 0, l2 = 0, dram = 0;
  double load = 0;  // until the data of the next step have arrived, latencies included
};

struct Rates {  // [byte/clock] of one SM
  double l1 = 0, shared = 0, l2 = 0, dram = 0;
};
Rates RatesOf(const GpuSpec& gpu) {
  const double per_sm = gpu.sms * gpu.clock_hz;
  return {gpu.l1_bytes_per_clock, gpu.shared_bytes_per_clock, gpu.l2_bytes_per_second / per_sm,
          gpu.dram_bytes_per_second / per_sm};
}

StepClocks StepOf(const ConvLayer& layer, const CtaTile& tile, const TrafficBytes& traffic,
                  double cta_steps, const GpuSpec& gpu, double macs) {
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const auto k = static_cast<double>(tile.k), e = static_cast<double>(layer.element_bytes);
  const Rates rate = RatesOf(gpu);
  StepClocks step{.compute = m * n * k / macs};
  const double warps = Threads(tile) / 32;
  step.shared = e * k * ((m + n) + warps * (kWarpRows + kWarpColumns)) / rate.shared;
  step.l1 = traffic.l1_loads / cta_steps / rate.l1;
  step.l2 = traffic.l2_tile_loads / cta_steps / rate.l2;
  step.dram = (traffic.dram.a + traffic.dram.b) / cta_steps / rate.dram;
  step.load = std::max({gpu.l1_latency_clocks + step.l1, gpu.l2_latency_clocks + step.l2,
                        gpu.dram_latency_clocks + step.dram});
  return step;
}

// The resources of a step of `ctas` CTAs on one SM.
std::map<Bottleneck, double> Clocks(const StepClocks& step, double ctas) {
  return {{Bottleneck::kCompute, ctas * step.compute}, {Bottleneck::kShared, ctas * step.shared},
          {Bottleneck::kL1, ctas * step.l1},           {Bottleneck::kL2, ctas * step.l2},
          {Bottleneck::kDram, ctas * step.dram},       {Bottleneck::kLatency, step.load}};
}

std::pair<Bottleneck, double> Longest(const std::map<Bottleneck, double>& clocks) {
  return *std::ranges::max_element(
      clocks, [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

std::string_view Key(Bottleneck bottleneck) {
  constexpr KeyRow<Bottleneck> kKeys[] = {
      {Bottleneck::kCompute, "compute"}, {Bottleneck::kShared, "shared memory"},
      {Bottleneck::kL1, "L1"},           {Bottleneck::kL2, "L2"},
      {Bottleneck::kDram, "DRAM"},       {Bottleneck::kLatency, "latency"},
      {Bottleneck::kLaunch, "launch"}};
  return KeyIn(kKeys, bottleneck);
}

TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu) {
  const int64_t columns = GemmOf(layer).n;
  int64_t n = 32;
  const auto padded = static_cast<double>(CeilDiv(columns, n) * n);
  for (const int64_t wider : {64, 128})
    if (static_cast<double>(CeilDiv(columns, wider) * wider) <= kMorePadding * padded) n = wider;
  return PlanTile(layer, gpu, 128, n);
}

TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, int64_t m, int64_t n) {
  CtaTile tile{m, n, KStep(n, layer.element_bytes), 1};
  tile.slices = Slices(layer, tile, gpu);
  const TilePlan plan{tile, Occupancy(tile, layer.element_bytes, gpu)};
  if (plan.ctas_per_sm < 1)
    throw BadInput(
        "a tile of {}x{} does not fit into an SM of {} (registers, shared memory or threads)", m, n,
        gpu.name);
  return plan;
}

CtaTile TileFromKernelName(std::string_view name) {
  const auto number = [](std::string_view text, int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && value >= 16 && value <= 512 && value % 8 == 0
               ? static_cast<size_t>(end - text.data())
               : 0;
  };
  for (size_t x = name.find('x'); x != std::string_view::npos; x = name.find('x', x + 1)) {
    size_t begin = x;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
    CtaTile tile{0, 0, 0, 1};
    if (begin == x || number(name.substr(begin, x - begin), tile.m) != x - begin) continue;
    const size_t digits = number(name.substr(x + 1), tile.n);
    if (digits > 0 && !name.substr(x + 1 + digits).starts_with('.')) return tile;
  }
  return {0, 0, 0, 1};
}

CacheShape CachesOf(const GpuSpec& gpu) {
  return {gpu.sector_bytes, gpu.dram_sector_bytes, {gpu.l2_bytes, kSharingCtasPerSm * gpu.sms}};
}

ConvTime ModelTime(const ConvLayer& layer, const TilePlan& plan, const TrafficBytes& traffic,
                   const GpuSpec& gpu, const std::string& type) {
  const auto gemm = GemmOf(layer);
  const CtaTile& tile = plan.tile;
  const int64_t steps = CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices);
  const auto ctas = static_cast<double>(CeilDiv(gemm.m, tile.m) * CeilDiv(gemm.n, tile.n) *
                                        gemm.groups * tile.slices);
  const auto k_steps = static_cast<double>(steps);
  const double macs = MacsPerClock(gpu, type);
  const auto step = StepOf(layer, tile, traffic, ctas * k_steps, gpu, macs);
  const Rates rate = RatesOf(gpu);
  // The first step's data through all levels and into shared memory, before anything overlaps.
  const double e = static_cast<double>(layer.element_bytes);
  const double prologue = step.load + gpu.shared_latency_clocks +
                          e * static_cast<double>((tile.m + tile.n) * tile.k) / rate.shared;
  // The results go out while no K-step of the same CTA runs.
  const double store = traffic.dram.c / ctas / rate.dram;
  ConvTime time;
  std::map<Bottleneck, double> clocks;  // of the whole kernel, by what they are spent on
  const auto add_waves = [&](double waves, double on_sm) {
    const auto [resource, longest] = Longest(Clocks(step, on_sm));
    clocks[Bottleneck::kLatency] += waves * prologue;
    clocks[resource] += waves * k_steps * longest;
    clocks[Bottleneck::kDram] += waves * on_sm * store;
    time.waves += waves;
  };
  const double full = std::floor(ctas / (plan.ctas_per_sm * gpu.sms));
  const double left = std::ceil((ctas - full * plan.ctas_per_sm * gpu.sms) / gpu.sms);
  if (full > 0) add_waves(full, plan.ctas_per_sm);
  if (left > 0) add_waves(1, left);
  for (const auto& [resource, spent] : clocks) time.seconds += spent / gpu.clock_hz;
  time.lower_bound_seconds = std::ceil(ctas / gpu.sms) * k_steps * step.compute / gpu.clock_hz;
  time.step_clocks = Clocks(step, full > 0 ? plan.ctas_per_sm : left);
  time.bottleneck = time.seconds < gpu.launch_seconds ? Bottleneck::kLaunch : Longest(clocks).first;
  return time;
}

}  // namespace dlroof::delta
