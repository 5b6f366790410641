#include "bench/lstm/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bench/library_rules/pipe_choice.h"
#include "bench/workload/device_elements.h"
#include "counters/base/error.h"

namespace dlroof::lstm {
namespace {

double BytesOf(std::string_view type) { return static_cast<double>(workload::ElementBytes(type)); }

LstmDirection ParseDirection(const workload::BenchmarkName& name) {
  for (const auto direction : {LstmDirection::kForwardInference, LstmDirection::kForwardTraining,
                               LstmDirection::kBackward})
    if (Key(direction) == name.direction) return direction;
  throw BadInput({.column = workload::ColumnOfPart(name, 3)},
                 "an LSTM has no direction '{}'; there are fwd_inference, fwd_training and bwd",
                 name.direction);
}

// An f32 LSTM names AMX only when its kernels multiply bf16 tiles: AMX has no f32 product.
bool AllOnAmx(std::string_view implementation) {
  constexpr std::string_view kJoint = " + ";
  for (size_t begin = 0; begin != std::string_view::npos;) {
    const size_t end = implementation.find(kJoint, begin);
    if (!implementation.substr(begin, end - begin).starts_with("brgemm:avx512_core_amx"))
      return false;
    begin = end == std::string_view::npos ? end : end + kJoint.size();
  }
  return true;
}

}  // namespace

const std::vector<LstmType>& LstmTypes() {
  static const std::vector<LstmType> types = {
      {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32"},
      {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16"},
      {"bf16f32", "bf16f32", "bf16", "bf16", "bf16", "bf16", "f32", "f32"},
      {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16"},
      {"int8", "u8u8u8u8", "u8", "u8", "u8", "s8", "f32", "f32"},
      {"u8u8u8f32", "u8u8u8f32", "u8", "u8", "f32", "s8", "f32", "f32"},
      {"f32u8f32u8", "f32u8f32u8", "u8", "f32", "u8", "s8", "f32", "f32"},
      {"f32u8f32f32", "f32u8f32f32", "u8", "f32", "f32", "s8", "f32", "f32"},
      {"s8s8s8s8", "s8s8s8s8", "s8", "s8", "s8", "s8", "f32", "f32"},
      {"s8s8s8f32", "s8s8s8f32", "s8", "s8", "f32", "s8", "f32", "f32"},
      {"f32s8f32s8", "f32s8f32s8", "s8", "f32", "s8", "s8", "f32", "f32"},
      {"f32s8f32f32", "f32s8f32f32", "s8", "f32", "f32", "s8", "f32", "f32"}};
  return types;
}

std::vector<std::string> LstmTypeNames() {
  std::vector<std::string> names;
  for (const auto& type : LstmTypes()) names.emplace_back(type.name);
  return names;
}

const LstmType& LstmTypeOf(std::string_view name) {
  for (const auto& type : LstmTypes())
    if (type.name == name) return type;
  throw std::logic_error(fmt::format("an LSTM has no type {}", name));
}

LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options) {
  LstmCase lstm{.direction = ParseDirection(name)};
  if (std::ranges::count(types, name.type) == 0)
    throw BadInput({.column = workload::ColumnOfPart(name, 4)}, "LSTM/{}/{} has no type '{}'; there {} {}",
                   name.device, name.library, name.type, types.size() == 1 ? "is" : "are",
                   fmt::join(types, ", "));
  lstm.problem = ParseLstmProblem(name.problem, workload::ColumnOfPart(name, 5) - 1);
  workload::CheckOptions(name, options);
  lstm.problem.peephole = workload::HasOption(name, "peephole");
  lstm.plain_weights = workload::HasOption(name, "ldigo");
  if (auto mode = workload::FpmathOf(name); !mode.empty()) lstm.fpmath = std::move(mode);
  return lstm;
}

LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name) {
  return ReadLstmCase(name, LstmTypeNames(), {{"peephole"}, {"ldigo"}, workload::FpmathOptions()});
}

bool IsQuantized(const LstmType& type) { return type.weight == "s8"; }

LstmElementBytes ElementBytes(const LstmType& type) {
  return {.source = BytesOf(type.source),
          .hidden = BytesOf(type.hidden),
          .output = BytesOf(type.output),
          .weight = BytesOf(type.weight),
          .peephole = 4,
          .bias = BytesOf(type.bias),
          .cell = BytesOf(type.cell),
          .gradient = 4};
}

std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa) {
  const bool may_be_bf16 = fpmath == "bf16" || fpmath == "any";
  if (type.weight == "f32" && may_be_bf16 && AllOnAmx(implementation)) return "bf16.matrix";
  return library_rules::MatrixPipe(IsQuantized(type) ? "int8" : type.weight, implementation, effective_isa);
}

}  // namespace dlroof::lstm
