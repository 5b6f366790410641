// An LSTM stack on oneDNN: primitives, memories in the layouts that the library prefers, and the
// way back to plain tensors.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/lstm.h"
#include "bench/lstm_tensors.h"

namespace dlroof::onednn {

// Consecutive layers [first, first + layers) that one primitive computes.
struct LstmStage {
  int64_t first, layers;

  bool operator==(const LstmStage&) const = default;
};
// oneDNN's stacks need the same input width in every layer, and their two passes meet only after
// the last layer, unlike in cuDNN and PyTorch: what it cannot do in one primitive becomes several,
// one after the other.
std::vector<LstmStage> LstmStages(const LstmProblem& problem);

// How a type of the cell is stored. Cell states, bias and gradients are f32 in every type.
struct LstmStorage {
  dnnl::memory::data_type activation, weight;
  bool quantized;          // int8: u8 activations, s8 weights
  LstmElementBytes bytes;  // for the work model
};
// "f32", "bf16", "f16", "int8". Throws Unsupported for another.
LstmStorage StorageOf(std::string_view type);

class LstmCall {
 public:
  // Creates everything that Run() uses, and runs it once: what the library accepts but cannot
  // execute shows here. For `bwd` it also runs the forward training call that makes its workspace;
  // `d_output` is read by `bwd` only. Threads: onednn::SetThreads before. Throws Unsupported with
  // the library's words.
  LstmCall(const LstmProblem& problem, LstmDirection direction, std::string_view type,
           const LstmInput<float>& input, const LstmOutput<float>& d_output);

  // One call, finished when it returns. oneDNN adds to the weight gradients, so they grow with
  // every `bwd`.
  void Run() { Execute(direction_ == LstmDirection::kBackward ? backward_ : forward_); }

  // Real values of what the last forward call made (for `bwd`: the one before it).
  LstmOutput<float> Outputs() const;
  // `bwd` only: gradients; of weights and bias, summed over the calls since ClearWeightGradients().
  LstmInput<float> Gradients() const;
  void ClearWeightGradients();

  // "brgemm:avx512_core"; the distinct names joined by " + " where stages differ.
  std::string Algorithm() const;
  int64_t Launches() const { return static_cast<int64_t>(forward_.size()); }
  const LstmProblem& problem() const { return problem_; }
  LstmDirection direction() const { return direction_; }

  // One primitive with its memories.
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    std::string implementation;
  };

 private:
  static void Execute(const std::vector<Step>& steps);
  const Step& BackwardOf(size_t stage) const { return backward_[backward_.size() - 1 - stage]; }

  LstmProblem problem_;
  LstmDirection direction_;
  bool quantized_;
  std::vector<Step> forward_;   // by stage
  std::vector<Step> backward_;  // last stage first; empty unless `bwd`
};

}  // namespace dlroof::onednn
