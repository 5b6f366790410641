// Compares a library's LSTM with the reference loops, and checks two properties of the reference
// loops without other loops.
#pragma once

#include <fmt/format.h>

#include "bench/lstm/loops.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// [flop] Problems with more FLOPs are verified by a smaller twin, because the reference loops would
// take longer than the measurement.
inline constexpr double kMaxFlopsToVerify = 50e6;

// Runs the call and compares all its outputs (for `bwd` all gradients) with the reference loops in
// double on the same inputs. Errors are divided by the largest value of each tensor.
template <class Call>
workload::Verification CompareWithLoops(Call& call, const LstmProblem& problem,
                                        LstmDirection direction, const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output, double tolerance) {
  const auto exact = ToDouble(input);
  LstmForwardResult<double> forward;
  LstmForward(problem, exact, forward);
  call.Run();
  LstmDifference difference;
  if (direction == LstmDirection::kBackward) {
    LstmInput<double> d_input;
    LstmBackward(problem, exact, forward, ToDouble(d_output), d_input);
    difference = Difference(call.Gradients(), d_input);
  } else {
    difference = Difference(call.Outputs(), forward.outputs);
  }
  return {difference.max_error <= tolerance, difference.max_error, tolerance,
          fmt::format("all {} outputs", difference.count)};
}

// Checks the last step of each pass of each layer, for every sample: recomputes it gate by gate,
// with dot products and sigmoid(x) = (1 + tanh(x/2)) / 2, and compares it with the final states.
// Also compares the output with the hidden states.
workload::Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                                      const LstmForwardResult<double>& forward);

// Compares two derivatives of sum(output * d_output) along a random direction in the space of all
// inputs: a central difference of two forward calls, and the value from the gradient `d_input`.
// max_error is divided by |d_input| * |direction|.
workload::Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                                     const LstmOutput<double>& d_output,
                                     const LstmInput<double>& d_input);

}  // namespace dlroof::lstm
