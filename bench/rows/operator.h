// An operator on rows, made of what differs between them. Its case is a type derived from RowsCase.
// The namespace of the case has these functions, where Tensors is rows::Tensors:
// - logs::PrimitiveText Logged(const Case&)
//   The forward call as oneDNN logs it.
// - Tensors<float> SeededTensors(const Case&, uint64_t seed)
//   The inputs, exact in their types.
// - void RunLoops(const Case&, const Tensors<double>& in, std::vector<double>& destination)
//   The plain loops.
// - double RowError(const Case&, const Tensors<float>& in, std::span<const float> x,
//                   std::span<const double> y, const workload::TypeRounding&)
//   See ErrorOfRow.
// `ReadCase` below is a function that parses a benchmark name into a case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/rows/rows.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/workload.h"
#include "reporters/logs/primitive.h"

namespace dlroof::rows {

// Returns a name's workload with benchdnn's line. It cannot be prepared without the library.
template <auto ReadCase>
workload::Workload ReadWorkload(const workload::BenchmarkName& name) {
  return WorkloadOf(Logged(ReadCase(name)));
}

// Compares an output, of elements float or double, with the operator's definition.
template <class Case, class Number>
workload::Verification Check(const Case& one, const Tensors<float>& in,
                             const std::vector<Number>& output, uint64_t seed) {
  return CheckRows(one, in.source, output, seed,
                   [&](std::span<const float> x, std::span<const double> y, const auto& rounding) {
                     return RowError(one, in, x, y, rounding);
                   });
}

// Prepares the plain loops. Throws Unsupported if the machine lacks the memory.
template <auto ReadCase>
workload::PreparedCall PrepareLoops(const workload::BenchmarkName& name,
                                    const workload::RunSettings& settings) {
  const auto one = ReadCase(name);
  RequireMemory(one);
  const auto in = SeededTensors(one, settings.seed);
  return PreparedLoops(
      in, workload::WorkOfLogged(Logged(one)),
      {[one](const Tensors<double>& wide, std::vector<double>& y) { RunLoops(one, wide, y); },
       [one, in, seed = settings.seed](const std::vector<double>& y) {
         return Check(one, in, y, seed);
       }});
}

// Returns benchdnn's driver of an operator (the members of BenchdnnDriver with these names).
template <auto ReadCase, ReasonOfChoice kReason, NameOfChoice kName>
constexpr benchdnn::BenchdnnDriver DriverOf(
    std::string_view name, std::span<const benchdnn::BenchdnnOption> options,
    std::span<const std::string_view> kinds,
    std::optional<std::string> (*line)(const logs::Primitive& primitive)) {
  return {.name = name,
          .options = options,
          // A text that begins with sizes and x, without a driver's name, is a problem of matmul.
          .begins_problem = [](std::string_view) { return false; },
          .read = [](const std::string& text) { return ReadRowsProblem(text, kReason, kName); },
          .work = [](const workload::BenchmarkName& one) -> benchdnn::BenchdnnWork {
            // The library widens every type to f32.
            return {workload::WorkOfLogged(Logged(ReadCase(one))).bytes, "f32"};
          },
          .kinds = kinds,
          .line = line};
}

}  // namespace dlroof::rows
