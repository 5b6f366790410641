#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchdnn/problem.h"
#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

int64_t Overridden(int64_t written, int64_t option) { return option != 0 ? option : written; }

bool HasProjection(const BenchdnnChoice& choice) { return choice["with-projection"] == "true"; }

LstmDirection OurDirection(std::string_view prop) {
  if (prop == "FWD_I") return LstmDirection::kForwardInference;
  return prop == "FWD_D" ? LstmDirection::kForwardTraining : LstmDirection::kBackward;
}

std::string KindReason(const BenchdnnRnn& /*problem*/, const BenchdnnChoice& choice) {
  if (choice["alg"] != "VANILLA_LSTM") return std::string(choice["alg"]);
  if (choice["direction"] == "right2left") return "direction right2left";
  if (choice["skip-nonlinear"] == "true") return "skip-nonlinear";
  if (!choice.IsDefault("flags")) return fmt::format("flags {}", choice["flags"]);
  for (const auto option : {"scaling", "scaling-proj"})
    if (!choice.IsDefault(option)) return fmt::format("{} {}", option, choice[option]);
  return CommonReason(choice);
}

// One problem of ours has all layers read what the layer before gives, and all steps the state of
// the step before; what benchdnn does for other widths it skips as invalid itself, except a single
// step that begins with a state of another width.
std::string WidthReason(const BenchdnnRnn& p, const BenchdnnChoice& choice) {
  const int64_t layers = Overridden(p.layers, choice.Count("l"));
  if (layers == 0 || Overridden(p.steps, choice.Count("t")) == 0) return "no layers or steps";
  if (Overridden(p.samples, choice.Count("mb")) == 0) return "no samples";
  if (!HasProjection(choice) && p.output != p.hidden) return "dic is not dhc without projection";
  if (p.state != p.output) return "sic is not dic";
  if (layers == 1) return "";
  if (choice["direction"] != "left2right") return "bidirectional layers stacked apart";
  return p.input != p.output ? "slc is not dic with several layers" : "";
}

LstmProblem OurProblem(const BenchdnnRnn& p, const BenchdnnChoice& choice) {
  LstmProblem problem{.t = Overridden(p.steps, choice.Count("t")),
                      .n = Overridden(p.samples, choice.Count("mb")),
                      .i = p.input,
                      .h = p.hidden,
                      .l = Overridden(p.layers, choice.Count("l")),
                      .p = HasProjection(choice) ? p.output : 0};
  if (choice["direction"] == "concat") problem.passes = LstmPasses::kConcatenated;
  if (choice["direction"] == "sum") problem.passes = LstmPasses::kSummed;
  return problem;
}

}  // namespace

BenchdnnName LstmName(const BenchdnnRnn& problem, const BenchdnnChoice& choice) {
  for (const auto reason_of : {KindReason, WidthReason})
    if (auto reason = reason_of(problem, choice); !reason.empty()) return {"", reason};
  auto text = ToText(OurProblem(problem, choice));
  try {
    ParseLstmProblem(text);
  } catch (const BadInput&) {  // more than 64 bits
    return {"", "impossible shape"};
  }
  std::vector<std::string> options;
  if (choice["with-peephole"] == "true") options.emplace_back("peephole");
  if (choice["attr-fpmath"] != "strict")
    options.push_back(fmt::format("fpmath-{}", choice["attr-fpmath"]));
  const auto type = choice["cfg"] == "u8u8u8u8" ? std::string_view("int8") : choice["cfg"];
  return {
      ToText(BenchmarkName{"LSTM", "cpu", "onednn", std::string(Key(OurDirection(choice["prop"]))),
                           std::string(type), std::move(text), std::move(options)}),
      ""};
}

namespace {

// "mb" belongs to other drivers too.
bool BeginsProblem(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kKeys = {"l", "t", "sic", "slc", "dhc", "dic"};
  return BeginsWithLetter(text, kKeys);
}

BenchdnnProblem Read(const std::string& text) {
  const auto problem = ReadBenchdnnRnn(text);
  return {ToText(problem), [problem](const auto& choice) { return LstmName(problem, choice); }};
}

// "int8" stands for every mix of integers.
BenchdnnWork WorkOf(const BenchmarkName& name) {
  const LstmType& type = LstmTypeOf(name.type);
  return {{}, std::string(IsQuantized(type) ? "int8" : type.weight)};
}

}  // namespace

const BenchdnnDriver kRnnDriver = {"rnn", RnnOptions(), false, BeginsProblem, Read, WorkOf};

}  // namespace dlroof
