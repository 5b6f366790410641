// Two properties of an LSTM that the plain loops can be held to without a second set of loops.
#pragma once

#include "bench/lstm/loops.h"
#include "bench/workload/workload.h"

namespace dlroof {

// The step that each pass of each layer walks last, recomputed gate by gate for every sample from
// what that step read, with dot products and sigmoid(x) = (1 + tanh(x/2)) / 2, against the final
// states; and the output against the hidden states that it is made of.
Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                            const LstmForwardResult<double>& forward);

// The derivative of sum(output * d_output) along a random direction of all inputs at once: its
// central difference by two forward calls against its value by the gradient `d_input`.
// max_error is relative to |d_input| * |direction|.
Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                           const LstmOutput<double>& d_output, const LstmInput<double>& d_input);

}  // namespace dlroof
