// Meaning of cuDNN's statuses. Plain numbers, no CUDA.
#pragma once

#include <string>
#include <vector>

namespace dlroof::cudnn {

// Kind of a request to cuDNN.
enum class Stage {
  kDescribe,  // a description is made, checked or turned into a plan
  kExecute    // what it has accepted before is to run
};

// Returns whether a status (cudnnStatus_t of cuDNN 9) says that cuDNN cannot do the request, so
// that another shape, type or engine may do; anything else is a failure of the installation, of the
// GPU or of this program. Refusals are the kinds of NOT_SUPPORTED but those that name a driver, a
// runtime, a compiler or a part of cuDNN that is missing; of BAD_PARAM (a shape that an engine
// cannot take is refused so) only while something is described.
bool IsRefusal(int status, Stage stage);

// Why a proposal, or a whole heuristic, could not be used.
struct WhyNot {
  std::string words;
  bool broken = false;  // no refusal: the installation, the GPU or this program failed
};
// Throws the first: std::runtime_error the first that broke, else Unsupported the first of all.
// Throws std::logic_error for none.
[[noreturn]] void ThrowFirst(const std::vector<WhyNot>& failures);
// Throws it: std::runtime_error where something broke, else Unsupported.
[[noreturn]] void Throw(const WhyNot& why);
bool Broken(const WhyNot& why);

}  // namespace dlroof::cudnn
