#include "counters/delta/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <cmath>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof::delta {
namespace {

// [1] Maximum ratio of the padded columns with a wider tile to those with the narrowest tile.
constexpr double kMorePadding = 1 + 1.0 / 16;
constexpr double kSharingCtasPerSm = 1.35;
// A thread of a V100 kernel (volta_scudnn_128x64) computes 64 elements of C with 128 registers.
constexpr double kSumsPerThread = 64, kRegistersPerThread = 128;
// A warp computes 64 x 32 elements of C: 32 threads with 8 x 8 each.
constexpr double kWarpRows = 64, kWarpColumns = 32;

double Threads(const CtaTile& tile) {
  return std::max(32.0, static_cast<double>(tile.m * tile.n) / kSumsPerThread);
}

// Returns a CTA's shared memory [byte]: A and B of the current and, double buffered, next K-step.
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

int64_t Slices(const ConvLayer& layer, const CtaTile& tile, const GpuSpec& gpu) {
  if (layer.direction != ProductDirection::kBackwardWeights) return 1;
  const auto gemm = GemmOf(layer);
  const int64_t ctas = CeilDiv(gemm.m, tile.m) * CeilDiv(gemm.n, tile.n) * gemm.groups;
  const int64_t steps = CeilDiv(gemm.k, tile.k);
  const int64_t fill = static_cast<int64_t>(gpu.sms) / ctas;
  return std::max<int64_t>(1, std::min(fill, steps / 64));
}

// [clock] Time of each resource for one K-step of one CTA.
struct StepClocks {
  double compute = 0, shared = 0, l1 = 0, l2 = 0, dram = 0;
  double load = 0;  // to load the data of the next K-step, with latencies
};

struct Rates {  // [byte/clock] of one SM
  double l1 = 0, shared = 0, l2 = 0, dram = 0;
};
Rates RatesOf(const GpuSpec& gpu) {
  const double per_sm = gpu.sms * gpu.clock_hz;
  return {gpu.l1_bytes_per_clock, gpu.shared_bytes_per_clock, gpu.l2_bytes_per_second / per_sm,
          gpu.dram_bytes_per_second / per_sm};
}

StepClocks StepOf(const ConvLayer& layer, const TilePlan& plan, const TrafficBytes& traffic,
                  double cta_steps, const GpuSpec& gpu, double macs) {
  const auto& [tile, ctas_per_sm, loads] = plan;
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const auto k = static_cast<double>(tile.k), e = static_cast<double>(layer.element_bytes);
  const Rates rate = RatesOf(gpu);
  StepClocks step{.compute = m * n * k / macs};
  const double warps = Threads(tile) / 32;
  step.shared = e * k * ((m + n) + warps * (kWarpRows + kWarpColumns)) / rate.shared;
  const bool bulk = loads == LoadPath::kBulk;
  step.l1 = bulk ? 0 : traffic.l1_loads / cta_steps / rate.l1;
  step.l2 = (bulk ? traffic.l2_step_loads : traffic.l2_tile_loads) / cta_steps / rate.l2;
  step.dram = (traffic.dram.a + traffic.dram.b) / cta_steps / rate.dram;
  step.load = std::max({gpu.l1_latency_clocks + step.l1, gpu.l2_latency_clocks + step.l2,
                        gpu.dram_latency_clocks + step.dram});
  return step;
}

// Returns the time [clock] of one K-step of `ctas` CTAs on one SM, by resource.
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
  CtaTile tile{m, n, std::max<int64_t>(4, (n <= 32 ? 16 : 32) / layer.element_bytes), 1};
  tile.cluster_m = std::llround(gpu.coalesced_sms);
  tile.slices = Slices(layer, tile, gpu);
  const TilePlan plan{tile, Occupancy(tile, layer.element_bytes, gpu)};
  if (plan.ctas_per_sm < 1)
    throw BadInput(
        "a tile of {}x{} does not fit into an SM of {} (registers, shared memory or threads)", m, n,
        gpu.name);
  return plan;
}

TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, const KernelTiling& tiling,
                  std::optional<int64_t> slices) {
  constexpr int kBulkCopies = 90, kAsyncCopies = 80;
  auto plan = PlanTile(layer, gpu, tiling.m, tiling.n);
  CtaTile& tile = plan.tile;
  if (tiling.k) {
    tile.k = *tiling.k;
    tile.slices = Slices(layer, tile, gpu);
  }
  if (slices) tile.slices = *slices;
  const int architecture = tiling.architecture.value_or(0);
  if (architecture >= kBulkCopies) {
    plan.loads = LoadPath::kBulk;
    plan.ctas_per_sm = 1;
    tile.cluster_m = std::max<int64_t>(1, tiling.cluster_m.value_or(1));
    tile.cluster_n = std::max<int64_t>(1, tiling.cluster_n.value_or(1));
    // The kernel computes pixels with the same valid taps together. There are stride x stride
    // classes of pixels, and each tap is valid for one class.
    const auto& s = layer.shape;
    if (tiling.valid_taps_only && layer.direction == ProductDirection::kBackwardData)
      tile.taps = 1.0 / static_cast<double>(s.stride_h * s.stride_w);
  } else if (architecture >= kAsyncCopies && tiling.matrix_units) {
    plan.loads = LoadPath::kUnknown;
  }
  return plan;
}

CacheShape CachesOf(const GpuSpec& gpu) {
  return {gpu.sector_bytes,
          gpu.dram_sector_bytes,
          {gpu.l2_bytes, kSharingCtasPerSm * gpu.sms, gpu.l2_partitions}};
}

CacheShape CachesOf(const GpuSpec& gpu, const TilePlan& plan) {
  auto caches = CachesOf(gpu);
  const auto cluster = static_cast<double>(plan.tile.cluster_m * plan.tile.cluster_n);
  if (plan.loads == LoadPath::kBulk)
    caches.l2.ctas_per_wave = std::max(1.0, std::floor(gpu.sms / cluster)) * cluster;
  return caches;
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
  const auto step = StepOf(layer, plan, traffic, ctas * k_steps, gpu, macs);
  const Rates rate = RatesOf(gpu);
  // The prologue loads the first K-step's data through all levels into shared memory.
  const double e = static_cast<double>(layer.element_bytes);
  const double prologue = step.load + gpu.shared_latency_clocks +
                          e * static_cast<double>((tile.m + tile.n) * tile.k) / rate.shared;
  // The epilogue stores the results of a CTA after its last K-step, without overlap.
  const double store = traffic.dram.c / ctas / rate.dram;
  ConvTime time;
  std::map<Bottleneck, double> clocks;  // [clock] of the whole kernel, by resource
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

namespace {

struct TypeRow {
  std::string_view type;  // as in the keys of GpuSpec::macs_per_clock
  int64_t bytes;          // [byte] size of an element that is read
  std::string_view pipe;
  std::optional<int64_t> result_bytes = {};  // [byte] size of a written element, if different
};
constexpr std::array<TypeRow, 6> kTypes = {{{"f32", 4, "fp32.vector"},
                                            {"tf32", 4, "tf32.matrix"},
                                            {"f16", 2, "fp16.matrix"},
                                            {"bf16", 2, "bf16.matrix"},
                                            {"int8", 1, "int8.matrix"},
                                            {"fp8", 1, "fp8.matrix"}}};

constexpr std::pair<std::string_view, int64_t> kResults[] = {{"s8", 1},   {"u8", 1},  {"f16", 2},
                                                             {"bf16", 2}, {"f32", 4}, {"s32", 4}};

TypeRow RowOf(std::string_view type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row;
  if (type.starts_with("s8s8") || type.starts_with("u8s8"))
    for (const auto& [result, bytes] : kResults)
      if (result == type.substr(4)) return {"int8", 1, "int8.matrix", bytes};
  throw BadInput(
      "the model has no type '{}'; expected f32, tf32, f16, bf16, int8, fp8 or an integer mix such "
      "as s8s8f32",
      type);
}

// Throws BadInput for Winograd and FFT kernels, whose bytes and multiply-adds differ.
void RequireImplicitGemm(const std::string& kernel) {
  for (const auto& [key, name] : {std::pair("winograd", "Winograd"), std::pair("fft", "FFT")})
    if (boost::icontains(kernel, key))
      throw BadInput("its kernel uses {}, but the model covers only implicit GEMMs", name);
}

// Throws BadInput if it is unknown whether the kernel skips taps without an output: kernels for 9.0
// do so if their name contains "strided".
void RequireKnownTaps(const ConvLayer& layer, const KernelTiling& tiling) {
  const bool strided = layer.shape.stride_h > 1 || layer.shape.stride_w > 1;
  if (layer.direction == ProductDirection::kBackwardData && strided &&
      tiling.architecture.value_or(0) >= 90 && !tiling.valid_taps_only)
    throw BadInput("which filter taps its kernel loads is not known (backward data with a stride)");
}

// Sets members that the kernel's name lacks: the cluster, and valid_taps_only ("strided" was cut).
void AddKnobs(const EngineKnobs& engine, KernelTiling& tiling) {
  if (!tiling.cluster_m) tiling.cluster_m = engine.cluster_m;
  if (!tiling.cluster_n) tiling.cluster_n = engine.cluster_n;
  if (engine.cluster_m && engine.idx_mode == 1) tiling.valid_taps_only = true;
}

std::optional<int64_t> SlicesOf(const ConvLayer& layer, const std::optional<EngineKnobs>& engine,
                                const KernelTiling& tiling) {
  if (!engine) return std::nullopt;
  if (engine->split_k) return std::max<int64_t>(1, *engine->split_k);
  if (layer.direction != ProductDirection::kBackwardWeights || !engine->cluster_m)
    return std::nullopt;
  const auto gemm = GemmOf(layer);
  return SlicesByWorkspace(*engine, tiling, CeilDiv(gemm.m, tiling.m), CeilDiv(gemm.n, tiling.n));
}

// A prediction's plan. PlanOf throws BadInput in all cases in which PredictConv throws it.
struct Planned {
  ConvLayer layer;
  std::string type;  // as in the keys of GpuSpec::macs_per_clock
  TilePlan plan;
  std::string tile_from;
};
Planned PlanOf(const ConvQuestion& question, const GpuSpec& gpu) {
  RequireImplicitGemm(question.kernel);
  const auto row = RowOf(question.type);
  Planned planned{question.layer, std::string(row.type), {}, "rule"};
  planned.layer.element_bytes = row.bytes;
  planned.layer.result_bytes = row.result_bytes;
  MacsPerClock(gpu, planned.type);
  GemmOf(planned.layer);
  const auto engine = ReadEngine(question.kernel);
  auto tiling = FindKernelTiling(question.kernel);
  planned.tile_from = tiling ? "kernel name" : "engine";
  if (!tiling && engine) tiling = TilingOf(*engine);
  if (question.tile) {
    planned.plan = PlanTile(planned.layer, gpu, question.tile->m, question.tile->n);
    planned.tile_from = "request";
  } else if (tiling) {
    if (engine) AddKnobs(*engine, *tiling);
    if (question.known_kernel_only) RequireKnownTaps(planned.layer, *tiling);
    planned.plan = PlanTile(planned.layer, gpu, *tiling, SlicesOf(planned.layer, engine, *tiling));
  } else if (question.known_kernel_only) {
    throw BadInput("neither cuDNN's engine nor the kernel's name tells the kernel's tile");
  } else {
    planned.plan = PlanTile(planned.layer, gpu);
    planned.tile_from = "rule";
  }
  return planned;
}

}  // namespace

int64_t ElementBytesOf(const std::string& type) { return RowOf(type).bytes; }

std::string PipeOf(const std::string& type, const GpuSpec& gpu) {
  constexpr double kMatrixSpeed = 4;
  const auto row = RowOf(type);
  if (type == "f16" && MacsPerClock(gpu, type) < kMatrixSpeed * MacsPerClock(gpu, "f32"))
    return "fp16.vector";
  return std::string(row.pipe);
}

std::optional<Reason> RefusalReason(const ConvQuestion& question, const GpuSpec& gpu) try {
  PlanOf(question, gpu);
  return std::nullopt;
} catch (const BadInput& error) {
  return Reason{error.what()};
}

ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu) {
  const auto planned = PlanOf(question, gpu);
  ConvPrediction prediction{.plan = planned.plan, .tile_from = planned.tile_from};
  const auto caches = CachesOf(gpu, prediction.plan);
  prediction.traffic = ModelTraffic(planned.layer, prediction.plan.tile, caches);
  prediction.time =
      ModelTime(planned.layer, prediction.plan, prediction.traffic, gpu, planned.type);
  return prediction;
}

std::map<Level, double> KnownBytes(const ConvPrediction& prediction) {
  const auto& traffic = prediction.traffic;
  std::map<Level, double> bytes = {{Level::kDram, Total(traffic.dram)}};
  const auto loads = prediction.plan.loads;
  if (loads != LoadPath::kBulk) bytes[Level::kL1] = L1Bytes(traffic);
  if (loads == LoadPath::kThroughL1) bytes[Level::kL2] = L2TileBytes(traffic);
  if (loads == LoadPath::kBulk) bytes[Level::kL2] = L2StepBytes(traffic);
  return bytes;
}

Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu) {
  Work work;
  work.flops[PipeOf(question.type, gpu)] =
      2 * static_cast<double>(MultiplyAdds(question.layer.shape));
  work.bytes = KnownBytes(prediction);
  work.launches = 1;
  return work;
}

std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu) {
  const auto& tile = prediction.plan.tile;
  const bool clusters =
      prediction.plan.loads == LoadPath::kBulk && tile.cluster_m * tile.cluster_n > 1;
  return fmt::format(
      "DeLTA-style model of {}: tile {}x{}x{}{}{} ({}), not measured", gpu.name, tile.m, tile.n,
      tile.k, clusters ? fmt::format(", cluster {}x{}", tile.cluster_m, tile.cluster_n) : "",
      tile.slices > 1 ? fmt::format(", K in {}", tile.slices) : "", prediction.tile_from);
}

}  // namespace dlroof::delta
