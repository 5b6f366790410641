// Scaled dot-product attention: o = softmax(q k^T / sqrt(d) under a mask) v per sequence and head,
// and its gradients. What all libraries share: the problem, its text and work, seeded inputs,
// reference loops, and checks of results.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::attention {

// Which keys a causal mask lets a query see. Top left: query i sees keys 0 to i. Bottom right: the
// last query sees all keys of its sequence, and each query one key less than the next query.
enum class Causal { kNone, kTopLeft, kBottomRight };

// Row-major tensors: q and o are b x h x q x d, k and v are b x kv x k x d. Each key-value head
// serves h / kv consecutive query heads.
struct AttentionProblem {
  int64_t b = 1, h = 1, q = 1, k = 1, d = 1;  // sequences, heads, queries, keys, head size
  int64_t kv = 1;                             // key-value heads
  std::optional<int64_t> window = {};  // number of keys that a query sees, ending at its diagonal
  std::vector<int64_t> lengths = {};   // number of keys of each sequence; empty: k for all
  Causal causal = Causal::kNone;

  bool operator==(const AttentionProblem&) const = default;
};

// Returns e.g. "b2h32q2048k2048d128_kv8w1024l900:2048br", without defaults after the underscore.
std::string ToText(const AttentionProblem& problem);
// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character; with the problem's first column if a query sees no
// key, an option of the mask hides no key, or bytes or FLOPs overflow 64 bits.
AttentionProblem ParseAttention(std::string_view text, int column_offset = 0);
// Parses a name of the backends onednn (f32, bf16, f16; fwd, with option graph, and bwd) and
// reference (f64). Throws BadInput.
AttentionProblem Read(const workload::BenchmarkName& name);

// The keys that a query sees, half-open: [begin, end).
struct KeyRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};
KeyRange KeysOf(const AttentionProblem& problem, int64_t sequence, int64_t query);
// Returns the number of (query, visible key) pairs over all sequences and heads.
int64_t Pairs(const AttentionProblem& problem);
// Returns all pairs, which an unfused library computes, divided by the visible ones [1].
double ExecutedOverUseful(const AttentionProblem& problem);
bool HasMask(const AttentionProblem& problem);
// Returns masks (q x k) to add to scores: minus infinity where a query does not see a key, else 0.
// `masks`: b, or 1 if one mask serves all sequences.
std::vector<float> MaskOf(const AttentionProblem& problem, int64_t masks);

extern const suites::BenchdnnDriver kSdpaDriver;

// The pipes of the products q k^T (scores) and weights v (values), and of scale and softmax.
struct Pipes {
  std::string scores, values, elementwise;
};
// Returns the work of one call. FLOPs: 2 d per pair for each of the two products; for scale and
// softmax, in the part "elementwise", 6 per pair minus 2 per query. Compulsory DRAM bytes: q, o and
// the visible keys and values, each once.
Work WorkOf(const AttentionProblem& problem, std::string_view type, const Pipes& pipes,
            size_t launches);

// Returns the work of a backward call. It reads q, k, v, o, o's gradient and the statistics, and
// writes the gradients of q, k and v. FLOPs: 2 d per pair for each of five products (scores again,
// gradients of weights, q, k, v), each on its pipe; "elementwise" 6 per pair and 2 d per query.
// Bytes: q, o, do, dq, visible k, v, dk, dv, and 4 byte of statistics per query, each once.
Work BackwardWorkOf(const AttentionProblem& problem, std::string_view type,
                    const std::array<std::string, 5>& pipes, const std::string& elementwise,
                    size_t launches);

// A partition of oneDNN Graph: operations of a graph that the library compiles and runs together.
struct GraphPartition {
  std::vector<std::string> operations;  // names, e.g. "MatMul"
  // From the library's log of the compilation; empty if the log lacks them.
  std::string kernel = {};                        // e.g. "sdp_decomp_kernel_t"
  std::vector<std::string> implementations = {};  // of the created primitives, without reorders
};
// Returns the partition of these operations. `log`: oneDNN's log of its compilation (CreationLog).
GraphPartition ReadGraphPartition(std::vector<std::string> operations, std::string_view log);
// Returns PreparedCall::algorithm of partitions that run in this order. It is "graph, fused: ..."
// only for a single partition with a kernel for attention (sdp_...), which keeps scores in caches.
// Any other kernel may run the partition primitive after primitive.
std::string GraphAlgorithm(const std::vector<GraphPartition>& partitions);

// Throws Unsupported if host memory does not suffice for inputs, results, scores and weights of a
// forward or a backward call.
void RequireMemory(const AttentionProblem& problem, std::string_view type, bool backward = false);

// A parsed name of the backend cudnn.
struct CudnnAttentionCase {
  AttentionProblem problem;
  std::string type;               // element type: "f16", "bf16" or "e4m3"
  bool backward = false;          // gradients of q, k and v from q, k, v, o, do and the statistics
  bool training = false;          // the forward call also writes the statistics (BackwardInputs)
  std::optional<int64_t> page{};  // keys per page; absent if keys and values are not paged
};
// Parses a name of the backend cudnn. Types: f16, bf16, fp8 (e4m3). Options of fwd: training, and
// page16, page32, page64 or page128. Throws BadInput with the column.
CudnnAttentionCase ReadCudnnCase(const workload::BenchmarkName& name);
// Returns the work of one call. Forward: as WorkOf of the problem; `training` adds 4 byte of
// statistics per query, page tables 4 byte per page. Backward: BackwardWorkOf.
Work WorkOf(const CudnnAttentionCase& request);

// fp8 kernels multiply weights and result (at most 1) by this factor to use e4m3's range (448).
inline constexpr double kFp8Scale = 256;

struct Tensors {
  std::vector<double> q, k, v;
};
// Returns seeded inputs, exactly representable in the type (f64: in f32). q is between -4 and 4, so
// that weights differ by a factor of some 100; k and v are between -1 and 1.
Tensors SeededInputs(const AttentionProblem& problem, std::string_view type, uint64_t seed);

// Returns keys or values in pages. table[i] is the page of the result with page i of `rows`, where
// pages are counted through all sequences. Unused rows of a sequence's last page are 0.
std::vector<double> InPages(const CudnnAttentionCase& request, const std::vector<double>& rows,
                            const std::vector<int64_t>& table);

// Computes `o` by the reference loops. `o` must have as many elements as q.
void RunLoops(const AttentionProblem& problem, const Tensors& in, std::vector<double>& o);

// Compares an output row by row with the reference loops in double.
workload::Verification Check(const AttentionProblem& problem, std::string_view type,
                             const Tensors& in, const std::vector<double>& output, uint64_t seed);

// Further inputs of a backward call: o, its gradient, and per query log(sum of exp(scores)).
struct BackwardInputs {
  std::vector<double> o, d_o, statistics;
};
// Returns a seeded gradient of o, between -1 and 1 and exactly representable in the type.
std::vector<double> SeededGradient(const AttentionProblem& problem, std::string_view type,
                                   uint64_t seed);
// Returns the statistics of scores q k^T / sqrt(d), b x h x q x k, without hidden pairs.
std::vector<double> StatisticsOf(const AttentionProblem& problem, const std::vector<float>& scores);
// Compares the statistics written by a forward call with those computed from the inputs.
workload::Verification CheckStatistics(const AttentionProblem& problem, const Tensors& in,
                                       const std::vector<double>& statistics, uint64_t seed);
// Compares gradients of q, k, v row by row with sums in double. Ignores keys beyond `lengths`.
workload::Verification CheckGradients(const AttentionProblem& problem, std::string_view type,
                                      const Tensors& in, const BackwardInputs& backward,
                                      Tensors gradients, uint64_t seed);

}  // namespace dlroof::attention
