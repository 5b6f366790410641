// Run files whose warnings a test does not look at, and what a document becomes in a terminal.
#pragma once

#include <sstream>
#include <string>

#include "reporters/document/document.h"
#include "reporters/record/run_file.h"
#include "tests/test_data.h"

namespace dlroof::fakes {

inline record::RunFile ParsedRun(const std::string& text, const std::string& where = "x") {
  std::ostringstream warnings;
  return record::ParseRunFile(text, where, warnings);
}

// A run file of tests/data.
inline record::RunFile StoredRun(const std::string& name) {
  std::ostringstream warnings;
  return record::ReadRunFile(TestData(name), warnings);
}

inline std::string Written(const document::Document& document, int width = 0) {
  std::ostringstream out;
  document::Write(document, width, out);
  return out.str();
}

}  // namespace dlroof::fakes
