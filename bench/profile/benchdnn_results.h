#pragma once

#include <string>
#include <string_view>

#include "reporters/imports/import.h"

namespace dlroof::profile {

// Imports output of benchdnn --mode=P: lines "perf,..." with the fields named by the preceding line
// "Output template: ", or benchdnn's default fields. The time is the average (%0time%), otherwise
// the minimum (%-time%), in ms. FLOPs are %Gops%; for convolutions benchdnn, too, counts only taps
// inside the image (conv::prb_t::count_ops, counters/base/filter_axis.h). The pipe follows from the
// implementation's name; if that has no instruction set and the type is narrower than f32, FLOPs
// are omitted with a remark in `counting`. If dlroof has a benchmark for the problem, the record
// gets its name and, if known, compulsory bytes; otherwise benchdnn's text is the name. Throws
// BadInput as described in import.h.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::profile
