#include "bench/lstm/onednn/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "bench/onednn/support.h"
#include "counters/base/error.h"

namespace dlroof::onednn {
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

// Refuses calls that oneDNN 3.2 accepts and then fails to do.
void RefuseWhatTheLibraryGetsWrong(const LstmCase& lstm, const LstmType& type) {
  if (type.source == "u8" && lstm.problem.passes == LstmPasses::kSummed && lstm.problem.l > 1)
    throw Unsupported(
        "oneDNN adds the stored u8 numbers of two passes, each with its shift, which the next "
        "layer would read as one ({}, bisum)",
        type.name);
  // benchdnn dies likewise; on the way the heap is overwritten.
  if (IsQuantized(type) && lstm.fpmath != "strict")
    throw Unsupported("fpmath modes are for f32: oneDNN takes fpmath-{} with {} and crashes",
                      lstm.fpmath, type.name);
}

}  // namespace

LstmCall::LstmCall(const LstmCase& lstm, std::string_view type_name, const LstmInput<float>& input,
                   const LstmOutput<float>& d_output)
    : lstm_(lstm) {
  const LstmType& type = LstmTypeOf(type_name);
  RefuseWhatTheLibraryGetsWrong(lstm, type);
  const LstmBuilder builder(lstm_, type, input);
  const auto stages = LstmStages(lstm.problem);
  Translated(fmt::format("LSTM {}", type_name), [&] {
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
  gradients.source = Plain(BackwardOf(0).arguments.at(DNNL_ARG_DIFF_SRC_LAYER));
  gradients.layers.resize(lstm_.problem.l);
  for (size_t k = 0; k < stages.size(); ++k) {
    const auto& arguments = BackwardOf(k).arguments;
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER), lstm_.problem, gradients.initial_hidden);
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER_C), lstm_.problem, gradients.initial_cell);
    const auto split = [&](int argument, std::vector<float> Weights::*tensor) {
      const auto found = arguments.find(argument);
      if (found == arguments.end()) return;
      const auto values = Plain(found->second);
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

// In place: Memory() has told where they are.
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

std::vector<MemoryRegion> LstmCall::Memory() const {
  std::vector<MemoryRegion> regions;
  std::unordered_set<const void*> seen;
  for (const auto& step : Steps())
    for (const auto& region : Regions(step.arguments, {kWeights.begin(), kWeights.end()}))
      if (seen.insert(region.begin).second) regions.push_back(region);
  return regions;
}

}  // namespace dlroof::onednn
