// Builds the oneDNN primitives of an LSTM stack and their memory from plain tensors.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"
#include "bench/onednn/support.h"

namespace dlroof::lstm {

// One primitive with its memory.
struct LstmStep {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::string implementation;
  onednn::Tensors tensors;      // memory of the arguments that only this step uses
  onednn::ArgumentList listed;  // `arguments` in the form that Execute needs
};

// Sources, states and outputs have the plain layouts of a program (tnc, ldnc); the library chooses
// the layout of weights, unless they are plain. Layouts and attributes are those of benchdnn (with
// --trivial-strides=true), so that times are comparable. Only the values of the int8 scale and
// shift differ, so that the data fill the range: 127 and 128 (for s8 127 and 0; see
// Int8ActivationScale for "bisum") instead of 63.5 and 28. Weights have one common scale, which is
// benchdnn's default.
class LstmBuilder {
 public:
  using Forward = dnnl::lstm_forward::primitive_desc;

  // Stores references to its arguments. Throws Unsupported for a type that the library lacks.
  LstmBuilder(const LstmCase& lstm, const LstmType& type, const LstmInput<float>& input);

  // Throws dnnl::error if the library refuses the stage.
  Forward Describe(const LstmStage& stage) const;
  // `below` is the step of the stage whose output this one reads, and null for the first stage.
  LstmStep MakeForward(const LstmStage& stage, const Forward& descriptor,
                       const LstmStep* below) const;
  // `forward` is the forward step of the same stage. `above` is the backward step of the stage that
  // reads its output, and null for the last stage.
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

// Returns the real values of an output or state in the form in which a call stored it. `summed` is
// the number of stored values that the library added for each element.
std::vector<float> RealActivation(const dnnl::memory& activation, const LstmProblem& problem,
                                  int summed = 1);

}  // namespace dlroof::lstm
