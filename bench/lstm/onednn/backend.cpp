#include "bench/lstm/onednn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "bench/lstm/check.h"
#include "bench/onednn/support.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"

namespace dlroof::lstm {
namespace {

using Weights = LstmLayerWeights<float>;

constexpr std::array<int, 5> kWeights = {DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,
                                         DNNL_ARG_WEIGHTS_PEEPHOLE, DNNL_ARG_WEIGHTS_PROJECTION,
                                         DNNL_ARG_BIAS};
constexpr std::array<int, 5> kWeightGradients = {
    DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE,
    DNNL_ARG_DIFF_WEIGHTS_PROJECTION, DNNL_ARG_DIFF_BIAS};

void Append(const dnnl::memory& from, const LstmProblem& problem, std::vector<float>& to) {
  const auto values = RealActivation(from, problem);
  to.insert(to.end(), values.begin(), values.end());
}

// Throws Unsupported for calls that oneDNN 3.2 accepts but computes wrongly or crashes on.
void RefuseWhatTheLibraryGetsWrong(const LstmCase& lstm, const LstmType& type) {
  if (type.source == "u8" && lstm.problem.passes == LstmPasses::kSummed && lstm.problem.l > 1)
    throw Unsupported(
        "oneDNN adds the stored u8 numbers of two passes, each with its shift, but the next layer "
        "would subtract only one shift ({}, bisum)",
        type.name);
  // benchdnn also crashes, because oneDNN overwrites the heap.
  if (IsQuantized(type) && lstm.fpmath != "strict")
    throw Unsupported("fpmath modes are for f32: oneDNN accepts fpmath-{} with {} and crashes",
                      lstm.fpmath, type.name);
}

// Returns the allowed error, divided by the largest value of the tensor.
//   f32   2^-24 per operation, with some tens of operations in a row through a gate; states reduce
//         earlier errors. Observed: 2e-6.
//   bf16, f16  each stored hidden state, which the next step and layer read, is rounded by 2^-9 of
//              its size, and so are gates in the backward pass. Observed with bf16: 6e-3. An fpmath
//              mode may round the factors of each product to these types (tf32 has as many bits as
//              f16), which is a smaller error.
//   int8  a hidden state is off by 1/254 of full scale, and by twice as much after a projection,
//         whose outputs are some tenths in size. Observed: 1e-2, with a projection 4e-2.
// A wrong gate, weight or step causes an error of some tenths. Weight gradients are sums of t*n
// terms, so their rounding errors grow like the square root of t*n.
double Tolerance(std::string_view type, const LstmCase& lstm) {
  const double terms = static_cast<double>(lstm.problem.t * lstm.problem.n);
  const double growth = std::sqrt(std::max(1.0, terms / 2048));
  if (IsQuantized(LstmTypeOf(type))) return 0.1;
  return (type == "f32" && lstm.fpmath == "strict" ? 1e-5 : 0.02) * growth;
}

std::string Short(const std::string& implementation) {
  return implementation.substr(0, implementation.find(':'));
}

workload::Verification VerifyTwin(const LstmProblem& twin_problem, const LstmCall& call,
                                  const std::string& type, unsigned seed) {
  const auto input = SeededLstmInput(twin_problem, seed, type);
  const auto d_output = SeededLstmGradient(twin_problem, seed);
  LstmCase lstm = call.lstm();
  lstm.problem = twin_problem;
  LstmCall twin(lstm, type, input, d_output);
  workload::Verification verification = CompareWithLoops(twin, type, input, d_output);
  const auto own = Short(call.Algorithm()), twins = Short(twin.Algorithm());
  verification.how = fmt::format(
      "{} of the twin {} ({})", verification.how, ToText(twin_problem),
      own == twins ? fmt::format("{} too", own) : fmt::format("{}, not {}", twins, own));
  return verification;
}

workload::Verification Verify(LstmCall& call, const std::string& type, unsigned seed) {
  const LstmProblem& problem = call.lstm().problem;
  const LstmProblem twin = Twin(problem, kMaxFlopsToVerify);
  if (twin != problem) return VerifyTwin(twin, call, type, seed);
  return CompareWithLoops(call, type, SeededLstmInput(twin, seed, type),
                          SeededLstmGradient(twin, seed));
}

// Assumes of oneDNN 3.2: its reference LSTM calls its gemm and merges the GEMMs of all steps; its
// brgemm LSTM does neither. Other versions may do otherwise, so the products are left out for them.
PartSeconds Parts(const LstmProblem& problem, LstmDirection direction, const std::string& type,
                  std::string_view algorithm) {
  const auto functions = Functions(problem, direction);
  const bool by_gemm = algorithm.starts_with("ref");
  std::vector<onednn::Product> products;
  for (const auto& [m, n, k, count] : Products(problem, direction, by_gemm))
    products.push_back({m, n, k, static_cast<double>(count)});
  PartSeconds parts;
  if (const auto cost = onednn::FunctionCost(static_cast<double>(functions.sigmoids),
                                             static_cast<double>(functions.tanhs))) {
    parts.functions = cost->seconds;
    parts.function_instructions = cost->instructions;
  }
  if (!onednn::IsVersion32()) return parts;
  if (type != "f32" && (type != "bf16" || by_gemm)) return parts;
  if (const auto cost = onednn::ProductCost(
          products, type, by_gemm ? onednn::ProductBy::kGemm : onednn::ProductBy::kMatmul)) {
    parts.products = cost->seconds;
    parts.product_instructions = cost->instructions;
  }
  return parts;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const LstmCase lstm = ReadOnednnLstmCase(name);
  const std::string& type_name = name.type;
  const LstmType& type = LstmTypeOf(type_name);
  const LstmElementBytes bytes = ElementBytes(type);
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, lstm.direction, bytes),
                              ToText(lstm.problem));
  onednn::SetThreads(settings.threads);
  auto call = std::make_shared<LstmCall>(lstm, type_name,
                                         SeededLstmInput(lstm.problem, settings.seed, type_name),
                                         SeededLstmGradient(lstm.problem, settings.seed));
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.verify = [call, type_name, settings] { return Verify(*call, type_name, settings.seed); };
  prepared.algorithm = call->Algorithm();
  prepared.isa = onednn::EffectiveIsa();
  prepared.memory = call->Memory();
  prepared.modelled =
      ModelledWork(lstm.problem, lstm.direction, bytes,
                   LstmMatrixPipe(type, lstm.fpmath, prepared.algorithm, prepared.isa),
                   "fp32.vector", static_cast<double>(call->Launches()));
  prepared.explain.parts = [lstm, type = std::string(type.source), algorithm = prepared.algorithm] {
    return Parts(lstm.problem, lstm.direction, type, algorithm);
  };
  auto smallest = lstm.problem;
  smallest.n = smallest.i = smallest.h = 1;
  smallest.p = std::min<int64_t>(smallest.p, 1);
  if (smallest != lstm.problem)
    prepared.explain.smallest = [name, settings, smallest] {
      auto smallest_name = name;
      smallest_name.problem = ToText(smallest);
      return Prepare(smallest_name, settings);
    };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "LSTM", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace

LstmCall::LstmCall(const LstmCase& lstm, std::string_view type_name, const LstmInput<float>& input,
                   const LstmOutput<float>& d_output)
    : lstm_(lstm) {
  const LstmType& type = LstmTypeOf(type_name);
  RefuseWhatTheLibraryGetsWrong(lstm, type);
  const LstmBuilder builder(lstm_, type, input);
  const auto stages = LstmStages(lstm.problem);
  onednn::Translated(fmt::format("LSTM {}", type_name), [&] {
    std::vector<LstmBuilder::Forward> descriptors;
    for (const auto& stage : stages) {
      descriptors.push_back(builder.Describe(stage));
      forward_.push_back(builder.MakeForward(stage, descriptors.back(),
                                             forward_.empty() ? nullptr : &forward_.back()));
    }
    Execute(forward_);
    if (lstm_.direction != LstmDirection::kBackward) return;
    for (size_t k = stages.size(); k-- > 0;)
      backward_.push_back(builder.MakeBackward(stages[k], descriptors[k], forward_[k], d_output,
                                               backward_.empty() ? nullptr : &backward_.back()));
    Execute(backward_);
  });
}

void LstmCall::Execute(const std::vector<LstmStep>& steps) {
  for (const auto& step : steps) onednn::Execute(step.primitive, step.listed);
}

LstmOutput<float> LstmCall::Outputs() const {
  const LstmProblem& problem = lstm_.problem;
  LstmOutput<float> outputs;
  outputs.output = RealActivation(forward_.back().arguments.at(DNNL_ARG_DST_LAYER), problem,
                                  problem.passes == LstmPasses::kSummed ? 2 : 1);
  for (const auto& step : forward_) {
    Append(step.arguments.at(DNNL_ARG_DST_ITER), problem, outputs.final_hidden);
    Append(step.arguments.at(DNNL_ARG_DST_ITER_C), problem, outputs.final_cell);
  }
  return outputs;
}

LstmInput<float> LstmCall::Gradients() const {
  const auto stages = LstmStages(lstm_.problem);
  LstmInput<float> gradients;
  gradients.source = onednn::Plain(BackwardOf(0).arguments.at(DNNL_ARG_DIFF_SRC_LAYER));
  gradients.layers.resize(lstm_.problem.l);
  for (size_t k = 0; k < stages.size(); ++k) {
    const auto& arguments = BackwardOf(k).arguments;
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER), lstm_.problem, gradients.initial_hidden);
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER_C), lstm_.problem, gradients.initial_cell);
    const auto split = [&](int argument, std::vector<float> Weights::*tensor) {
      const auto found = arguments.find(argument);
      if (found == arguments.end()) return;
      const auto values = onednn::Plain(found->second);
      const auto layer = static_cast<int64_t>(values.size()) / stages[k].layers;
      for (int64_t at = 0; at < stages[k].layers; ++at)
        (gradients.layers[stages[k].first + at].*tensor)
            .assign(values.begin() + at * layer, values.begin() + (at + 1) * layer);
    };
    split(DNNL_ARG_DIFF_WEIGHTS_LAYER, &Weights::input);
    split(DNNL_ARG_DIFF_WEIGHTS_ITER, &Weights::state);
    split(DNNL_ARG_DIFF_WEIGHTS_PROJECTION, &Weights::projection);
    split(DNNL_ARG_DIFF_BIAS, &Weights::bias);
    split(DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE, &Weights::peephole);
  }
  return gradients;
}

// Clears the gradients without moving them, because callers of Memory() store their addresses.
void LstmCall::ClearWeightGradients() {
  for (auto& step : backward_)
    for (const int argument : kWeightGradients)
      if (const auto found = step.arguments.find(argument); found != step.arguments.end()) {
        auto* bytes = found->second.map_data<char>();
        std::memset(bytes, 0, found->second.get_desc().get_size());
        found->second.unmap_data(bytes);
      }
}

std::string LstmCall::Algorithm() const {
  std::vector<std::string> names;
  for (const auto& step : Steps())
    if (std::ranges::count(names, step.implementation) == 0) names.push_back(step.implementation);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::vector<workload::MemoryRegion> LstmCall::Memory() const {
  std::vector<workload::MemoryRegion> regions;
  std::unordered_set<const void*> seen;
  for (const auto& step : Steps())
    for (const auto& region : onednn::Regions(step.arguments, {kWeights.begin(), kWeights.end()}))
      if (seen.insert(region.begin).second) regions.push_back(region);
  return regions;
}

workload::Verification CompareWithLoops(LstmCall& call, std::string_view type,
                                        const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output) {
  if (call.lstm().direction == LstmDirection::kBackward) call.ClearWeightGradients();
  return dlroof::lstm::CompareWithLoops(call, call.lstm().problem, call.lstm().direction, input,
                                        d_output, Tolerance(type, call.lstm()));
}

}  // namespace dlroof::lstm
