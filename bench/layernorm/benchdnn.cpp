// benchdnn's driver lnorm: its options, the benchmarks of its problems, and its line for a call.
#include <fmt/format.h>

#include <array>

#include "bench/benchdnn/log_line.h"
#include "bench/layernorm/case.h"
#include "bench/rows/operator.h"
#include "reporters/logs/primitive.h"

namespace dlroof::layernorm {
namespace {

constexpr std::array<benchdnn::BenchdnnOption, 10> kOptions = {{
    {"dir", "FWD_D", "FWD_D FWD_I BWD_D BWD_DW"},
    {"dt", "f32:f32", "", rows::ReadTypePair},
    {"tag", "tnc", "", nullptr},  // one layout, or those of source and destination: "abx:any"
    {"stat_tag", "tn", "", nullptr},
    {"flags", "", "G C H GC CG GH HG CH HC GCH CGH"},  // statistics, scale, shift
    {"attr-scales", "", "", benchdnn::ReadScales},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", benchdnn::ReadThreads},
    {"ctx-exe", "auto", "", benchdnn::ReadThreads},
    {"inplace", "false", "", benchdnn::ReadBool},
}};

std::optional<Reason> UnsupportedReason(size_t dimensions, const benchdnn::BenchdnnChoice& choice) {
  if (choice["dir"].starts_with("BWD")) return Reason{fmt::format("direction {}", choice["dir"])};
  if (choice["dt"] != "f32:f32" && choice["dt"] != "bf16:bf16")
    return Reason{fmt::format("types {}", choice["dt"])};
  for (const auto tag : logs::SplitText(choice["tag"], ':'))
    if (tag != "tnc")
      if (auto reason = rows::LayoutReason(benchdnn::ReadLayout(tag), dimensions)) return reason;
  if (choice["flags"].find('G') != std::string_view::npos) return Reason{"global statistics"};
  return rows::VariantReason(choice);
}

workload::BenchmarkName NameOf(const rows::Rows& rows, const benchdnn::BenchdnnChoice& choice) {
  const auto type = choice["dt"].substr(0, choice["dt"].find(':'));
  auto name = rows::NameOf("LayerNorm", type, rows, choice);
  if (choice["flags"].find('C') != std::string_view::npos) name.options.emplace_back("scale");
  if (choice["flags"].find('H') != std::string_view::npos) name.options.emplace_back("shift");
  return name;
}

constexpr std::string_view kKinds[] = {"layer_normalization", "layer_normalization_v2"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto tag = benchdnn::LayoutArgument(primitive, benchdnn::SourceRole(primitive), "tag");
  std::string flags(logs::WordOf(primitive.text.auxiliary, "flags"));
  // oneDNN 2 has scale and shift in one tensor, "S".
  if (const auto at = flags.find('S'); at != std::string::npos) flags.replace(at, 1, "CH");
  return fmt::format("--lnorm --mode=P {}--dt={} {}{}{}", benchdnn::DirArgument(primitive),
                     benchdnn::TypePair(primitive), tag.empty() ? "--tag=any " : tag,
                     flags.empty() ? "" : fmt::format("--flags={} ", flags),
                     primitive.text.problem);
}

}  // namespace

const benchdnn::BenchdnnDriver kLnormDriver =
    rows::DriverOf<ReadOnednnCase, UnsupportedReason, NameOf>("lnorm", kOptions, kKinds, LineOf);

}  // namespace dlroof::layernorm
