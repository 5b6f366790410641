#include "counters/delta/source.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::delta {
namespace {

struct TypeRow {
  std::string_view type;  // as a GPU's figures name its multiply-adds
  int64_t bytes;          // [byte] of an element that is read
  std::string_view pipe;
  std::optional<int64_t> result_bytes = {};  // [byte] where what is written has another size
};
constexpr std::array<TypeRow, 6> kTypes = {{{"f32", 4, "fp32.vector"},
                                            {"tf32", 4, "tf32.matrix"},
                                            {"f16", 2, "fp16.matrix"},
                                            {"bf16", 2, "bf16.matrix"},
                                            {"int8", 1, "int8.matrix"},
                                            {"fp8", 1, "fp8.matrix"}}};

struct ResultRow {
  std::string_view type;
  int64_t bytes;
};
constexpr std::array<ResultRow, 6> kResults = {
    {{"s8", 1}, {"u8", 1}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"s32", 4}}};

TypeRow RowOf(std::string_view type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row;
  if (type.starts_with("s8s8") || type.starts_with("u8s8"))
    for (const auto& result : kResults)
      if (result.type == type.substr(4)) return {"int8", 1, "int8.matrix", result.bytes};
  throw BadInput(
      "no type '{}' in the model; there are f32, tf32, f16, bf16, int8, fp8 and integer mixes such "
      "as s8s8f32",
      type);
}

// Winograd and FFT transform tiles of the image first: other bytes, other multiply-adds.
void RequireImplicitGemm(const std::string& kernel) {
  std::string text = kernel;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [key, name] : {std::pair("winograd", "Winograd"), std::pair("fft", "FFT")})
    if (text.find(key) != std::string::npos)
      throw BadInput("its kernel is {}, and the model knows the traffic of implicit GEMMs alone",
                     name);
}

// All that may be refused is refused here.
struct Planned {
  ConvLayer layer;
  std::string type;  // as the GPU's figures name it
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
  const CtaTile named = TileFromKernelName(question.kernel);
  if (question.tile) {
    planned.plan = PlanTile(planned.layer, gpu, question.tile->m, question.tile->n);
    planned.tile_from = "request";
  } else if (named.m > 0) {
    planned.plan = PlanTile(planned.layer, gpu, named.m, named.n);
    planned.tile_from = "kernel name";
  } else {
    planned.plan = PlanTile(planned.layer, gpu);
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

std::string WhyNotPredicted(const ConvQuestion& question, const GpuSpec& gpu) try {
  PlanOf(question, gpu);
  return "";
} catch (const BadInput& error) {
  return error.what();
}

ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu) {
  const auto planned = PlanOf(question, gpu);
  ConvPrediction prediction{.plan = planned.plan, .tile_from = planned.tile_from};
  const auto caches = CachesOf(gpu);
  if (question.exact) {
    const auto exact = EnumerateTraffic(planned.layer, prediction.plan.tile, caches);
    prediction.traffic = exact.bytes;
    prediction.relative_error95 = exact.relative_error95;
  } else {
    prediction.traffic = ModelTraffic(planned.layer, prediction.plan.tile, caches);
  }
  prediction.time =
      ModelTime(planned.layer, prediction.plan, prediction.traffic, gpu, planned.type);
  return prediction;
}

Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu) {
  const auto& s = question.layer.shape;
  Work work;
  const int64_t taps = s.c / s.groups * s.r * s.s;
  work.flops[PipeOf(question.type, gpu)] = 2.0 * static_cast<double>(s.n * s.k * OutputRows(s)) *
                                           static_cast<double>(OutputColumns(s)) *
                                           static_cast<double>(taps);
  work.bytes[Level::kL1] = L1Bytes(prediction.traffic);
  work.bytes[Level::kL2] = L2TileBytes(prediction.traffic);
  work.bytes[Level::kDram] = Total(prediction.traffic.dram);
  work.launches = 1;
  return work;
}

std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu) {
  const auto& tile = prediction.plan.tile;
  return fmt::format(
      "DeLTA-style model of {}: tile {}x{}x{}{} ({}), not measured", gpu.name, tile.m, tile.n,
      tile.k, tile.slices > 1 ? fmt::format(", K in {}", tile.slices) : "", prediction.tile_from);
}

}  // namespace dlroof::delta
