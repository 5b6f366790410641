// Repairs files of Google Benchmark that are not JSON, line by line: it writes each member and each
// bracket on a line of its own, so that one invalid value, or a line that the program printed into
// the file, costs no other line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::record {

struct BenchmarkLines {
  std::string json;
  std::vector<std::string> remarks;  // what was left out, with its first line
};

// Returns the file as JSON. Strings whose backslashes, quotes or control characters were not
// escaped are escaped; numbers of the program's locale are read by the marks of all numbers of the
// file; missing commas and brackets are added; values that are none of these, and lines that are
// not Google Benchmark's, are left out. Returns nullopt if the text has no list of benchmarks, or
// is dlroof's own. Throws BadInput ("WHERE:LINE: ...") if a number has two readings.
std::optional<BenchmarkLines> RepairedBenchmarkLines(std::string_view text,
                                                     const std::string& where);

}  // namespace dlroof::record
