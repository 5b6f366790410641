#include "bench/matmul/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::matmul {
namespace {

GroupedProblem ReadLetters(workload::TextCursor& cursor) {
  GroupedProblem p;
  cursor.Sizes({{"g", p.g}, {"m", p.m}, {"n", p.n}, {"k", p.k}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_zipf");
  p.zipf_seed = cursor.Integer(0, "a seed");
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  return p;
}

// Throws BadInput (without a column) if a size in bytes or the FLOPs overflow 64 bits.
void CheckShape(const GroupedProblem& p) {
  constexpr int64_t kBytes = 8;  // [byte] of f64, the widest type
  workload::CheckSum({workload::CheckedCount({kBytes, p.m, p.k}, "A's size in byte"),
                      workload::CheckedCount({kBytes, p.g, p.n, p.k}, "B's size in byte"),
                      workload::CheckedCount({kBytes, p.m, p.n}, "C's size in byte")},
                     "the matrices' size in byte");
  workload::CheckedCount({2, p.m, p.n, p.k}, "the number of FLOPs");
}

std::vector<int64_t> ZipfRows(const GroupedProblem& p) {
  std::mt19937_64 random(static_cast<uint64_t>(*p.zipf_seed));
  // std::shuffle and std::discrete_distribution differ between standard libraries.
  const auto below = [&](double most) {
    return static_cast<double>(random() >> 11) * 0x1p-53 * most;
  };
  std::vector<size_t> ranks(static_cast<size_t>(p.g));
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  for (size_t i = ranks.size(); i > 1; --i)
    std::swap(ranks[i - 1], ranks[static_cast<size_t>(below(static_cast<double>(i)))]);
  std::vector<double> sums(ranks.size());  // cumulative sums of 1 / rank
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = (i == 0 ? 0 : sums[i - 1]) + 1 / static_cast<double>(i + 1);
  std::vector<int64_t> rows(ranks.size());
  for (int64_t i = 0; i < p.m; ++i) {
    const auto rank = std::ranges::upper_bound(sums, below(sums.back())) - sums.begin();
    ++rows[ranks[std::min(static_cast<size_t>(rank), ranks.size() - 1)]];
  }
  return rows;
}

}  // namespace

std::string ToText(const GroupedProblem& p) {
  return fmt::format("g{}m{}n{}k{}{}", p.g, p.m, p.n, p.k,
                     p.zipf_seed ? fmt::format("_zipf{}", *p.zipf_seed) : "");
}

GroupedProblem ParseGrouped(std::string_view text, int column_offset) {
  return workload::ParseProblem(text, column_offset, ReadLetters, CheckShape);
}

std::vector<int64_t> RowsOfExperts(const GroupedProblem& p) {
  if (p.zipf_seed) return ZipfRows(p);
  std::vector<int64_t> rows(static_cast<size_t>(p.g), p.m / p.g);
  for (int64_t i = 0; i < p.m % p.g; ++i) ++rows[static_cast<size_t>(i)];
  return rows;
}

workload::ProductSizes SizesOf(const GroupedCase& grouped) {
  const auto& p = grouped.problem;
  return {ToText(p), p.m * p.k, p.g * p.n * p.k, p.m * p.n, p.n, p.k, 2 * p.m * p.n * p.k};
}

Work WorkOf(const GroupedCase& grouped, const std::string& pipe) {
  auto sizes = SizesOf(grouped);
  const auto rows = RowsOfExperts(grouped.problem);
  const auto used = std::ssize(rows) - std::ranges::count(rows, 0);
  sizes.weights = used * grouped.problem.n * grouped.problem.k;
  auto work = workload::ProductWork(grouped, sizes, pipe);
  work.launches = static_cast<double>(used);
  return work;
}

workload::ProductResult ResultOf(const GroupedCase& grouped,
                                 const workload::ProductInputs& inputs) {
  const auto& p = grouped.problem;
  std::vector<int64_t> expert_of;  // expert of each row
  int64_t expert = 0;
  for (const auto rows : RowsOfExperts(p))
    expert_of.insert(expert_of.end(), static_cast<size_t>(rows), expert++);
  return {p.m * p.n,
          p.k,
          [p, expert_of](int64_t count, uint64_t seed) {
            // Samples the first and the last element of each expert's rows, and seeded indices.
            auto indices = workload::SeededIndices(count / 2, seed, p.m * p.n);
            for (int64_t row = 0; row < p.m && std::ssize(indices) < count; ++row)
              if (row == 0 ||
                  expert_of[static_cast<size_t>(row)] != expert_of[static_cast<size_t>(row) - 1])
                indices.insert(indices.end(), {row * p.n, std::max<int64_t>(row * p.n - 1, 0)});
            indices.push_back(p.m * p.n - 1);
            return indices;
          },
          [p, expert_of, &inputs](int64_t index) {
            const int64_t row = index / p.n;
            const float* const a = inputs.source.data() + row * p.k;
            const float* const b = inputs.weights.data() +
                                   (expert_of[static_cast<size_t>(row)] * p.n + index % p.n) * p.k;
            workload::ProductElement sum;
            for (int64_t i = 0; i < p.k; ++i) sum.Add(double{a[i]} * double{b[i]});
            return sum;
          },
          [n = p.n](int64_t index) { return index % n; },
          {}};
}

namespace {

GroupedCase ReadCase(const workload::BenchmarkName& name,
                     const workload::ProductCapabilities& capabilities) {
  workload::RequireDirection(name, {"fwd"});
  return workload::ReadProductCase<GroupedCase>(name, capabilities, ParseGrouped);
}

void RunLoops(const GroupedCase& grouped, workload::ProductArrays<double>& arrays) {
  const auto& p = grouped.problem;
  int64_t row = 0, expert = 0;
  for (const auto rows : RowsOfExperts(p)) {
    const double* const weights = arrays.weights.data() + expert++ * p.n * p.k;
    for (const int64_t end = row + rows; row < end; ++row)
      for (int64_t column = 0; column < p.n; ++column)
        arrays.destination[static_cast<size_t>(row * p.n + column)] =
            std::inner_product(weights + column * p.k, weights + (column + 1) * p.k,
                               arrays.source.data() + row * p.k, 0.0);
  }
}

[[maybe_unused]] const bool reference_registered =
    workload::RegisterLoops<GroupedCase>("GroupedMatmul", {ReadCase, {}, RunLoops});

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "GroupedMatmul",
     .words = {"grouped product",
               {{"experts", "g"}, {"rows", "m"}, {"columns", "n"}, {"depth", "k"}}},
     .flop_convention = "2*M*N*K, whatever the routing",
     .directions = {"fwd"},
     .templates = "GroupedMatmul/cpu/onednn/fwd/{f32,bf16}/*\n",
     .with_batch = workload::WithBatch("m", ParseGrouped),
     .named_flops = [](const record::Record& record) {
       const auto p = ParseGrouped(record.problem);
       return static_cast<double>(2 * p.m * p.n * p.k);
     }});

[[maybe_unused]] const bool on_onednn = workload::RegisterBackend(
    {"GroupedMatmul", "cpu", "onednn", workload::CheckedWorkload(ReadOnednnGroupedCase),
     "oneDNN 3.2 or newer"});
[[maybe_unused]] const bool on_cublaslt = workload::RegisterBackend(
    {"GroupedMatmul", "gpu", "cublaslt", workload::CheckedWorkload(ReadCublasltGroupedCase),
     "the CUDA module"});
[[maybe_unused]] const bool on_cudnn = workload::RegisterBackend(
    {"GroupedMatmul", "gpu", "cudnn", workload::CheckedWorkload(ReadCudnnGroupedCase),
     "cuDNN 9.15 or newer"});

}  // namespace

MatmulCase ProductOfExpert(const GroupedCase& grouped, int64_t rows) {
  MatmulCase product{grouped};
  product.problem = {
      .m = rows, .n = grouped.problem.n, .k = grouped.problem.k, .transposed_b = true};
  return product;
}

GroupedCase ReadOnednnGroupedCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {{"f32", "bf16", "f16"}, false, {workload::FpmathOptions()}});
}

GroupedCase ReadCublasltGroupedCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {{"f32", "tf32", "f16", "bf16"}, false, {}});
}

GroupedCase ReadCudnnGroupedCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {{"f16", "bf16"}, false, {}});
}

}  // namespace dlroof::matmul
