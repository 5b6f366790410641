#include "baselines/programs/problem_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>

namespace dlroof::programs {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsBias(const verbose::Tensor& tensor) { return tensor.role.find("bia") != std::string::npos; }

// Scratchpads and workspaces are the implementation's own.
bool IsOwn(const verbose::Tensor& tensor) {
  return tensor.role.starts_with("ws") || tensor.role.starts_with("workspace") ||
         tensor.role.starts_with("scratchpad");
}

bool IsConvolution(std::string_view kind) { return kind.find("convolution") != std::string::npos; }

// Words of the auxiliary field that say which operation it is. A convolution's algorithm (direct,
// Winograd) is how it is computed.
std::string OperationWords(const verbose::PrimitiveText& text) {
  std::string words;
  for (const char* key : {"alg", "axis", "direction"}) {
    if (IsConvolution(text.kind) && std::string_view(key) == "alg") continue;
    if (const auto word = verbose::WordOf(text.auxiliary, key); !word.empty())
      words += fmt::format(" {}:{}", key, word);
  }
  return words;
}

// "mb8_ic64oc64_ih56oh56kh3ph1" without the sizes of the input's image and the padding. Other forms
// stay as they are.
std::string WithoutPadding(const std::string& problem) {
  std::string kept;
  std::size_t at = 0;
  while (at < problem.size()) {
    const auto begin = at;
    while (at < problem.size() && !IsDigit(problem[at])) ++at;
    if (at == problem.size() || at == begin) return problem;  // no letters and number
    auto letters = problem.substr(begin, at - begin);
    const auto number = at;
    while (at < problem.size() && IsDigit(problem[at])) ++at;
    std::erase(letters, '_');
    const bool image = letters.size() == 2 && (letters[0] == 'i' || letters[0] == 'p') &&
                       std::string_view("dhw").find(letters[1]) != std::string_view::npos;
    if (!image) kept += letters + problem.substr(number, at - number);
  }
  return kept;
}

// The texts in their order, each once: "jit:avx2 + brgconv:avx2".
std::string Together(const std::vector<verbose::Primitive>& primitives,
                     const std::function<std::string(const verbose::Primitive&)>& text) {
  std::vector<std::string> texts;
  for (const auto& primitive : primitives)
    if (auto one = text(primitive); std::ranges::find(texts, one) == texts.end())
      texts.push_back(std::move(one));
  return fmt::format("{}", fmt::join(texts, " + "));
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : text; }

// Attributes but where the scratchpad is, which changes no result.
std::string AttributesOf(const verbose::Primitive& primitive) {
  std::string kept;
  const std::string_view all = primitive.text.attributes;
  for (std::size_t begin = 0; begin < all.size();) {
    const auto end = std::min(all.find(' ', begin), all.size());
    const auto word = all.substr(begin, end - begin);
    if (!word.empty() && !word.starts_with("attr-scratchpad") && !word.starts_with("scratchpad"))
      kept += fmt::format("{}{}", kept.empty() ? "" : " ", word);
    begin = end + 1;
  }
  return OrNone(kept);
}

std::string TagOf(const verbose::Primitive& primitive, const std::string& role) {
  for (const auto& tensor : primitive.tensors)
    if (tensor.role == role && tensor.type != "undef") return OrNone(tensor.tag);
  return "none";
}

// Roles of both, in A's order.
std::vector<std::string> RolesOf(const std::vector<verbose::Primitive>& a, const std::vector<verbose::Primitive>& b) {
  std::vector<std::string> roles;
  for (const auto* side : {&a, &b})
    for (const auto& primitive : *side)
      for (const auto& tensor : primitive.tensors)
        if (!IsBias(tensor) && !IsOwn(tensor) && tensor.type != "undef" &&
            std::ranges::find(roles, tensor.role) == roles.end())
          roles.push_back(tensor.role);
  return roles;
}

std::string BiasOf(const verbose::Primitive& primitive) {
  for (const auto& tensor : primitive.tensors)
    if (IsBias(tensor) && tensor.type != "undef") return "yes";
  return "no";
}

}  // namespace

std::string DirectionOf(std::string_view prop) {
  if (prop.starts_with("forward")) return "forward";
  return prop == "undef" ? "" : std::string(prop);
}

std::string TypesOf(const verbose::Primitive& primitive) {
  std::vector<std::string> types;
  for (const auto& tensor : primitive.tensors)
    if (!IsBias(tensor) && !IsOwn(tensor) && tensor.type != "undef") types.push_back(tensor.type);
  if (!types.empty() &&
      std::ranges::all_of(types, [&](const auto& type) { return type == types.front(); }))
    return types.front();
  return fmt::format("{}", fmt::join(types, ":"));
}

std::string ProblemOf(const verbose::Primitive& primitive) {
  const auto& text = primitive.text;
  if (text.problem.starts_with("g1") && text.problem.size() > 2 && !IsDigit(text.problem[2]))
    return text.problem.substr(2);
  if (text.kind == "matmul") {
    const auto second = text.problem.find(':', text.problem.find(':') + 1);
    return text.problem.substr(0, second);
  }
  return text.problem;
}

std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement) {
  const auto& text = primitive.text;
  const auto problem = ProblemOf(primitive);
  return fmt::format("{}/{}/{}{}/{}", text.kind, DirectionOf(text.prop),
                     agreement == Agreement::kOutputs ? WithoutPadding(problem) : problem,
                     OperationWords(text),
                     agreement == Agreement::kSizes ? "any type" : TypesOf(primitive));
}

std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b) {
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& what,
                           const std::function<std::string(const verbose::Primitive&)>& text) {
    const auto of_a = Together(a, text), of_b = Together(b, text);
    if (of_a != of_b) differences.push_back(fmt::format("{}: {} | {}", what, of_a, of_b));
  };
  compare("sizes", ProblemOf);
  compare("types", TypesOf);
  compare("implementation", [](const auto& one) { return OrNone(one.text.implementation); });
  for (const auto& role : RolesOf(a, b))
    compare("layout of " + role, [&](const auto& one) { return TagOf(one, role); });
  compare("bias", BiasOf);
  compare("attributes", AttributesOf);
  compare("prop_kind", [](const auto& one) { return one.text.prop; });
  compare("options", [](const auto& one) { return OrNone(one.text.auxiliary); });
  return differences;
}

}  // namespace dlroof::programs
