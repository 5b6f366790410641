#include "bench/matmul/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/library_rules/onednn_blocking.h"
#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

enum Dimension { kBatch, kRows, kColumns, kDepth };

constexpr int64_t kMostColumns = 64;

int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

// Returns the share of threads that are idle in the last round of blocks, as oneDNN computes it.
double Imbalance(const MatmulProduct& p, int64_t rows, int64_t columns, int64_t threads) {
  const int64_t work = p.batch * Blocks(p.rows, rows) * Blocks(p.columns, columns);
  const int64_t rest = work % threads;
  const int64_t idle = work < threads ? threads - rest : std::min(threads - rest, rest);
  const int64_t padded_rows = Blocks(p.rows, rows) * rows % p.rows;
  return static_cast<double>(idle) / static_cast<double>(threads) +
         static_cast<double>(padded_rows) / static_cast<double>(p.rows);
}

double Bytes(const MatmulCase& matmul, Matrix matrix) {
  return static_cast<double>(workload::ElementBytes(TypeOf(matmul.types, matrix)));
}

caches::NestTensor Tensor(std::string name, double bytes, int rows, int columns,
                          const caches::ReuseNest& nest) {
  const auto axis = [&](int dimension) {
    return caches::NestAxis{{{dimension, 1}}, nest.sizes[static_cast<size_t>(dimension)]};
  };
  return {std::move(name), bytes, {axis(kBatch), axis(rows), axis(columns)}};
}

caches::LevelModel BrgemmModel(const MatmulCase& matmul, const library_rules::VectorUnit& unit,
                               int threads) {
  const auto p = ProductOf(matmul);
  const auto blocking = MatmulBlockingOf(p, threads);
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  const int64_t vectors = Blocks(blocking.columns, unit.lanes);
  const int64_t registers = library_rules::RowBlock(unit, vectors, std::min(blocking.rows, p.rows));
  const double left = Bytes(matmul, p.left.matrix), right = Bytes(matmul, p.right.matrix);
  const double result = Bytes(matmul, p.result);
  caches::ReuseNest nest{.sizes = {real(p.batch), real(p.rows), real(p.columns), real(p.depth)}};
  // B contains the trained parameters, and may be the left factor, the right factor or the result.
  const auto name = [](Matrix matrix) { return matrix == Matrix::kB ? "weights" : "data"; };
  nest.tensors = {Tensor(name(p.left.matrix), left, kRows, kDepth, nest),
                  Tensor(name(p.right.matrix), right, kDepth, kColumns, nest),
                  Tensor(name(p.result), result, kRows, kColumns, nest)};
  constexpr double kLine = 64;  // [byte]
  nest.loops = {{kBatch, 1},
                {kRows, real(blocking.rows)},
                {kColumns, real(blocking.columns)},
                {kDepth, real(blocking.depth)},
                {kRows, real(registers)},
                {kDepth, kLine / left}};
  caches::LevelModel model;
  const double products = real(p.batch * p.rows) * real(p.columns * p.depth);
  model.core_bytes =
      products * (left / real(std::min(p.columns, blocking.columns)) + right / real(registers)) +
      real(p.batch * p.rows * p.columns * Blocks(p.depth, blocking.depth)) * result;
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} rows, {} columns and {} steps, {} rows in registers",
                          blocking.rows, blocking.columns, blocking.depth, registers);
  return model;
}

}  // namespace

MatmulBlocking MatmulBlockingOf(const MatmulProduct& p, int threads) {
  MatmulBlocking best;
  best.columns = std::min(p.columns, kMostColumns);
  best.depth = std::min<int64_t>(p.depth, p.depth > 1024 ? 1024 : 512);
  const bool little_work = threads > p.batch * Blocks(p.columns, best.columns);
  if (little_work && p.rows <= 40 && (p.columns > kMostColumns || p.batch > 1))
    best.columns = std::min<int64_t>(p.columns, 32);
  const int64_t least = std::min<int64_t>(little_work ? 16 : 32, p.rows);
  double best_imbalance = 5;  // above all possible values
  for (int64_t rows = std::min<int64_t>(256, p.rows); rows >= least; --rows)
    if (const double found = Imbalance(p, rows, best.columns, threads); found < best_imbalance)
      best_imbalance = found, best.rows = rows;
  return best;
}

caches::LevelModel MatmulLevels(const MatmulCase& matmul, std::string_view implementation,
                                std::string_view isa, int threads) {
  if (auto reason = library_rules::TilesReason(implementation))
    return {.reason = std::move(reason)};
  if (matmul.sum) return {.reason = Reason{"the destination that `sum` reads is not modelled"}};
  const bool brgemm = implementation.starts_with("brg:avx512_core");
  if (brgemm && !ProductOf(matmul).left.transposed)
    return BrgemmModel(matmul, library_rules::VectorUnitOf(implementation, isa), threads);
  return {.reason =
              Reason{fmt::format("the loops of {}{} by {} are not modelled", Key(matmul.direction),
                                 brgemm ? " with a transposed left factor" : "", implementation)}};
}

}  // namespace dlroof::matmul
