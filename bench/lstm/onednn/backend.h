// One call of an LSTM stack by oneDNN, its results as plain tensors, and their check.
#pragma once

#include <string>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/onednn/call.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

class LstmCall {
 public:
  // Creates everything that Run() uses and runs the call once, because the library accepts some
  // calls that it cannot execute. For `bwd` it first runs the forward training call that fills the
  // workspace; only `bwd` reads `d_output`. Call onednn::SetThreads before. Throws Unsupported with
  // the library's message.
  LstmCall(const LstmCase& lstm, const LstmInput<float>& input, const LstmOutput<float>& d_output);

  // Makes one call and returns when it has finished. oneDNN adds to the weight gradients, so these
  // grow with every `bwd`.
  void Run() const {
    for (const auto& step : Steps()) step.Run();
  }

  // Returns the outputs of the last forward call as real numbers, also for quantized types.
  LstmOutput<float> Outputs() const;
  // Returns the gradients of `bwd`. Gradients of weights and bias are sums over all calls since
  // ClearWeightGradients().
  LstmInput<float> Gradients() const;
  void ClearWeightGradients();

  // Returns "brgemm:avx512_core", or the distinct names of the primitives joined by " + ".
  std::string Algorithm() const;
  int64_t Launches() const { return static_cast<int64_t>(forward_.size()); }
  // Returns every tensor that Run() reads or writes, each once, including data between primitives
  // but not the library's scratchpad. Their addresses do not change during the life of this object.
  std::vector<workload::MemoryRegion> Memory() const;
  const LstmCase& lstm() const { return lstm_; }

 private:
  const std::vector<onednn::Call>& Steps() const {
    return lstm_.direction == LstmDirection::kBackward ? backward_ : forward_;
  }
  const onednn::Call& BackwardOf(size_t stage) const {
    return backward_[backward_.size() - 1 - stage];
  }

  LstmCase lstm_;
  std::vector<onednn::Call> forward_;   // one primitive per stage
  std::vector<onednn::Call> backward_;  // the primitives of `bwd`, last stage first
};

// Runs the call and compares all its outputs (for `bwd` all gradients) with the reference loops in
// double on the same inputs. Errors are divided by the largest value of each tensor. The allowed
// error depends on the call's type and fpmath mode.
workload::Verification CompareWithLoops(LstmCall& call, const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output);

}  // namespace dlroof::lstm
