// Reading problem texts such as n16c64h112: letters and positive integers, with the column of the
// first bad character.
//
// A benchmark's name is the line that repeats it:
// op/device/library/direction/type/problem[/option...].
//
// Names of a benchmark with another size, or for another number of threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::workload {

// A position in a problem text. Columns count from 1 plus `column_offset` (where the problem begins
// in a longer line).
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int column_offset = 0)
      : text_(text), column_offset_(column_offset) {}

  bool AtEnd() const { return at_ == text_.size(); }
  // True when `word` comes next; then it is consumed.
  bool Accept(std::string_view word);
  // Consumes `word` or refuses.
  void Expect(std::string_view word);
  // An integer from `least` to 2^31-1 without leading zeros, or refuses.
  int64_t Integer(int64_t least, std::string_view what);
  // Letters, each with an integer from 1.
  struct Size {
    std::string_view letter;
    int64_t& value;
  };
  void Sizes(std::initializer_list<Size> sizes);
  [[noreturn]] void Refuse(std::string_view expected) const;

 private:
  std::string_view text_;
  size_t at_ = 0;
  int column_offset_;
};

// The product of all sizes, or throws BadInput naming `what` when it leaves 64 bits.
int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what);

struct BenchmarkName {
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;

  bool operator==(const BenchmarkName&) const = default;
};

std::string ToText(const BenchmarkName& name);

// Throws BadInput with the column (from 1) of the first bad character: fewer than six parts, an
// empty part, a character outside [A-Za-z0-9_.:+-]. The registry judges op, library
// and problem.
BenchmarkName ParseBenchmarkName(const std::string& text);

// Returns the name with another value of a parameter of its op ("batch"); a square image or kernel
// stays square, padding stays. Throws BadInput: a bad name, no such parameter (listing those there
// are), a problem that cannot be.
std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value);

// Returns the value of a parameter of its op; 1 where the name leaves it out. Throws BadInput: a
// bad name, no such parameter.
std::int64_t SizeOf(const std::string& name, const std::string& parameter);

// Returns the name with the option threadsN. Throws BadInput: a bad name, a benchmark of another
// device than the CPU, a name that has the option.
std::string WithThreads(const std::string& name, int threads);

}  // namespace dlroof::workload
