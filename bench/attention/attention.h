// Scaled dot-product attention: o = softmax(q k^T / sqrt(d) under a mask) v for each sequence and
// head, and its gradients. The problem, its text and its work; the seeded inputs, the plain loops
// and the checks of results, which all libraries share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::attention {

// A query sees the keys up to a diagonal. Top left: query i sees keys 0 to i. Bottom right: the
// last query sees all keys of its sequence, each query before it one less.
enum class Causal { kNone, kTopLeft, kBottomRight };

// q and o are b x h x q x d, k and v are b x kv x k x d, in row-major order. Each key-value head
// serves h / kv consecutive query heads.
struct AttentionProblem {
  int64_t b = 1, h = 1, q = 1, k = 1, d = 1;  // sequences, heads, queries, keys, head size
  int64_t kv = 1;                             // key-value heads
  std::optional<int64_t> window = {};         // keys that a query sees, the last is the diagonal's
  std::vector<int64_t> lengths = {};          // keys of each sequence; empty: none has padding
  Causal causal = Causal::kNone;

  bool operator==(const AttentionProblem&) const = default;
};

// Returns "b2h32q2048k2048d128_kv8w1024l900:2048br": after the underscore what is not the default.
std::string ToText(const AttentionProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or with the problem's first column if a query sees
// no key, if a part of the mask hides nothing, or if bytes or FLOPs overflow 64 bits.
AttentionProblem ParseAttention(std::string_view text, int column_offset = 0);
// Parses a name of the backends onednn (f32, bf16, f16) and reference (f64). Throws BadInput.
AttentionProblem Read(const workload::BenchmarkName& name);

// The keys that a query sees: begin to end - 1.
struct KeyRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};
KeyRange KeysOf(const AttentionProblem& problem, int64_t sequence, int64_t query);
// Returns the number of pairs of a query and a key that it sees, in all heads.
int64_t Pairs(const AttentionProblem& problem);

// The pipes of a call: of each product, and of scale and softmax.
struct Pipes {
  std::string scores, values, elementwise;
};
// Returns the work of one call: 2 d FLOPs per pair for each product; apart from these 6 per pair
// less 2 per query for scale and softmax; and the compulsory DRAM bytes: q and o, and the keys and
// values that a query sees, each once.
Work WorkOf(const AttentionProblem& problem, std::string_view type, const Pipes& pipes,
            size_t launches);

// Throws Unsupported if the machine lacks the memory for inputs, result, scores and weights.
void RequireMemory(const AttentionProblem& problem, std::string_view type);

// A parsed name of the backend cudnn.
struct CudnnAttentionCase {
  AttentionProblem problem;
  std::string type;               // of elements: "f16 bf16 e4m3"
  bool backward = false;          // gradients of q, k and v, by q, k, v, o, do and the statistics
  bool training = false;          // the forward call also writes the statistics
  std::optional<int64_t> page{};  // keys of a page, if keys and values are in pages
};
// Types: f16, bf16, fp8 (e4m3). Options of fwd: training; page16 to page128.
// Throws BadInput with the column.
CudnnAttentionCase ReadCudnnCase(const workload::BenchmarkName& name);
// Returns the work of one call. Forward as above, and with `training` 4 byte of statistics per
// query. Backward: five products of 2 d FLOPs per pair (the scores again, the gradients of weights,
// q, k and v); apart from these 6 per pair and 2 d per query; and the bytes of q, o, do, dq, of the
// seen k, v, dk, dv, and of the statistics. The tables of pages are 4 byte per page.
Work WorkOf(const CudnnAttentionCase& request);

// Factor of the weights and of the result in fp8: both are at most 1, and 448 is the largest e4m3.
inline constexpr double kFp8Scale = 256;

struct Tensors {
  std::vector<double> q, k, v;
};
// Returns seeded inputs, exact in the type (f32 for f64): q between -4 and 4, so that weights of
// keys differ by a factor of some 100, k and v between -1 and 1.
Tensors SeededInputs(const AttentionProblem& problem, std::string_view type, uint64_t seed);

// Returns keys or values in pages: page `table[i]` of the result has the i-th keys of all
// sequences, counted by `pages` per sequence; what is left of the last one is 0.
std::vector<double> InPages(const CudnnAttentionCase& request, const std::vector<double>& rows,
                            const std::vector<int64_t>& table);

// The plain loops. `o` has as many elements as q.
void RunLoops(const AttentionProblem& problem, const Tensors& in, std::vector<double>& o);

// Compares an output with the plain loops in double, row by row.
workload::Verification Check(const AttentionProblem& problem, std::string_view type,
                             const Tensors& in, const std::vector<double>& output, uint64_t seed);

// The other inputs of a backward call: the result, its gradient, and for each query the logarithm
// of the sum of the exponentials of its scores.
struct BackwardInputs {
  std::vector<double> o, d_o, statistics;
};
// Returns seeded values between -1 and 1 as gradient of o, exact in the type.
std::vector<double> SeededGradient(const AttentionProblem& problem, std::string_view type,
                                   uint64_t seed);
// Compares the statistics of a forward call with those of the inputs.
workload::Verification CheckStatistics(const AttentionProblem& problem, const Tensors& in,
                                       const std::vector<double>& statistics, uint64_t seed);
// Compares gradients of q, k and v with sums in double of the call's inputs, row by row. Those of
// padding are not defined.
workload::Verification CheckGradients(const AttentionProblem& problem, std::string_view type,
                                      const Tensors& in, const BackwardInputs& backward,
                                      Tensors gradients, uint64_t seed);

}  // namespace dlroof::attention
