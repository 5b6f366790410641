// benchdnn's driver eltwise: its options, the benchmarks of its problems, and its line for a call.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "bench/benchdnn/log_line.h"
#include "bench/benchdnn/tokens.h"
#include "bench/eltwise/case.h"
#include "bench/rows/operator.h"
#include "reporters/logs/primitive.h"

namespace dlroof::eltwise {
namespace {

// Returns the number in one spelling: "0" for "0.00".
std::string ReadNumber(std::string_view value) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end)
    throw benchdnn::BenchdnnRefusal(0, fmt::format("expected a number, got '{}'", value));
  return fmt::format("{}", number);
}

constexpr std::array<benchdnn::BenchdnnOption, 11> kOptions = {{
    {"dir", "FWD_D", "FWD_D FWD_I BWD_D"},
    {"dt", "f32", "f32 bf16 f16 f64 s32 s8 u8"},
    {"tag", "nchw", "", benchdnn::ReadLayout},   // of abx
    {"alg", "relu", "", benchdnn::ReadPostOps},  // short names, as those of post-ops
    {"alpha", "0", "", ReadNumber},
    {"beta", "0", "", ReadNumber},
    {"mb", "0", "", benchdnn::ReadCount},
    {"attr-post-ops", "", "", benchdnn::ReadPostOps},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", benchdnn::ReadThreads},
    {"inplace", "false", "", benchdnn::ReadBool},
}};

std::optional<Reason> UnsupportedReason(size_t /*dimensions*/,
                                        const benchdnn::BenchdnnChoice& choice) {
  if (choice["dir"] == "BWD_D") return Reason{"direction BWD_D"};
  if (choice["dt"] != "f32" && choice["dt"] != "bf16")
    return Reason{fmt::format("type {}", choice["dt"])};
  if (!workload::EltwiseFromKey(choice["alg"]))
    return Reason{fmt::format("algorithm {}", choice["alg"])};
  if (choice["alg"] == "relu" && choice["alpha"] != "0") return Reason{"relu with a slope"};
  // The order of dimensions does not matter, but blocks may be padded.
  if (choice["tag"].find_first_of("0123456789") != std::string_view::npos)
    return Reason{fmt::format("layout {}", choice["tag"])};
  return rows::VariantReason(choice);
}

workload::BenchmarkName NameOf(const rows::Rows& rows, const benchdnn::BenchdnnChoice& choice) {
  auto name = rows::NameOf("Eltwise", choice["dt"], rows, choice);
  if (choice["alg"] != Key(EltwiseCase().function)) name.options.emplace_back(choice["alg"]);
  return name;
}

constexpr std::string_view kKinds[] = {"eltwise"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto& auxiliary = primitive.text.auxiliary;
  auto algorithm = logs::WordOf(auxiliary, "alg");
  if (algorithm.starts_with("eltwise_")) algorithm.remove_prefix(8);
  if (algorithm.empty()) return std::nullopt;
  const auto source = benchdnn::SourceRole(primitive);
  const auto type = benchdnn::TypeOf(primitive, source);
  std::string text = "--eltwise --mode=P " + benchdnn::DirArgument(primitive);
  if (type != "f32") text += fmt::format("--dt={} ", type);
  text += benchdnn::LayoutArgument(primitive, source, "tag");
  text += fmt::format("--alg={} ", algorithm);
  for (const auto* name : {"alpha", "beta"})
    if (const auto value = logs::WordOf(auxiliary, name); !value.empty() && value != "0")
      text += fmt::format("--{}={} ", name, value);
  return text + benchdnn::PostOpsArgument(primitive) + primitive.text.problem;
}

}  // namespace

const benchdnn::BenchdnnDriver kEltwiseDriver =
    rows::DriverOf<ReadOnednnCase, UnsupportedReason, NameOf>("eltwise", kOptions, kKinds, LineOf);

}  // namespace dlroof::eltwise
