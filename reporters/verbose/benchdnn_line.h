// A primitive of a log as a line of benchdnn, oneDNN's benchmark program.
#pragma once

#include <string>

#include "reporters/verbose/primitive.h"

namespace dlroof::verbose {

// Returns the arguments that time the same call: "--conv --mode=P --dir=FWD_D ...". A layout that
// the library chose is "any", as is a blocked one, which programs leave to the library. Empty: no
// driver of benchdnn, or a text that this program cannot put into its words.
std::string BenchdnnLine(const Primitive& primitive);

}  // namespace dlroof::verbose
