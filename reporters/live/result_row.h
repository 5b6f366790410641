// A row of the live table: Google Benchmark's columns and what placement adds.
#pragma once

#include <string>

#include "reporters/roofline/roofline.h"

namespace dlroof::live {

// "123.4 us": four digits, the unit that keeps the number readable.
std::string TimeText(double seconds);

std::string ResultHeader(size_t name_width);
std::string ResultRow(const record::Record& record, const roofline::Placement& placement, size_t name_width);

// One line: how many there are, how many of them without a result, and why.
std::string ResultSummary(const std::vector<record::Record>& records);

}  // namespace dlroof::live
