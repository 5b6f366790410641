#include "bench/suites/benchdnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "bench/matmul/case.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::matmul {
namespace {

// Returns the value of --attr-scales or --attr-zero-points for compressed weights.
std::string WeightsAttribute(int64_t group, int64_t depth, std::string_view type) {
  if (group == depth) return fmt::format("wei:per_oc:{}", type);
  return fmt::format("wei:per_ocic:{}:{}x1", type, group);
}

// Like ReadScales, but returns scales of weights with a type (e.g. "wei:per_oc:f16") unchanged.
std::string ReadMatmulScales(std::string_view value) {
  const auto fields = logs::SplitText(value, ':');
  const bool typed = fields.size() > 2 && !fields[2].empty() &&
                     std::isalpha(static_cast<unsigned char>(fields[2].front())) != 0;
  if (!typed || fields[0] != "wei" || value.find('+') != value.npos)
    return suites::ReadScales(value);
  return std::string(value);
}

std::string ReadZeroPoints(std::string_view value) {
  if (!value.starts_with("wei:") || value.find('+') != value.npos) throw BadInput("not supported");
  return std::string(value);
}

constexpr suites::BenchdnnOption kMatmulOptions[] = {
    {"dt", "f32:f32:f32", suites::kBenchdnnAny, suites::ReadThree},
    {"stag", "any", suites::kBenchdnnAny, suites::ReadLayout},
    {"wtag", "any", suites::kBenchdnnAny, suites::ReadLayout},
    {"dtag", "any", suites::kBenchdnnAny, suites::ReadLayout},
    {"encoding", "", ""},
    {"strides", "", ""},
    {"grouped", "", ""},
    {"runtime-dims-masks", "", "0 0:0"},
    {"attr-scales", "", suites::kBenchdnnAny, ReadMatmulScales},
    {"attr-zero-points", "", suites::kBenchdnnAny, ReadZeroPoints},
    {"attr-post-ops", "", suites::kBenchdnnAny, suites::ReadPostOps},
    {"attr-fpmath", "strict",
     "bf16 f16 tf32 any strict:true bf16:true f16:true tf32:true any:true"},
    {"bia-dt", "undef", suites::kBenchdnnAny},
    {"bia-mask", "2", suites::kBenchdnnAny, suites::ReadCount},
};

constexpr suites::BenchdnnOption kIpOptions[] = {
    {"dir", "FWD_B", suites::kBenchdnnDirections},
    {"dt", "f32:f32:f32", suites::kBenchdnnAny, suites::ReadThree},
    {"cfg", "", suites::kBenchdnnAny, suites::ReadTypes},
    {"stag", "any", ""},
    {"wtag", "any", ""},
    {"dtag", "any", ""},
    {"attr-scales", "", suites::kBenchdnnAny, suites::ReadScales},
    {"attr-post-ops", "", suites::kBenchdnnAny, suites::ReadPostOps},
    {"attr-fpmath", "strict", suites::kBenchdnnFpmath},
    {"mb", "0", suites::kBenchdnnAny, suites::ReadCount},
};

// Parses the sizes of A, B and, optionally, C, e.g. "12x64:64x8:12x8".
std::vector<std::vector<int64_t>> ReadMatrices(std::string_view text, size_t& at) {
  std::vector<std::vector<int64_t>> matrices;
  for (;;) {
    matrices.push_back(suites::ReadSizes(text, at));
    if (at == text.size() || text[at] != ':') break;
    ++at;
  }
  if (matrices.size() < 2)
    throw BadInput("expected MxK:KxN or MxK:KxN:MxN, with batches before each");
  if (matrices[0].size() < 2 || matrices[1].size() != matrices[0].size())
    throw BadInput(
        "expected two factors with the same number of dimensions, "
        "at least 2");
  return matrices;
}

struct BenchdnnMatmul {
  MatmulProblem problem;
  std::optional<Reason> unsupported;  // why dlroof lacks this problem, e.g. "4-D matmul"
};
BenchdnnMatmul ReadBenchdnnMatmul(std::string_view text) {
  size_t at = 0;
  const auto matrices = ReadMatrices(text, at);
  BenchdnnMatmul read;
  suites::ExpectName(text, at);
  const auto& a = matrices[0];
  const auto& b = matrices[1];
  const size_t last = a.size() - 1;
  read.problem = {last == 2 ? a[0] : 1, a[last - 1], b[last], a[last]};
  if (b[last - 1] != a[last])
    throw BadInput("the factors do not match: {} columns, {} rows", a[last], b[last - 1]);
  if (last > 2) read.unsupported = Reason{fmt::format("{}-D matmul", last + 1)};
  if (!std::equal(a.begin(), a.end() - 2, b.begin())) read.unsupported = Reason{"broadcast batch"};
  auto result = a;
  result[last] = b[last];
  const bool fits = matrices.size() == 2 || (matrices.size() == 3 && matrices[2] == result);
  if (!fits && !read.unsupported) read.unsupported = Reason{"result of other sizes"};
  return read;
}

struct BenchdnnIp {
  int64_t samples = 2, in_channels = 0, out_channels = 0;
  int64_t depth = 0, height = 0, width = 0;  // sizes if the source is an image, else 0
};
BenchdnnIp ReadBenchdnnIp(std::string_view text) {
  BenchdnnIp p;
  const std::array<suites::BenchdnnLetter, 6> letters = {{{"mb", &p.samples},
                                                          {"ic", &p.in_channels},
                                                          {"id", &p.depth},
                                                          {"ih", &p.height},
                                                          {"iw", &p.width},
                                                          {"oc", &p.out_channels}}};
  suites::ReadLetters(text, letters);
  suites::RequireLetter(p.in_channels, "ic");
  suites::RequireLetter(p.out_channels, "oc");
  return p;
}

// Post-ops that benchmarks support, as written by ReadPostOps.
constexpr std::string_view kPostOps[] = {"relu",     "gelu_erf",     "gelu_tanh",    "sum",
                                         "sum+relu", "sum+gelu_erf", "sum+gelu_tanh"};

// A call in dlroof's terms, converted from benchdnn's arguments.
struct Found {
  MatmulProblem problem;
  ProductDirection direction = ProductDirection::kForward;
  workload::ProductTypes types;
  bool ip = false, training = false, bias = false, any = false;
};

// benchdnn's attributes of compressed weights as options of a name; `rest`: the other arguments.
struct WeightOptions {
  suites::BenchdnnChoice rest;
  std::vector<std::string> options = {};
  std::optional<Reason> reason = {};  // why there is no benchmark with these attributes
};
WeightOptions WeightOptionsOf(const Found& found, const suites::BenchdnnChoice& choice) {
  WeightOptions read{choice};
  const auto& types = found.types;
  auto fpmath = choice["attr-fpmath"], zero_points = choice["attr-zero-points"];
  std::string scales(choice["attr-scales"]);
  const bool compressed = workload::HasCompressedWeights(types);
  constexpr std::string_view kOfIntegers = ":true";
  if (fpmath.ends_with(kOfIntegers) != compressed) {
    read.reason = Reason{fmt::format("types {} by fpmath {}", suites::DataTypesOf(types), fpmath)};
  } else if (!compressed) {
    if (!zero_points.empty()) read.reason = Reason{fmt::format("zero points {}", zero_points)};
  } else {
    fpmath.remove_suffix(kOfIntegers.size());
    read.rest.Set("attr-fpmath",
                  fpmath == (types.source == "f32" ? "strict" : types.source) ? "" : fpmath);
    read.rest.Set("attr-scales", "");
    if (scales == "wei:per_oc") scales += ":f32";
    constexpr std::string_view kEach = "wei:per_tensor:";  // means per_ocic for one pair
    if (found.problem.b == 1 && scales.starts_with(kEach))
      scales.replace(0, kEach.size(), "wei:per_ocic:");
    const int64_t depth = found.problem.k;
    std::vector<GroupRow> rows = {{"scales", depth}};
    rows.insert(rows.end(), kGroups.begin(), kGroups.end());
    const auto* const row = FindIf(rows, [&](const auto& of) {
      return scales == WeightsAttribute(of.group, depth, types.source);
    });
    if (row == nullptr) {
      read.reason = Reason{fmt::format("scales {}", scales)};
    } else {
      read.options.emplace_back(row->option);
      if (!zero_points.empty()) read.options.emplace_back("zero-points");
      if (!zero_points.empty() && zero_points != WeightsAttribute(row->group, depth, types.weights))
        read.reason = Reason{fmt::format("zero points {}", zero_points)};
    }
  }
  return read;
}

suites::BenchdnnName NameOf(const Found& found, const suites::BenchdnnChoice& all) {
  const bool forward = found.direction == ProductDirection::kForward;
  const auto [choice, weight_options, reason_of_weights] = WeightOptionsOf(found, all);
  if (reason_of_weights) return *reason_of_weights;
  if (auto reason = suites::AttributeReason(choice, found.types, forward, kPostOps)) return *reason;
  const auto type = workload::KeyOf(found.types);
  if (!type || type == "f64")  // f64 is not supported by oneDNN's CPU engine
    return Reason{"types " + suites::DataTypesOf(found.types)};
  auto options = suites::ProductOptionsOf(choice, found.training, found.bias);
  if (found.ip) options.insert(options.begin(), "ip");
  options.insert(options.end(), weight_options.begin(), weight_options.end());
  if (found.any) options.emplace_back("any");
  suites::AddFpmathOption(choice, options);
  const std::string direction(Key(found.direction)), problem = ToText(found.problem);
  const workload::BenchmarkName name{"Matmul", "cpu", "onednn", direction, *type, problem, options};
  return workload::ToText(name);
}

enum class Order { kRows, kColumns, kAny };
// Returns the layout of a matrix, or nullopt if names of benchmarks cannot express it.
std::optional<Order> OrderOf(std::string_view tag, bool batched) {
  if (tag == "any") return Order::kAny;
  // ReadLayout converts abx to nchw.
  if (tag == "nchw" || tag == (batched ? "abc" : "ab")) return Order::kRows;
  if (tag == (batched ? "acb" : "ba")) return Order::kColumns;
  return std::nullopt;
}

std::optional<Reason> MatmulReason(const BenchdnnMatmul& problem,
                                   const suites::BenchdnnChoice& choice) {
  if (problem.unsupported) return problem.unsupported;
  for (const auto* tag : {"stag", "wtag", "dtag"})
    if (!OrderOf(choice[tag], problem.problem.b > 1))
      return Reason{fmt::format("layout {}", choice[tag])};
  if (choice["bia-dt"] == "undef") return std::nullopt;
  if (choice["bia-dt"] != workload::BiasType(suites::TypesOf(choice)))
    return Reason{fmt::format("bias of type {}", choice["bia-dt"])};
  // The bias has one number per column: the mask must select only C's last dimension.
  if (choice.Count("bia-mask") != (problem.problem.b > 1 ? 4 : 2))
    return Reason{fmt::format("bias mask {}", choice["bia-mask"])};
  return std::nullopt;
}

// Returns dlroof's name, or the reason why there is none. --stag and --wtag (ab, ba) say whether A
// and B are transposed. If all tags are `any`, the name has the option `any`.
suites::BenchdnnName MatmulName(std::string_view text, const suites::BenchdnnChoice& choice) {
  const auto problem = ReadBenchdnnMatmul(text);
  if (auto reason = MatmulReason(problem, choice)) return *reason;
  const auto order = [&](std::string_view tag) {
    return *OrderOf(choice[tag], problem.problem.b > 1);
  };
  const Order a = order("stag"), b = order("wtag"), c = order("dtag");
  Found found{problem.problem, ProductDirection::kForward, suites::TypesOf(choice)};
  found.any = a == Order::kAny && b == Order::kAny && c == Order::kAny;
  // Like `any` for all matrices, with which oneDNN packs B only: A and C stay row-major.
  if (a == Order::kRows && b == Order::kAny && c == Order::kRows) found.any = true;
  if (!found.any && (a == Order::kAny || b == Order::kAny || c == Order::kAny))
    return Reason{"layout any of some matrices"};
  if (c == Order::kColumns) return Reason{"transposed result"};
  found.problem.transposed_a = a == Order::kColumns;
  found.problem.transposed_b = b == Order::kColumns;
  found.bias = choice["bia-dt"] != "undef";
  return NameOf(found, choice);
}

suites::BenchdnnName IpName(std::string_view text, const suites::BenchdnnChoice& choice) {
  const auto problem = ReadBenchdnnIp(text);
  if (problem.depth != 0 || problem.height != 0 || problem.width != 0)
    return Reason{"inner product of images"};
  const int64_t samples = choice.Count("mb") != 0 ? choice.Count("mb") : problem.samples;
  if (samples == 0) return Reason{"no samples"};
  const auto& [dir, direction, training, bias] = suites::DirectionOf(choice);
  return NameOf({{1, samples, problem.out_channels, problem.in_channels},
                 direction,
                 suites::TypesOf(choice),
                 true,
                 training,
                 bias},
                choice);
}

bool BeginsMatmul(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789");
  return end != 0 && end != std::string_view::npos && text[end] == 'x';
}

std::string Attributes(const MatmulCase& matmul) {
  std::string text;
  if (matmul.scales) text += suites::ScalesArgument(matmul.types);
  text += suites::PostOpsArgument(matmul);
  const auto of_weights = [&](std::string_view type) {
    return WeightsAttribute(matmul.group, matmul.problem.k, type);
  };
  if (matmul.group > 0) text += fmt::format("--attr-scales={} ", of_weights(matmul.types.source));
  if (matmul.zero_points)
    text += fmt::format("--attr-zero-points={} ", of_weights(matmul.types.weights));
  const auto& source = matmul.types.source;
  if (matmul.group > 0)
    text += fmt::format("--attr-fpmath={}:true ",
                        matmul.fpmath.value_or(source == "f32" ? "strict" : source));
  else if (matmul.fpmath)
    text += fmt::format("--attr-fpmath={} ", *matmul.fpmath);
  return text;
}

// Returns the tag "ab" (row-major) or "ba" (transposed); in a batch "abc" or "acb".
std::string_view Tag(int64_t batch, bool transposed) {
  if (batch == 1) return transposed ? "ba" : "ab";
  return transposed ? "acb" : "abc";
}

std::string MatmulLine(const MatmulCase& matmul) {
  const auto p = ProductOf(matmul);
  std::string line = "--matmul --mode=P ";
  const auto type = [&](Matrix matrix) { return std::string(TypeOf(matmul.types, matrix)); };
  line += suites::TypesArgument(
      workload::ProductTypes{type(p.left.matrix), type(p.right.matrix), type(p.result)});
  if (!matmul.any)
    line += fmt::format("--stag={} --wtag={} --dtag={} ", Tag(p.batch, p.left.transposed),
                        Tag(p.batch, p.right.transposed), Tag(p.batch, false));
  if (matmul.bias) line += fmt::format("--bia_dt={} ", workload::BiasType(matmul.types));
  if (matmul.bias && p.batch > 1) line += "--bia_mask=4 ";
  line += Attributes(matmul);
  const auto batch = p.batch > 1 ? fmt::format("{}x", p.batch) : "";
  return line + fmt::format("{0}{1}x{2}:{0}{2}x{3}", batch, p.rows, p.depth, p.columns);
}

std::optional<std::string> InnerProductLine(const MatmulCase& matmul) {
  const auto dir = suites::DirOf(matmul);
  if (!dir) return std::nullopt;
  return fmt::format("--ip --mode=P --dir={} {}{}mb{}ic{}oc{}", *dir,
                     suites::TypesArgument(matmul.types), Attributes(matmul), matmul.problem.m,
                     matmul.problem.k, matmul.problem.n);
}

suites::BenchdnnWork WorkOf(const workload::BenchmarkName& name) {
  const auto matmul = ReadOnednnMatmulCase(name);
  return {workload::ProductWork(matmul, "fp32.vector").bytes,
          std::string(workload::ComputeType(matmul.types))};
}

constexpr std::string_view kMatmulKinds[] = {"matmul", "gemm_api"};
constexpr std::string_view kIpKinds[] = {"inner_product"};

std::optional<std::string> LoggedIp(const logs::Primitive& primitive) {
  return fmt::format("--ip --mode=P {}{}{}{}", suites::DirArgument(primitive),
                     suites::TypesArgument(primitive), suites::PostOpsArgument(primitive),
                     primitive.text.problem);
}

// Returns benchdnn's arguments of the bias. The default mask 2 selects the columns of a single
// product; the columns of a batch have the mask 4.
std::string BiasArguments(const logs::Primitive& primitive) {
  if (!primitive.HasBias()) return "";
  std::string text = fmt::format("--bia_dt={} ", suites::TypeOf(primitive, "bia"));
  for (const auto word : logs::SplitText(primitive.text.tensors, ' ')) {
    const auto mask = word.find("_mask");
    if (word.starts_with("bia") && mask != std::string_view::npos && word.substr(mask + 5) != "2")
      text += fmt::format("--bia_mask={} ", word.substr(mask + 5));
  }
  return text;
}

// Returns benchdnn's line without the third part of the problem, C's sizes, which A and B imply.
std::optional<std::string> LoggedMatmul(const logs::Primitive& primitive) {
  const auto dims = logs::ReadDimsList(primitive.text.problem);
  if (!dims || dims->size() < 2) return std::nullopt;
  const auto second = primitive.text.problem.find(':');
  const auto third = primitive.text.problem.find(':', second + 1);
  return fmt::format("--matmul --mode=P {}{}{}{}{}{}{}", suites::TypesArgument(primitive),
                     suites::LayoutArgument(primitive, "src", "stag"),
                     suites::LayoutArgument(primitive, "wei", "wtag"),
                     suites::LayoutArgument(primitive, "dst", "dtag"), BiasArguments(primitive),
                     suites::PostOpsArgument(primitive), primitive.text.problem.substr(0, third));
}

}  // namespace

std::optional<std::string> MatmulBenchdnn(const MatmulCase& matmul) {
  if (matmul.scales && matmul.direction != ProductDirection::kForward) return std::nullopt;
  return matmul.ip ? InnerProductLine(matmul) : MatmulLine(matmul);
}

const suites::BenchdnnDriver kMatmulDriver = {"matmul", kMatmulOptions, BeginsMatmul, MatmulName,
                                              WorkOf,   kMatmulKinds,   LoggedMatmul};
// No begins_problem: keys of ip are also keys of conv, so a text without --ip is read as conv.
const suites::BenchdnnDriver kIpDriver = {"ip",   kIpOptions, nullptr, IpName,
                                          WorkOf, kIpKinds,   LoggedIp};

}  // namespace dlroof::matmul
