#include "bench/attention/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"
#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::attention {
namespace {

int64_t LengthOf(const AttentionProblem& p, int64_t sequence) {
  return p.lengths.empty() ? p.k : p.lengths[static_cast<size_t>(sequence)];
}

AttentionProblem ReadParts(workload::TextCursor& cursor) {
  AttentionProblem p;
  cursor.Sizes({{"b", p.b}, {"h", p.h}, {"q", p.q}, {"k", p.k}, {"d", p.d}});
  p.kv = p.h;
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  if (cursor.AtEnd()) cursor.Refuse("kv, w, l, tl or br");
  if (cursor.Accept("kv")) p.kv = cursor.Integer(1, "key-value heads");
  if (cursor.Accept("w")) p.window = cursor.Integer(1, "a window");
  if (cursor.Accept("l"))
    for (int64_t i = 0; i < p.b; ++i) {
      if (i > 0) cursor.Expect(":");
      p.lengths.push_back(cursor.Integer(1, "the length of each sequence"));
    }
  if (cursor.Accept("tl"))
    p.causal = Causal::kTopLeft;
  else if (cursor.Accept("br"))
    p.causal = Causal::kBottomRight;
  if (!cursor.AtEnd()) cursor.Refuse("the end (order: kv, w, l, tl or br)");
  return p;
}

// Throws BadInput (without a column) if a query sees no key, an option of the mask hides no key, or
// bytes or FLOPs overflow 64 bits.
void CheckProblem(const AttentionProblem& p) {
  constexpr int64_t kBytes = 8;  // [byte] size of f64, the widest type
  workload::CheckedCount({kBytes, p.b, p.h, p.q, p.d}, "the size of q in byte");
  workload::CheckedCount({kBytes, p.b, p.kv, p.k, p.d}, "the size of k in byte");
  workload::CheckedCount({4, p.b, p.h, p.q, p.k, std::max(p.d, kBytes)}, "the number of FLOPs");
  const auto refuse_if = [](bool wrong, std::string_view reason) {
    if (wrong) throw BadInput("{}", reason);
  };
  refuse_if(p.h % p.kv != 0, "the key-value heads (kv) do not divide the heads (h)");
  const bool padded = !p.lengths.empty(), bottom = p.causal == Causal::kBottomRight;
  const int64_t longest = padded ? std::ranges::max(p.lengths) : p.k;
  refuse_if(longest > p.k, "a sequence is longer than the keys (k)");
  refuse_if(padded && std::ranges::min(p.lengths) == p.k, "l pads no sequence: leave it out");
  refuse_if(bottom && p.q == p.k && !padded, "with as many queries as keys br is tl");
  refuse_if(bottom && p.q == 1 && !p.window, "br hides no key from one query: leave it out");
  refuse_if(p.window && p.causal == Causal::kNone, "a window (w) needs a diagonal (tl or br)");
  refuse_if(p.window && *p.window >= (bottom ? longest : p.q), "w hides no key: leave it out");
  for (int64_t b = 0; b < (padded ? p.b : 1); ++b)
    for (const int64_t query : {int64_t{0}, p.q - 1})
      refuse_if(KeysOf(p, b, query).size() < 1, "a query sees no key");
}

// Returns the number of keys that at least one query sees, summed over all sequences.
int64_t SeenKeys(const AttentionProblem& p) {
  int64_t seen = 0;
  for (int64_t b = 0; b < p.b; ++b) seen += KeysOf(p, b, p.q - 1).end - KeysOf(p, b, 0).begin;
  return seen;
}

}  // namespace

std::string ToText(const AttentionProblem& p) {
  std::string rest;
  if (p.kv != p.h) rest += fmt::format("kv{}", p.kv);
  if (p.window) rest += fmt::format("w{}", *p.window);
  if (!p.lengths.empty()) rest += fmt::format("l{}", fmt::join(p.lengths, ":"));
  if (p.causal != Causal::kNone) rest += p.causal == Causal::kTopLeft ? "tl" : "br";
  return fmt::format("b{}h{}q{}k{}d{}{}{}", p.b, p.h, p.q, p.k, p.d, rest.empty() ? "" : "_", rest);
}

AttentionProblem ParseAttention(std::string_view text, int column_offset) {
  return workload::ParseProblem(text, column_offset, ReadParts, [&](const auto& problem) {
    CheckProblem(problem);
    if (ToText(problem) != text) throw BadInput("its text is {}", ToText(problem));
  });
}

KeyRange KeysOf(const AttentionProblem& p, int64_t sequence, int64_t query) {
  const int64_t length = LengthOf(p, sequence);
  if (p.causal == Causal::kNone) return {0, length};
  const int64_t diagonal = query + (p.causal == Causal::kTopLeft ? 1 : length - p.q + 1);
  return {p.window ? std::max(int64_t{0}, diagonal - *p.window) : 0, std::min(length, diagonal)};
}

// A closed form, not a loop over the queries, because a suite file may name a problem of any size.
int64_t Pairs(const AttentionProblem& p) {
  // Returns the sum of the positive numbers from `low` to `high`.
  const auto sum = [](int64_t low, int64_t high) {
    low = std::max<int64_t>(low, 1);
    return high < low ? 0 : (high - low + 1) * (high + low) / 2;
  };
  const auto of_sequence = [&](int64_t sequence) {
    const int64_t length = LengthOf(p, sequence);
    if (p.causal == Causal::kNone) return p.q * length;
    const int64_t first = p.causal == Causal::kTopLeft ? 1 : length - p.q + 1;
    const int64_t last = first + p.q - 1, window = p.window.value_or(last);
    return sum(first, last) - sum(first - length, last - length) -
           sum(first - window, last - window);
  };
  if (p.lengths.empty()) return p.h * p.b * of_sequence(0);
  int64_t pairs = 0;
  for (int64_t sequence = 0; sequence < p.b; ++sequence) pairs += of_sequence(sequence);
  return p.h * pairs;
}

double ExecutedOverUseful(const AttentionProblem& p) {
  return static_cast<double>(p.b * p.h * p.q * p.k) / static_cast<double>(Pairs(p));
}

bool HasMask(const AttentionProblem& p) { return p.causal != Causal::kNone || !p.lengths.empty(); }

std::vector<float> MaskOf(const AttentionProblem& p, int64_t masks) {
  std::vector<float> mask(static_cast<size_t>(masks * p.q * p.k),
                          -std::numeric_limits<float>::infinity());
  for (int64_t row = 0; row < masks * p.q; ++row) {
    const auto keys = KeysOf(p, row / p.q, row % p.q);
    std::fill_n(mask.begin() + row * p.k + keys.begin, keys.size(), 0.0F);
  }
  return mask;
}

Work WorkOf(const AttentionProblem& p, std::string_view type, const Pipes& pipes, size_t launches) {
  const auto pairs = static_cast<double>(Pairs(p));
  const auto queries = static_cast<double>(p.b * p.h * p.q);
  Work work;
  work.parts["matrix"] = 4 * static_cast<double>(p.d) * pairs;
  work.parts["elementwise"] = 6 * pairs - 2 * queries;
  for (const auto& pipe : {pipes.scores, pipes.values})
    work.flops[pipe] += work.parts["matrix"] / 2;
  work.flops[pipes.elementwise] += work.parts["elementwise"];
  const auto row = static_cast<double>(workload::ElementBytes(type) * p.d);
  work.bytes[Level::kDram] = 2 * row * (queries + static_cast<double>(p.kv * SeenKeys(p)));
  work.written = row * queries;
  work.launches = static_cast<double>(launches);
  return work;
}

Work BackwardWorkOf(const AttentionProblem& p, std::string_view type,
                    const std::array<std::string, 5>& pipes, const std::string& elementwise,
                    size_t launches) {
  auto work = WorkOf(p, type, {}, launches);
  const auto queries = static_cast<double>(p.b * p.h * p.q), d = static_cast<double>(p.d);
  work.parts["matrix"] *= 2.5;
  work.parts["elementwise"] = 6 * static_cast<double>(Pairs(p)) + 2 * d * queries;
  work.flops.clear();
  for (const auto& pipe : pipes) work.flops[pipe] += work.parts["matrix"] / 5;
  work.flops[elementwise] += work.parts["elementwise"];
  double& bytes = work.bytes[Level::kDram];
  // A forward call moves row * (2 queries + 2 kv SeenKeys) and writes row * queries.
  work.written = bytes - *work.written;
  bytes = 2 * bytes + 4 * queries;
  return work;
}

Work WorkOf(const CudnnAttentionCase& request) {
  const auto& p = request.problem;
  const std::string pipe = request.type == "e4m3"  ? "fp8.matrix"
                           : request.type == "f16" ? "fp16.matrix"
                                                   : "bf16.matrix";
  if (request.backward)
    return BackwardWorkOf(p, request.type, {pipe, pipe, pipe, pipe, pipe}, "fp32.vector", 1);
  auto work = WorkOf(p, request.type, {pipe, pipe, "fp32.vector"}, 1);
  double& bytes = work.bytes[Level::kDram];
  if (request.training) bytes += 4 * static_cast<double>(p.b * p.h * p.q);
  if (request.page) {
    const auto pages = (p.k + *request.page - 1) / *request.page;
    bytes += 2 * 4 * static_cast<double>(p.b * pages);
  }
  return work;
}

void RequireMemory(const AttentionProblem& p, std::string_view type, bool backward) {
  // Of q, k, v and o: forward call, backward call, gradients. Tensors with an element per pair:
  // weights, score gradients, and the forward call's scores and their copy.
  const double copies = backward ? 3 : 1, of_scores = backward ? 4 : 1;
  const auto element = static_cast<double>(workload::ElementBytes(type));
  const double pairs = static_cast<double>(p.b * p.h * p.q) * static_cast<double>(p.k);
  const auto tensors = static_cast<double>(2 * p.d * (p.b * p.h * p.q + p.b * p.kv * p.k));
  // A copy needs 12 bytes more per element: as double and, while it is filled or read, as f32.
  workload::RequireHostMemory(copies * (12 + element) * tensors + of_scores * (4 + element) * pairs,
                              ToText(p));
}

AttentionProblem Read(const workload::BenchmarkName& name) {
  if (name.library == "reference") {
    workload::RequireDirection(name, {"fwd"});
    workload::RequireType(name, {"f64"});
  } else {
    workload::RequireDirection(name, {"fwd", "bwd"});
    workload::RequireType(name, {"f32", "bf16", "f16"});
  }
  auto problem = ParseAttention(name.problem, workload::ColumnOfPart(name, 5) - 1);
  const bool graph = name.library == "onednn" && name.direction == "fwd";
  workload::CheckOptions(name, graph ? workload::OptionRows{{"graph"}} : workload::OptionRows());
  return problem;
}

CudnnAttentionCase ReadCudnnCase(const workload::BenchmarkName& name) {
  workload::RequireDirection(name, {"fwd", "bwd"});
  workload::RequireType(name, {"f16", "bf16", "fp8"});
  CudnnAttentionCase read{
      .problem = ParseAttention(name.problem, workload::ColumnOfPart(name, 5) - 1),
      .type = name.type == "fp8" ? "e4m3" : name.type,
      .backward = name.direction == "bwd"};
  const workload::OptionRows forward = {{"training"}, {"page16", "page32", "page64", "page128"}};
  workload::CheckOptions(name, read.backward ? workload::OptionRows() : forward);
  read.training = workload::HasOption(name, "training");
  for (const int64_t page : {16, 32, 64, 128})
    if (workload::HasOption(name, fmt::format("page{}", page))) read.page = page;
  return read;
}

namespace {

std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  if (!ParseAttention(name.problem).lengths.empty())
    throw Unsupported("the problem has a length for each sequence");
  return workload::WithBatch("b", ParseAttention)(name, batch);
}

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Attention",
     .words =
         {"attention",
          {{"batch", "b"}, {"heads", "h"}, {"queries", "q"}, {"keys", "k"}, {"head size", "d"}}},
     .flop_convention = "4*D per pair of a query and a key that it sees; scale and "
                        "softmax, 6 per pair less 2 per query, apart; bwd: 10*D per pair, and 6 "
                        "per pair plus 2*D per query apart",
     .benchdnn = {&kSdpaDriver},
     .directions = {"fwd", "bwd"},
     .templates = "Attention/cpu/onednn/fwd/{f32,bf16}/*\n",
     .with_batch = WithBatch,
     .named_flops =
         [](const record::Record& record) {
           const auto p = ParseAttention(record.problem);
           const double products = record.direction == "bwd" ? 5 : 2;
           return products * 2 * static_cast<double>(p.d) * static_cast<double>(Pairs(p));
         },
     .variants = {{std::string(workload::kAlgorithmVariants),
                   {"graph"},
                   "oneDNN Graph may fuse the call, so that the scores stay in caches"}}});

[[maybe_unused]] const bool on_onednn = workload::RegisterBackend(
    {"Attention", "cpu", "onednn", workload::CheckedWorkload(Read), "oneDNN 3.2 or newer"});
[[maybe_unused]] const bool on_cudnn = workload::RegisterBackend(
    {"Attention", "gpu", "cudnn", workload::CheckedWorkload(ReadCudnnCase), "cuDNN 9.8 or newer"});

// Returns "KERNEL of IMPLEMENTATION + IMPLEMENTATION" without the parts that the log lacks.
std::string ExecutorOf(const GraphPartition& partition) {
  const auto primitives = fmt::format("{}", fmt::join(partition.implementations, " + "));
  if (partition.kernel.empty() || primitives.empty()) return partition.kernel + primitives;
  return fmt::format("{} of {}", partition.kernel, primitives);
}

}  // namespace

GraphPartition ReadGraphPartition(std::vector<std::string> operations, std::string_view log) {
  GraphPartition partition{std::move(operations)};
  for (const auto text : logs::SplitText(log, '\n')) {
    const auto marker = logs::FindMarker(text);
    if (marker == std::string_view::npos) continue;
    const auto line = logs::ParseLine(text.substr(marker));
    const auto fields = logs::SplitText(line.fields, ',');
    // Primitive: engine, kind, implementation, ...; partition: ..., kernel, backend, time.
    if (line.kind == logs::VerboseKind::kCreated && fields.size() > 3 && fields[1] != "reorder")
      partition.implementations.emplace_back(fields[2]);
    if (line.kind == logs::VerboseKind::kGraph && line.operation.starts_with("compile") &&
        fields.size() > 3)
      partition.kernel = fields[fields.size() - 3];
  }
  return partition;
}

std::string GraphAlgorithm(const std::vector<GraphPartition>& partitions) {
  const auto& first = partitions.front();
  if (partitions.size() == 1) {
    const auto* how = first.kernel.starts_with("sdp_") ? "fused"
                      : first.kernel.empty()           ? "1 partition"
                                                       : "1 partition, not fused";
    const auto executor = ExecutorOf(first);
    return fmt::format("graph, {}{}{}", how, executor.empty() ? "" : ": ", executor);
  }
  auto text = fmt::format("graph, {} partitions", partitions.size());
  for (const auto& partition : partitions) {
    const auto executor = ExecutorOf(partition);
    text +=
        fmt::format("{}{}{}{}", &partition == &first ? ": " : ", ",
                    fmt::join(partition.operations, "+"), executor.empty() ? "" : " by ", executor);
  }
  return text;
}

}  // namespace dlroof::attention
