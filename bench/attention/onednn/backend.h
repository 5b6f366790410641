// What forward and backward calls of attention by oneDNN's primitives share.
#pragma once

#include <dnnl.hpp>
#include <vector>

#include "bench/attention/attention.h"
#include "bench/onednn/call.h"
#include "bench/workload/workload.h"

namespace dlroof::attention {

inline constexpr auto kF32 = dnnl::memory::data_type::f32;

std::vector<float> Floats(const std::vector<double>& values);
// Returns a view of a batch of matrices as their transposes.
dnnl::memory Transposed(const dnnl::memory& tensor);

struct Steps : onednn::Sequence {
  explicit Steps(dnnl::memory::data_type of_type) : type(of_type) {}

  dnnl::memory New(const dnnl::memory::desc& desc) { return owner.Poisoned(desc); }
  dnnl::memory Filled(const dnnl::memory::desc& desc, const std::vector<double>& values) {
    return owner.Filled(desc, Floats(values));
  }
  // Add a primitive: `to` = `factor` a b, or `algorithm` of a and b followed by `fused`.
  void Product(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& to, float factor);
  onednn::Call& Binary(dnnl::algorithm algorithm, const dnnl::memory& a, const dnnl::memory& b,
                       const dnnl::memory& to, const dnnl::post_ops& fused);
  // Adds a primitive that adds the mask, if the problem has one, to f32 scores in place.
  void Mask(const AttentionProblem& problem, const dnnl::memory& scores);
  // Sets `arguments`, and `implementation` to "unfused IMPLEMENTATION + IMPLEMENTATION". Call it
  // after the last primitive.
  void End();

  dnnl::memory::data_type type;
  std::vector<std::string> products;  // implementation of each product
  dnnl::memory result;                // of a forward call
};
// Returns a forward call: the first primitive writes the scores, the last the result.
Steps ForwardSteps(const AttentionProblem& problem, dnnl::memory::data_type type,
                   const Tensors& in);

workload::PreparedCall PrepareBackward(const AttentionProblem& problem, const std::string& type,
                                       const workload::RunSettings& settings);

}  // namespace dlroof::attention
