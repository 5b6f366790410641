// Compares a library's LSTM with the plain loops, and checks two properties of the plain loops
// without a second set of loops.
#pragma once

#include <fmt/format.h>

#include "bench/lstm/loops.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Larger problems are verified by a smaller twin, because the plain loops would take longer than
// the measurement.
inline constexpr double kMostFlopsToVerify = 50e6;

// Runs the call and compares all its outputs (for `bwd` all gradients) with the plain loops in
// double on the same inputs. Errors are relative to the largest value of each tensor.
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

// Recomputes the last step of each pass of each layer gate by gate for every sample, with dot
// products and sigmoid(x) = (1 + tanh(x/2)) / 2, and compares it with the final states. Also
// compares the output with the hidden states.
workload::Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                                      const LstmForwardResult<double>& forward);

// Compares the derivative of sum(output * d_output) along a random direction of all inputs, as a
// central difference of two forward calls, with its value from the gradient `d_input`. max_error is
// relative to |d_input| * |direction|.
workload::Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                                     const LstmOutput<double>& d_output,
                                     const LstmInput<double>& d_input);

}  // namespace dlroof::lstm
