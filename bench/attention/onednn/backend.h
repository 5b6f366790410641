// What forward and backward calls of attention by oneDNN's primitives share.
#pragma once

#include <vector>

#include "bench/attention/attention.h"
#include "bench/onednn/call.h"
#include "bench/workload/workload.h"

namespace dlroof::attention {

inline constexpr auto kF32 = dnnl::memory::data_type::f32;

std::vector<float> Floats(const std::vector<double>& values);

// Primitives in order of execution. The first primitive that uses a tensor owns its memory.
using Steps = std::vector<onednn::Call>;
// Returns a forward call's primitives: the first writes the scores, the last the result.
Steps ForwardSteps(const AttentionProblem& problem, dnnl::memory::data_type type,
                   const Tensors& in);
// Appends a primitive that adds the mask, if the problem has one, to f32 scores in place.
void AppendMask(const AttentionProblem& problem, const dnnl::memory& scores, Steps& steps);
void RunAll(const Steps& steps);
// Returns the tensors of all steps. The keys are the same in all calls of a problem.
onednn::Arguments ArgumentsOf(const Steps& steps);
// Returns "unfused IMPLEMENTATION + IMPLEMENTATION".
std::string AlgorithmOf(const Steps& steps);
// Returns all pairs, which the library computes, divided by those that the mask leaves [1].
double ExecutedOverUseful(const AttentionProblem& problem);

workload::PreparedCall PrepareBackward(const AttentionProblem& problem, const std::string& type,
                                       const workload::RunSettings& settings);

}  // namespace dlroof::attention
