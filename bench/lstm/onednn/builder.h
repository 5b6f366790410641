// The oneDNN primitives of an LSTM stack with their memories, out of plain tensors.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"
#include "bench/onednn/support.h"

namespace dlroof::lstm {

// One primitive with its memories.
struct LstmStep {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::string implementation;
  onednn::Tensors tensors;      // of the arguments that no other step has
  onednn::ArgumentList listed;  // the arguments, as Execute wants them
};

// Sources, states and outputs lie in the plain layouts in which a program has them (tnc, ldnc), the
// weights as the library likes them best, or plain. This and the attributes are what benchdnn gives
// (with --trivial-strides=true), so that times compare; only the values of the int8 scale and shift
// differ, so that the data fill the range: 127 and 128 (s8: 127 and 0; see Int8ActivationScale for
// "bisum") instead of 63.5 and 28. Weights have one common scale, as there by default.
class LstmBuilder {
 public:
  using Forward = dnnl::lstm_forward::primitive_desc;

  // Keeps references to `request` and `input`. Throws Unsupported for a type that the library does
  // not have.
  LstmBuilder(const LstmCase& lstm, const LstmType& type, const LstmInput<float>& input);

  // dnnl::error: the library's refusal.
  Forward Describe(const LstmStage& stage) const;
  // `below`: the step of the stage whose output this one reads; null for the first.
  LstmStep MakeForward(const LstmStage& stage, const Forward& descriptor,
                       const LstmStep* below) const;
  // `forward`: the same stage's; `above`: the step of the stage that reads its output; null for the
  // last.
  LstmStep MakeBackward(const LstmStage& stage, const Forward& descriptor, const LstmStep& forward,
                        const LstmOutput<float>& d_output, const LstmStep* above) const;

 private:
  struct Shapes {
    dnnl::memory::desc source, hidden, cell, input, state, peephole, projection, bias, output;
  };
  Shapes ShapesOf(const LstmStage& stage) const;
  Shapes GradientShapesOf(const LstmStage& stage) const;
  dnnl::lstm_backward::primitive_desc DescribeBackward(const LstmStage& stage,
                                                       const Forward& forward,
                                                       const LstmStep* above) const;
  template <class AnyDescriptor>
  void AddWeights(const LstmStage& stage, const AnyDescriptor& descriptor, LstmStep& step) const;
  dnnl::memory Activation(const dnnl::memory::desc& target, std::vector<float> values,
                          onednn::Tensors& tensors) const;
  dnnl::memory Weight(const dnnl::memory::desc& target, std::vector<float> values,
                      onednn::Tensors& tensors) const;

  const LstmCase& lstm_;
  const LstmProblem& problem_;
  const LstmType& type_;
  const LstmInput<float>& input_;
  dnnl::primitive_attr attributes_, quantization_;
};

// The real values of an output or state as a call of any type stored it; `summed`: how many stored
// numbers the library added to make each.
std::vector<float> RealActivation(const dnnl::memory& activation, const LstmProblem& problem,
                                  int summed = 1);

}  // namespace dlroof::lstm
