// benchdnn's driver softmax: its options, the benchmarks of its problems, and its line for a call.
#include <fmt/format.h>

#include <array>

#include "bench/benchdnn/log_line.h"
#include "bench/rows/operator.h"
#include "bench/softmax/case.h"
#include "reporters/logs/primitive.h"

namespace dlroof::softmax {
namespace {

constexpr std::string_view kTypes = "f32 bf16 f16 s8 u8";

constexpr std::array<benchdnn::BenchdnnOption, 14> kOptions = {{
    {"dir", "FWD_D", "FWD_D FWD_I BWD_D"},
    {"sdt", "f32", kTypes},
    {"ddt", "f32", kTypes},
    {"stag", "nchw", "", benchdnn::ReadLayout},  // of abx
    {"dtag", "any", "", benchdnn::ReadLayout},
    {"alg", "SOFTMAX", "SOFTMAX LOGSOFTMAX softmax_accurate softmax_log"},
    {"axis", "1", "", benchdnn::ReadCount},
    {"mb", "0", "", benchdnn::ReadCount},
    {"attr-post-ops", "", "", benchdnn::ReadPostOps},
    {"attr-scales", "", "", benchdnn::ReadScales},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", benchdnn::ReadThreads},
    {"ctx-exe", "auto", "", benchdnn::ReadThreads},
    {"inplace", "false", "", benchdnn::ReadBool},
}};

// Returns why benchdnn's call is none of dlroof's.
std::optional<Reason> UnsupportedReason(size_t dimensions, const benchdnn::BenchdnnChoice& choice) {
  const auto algorithm = choice["alg"], type = choice["sdt"];
  if (choice["dir"] == "BWD_D") return Reason{"direction BWD_D"};
  if (algorithm != "SOFTMAX" && algorithm != "softmax_accurate")
    return Reason{std::string(algorithm)};
  if (type != choice["ddt"] || (type != "f32" && type != "bf16"))
    return Reason{fmt::format("types {}:{}", type, choice["ddt"])};
  for (const auto* tag : {"stag", "dtag"})
    if (auto reason = rows::LayoutReason(choice[tag], dimensions)) return reason;
  if (choice.Count("axis") + 1 != static_cast<int64_t>(dimensions))
    return Reason{fmt::format("axis {} of {} dimensions", choice["axis"], dimensions)};
  return rows::VariantReason(choice);
}

workload::BenchmarkName NameOf(const rows::Rows& rows, const benchdnn::BenchdnnChoice& choice) {
  return rows::NameOf("Softmax", choice["sdt"], rows, choice);
}

constexpr std::string_view kKinds[] = {"softmax", "softmax_v2", "logsoftmax"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  const bool logarithm = primitive.text.kind == "logsoftmax" || algorithm == "softmax_log";
  if (!logarithm && !algorithm.empty() && algorithm != "softmax_accurate") return std::nullopt;
  return fmt::format("--softmax --mode=P {}{}--axis={} {}{}{}", benchdnn::DirArgument(primitive),
                     logarithm ? "--alg=LOGSOFTMAX " : "",
                     logs::WordOf(primitive.text.auxiliary, "axis"),
                     benchdnn::InAndOutArguments(primitive), benchdnn::PostOpsArgument(primitive),
                     primitive.text.problem);
}

}  // namespace

const benchdnn::BenchdnnDriver kSoftmaxDriver =
    rows::DriverOf<ReadOnednnCase, UnsupportedReason, NameOf>("softmax", kOptions, kKinds, LineOf);

}  // namespace dlroof::softmax
