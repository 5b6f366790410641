// benchdnn's driver --sdpa (oneDNN 3.13 and newer): its options, and its problems Q:K:V with Q
// mb x heads x queries x head size, K mb x key-value heads x head size x keys, V mb x key-value
// heads x keys x head size.
#include "bench/suites/benchdnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/attention/attention.h"
#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::attention {
namespace {

// Returns the types of Q, K, V and the result. A single type in `value` stands for all four.
std::string ReadTypes(std::string_view value) {
  const auto words = logs::SplitText(value, ':');
  if (words.size() == 1) return fmt::format("{0}:{0}:{0}:{0}", value);
  if (words.size() != 4) throw BadInput("expected one word, or those of Q, K, V and the result");
  return std::string(value);
}

// K may be stored d x k (abx) or, as in dlroof, k x d (abdc): name, FLOPs and bytes are the same.
// Each value of "scale" means 1 / sqrt(head size).
constexpr suites::BenchdnnOption kOptions[] = {
    {"dir", "FWD_I", ""},
    {"dt", "f32:f32:f32:f32", suites::kBenchdnnAny, ReadTypes},
    {"qtag", "abx", "abcd"},
    {"ktag", "abx", "abcd abdc"},
    {"vtag", "abx", "abcd"},
    {"dtag", "abx", "abcd"},
    {"mask", "none", "causal_top_left causal_bottom_right"},
    {"mdt", "f32", suites::kBenchdnnAny},
    {"scale", "library", "mul div"},
    {"attr-scales", "", ""},
    {"attr-zero-points", "", ""},
    {"attr-fpmath", "strict", ""},
};

std::vector<std::vector<int64_t>> ReadTensors(std::string_view text) {
  std::vector<std::vector<int64_t>> tensors;
  size_t at = 0;
  do {
    if (!tensors.empty()) ++at;
    tensors.push_back(suites::ReadSizes(text, at));
  } while (at < text.size() && text[at] == ':');
  suites::ExpectName(text, at);
  if (tensors.size() != 3) throw BadInput("expected the sizes of Q, K and V: BxHxQxD:BxHxDxK:...");
  return tensors;
}

suites::BenchdnnName NameOf(std::string_view text, const suites::BenchdnnChoice& choice) {
  const auto tensors = ReadTensors(text);
  for (const auto& sizes : tensors)
    if (sizes.size() != 4) return Reason{fmt::format("{}-D attention", sizes.size())};
  const auto &q = tensors[0], &k = tensors[1], &v = tensors[2];
  if (k[2] != q[3]) throw BadInput("Q and K do not match: head sizes {} and {}", q[3], k[2]);
  if (v[1] != k[1] || v[2] != k[3])
    throw BadInput("K and V do not match: {} and {} heads, {} and {} keys", k[1], v[1], k[3], v[2]);
  if (k[0] != q[0] || v[0] != q[0]) return Reason{"broadcast batch"};
  if (v[3] != q[3]) return Reason{fmt::format("values of another head size, {}", v[3])};
  const auto types = logs::SplitText(choice["dt"], ':');
  const bool same = std::ranges::count(types, types[0]) == std::ssize(types);
  if (!same || (types[0] != "f32" && types[0] != "bf16" && types[0] != "f16"))
    return Reason{fmt::format("types {}", choice["dt"])};
  AttentionProblem p{.b = q[0], .h = q[1], .q = q[2], .k = k[3], .d = q[3], .kv = k[1]};
  if (choice["mask"] == "causal_top_left") p.causal = Causal::kTopLeft;
  if (choice["mask"] == "causal_bottom_right" && p.q > 1)  // hides no key from one query
    p.causal = p.q == p.k ? Causal::kTopLeft : Causal::kBottomRight;
  try {
    return fmt::format("Attention/cpu/onednn/fwd/{}/{}", types[0],
                       ToText(ParseAttention(ToText(p))));
  } catch (const BadInput& error) {
    return Reason{error.text};
  }
}

suites::BenchdnnWork WorkOfName(const workload::BenchmarkName& name) {
  return {WorkOf(Read(name), name.type, {}, 1).bytes, name.type};
}

}  // namespace

const suites::BenchdnnDriver kSdpaDriver = {"sdpa",     kOptions, nullptr, NameOf,
                                            WorkOfName, {},       nullptr};

}  // namespace dlroof::attention
