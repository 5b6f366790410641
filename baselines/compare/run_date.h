// When a run was made.
#pragma once

#include "reporters/record/run_file.h"

namespace dlroof {

// [s] since 1970 of context.date: "2026-03-02T10:00:00+01:00" (ISO 8601), or with a space for the T
// and without an offset, as older versions of Google Benchmark write it, which is taken as UTC.
// Fractions of a second are left out. 0, older than all, where a file has none.
double Moment(const RunFile& file);

}  // namespace dlroof
