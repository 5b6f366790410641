// Names of oneDNN's implementations across its versions.
#pragma once

#include <string>
#include <string_view>

namespace dlroof::programs {

// Returns the implementation's name as oneDNN before 3.5 spelled it: "brgconv:avx2" for
// "brg_conv_fwd:avx2". Other names are returned unchanged. Two names with the same family are the
// same code path, as far as names tell.
std::string ImplementationFamily(std::string_view implementation);

}  // namespace dlroof::programs
