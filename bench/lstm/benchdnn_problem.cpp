#include <fmt/format.h>

#include <array>

#include "bench/benchdnn/problem.h"
#include "bench/benchdnn/tokens.h"
#include "bench/benchdnn/values.h"
#include "bench/lstm/benchdnn.h"

namespace dlroof {
namespace {

constexpr std::string_view kPolicies = "common per_oc";

// "", "O"
std::string ReadFlags(std::string_view value) {
  if (value.find_first_not_of('O') != std::string_view::npos)
    throw BenchdnnRefusal(0, fmt::format("expected O or nothing, got '{}'", ShownText(value)));
  return value.empty() ? "" : "O";
}

constexpr std::array<BenchdnnOption, 19> kOptions = {{
    {"prop", "FWD_I", "FWD_I FWD_D BWD_DW"},
    {"cfg", "f32",
     "f32 bf16f32 bf16 f16 u8u8u8u8 u8u8u8f32 f32u8f32u8 f32u8f32f32 s8s8s8s8 s8s8s8f32 "
     "f32s8f32s8 f32s8f32f32"},
    {"alg", "VANILLA_RNN", "VANILLA_RNN VANILLA_LSTM VANILLA_GRU LBR_GRU VANILLA_AUGRU LBR_AUGRU"},
    {"with-peephole", "false", "", ReadBool},
    {"with-projection", "false", "", ReadBool},
    {"scaling", "common", kPolicies},
    {"scaling-proj", "common", kPolicies},
    {"direction", "left2right", "left2right right2left concat sum"},
    {"activation", "RELU", "RELU LOGISTIC TANH UNDEF"},
    {"skip-nonlinear", "false", "", ReadBool},
    {"trivial-strides", "false", "", ReadBool},
    {"flags", "", "", ReadFlags},
    {"l", "0", "", ReadCount},
    {"t", "0", "", ReadCount},
    {"mb", "0", "", ReadCount},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"attr-fpmath", "strict", kBenchdnnFpmath},
}};

}  // namespace

std::span<const BenchdnnOption> RnnOptions() { return kOptions; }

BenchdnnRnn ReadBenchdnnRnn(std::string_view text) {
  BenchdnnRnn p;
  const std::array<BenchdnnLetter, 7> letters = {{{"l", &p.layers},
                                                  {"t", &p.steps},
                                                  {"mb", &p.samples},
                                                  {"sic", &p.state},
                                                  {"slc", &p.input},
                                                  {"dhc", &p.hidden},
                                                  {"dic", &p.output}}};
  ReadLetters(text, letters);
  RequireLetter(p.state, "sic");
  if (p.input == 0) p.input = p.state;
  if (p.hidden == 0) p.hidden = p.state;
  if (p.output == 0) p.output = p.hidden;
  return p;
}

std::string ToText(const BenchdnnRnn& p) {
  return fmt::format("l{}t{}mb{}sic{}slc{}dhc{}dic{}", p.layers, p.steps, p.samples, p.state,
                     p.input, p.hidden, p.output);
}

}  // namespace dlroof
