// The version of oneDNN whose private choices are made again here.
#pragma once

#include <string>

namespace dlroof {

// Returns why the loops of this oneDNN are not modelled: the models repeat the blocking that 3.2
// chooses by private estimates (brgemm_blocking.h, vector_blocking.h), and another minor version
// may choose otherwise. Empty for 3.2.
std::string WhyNoLoopsOf(int major, int minor);

}  // namespace dlroof
