#pragma once

#include <string>
#include <string_view>

#include "reporters/imports/import.h"

namespace dlroof::profile {

// Imports the output of benchdnn --mode=P: lines "perf,..." with the fields of the preceding line
// "Output template: ", or with benchdnn's default fields. The time is the average (%0time%), or
// else the minimum (%-time%), in ms. The FLOPs are %Gops%, of convolutions those of taps inside the
// image as everywhere (conv::prb_t::count_ops, filter_axis.h); their pipe follows from the
// implementation's name. If that name contains no instruction set and the type is narrower than
// f32, the record has no FLOPs, and a remark in `counting` says so. A problem for which dlroof has
// a benchmark gets the benchmark's name and, if the op knows them, its compulsory bytes; any other
// has benchdnn's text as its name. Throws BadInput as described in import.h.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::profile
