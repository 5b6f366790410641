// One call of an LSTM stack on oneDNN, its results as plain tensors, and their check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/lstm/onednn/builder.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

class LstmCall {
 public:
  // Creates everything that Run() uses and runs it once, because the library accepts some calls
  // that it cannot execute. For `bwd` also runs the forward training call that fills the workspace;
  // only `bwd` reads `d_output`. `type` is one of LstmTypes(). Call onednn::SetThreads before.
  // Throws Unsupported with the library's message.
  LstmCall(const LstmCase& lstm, std::string_view type, const LstmInput<float>& input,
           const LstmOutput<float>& d_output);

  // Makes one call, which has finished when it returns. oneDNN adds to the weight gradients, so
  // they grow with every `bwd`.
  void Run() { Execute(Steps()); }

  // Returns the real values of the last forward call's outputs.
  LstmOutput<float> Outputs() const;
  // Returns the gradients of `bwd`. Those of weights and bias are summed over the calls since
  // ClearWeightGradients().
  LstmInput<float> Gradients() const;
  void ClearWeightGradients();

  // Returns "brgemm:avx512_core", or the distinct names joined by " + " if the stages differ.
  std::string Algorithm() const;
  int64_t Launches() const { return static_cast<int64_t>(forward_.size()); }
  // Returns every tensor that Run() reads or writes, each once, including data between primitives
  // but not the library's scratchpad. They stay in place as long as the call lives.
  std::vector<workload::MemoryRegion> Memory() const;
  const LstmCase& lstm() const { return lstm_; }

 private:
  static void Execute(const std::vector<LstmStep>& steps);
  const std::vector<LstmStep>& Steps() const {
    return lstm_.direction == LstmDirection::kBackward ? backward_ : forward_;
  }
  const LstmStep& BackwardOf(size_t stage) const { return backward_[backward_.size() - 1 - stage]; }

  LstmCase lstm_;
  std::vector<LstmStep> forward_;   // by stage
  std::vector<LstmStep> backward_;  // the steps of `bwd`, last stage first
};

// Runs the call and compares all its outputs (for `bwd` all gradients) with the plain loops in
// double on the same inputs. Errors are relative to the largest value of each tensor. The allowed
// error is what `type`, or the type of the call's fpmath mode, loses.
workload::Verification CompareWithLoops(LstmCall& call, std::string_view type,
                                        const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output);

}  // namespace dlroof::lstm
