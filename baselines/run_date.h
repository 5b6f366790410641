// When a run was made.
#pragma once

#include "reporters/run_file.h"

namespace dlroof {

// [s] since 1970 of context.date (ISO 8601 with its offset from UTC); 0, older than all, where a
// file has none.
double Moment(const RunFile& file);

}  // namespace dlroof
