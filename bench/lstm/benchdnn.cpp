#include "bench/suites/benchdnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "bench/lstm/case.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::lstm {
namespace {

constexpr suites::BenchdnnOption kOptions[] = {
    {"prop", "FWD_I", "FWD_D BWD_DW"},
    {"cfg", "f32",
     "bf16f32 bf16 f16 u8u8u8u8 u8u8u8f32 f32u8f32u8 f32u8f32f32 s8s8s8s8 s8s8s8f32 f32s8f32s8 "
     "f32s8f32f32"},
    // For source and destination benchdnn reads "any" as tnc; for weights the library chooses.
    {"tag", "any:any:any", "abx:any:abx tnc:any:tnc", suites::ReadThree},
    {"alg", "VANILLA_RNN", "VANILLA_LSTM"},
    {"with-peephole", "false", "true 0 1"},
    {"with-projection", "false", "true 0 1"},
    {"scaling", "common", ""},
    {"scaling-proj", "common", ""},
    {"direction", "left2right", "concat sum"},
    {"activation", "RELU", suites::kBenchdnnAny},
    {"skip-nonlinear", "false", "0"},
    {"trivial-strides", "false", "true 0 1"},
    {"flags", "", ""},
    {"l", "0", suites::kBenchdnnAny, suites::ReadCount},
    {"t", "0", suites::kBenchdnnAny, suites::ReadCount},
    {"mb", "0", suites::kBenchdnnAny, suites::ReadCount},
    {"attr-fpmath", "strict", suites::kBenchdnnFpmath},
};

struct BenchdnnRnn {
  int64_t layers = 1, steps = 1, samples = 2;
  int64_t state = 0;   // sic: channels of the initial hidden state
  int64_t input = 0;   // slc: channels of a layer's input
  int64_t hidden = 0;  // dhc: hidden units
  int64_t output = 0;  // dic: channels of the final hidden state
};

int64_t Overridden(int64_t written, int64_t option) { return option != 0 ? option : written; }

bool IsTrue(std::string_view value) { return value == "true" || value == "1"; }

bool HasProjection(const suites::BenchdnnChoice& choice) {
  return IsTrue(choice["with-projection"]);
}

LstmDirection OurDirection(std::string_view prop) {
  if (prop == "FWD_I") return LstmDirection::kForwardInference;
  return prop == "FWD_D" ? LstmDirection::kForwardTraining : LstmDirection::kBackward;
}

// Returns why dlroof lacks a problem of these sizes, or nullopt. In dlroof a layer reads the output
// of the layer below and a step the state of the step before, so their widths are equal. benchdnn
// accepts other widths only for a single step, whose initial state may have another width.
std::optional<Reason> WidthReason(const BenchdnnRnn& p, const suites::BenchdnnChoice& choice) {
  const int64_t layers = Overridden(p.layers, choice.Count("l"));
  if (layers == 0 || Overridden(p.steps, choice.Count("t")) == 0)
    return Reason{"no layers or steps"};
  if (Overridden(p.samples, choice.Count("mb")) == 0) return Reason{"no samples"};
  if (!HasProjection(choice) && p.output != p.hidden)
    return Reason{"dic is not dhc without projection"};
  if (p.state != p.output) return Reason{"sic is not dic"};
  if (layers == 1) return std::nullopt;
  if (choice["direction"] != "left2right") return Reason{"bidirectional layers stacked apart"};
  if (p.input != p.output) return Reason{"slc is not dic with several layers"};
  return std::nullopt;
}

LstmProblem OurProblem(const BenchdnnRnn& p, const suites::BenchdnnChoice& choice) {
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

std::array<suites::BenchdnnLetter, 7> LettersOf(BenchdnnRnn& p) {
  return {{{"l", &p.layers},
           {"t", &p.steps},
           {"mb", &p.samples},
           {"sic", &p.state},
           {"slc", &p.input},
           {"dhc", &p.hidden},
           {"dic", &p.output}}};
}

// Parses a problem. Defaults: 1 layer, 1 step, 2 samples; input and hidden default to state, output
// to hidden. Throws BadInput for an unknown key, a number above 2^31-1, or a missing size.
BenchdnnRnn ReadBenchdnnRnn(std::string_view text) {
  BenchdnnRnn p;
  suites::ReadLetters(text, LettersOf(p));
  suites::RequireLetter(p.state, "sic");
  if (p.input == 0) p.input = p.state;
  if (p.hidden == 0) p.hidden = p.state;
  if (p.output == 0) p.output = p.hidden;
  return p;
}

// Returns dlroof's name. Ignores --trivial-strides, which only decides whether benchdnn pads rows.
suites::BenchdnnName LstmName(std::string_view text, const suites::BenchdnnChoice& choice) {
  const auto problem = ReadBenchdnnRnn(text);
  if (choice["alg"] != "VANILLA_LSTM") return Reason{std::string(choice["alg"])};
  if (auto reason = WidthReason(problem, choice)) return *reason;
  auto ours = ToText(OurProblem(problem, choice));
  std::vector<std::string> options;
  if (IsTrue(choice["with-peephole"])) options.emplace_back("peephole");
  if (choice["attr-fpmath"] != "strict")
    options.push_back(fmt::format("fpmath-{}", choice["attr-fpmath"]));
  const auto type = choice["cfg"] == "u8u8u8u8" ? std::string_view("int8") : choice["cfg"];
  return workload::ToText(workload::BenchmarkName{
      "LSTM", "cpu", "onednn", std::string(Key(OurDirection(choice["prop"]))), std::string(type),
      std::move(ours), std::move(options)});
}

// Returns whether the text begins like an rnn problem.
bool BeginsProblem(std::string_view text) {
  BenchdnnRnn p;
  return suites::BeginsWithLetter(text, LettersOf(p));
}

// Returns no bytes, and the type that determines the pipe: "int8" for every mix of integers.
suites::BenchdnnWork WorkOf(const workload::BenchmarkName& name) {
  const LstmType& type = LstmTypeOf(name.type);
  return {{}, std::string(IsQuantized(type) ? "int8" : type.weight)};
}

// benchdnn's arguments in the order of LstmDirection and LstmPasses; empty for its defaults.
constexpr std::array<std::string_view, 3> kProps = {"", "--prop=FWD_D", "--prop=BWD_DW"};
constexpr std::array<std::string_view, 3> kDirectionFlags = {"", "--direction=concat",
                                                             "--direction=sum"};

constexpr std::string_view kKinds[] = {"rnn"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto& text = primitive.text;
  const auto type = suites::TypeOf(primitive, "src_layer");
  const bool plain = suites::TypeOf(primitive, "wei_layer") == type &&
                     suites::TypeOf(primitive, "dst_layer") == type;
  if (!plain) return std::nullopt;
  std::string algorithm(logs::WordOf(text.auxiliary, "alg"));
  std::ranges::transform(algorithm, algorithm.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string line = fmt::format("--rnn --mode=P --prop={} --alg={} ",
                                 primitive.IsBackward()             ? "BWD_DW"
                                 : text.prop == "forward_inference" ? "FWD_I"
                                                                    : "FWD_D",
                                 algorithm);
  const auto direction = logs::WordOf(text.auxiliary, "direction");
  if (direction == "unidirectional_right2left") line += "--direction=right2left ";
  if (direction == "bidirectional_concat") line += "--direction=concat ";
  if (direction == "bidirectional_sum") line += "--direction=sum ";
  if (type != "f32") line += fmt::format("--cfg={} ", type);
  if (primitive.Find("wei_peephole") != nullptr) line += "--with-peephole=true ";
  if (primitive.Find("wei_proj") != nullptr) line += "--with-projection=true ";
  return line + text.problem;
}

}  // namespace

std::vector<LstmStage> LstmStages(const LstmProblem& problem) {
  const bool one_pass = problem.passes == LstmPasses::kForward;
  if (problem.l == 1 || (one_pass && InputWidth(problem, 0) == InputWidth(problem, 1)))
    return {{0, problem.l}};
  if (one_pass) return {{0, 1}, {1, problem.l - 1}};
  std::vector<LstmStage> stages;
  for (int64_t layer = 0; layer < problem.l; ++layer) stages.push_back({layer, 1});
  return stages;
}

std::optional<std::string> LstmBenchdnn(const LstmCase& lstm) {
  const LstmProblem& p = lstm.problem;
  if (lstm.plain_weights || LstmStages(p).size() > 1) return std::nullopt;
  // oneDNN supports bf16 with a projection, but benchdnn skips it or uses f32 projection weights.
  if (p.p != 0 && LstmTypeOf(lstm.type).weight == "bf16") return std::nullopt;
  std::string line = "--rnn --mode=P";
  const auto add = [&](std::string_view argument) {
    if (!argument.empty()) line += fmt::format(" {}", argument);
  };
  const auto cfg = LstmTypeOf(lstm.type).benchdnn;
  add(kProps.at(static_cast<size_t>(lstm.direction)));
  if (cfg != "f32") add(fmt::format("--cfg={}", cfg));
  add("--alg=VANILLA_LSTM");
  add(kDirectionFlags.at(static_cast<size_t>(p.passes)));
  if (p.peephole) add("--with-peephole=true");
  if (p.p != 0) add("--with-projection=true");
  add("--trivial-strides=true");
  if (lstm.fpmath != "strict") add(fmt::format("--attr-fpmath={}", lstm.fpmath));
  add(fmt::format("l{}t{}mb{}sic{}slc{}dhc{}dic{}", p.l, p.t, p.n, StateWidth(p), p.i, p.h,
                  StateWidth(p)));
  return line;
}

const suites::BenchdnnDriver kRnnDriver = {"rnn",  kOptions, BeginsProblem, LstmName,
                                           WorkOf, kKinds,   LineOf};

}  // namespace dlroof::lstm
