#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bench/matmul/benchdnn.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

// Returns source, weights and destination of "u8:s8:u8".
MatmulTypes Types(std::string_view data_types) {
  const auto first = data_types.find(':');
  const auto last = data_types.rfind(':');
  return {std::string(data_types.substr(0, first)),
          std::string(data_types.substr(first + 1, last - first - 1)),
          std::string(data_types.substr(last + 1))};
}

// Returns the types of the driver ip, whose cfg is an older spelling: "u8s8f32", or one for all.
MatmulTypes IpTypes(const BenchdnnChoice& choice) {
  std::string_view rest = choice["cfg"];
  if (rest.empty()) return Types(choice["dt"]);
  std::vector<std::string> types;
  while (!rest.empty()) {
    const size_t letters = rest.starts_with("bf") ? 2 : 1;
    const size_t end = std::min(rest.find_first_not_of("0123456789", letters), rest.size());
    types.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  types.resize(3, types[0]);
  return {types[0], types[1], types[2]};
}

bool IsByte(std::string_view type) { return type == "u8" || type == "s8"; }

// Returns the words of the option `scales`, as benchdnn's readers spell them.
std::string_view OurScales(const MatmulTypes& types) {
  if (!IsInt8(types)) return "";
  return IsByte(types.destination) ? "src:common+wei:per_oc+dst:common" : "src:common+wei:per_oc";
}

// Returns why scales, zero points, post-ops or the context lead to no benchmark; empty: they do.
std::string AttributeReason(const BenchdnnChoice& choice, const MatmulTypes& types, bool forward) {
  const auto post_ops = choice["attr-post-ops"];
  if (post_ops == "relu:slope") return "post-op relu with a slope";
  if (!post_ops.empty() && post_ops != "relu") return fmt::format("post-ops {}", post_ops);
  if (!post_ops.empty() && !forward) return "post-op backward";
  if (!choice["attr-zero-points"].empty()) return "zero points";
  const auto scales = choice["attr-scales"];
  if (!scales.empty() && !forward) return "scales backward";
  if (!scales.empty() && scales != OurScales(types)) return fmt::format("scales {}", scales);
  return CommonReason(choice);
}

// The call that a line of benchdnn describes.
struct Found {
  MatmulProblem problem;
  MatmulDirection direction = MatmulDirection::kForward;
  MatmulTypes types;
  bool ip = false, training = false, bias = false, any = false;
};

BenchdnnName NameOf(const Found& found, const BenchdnnChoice& choice) {
  const bool forward = found.direction == MatmulDirection::kForward;
  if (auto reason = AttributeReason(choice, found.types, forward); !reason.empty())
    return {"", reason};
  const auto type = KeyOf(found.types);
  if (type.empty() || type == "f64")  // none on the CPU
    return {"", fmt::format("types {}:{}:{}", found.types.source, found.types.weights,
                            found.types.destination)};
  std::vector<std::string> options;
  const auto add = [&](bool given, std::string_view option) {
    if (given) options.emplace_back(option);
  };
  add(found.ip, "ip");
  add(found.training, "training");
  add(found.bias, "bias");
  add(choice["attr-post-ops"] == "relu", "relu");
  add(!choice["attr-scales"].empty(), "scales");
  add(found.any, "any");
  add(choice["attr-fpmath"] != "strict", fmt::format("fpmath-{}", choice["attr-fpmath"]));
  BenchmarkName name{"Matmul",
                     "cpu",
                     "onednn",
                     std::string(Key(found.direction)),
                     type,
                     ToText(found.problem),
                     std::move(options)};
  try {
    ReadOnednnMatmulCase(name);
  } catch (const BadInput&) {  // more than 64 bits
    return {"", "impossible shape"};
  }
  return {ToText(name), ""};
}

// The order of one matrix; absent where a name has no word for it.
enum class Order { kRows, kColumns, kAny };
std::optional<Order> OrderOf(std::string_view tag, bool batched) {
  if (tag == "any") return Order::kAny;
  if (tag == "nchw" || tag == (batched ? "abc" : "ab")) return Order::kRows;  // nchw: of abx
  if (tag == (batched ? "acb" : "ba")) return Order::kColumns;
  return std::nullopt;
}

std::string MatmulReason(const BenchdnnMatmul& problem, const BenchdnnChoice& choice) {
  if (!problem.strange.empty()) return problem.strange;
  if (!choice["encoding"].empty()) return "sparse matrices";
  if (!choice["strides"].empty()) return "strides";
  const auto masks = choice["runtime_dims_masks"];
  if (masks.find_first_not_of("0:") != std::string_view::npos) return "sizes at run time";
  for (const auto* tag : {"stag", "wtag", "dtag"})
    if (!OrderOf(choice[tag], problem.problem.b > 1)) return fmt::format("layout {}", choice[tag]);
  if (choice["bia_dt"] == "undef") return "";
  if (choice["bia_dt"] != BiasType(Types(choice["dt"])))
    return fmt::format("bias of type {}", choice["bia_dt"]);
  // The bias has one number per column: C is masked by its last dimension alone.
  if (choice.Count("bia_mask") != (problem.problem.b > 1 ? 4 : 2))
    return fmt::format("bias mask {}", choice["bia_mask"]);
  return "";
}

struct Direction {
  std::string_view dir;
  MatmulDirection direction;
  bool training, bias;
};
constexpr std::array<Direction, 6> kDirections = {
    {{"FWD_I", MatmulDirection::kForward, false, false},
     {"FWD_D", MatmulDirection::kForward, true, false},
     {"FWD_B", MatmulDirection::kForward, true, true},
     {"BWD_D", MatmulDirection::kBackwardData, false, false},
     {"BWD_W", MatmulDirection::kBackwardWeights, false, false},
     {"BWD_WB", MatmulDirection::kBackwardWeights, false, true}}};

// "12x64": a size and x begin a problem of matmul.
bool BeginsMatmul(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789");
  return end != 0 && end != std::string_view::npos && text[end] == 'x';
}

// Every letter of ip is one of conv, whose driver such a text means.
bool BeginsIp(std::string_view /*text*/) { return false; }

BenchdnnProblem ReadMatmulProblem(const std::string& text) {
  const auto problem = ReadBenchdnnMatmul(text);
  return {problem.listed, [problem](const auto& choice) { return MatmulName(problem, choice); }};
}

BenchdnnProblem ReadIpProblem(const std::string& text) {
  const auto problem = ReadBenchdnnIp(text);
  return {ToText(problem), [problem](const auto& choice) { return IpName(problem, choice); }};
}

BenchdnnWork WorkOf(const BenchmarkName& name) {
  const auto matmul = ReadOnednnMatmulCase(name);
  return {MatmulWork(matmul, "fp32.vector").bytes, std::string(ComputeType(matmul.types))};
}

}  // namespace

BenchdnnName MatmulName(const BenchdnnMatmul& problem, const BenchdnnChoice& choice) {
  if (auto reason = MatmulReason(problem, choice); !reason.empty()) return {"", reason};
  const auto order = [&](std::string_view tag) {
    return *OrderOf(choice[tag], problem.problem.b > 1);
  };
  const Order a = order("stag"), b = order("wtag"), c = order("dtag");
  Found found{problem.problem, MatmulDirection::kForward, Types(choice["dt"])};
  found.any = a == Order::kAny && b == Order::kAny && c == Order::kAny;
  if (!found.any && (a == Order::kAny || b == Order::kAny || c == Order::kAny))
    return {"", "layout any of some matrices"};
  if (c == Order::kColumns) return {"", "transposed result"};
  found.problem.transposed_a = a == Order::kColumns;
  found.problem.transposed_b = b == Order::kColumns;
  found.bias = choice["bia_dt"] != "undef";
  return NameOf(found, choice);
}

BenchdnnName IpName(const BenchdnnIp& problem, const BenchdnnChoice& choice) {
  const auto* const row = std::find_if(kDirections.begin(), kDirections.end(),
                                       [&](const auto& one) { return one.dir == choice["dir"]; });
  if (row == kDirections.end()) return {"", fmt::format("direction {}", choice["dir"])};
  if (problem.depth != 0 || problem.height != 0 || problem.width != 0)
    return {"", "inner product of images"};
  for (const auto* tag : {"stag", "wtag", "dtag"})
    if (!choice.IsDefault(tag)) return {"", fmt::format("layout {}", choice[tag])};
  const int64_t samples = choice.Count("mb") != 0 ? choice.Count("mb") : problem.samples;
  if (samples == 0) return {"", "no samples"};
  return NameOf({{1, samples, problem.out_channels, problem.in_channels},
                 row->direction,
                 IpTypes(choice),
                 true,
                 row->training,
                 row->bias},
                choice);
}

const BenchdnnDriver kMatmulDriver = {"matmul",     MatmulDriverOptions(), true,
                                      BeginsMatmul, ReadMatmulProblem,     WorkOf};
const BenchdnnDriver kIpDriver = {"ip", IpDriverOptions(), true, BeginsIp, ReadIpProblem, WorkOf};

}  // namespace dlroof
