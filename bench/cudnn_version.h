// cuDNN's numbers of its versions. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace dlroof::cudnn {

// 91900 -> "9.19.0".
std::string VersionText(std::size_t version);

// Why a program built for one major version cannot use the cuDNN that was found, with the cure;
// empty: it can, for minor versions of one major version serve each other's programs (checked with
// 9.12 to 9.22).
std::string WhyNotThisVersion(std::size_t found, int built_for_major);

}  // namespace dlroof::cudnn
