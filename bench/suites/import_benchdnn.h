// Performance lines of benchdnn, oneDNN's benchmark program, as records.
#pragma once

#include <string>
#include <string_view>

#include "reporters/import/import.h"

namespace dlroof::suites {

// The output of benchdnn --mode=P: lines "perf,..." in the order of the fields that the line
// "Output template: " before them names, benchdnn's own where there is none. Time is the average
// (%0time%), else the least (%-time%), in ms; FLOPs are its %Gops%, on the pipe that the
// implementation's name tells; where it names no instruction set and the type is narrower than f32
// they are left out, with a remark and in the record's `counting`. A problem that is a benchmark of
// ours gets its name and, where its op knows them, its compulsory bytes; another keeps benchdnn's
// words. Throws BadInput as import.h says.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

}  // namespace dlroof::suites
