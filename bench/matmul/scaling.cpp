#include "bench/matmul/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

constexpr int64_t kAll = 0;  // the whole row, or all rows

struct Block {
  int64_t rows, depth;
};
struct ScalingRow {
  Scaling scaling;
  std::string_view option, type;  // of a scale
  Block a, b;
  int least, most;  // compute capabilities that have it
  std::string_view gpus;
};
// Types and compute capabilities: cuBLAS 13, 3.1.4.2 to 3.1.4.5. MXFP8's scales are powers of two
// without sign or fraction (OCP Microscaling Formats 1.0).
constexpr int kNewest = 9999;
constexpr std::array<ScalingRow, 5> kScalings = {{
    {Scaling::kTensor, "scales-tensor", "f32", {kAll, kAll}, {kAll, kAll}, 89, kNewest, "Ada"},
    {Scaling::kRows, "scales-rows", "f32", {1, kAll}, {1, kAll}, 90, 90, "Hopper"},
    {Scaling::kBlocks, "scales-blocks", "f32", {1, 128}, {128, 128}, 90, 90, "Hopper"},
    {Scaling::kMx, "scales-mx", "ue8m0", {1, 32}, {1, 32}, 100, kNewest, "Blackwell"},
    {Scaling::kNv, "scales-nv", "e4m3", {1, 16}, {1, 16}, 100, kNewest, "Blackwell"},
}};

const ScalingRow* RowOf(Scaling scaling) {
  const auto* const row = std::ranges::find(kScalings, scaling, &ScalingRow::scaling);
  return row == kScalings.end() ? nullptr : row;
}

int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

std::vector<float> PowersOfTwo(int64_t count, uint64_t seed) {
  constexpr float kExponent = 1.49F;  // rounds to -1, 0 and 1 about equally often
  auto values = workload::SeededValues(count, seed, "f32", -kExponent, kExponent);
  for (float& value : values) value = std::exp2(std::round(value));
  return values;
}

// A tile of block scales: 128 rows of 4 scales (3.1.4.4.2).
constexpr int64_t kTileRows = 128, kTileBlocks = 4;

}  // namespace

std::vector<std::string_view> ScalingOptions() {
  std::vector<std::string_view> options;
  for (const auto& row : kScalings) options.push_back(row.option);
  return options;
}

Scaling ScalingOf(const workload::BenchmarkName& name) {
  for (const auto& row : kScalings)
    if (workload::HasOption(name, row.option)) return row.scaling;
  return Scaling::kNone;
}

std::optional<Reason> ScalingRefusal(const MatmulCase& matmul, int compute_capability) {
  const auto* const row = RowOf(matmul.scaling);
  const int least = row != nullptr ? row->least : matmul.types.source == "e4m3" ? 89 : 0;
  const int most = row != nullptr ? row->most : kNewest;
  if (compute_capability >= least && compute_capability <= most) return std::nullopt;
  const auto text = [](int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  };
  return Reason{(row != nullptr ? std::string(row->option) : matmul.type) +
                " needs a GPU of compute capability " + text(least) +
                (most == kNewest ? " or higher" : "") + " (" +
                std::string(row != nullptr ? row->gpus : "Ada") + "); this one has " +
                text(compute_capability)};
}

FactorScales::FactorScales(const MatmulCase& matmul, Matrix matrix, uint64_t seed)
    : is_weights_(matrix == Matrix::kB),
      is_tiled_(matmul.scaling == Scaling::kMx || matmul.scaling == Scaling::kNv),
      is_padded_(matmul.scaling == Scaling::kBlocks && is_weights_),
      rows_(is_weights_ ? matmul.problem.n : matmul.problem.m),
      depth_(matmul.problem.k) {
  const auto* const row = RowOf(matmul.scaling);
  const Block block = row == nullptr ? Block{kAll, kAll} : is_weights_ ? row->b : row->a;
  block_rows_ = block.rows == kAll ? rows_ : block.rows;
  block_depth_ = block.depth == kAll ? depth_ : block.depth;
  row_blocks_ = Blocks(rows_, block_rows_);
  depth_blocks_ = Blocks(depth_, block_depth_);
  if (row == nullptr) return;
  type_ = row->type;
  values_ = PowersOfTwo(row_blocks_ * depth_blocks_, seed);
}

int64_t FactorScales::count() const { return std::ssize(values_); }

double FactorScales::Bytes() const {
  return static_cast<double>(count()) * (is_tiled_ ? 1 : sizeof(float));
}

float FactorScales::At(int64_t row, int64_t step) const {
  if (values_.empty()) return 1;
  return values_[static_cast<size_t>(row / block_rows_ * depth_blocks_ + step / block_depth_)];
}

void FactorScales::Apply(std::vector<float>& elements) const {
  if (values_.empty()) return;
  for (int64_t row = 0; row < rows_; ++row)
    for (int64_t step = 0; step < depth_; ++step)
      elements[static_cast<size_t>(row * depth_ + step)] *= At(row, step);
}

size_t FactorScales::StoredCount() const {
  if (is_tiled_)
    return static_cast<size_t>(Blocks(rows_, kTileRows) * Blocks(depth_blocks_, kTileBlocks) *
                               kTileRows * kTileBlocks);
  return is_padded_ ? static_cast<size_t>(row_blocks_ * Blocks(depth_blocks_, 4) * 4)
                    : values_.size();
}

size_t FactorScales::StoredIndex(int64_t row_block, int64_t block) const {
  if (is_tiled_) {
    const int64_t outer = row_block % kTileRows, inner = block % kTileBlocks;
    const int64_t tile =
        row_block / kTileRows * Blocks(depth_blocks_, kTileBlocks) + block / kTileBlocks;
    return static_cast<size_t>(tile * kTileRows * kTileBlocks + outer % 32 * 16 + outer / 32 * 4 +
                               inner);
  }
  // 3.1.4.5.1: blocks of 128 x 128 are consecutive along the sum, in a multiple of 4; blocks of
  // 1 x 128 along the rows.
  return static_cast<size_t>(is_padded_ ? row_block * Blocks(depth_blocks_, 4) * 4 + block
                                        : block * row_blocks_ + row_block);
}

std::vector<std::byte> FactorScales::Stored() const {
  if (values_.empty()) return {};
  const bool is_power = type_ == "ue8m0";
  std::vector<float> stored(StoredCount());  // padded with zeros
  for (int64_t row = 0; row < row_blocks_; ++row)
    for (int64_t block = 0; block < depth_blocks_; ++block) {
      const float value = values_[static_cast<size_t>(row * depth_blocks_ + block)];
      constexpr float kBias = 127;
      stored[StoredIndex(row, block)] = is_power ? std::log2(value) + kBias : value;
    }
  return workload::Encoded(stored, is_power ? "u8" : type_);
}

double ScaleBytes(const MatmulCase& matmul) {
  return FactorScales(matmul, Matrix::kA, 0).Bytes() + FactorScales(matmul, Matrix::kB, 0).Bytes();
}

}  // namespace dlroof::matmul
