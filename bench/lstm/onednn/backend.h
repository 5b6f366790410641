// One call of an LSTM stack on oneDNN, the way back to plain tensors, and the check of its results.
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
  // Creates everything that Run() uses, and runs it once: what the library accepts but cannot
  // execute shows here. For `bwd` it also runs the forward training call that makes its workspace;
  // `d_output` is read by `bwd` only. `type`: one of LstmTypes(). Threads: onednn::SetThreads
  // before. Throws Unsupported with the library's words.
  LstmCall(const LstmCase& lstm, std::string_view type, const LstmInput<float>& input,
           const LstmOutput<float>& d_output);

  // One call, finished when it returns. oneDNN adds to the weight gradients, so they grow with
  // every `bwd`.
  void Run() { Execute(Steps()); }

  // Real values of what the last forward call made (for `bwd`: the one before it).
  LstmOutput<float> Outputs() const;
  // `bwd` only: gradients; of weights and bias, summed over the calls since ClearWeightGradients().
  LstmInput<float> Gradients() const;
  void ClearWeightGradients();

  // "brgemm:avx512_core"; the distinct names joined by " + " where stages differ.
  std::string Algorithm() const;
  int64_t Launches() const { return static_cast<int64_t>(forward_.size()); }
  // Every tensor that Run() reads or writes, each once, what the primitives hand to each other too;
  // not the library's own scratchpad. Stays where it is as long as the call lives.
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
  std::vector<LstmStep> backward_;  // last stage first; empty unless `bwd`
};

// Runs the call and compares everything that it returns (for `bwd`: every gradient) with the plain
// loops in double on the same inputs. Errors are relative to the largest value of each tensor; what
// is allowed is what `type`, or the type that the call's fpmath mode allows, loses.
workload::Verification CompareWithLoops(LstmCall& call, std::string_view type,
                                        const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output);

}  // namespace dlroof::lstm
