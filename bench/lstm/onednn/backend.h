// A call of an LSTM stack by oneDNN, its results as plain tensors, and their check.
#pragma once

#include <string>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/onednn/call.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

class LstmCall {
 public:
  // Creates what Run() uses; for `bwd` runs a forward training call. Only `bwd` reads `d_output`.
  // Call onednn::SetThreads before. Throws Unsupported with oneDNN's message.
  LstmCall(const LstmCase& lstm, const LstmInput<float>& input, const LstmOutput<float>& d_output);

  // Makes one call and returns when it has finished. `bwd` adds to the weight gradients, so that
  // they grow with every call.
  void Run() const {
    for (const auto& step : Steps()) step.Run();
  }

  // Returns the outputs of the last forward call as real numbers, dequantized if necessary.
  LstmOutput<float> Outputs() const;
  // Returns the results of `bwd`; weights and bias: sums of all calls since ClearWeightGradients().
  LstmInput<float> Gradients() const;
  void ClearWeightGradients();
  // Copies all tensors from a call of the same case that has not run, so that results are invalid.
  void CopyTensors(const LstmCall& from);

  // Returns the distinct names of all primitives' implementations, joined by " + ".
  std::string Algorithm() const;
  int64_t Launches() const { return static_cast<int64_t>(forward_.size()); }
  // Returns each tensor that Run() reads or writes once, including data between primitives but not
  // oneDNN's scratchpad. Addresses stay the same during the life of this object.
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

// Runs the call and compares all outputs or gradients with the reference loops in double on the
// same inputs. Errors are divided by a tensor's largest value; the tolerance depends on the type.
workload::Verification CompareWithLoops(LstmCall& call, const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output);

}  // namespace dlroof::lstm
