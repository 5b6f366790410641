// Benchmark names, op/device/library/direction/type/problem[/option...], and the problem texts in
// them, such as n16c64h112. A name says everything that is needed to run the benchmark again.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::workload {

// Reads a problem text from left to right. Columns in messages count from 1 plus `column_offset`,
// the column at which the problem begins in a longer line, less one.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int column_offset = 0)
      : text_(text), column_offset_(column_offset) {}

  bool AtEnd() const { return at_ == text_.size(); }
  // Consumes `word` and returns true if it comes next.
  bool Accept(std::string_view word);
  // Consumes `word`, or calls Refuse if another text comes next.
  void Expect(std::string_view word);
  // Consumes an integer from `least` to 2^31-1 without leading zeros, or calls Refuse.
  int64_t Integer(int64_t least, std::string_view what);
  // Consumes these letters in this order, each followed by an integer from 1.
  struct Size {
    std::string_view letter;
    int64_t& value;
  };
  void Sizes(std::initializer_list<Size> sizes);
  // Throws BadInput with the column: "expected EXPECTED, got ...".
  [[noreturn]] void Refuse(std::string_view expected) const;

 private:
  std::string_view text_;
  size_t at_ = 0;
  int column_offset_;
};

// Returns the product of the sizes. Throws BadInput, naming `what`, if it overflows 64 bits.
int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what);

struct BenchmarkName {
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;

  bool operator==(const BenchmarkName&) const = default;
};

std::string ToText(const BenchmarkName& name);

// Splits a name into its parts. Throws BadInput with the column (from 1) of the first bad character
// for fewer than six parts, an empty part, or a character outside [A-Za-z0-9_.:+-]. MakeWorkload
// checks the op, the library and the problem.
BenchmarkName ParseBenchmarkName(const std::string& text);

// Returns the name with another value of a parameter of its op ("batch"). A square image or kernel
// stays square, and the padding does not change. Throws BadInput for an invalid name, an unknown
// parameter (the message lists the known ones), or if the new problem is invalid.
std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value);

// Returns the value of a parameter of the name's op; 1 if the name does not mention it. Throws
// BadInput for an invalid name or an unknown parameter.
std::int64_t SizeOf(const std::string& name, const std::string& parameter);

// Returns the name with the option threadsN. Throws BadInput for an invalid name, a benchmark that
// does not run on the CPU, or a name that already has the option.
std::string WithThreads(const std::string& name, int threads);

}  // namespace dlroof::workload
