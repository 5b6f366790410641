// The comparison of a library's LSTM with the plain loops, and two properties that the plain loops
// can be held to without a second set of loops.
#pragma once

#include <fmt/format.h>

#include "bench/lstm/loops.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Above this the plain loops would take longer than the measurement: a twin is compared instead.
inline constexpr double kMostFlopsToVerify = 50e6;

// Runs the call and compares everything that it makes (backward: every gradient) with the plain
// loops in double on the same inputs. Errors are relative to the largest value of each tensor.
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

// The step that each pass of each layer walks last, recomputed gate by gate for every sample from
// what that step read, with dot products and sigmoid(x) = (1 + tanh(x/2)) / 2, against the final
// states; and the output against the hidden states that it is made of.
workload::Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                                      const LstmForwardResult<double>& forward);

// The derivative of sum(output * d_output) along a random direction of all inputs at once: its
// central difference by two forward calls against its value by the gradient `d_input`.
// max_error is relative to |d_input| * |direction|.
workload::Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                                     const LstmOutput<double>& d_output,
                                     const LstmInput<double>& d_input);

}  // namespace dlroof::lstm
