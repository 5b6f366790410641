#include <fmt/format.h>

#include <array>

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"

namespace dlroof {
namespace {

// By the value of LstmDirection and of LstmPasses; empty is benchdnn's default.
constexpr std::array<std::string_view, 3> kProps = {"", "--prop=FWD_D", "--prop=BWD_DW"};
constexpr std::array<std::string_view, 3> kDirectionFlags = {"", "--direction=concat",
                                                             "--direction=sum"};

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

std::string LstmBenchdnn(const LstmCase& lstm, std::string_view type) {
  const LstmProblem& p = lstm.problem;
  if (lstm.plain_weights || LstmStages(p).size() > 1) return {};
  // The library runs this forward; benchdnn skips it, and has f32 weights there.
  if (p.p != 0 && LstmTypeOf(type).weight == "bf16") return {};
  std::string line = "--rnn --mode=P";
  const auto add = [&](std::string_view argument) {
    if (!argument.empty()) line += fmt::format(" {}", argument);
  };
  const auto cfg = LstmTypeOf(type).benchdnn;
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

}  // namespace dlroof
