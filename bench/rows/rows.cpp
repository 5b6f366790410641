#include "bench/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/benchdnn/log_line.h"
#include "bench/benchdnn/tokens.h"
#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"
#include "counters/base/error.h"
#include "reporters/logs/primitive.h"

namespace dlroof::rows {

std::string ToText(const Rows& rows) { return fmt::format("m{}n{}", rows.m, rows.n); }

Rows ParseRows(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  Rows rows;
  cursor.Sizes({{"m", rows.m}, {"n", rows.n}});
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  try {
    workload::CheckedCount({16, rows.m, rows.n}, "the tensors' size in bytes");  // two of f64
  } catch (const BadInput& error) {
    throw BadInput({.column = column_offset + 1}, error.what());
  }
  return rows;
}

RowsCase ReadRowsCase(const workload::BenchmarkName& name,
                      const std::vector<std::string_view>& types,
                      const workload::OptionRows& options) {
  workload::RequireDirection(name, {"fwd"});
  workload::RequireType(name, types);
  const auto rows = ParseRows(name.problem, workload::ColumnOfPart(name, 5) - 1);
  workload::CheckOptions(name, options);
  return {rows, name.type, workload::HasOption(name, "training")};
}

void RequireMemory(const RowsCase& one) {
  const double elements = static_cast<double>(one.rows.m) * static_cast<double>(one.rows.n);
  workload::RequireHostMemory(
      2 * elements * static_cast<double>(4 + workload::ElementBytes(one.type)), ToText(one.rows));
}

benchdnn::BenchdnnProblem ReadRowsProblem(const std::string& text, ReasonOfChoice reason,
                                          NameOfChoice name) {
  size_t at = 0;
  const auto sizes = benchdnn::ReadSizes(text, at);
  benchdnn::ExpectName(text, at);
  if (sizes.size() < 2 || sizes.size() > 5)
    throw benchdnn::BenchdnnRefusal(0, "expected 2 to 5 dimensions");
  return [=](const benchdnn::BenchdnnChoice& choice) -> benchdnn::BenchdnnName {
    if (auto found = reason(sizes.size(), choice)) return *std::move(found);
    Rows rows{.n = sizes.back()};
    constexpr int64_t kTooMany = int64_t{1} << 31;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      const bool other = i == 0 && choice.Count("mb") != 0;
      rows.m = std::min(rows.m * (other ? choice.Count("mb") : sizes[i]), kTooMany);
    }
    try {
      ParseRows(ToText(rows));
    } catch (const BadInput&) {
      return Reason{"impossible shape"};
    }
    return workload::ToText(name(rows, choice));
  };
}

std::optional<Reason> LayoutReason(std::string_view tag, size_t dimensions) {
  // ReadLayout changes abx to nchw.
  if (tag == "any" || tag == "nchw" || tag == std::string_view("abcde").substr(0, dimensions))
    return std::nullopt;
  return Reason{fmt::format("layout {}", tag)};
}

std::optional<Reason> VariantReason(const benchdnn::BenchdnnChoice& choice) {
  for (const auto* option : {"attr-post-ops", "attr-scales", "inplace"})
    if (!choice.IsDefault(option)) return Reason{fmt::format("{} {}", option, choice[option])};
  return benchdnn::CommonReason(choice);
}

std::string ReadTypePair(std::string_view value) {
  constexpr std::string_view kTypes = "f32 bf16 f16 s8 u8";
  const auto colon = value.find(':');
  const auto source = benchdnn::OneOf(kTypes, value.substr(0, colon));
  if (colon == std::string_view::npos) return fmt::format("{0}:{0}", source);
  return fmt::format("{}:{}", source, benchdnn::OneOf(kTypes, value.substr(colon + 1)));
}

workload::BenchmarkName NameOf(std::string_view op, std::string_view type, const Rows& rows,
                               const benchdnn::BenchdnnChoice& choice) {
  workload::BenchmarkName name{std::string(op),   "cpu",        "onednn", "fwd",
                               std::string(type), ToText(rows), {}};
  if (choice["dir"] == "FWD_D") name.options.emplace_back("training");
  return name;
}

logs::PrimitiveText Logged(const RowsCase& one, std::string_view kind,
                           const std::string& auxiliary) {
  return {.kind = std::string(kind),
          .prop = one.training ? "forward_training" : "forward_inference",
          .tensors = fmt::format("src:{0}::blocked:ab::f0 dst:{0}::blocked:ab::f0", one.type),
          .auxiliary = auxiliary,
          .problem = fmt::format("{}x{}", one.rows.m, one.rows.n)};
}

workload::Workload WorkloadOf(const logs::PrimitiveText& logged) {
  return {.repro = benchdnn::BenchdnnLine(logs::ReadPrimitive(logged))};
}

std::vector<float> SeededRows(const RowsCase& one, uint64_t seed, float low, float high) {
  return workload::SeededValues(one.rows.m * one.rows.n, seed, one.type == "f64" ? "f32" : one.type,
                                low, high);
}

template <class Number>
workload::Verification CheckRows(const RowsCase& one, const std::vector<float>& source,
                                 const std::vector<Number>& output, uint64_t seed,
                                 const ErrorOfRow& error_of) {
  const auto& [m, n] = one.rows;
  const auto rounding = workload::RoundingOf(one.type).value();
  constexpr double kFlops = 8;  // about, of an element of the reference
  const auto error = [&, width = static_cast<size_t>(n)](int64_t row, std::span<const double> y) {
    return error_of({source.data() + row * static_cast<int64_t>(width), width}, y, rounding);
  };
  return workload::CheckOutput<Number>(
      {.units = m,
       .size = n,
       .flops = kFlops * static_cast<double>(m) * static_cast<double>(n),
       .error = error},
      output, seed);
}

template workload::Verification CheckRows(const RowsCase&, const std::vector<float>&,
                                          const std::vector<float>&, uint64_t, const ErrorOfRow&);
template workload::Verification CheckRows(const RowsCase&, const std::vector<float>&,
                                          const std::vector<double>&, uint64_t, const ErrorOfRow&);

workload::PreparedCall PreparedLoops(const Tensors<float>& in, Work modelled,
                                     const RowsLoops& loops) {
  struct Call {
    Tensors<double> in;
    std::vector<double> destination;
  };
  const auto made = std::make_shared<Call>();
  made->in.source.assign(in.source.begin(), in.source.end());
  for (const auto& one : in.parameters) made->in.parameters.emplace_back(one.begin(), one.end());
  made->destination.resize(in.source.size());
  std::vector<const std::vector<double>*> regions = {&made->in.source, &made->destination};
  for (const auto& one : made->in.parameters) regions.push_back(&one);
  auto call = workload::PreparedLoops([made, run = loops.run] { run(made->in, made->destination); },
                                      std::move(modelled), regions);
  call.verify = [made, run = call.run, check = loops.check] {
    run();
    return check(made->destination);
  };
  return call;
}

}  // namespace dlroof::rows
