// Choices of library, direction, type and batch size, which benchmarks of a suite follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/suite.h"

namespace dlroof::suites {

// Parts of a benchmark's name by their place in it. Options follow.
enum NamePart : size_t { kOp, kDevice, kLibrary, kDirection, kType, kProblem };

// A benchmark's name in its parts, or a template's, whose problem is "*".
struct NameRow {
  std::vector<std::string_view> parts;
  int64_t count = 1;  // [1] times that it occurs in the model
};

// Returns the rows that have one of the choices as this part. A choice that no row of an op and
// device has is made there: of each problem's rows, those with the part's first value get it. So a
// choice that the suite knows selects, and another one replaces. A direction is also chosen by its
// beginning: "bwd" is "bwd_data" and "bwd_weights", and an LSTM's "bwd". Checks no name.
std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices);

// Values of the flags, lists with commas; empty: as the suite has it.
struct SuiteChoices {
  std::string library, directions, types, batch;
};

// The same suites with the choices. Each batch size makes a suite of its own, "NAME batch N". A
// name that cannot be, such as int8 of a gradient, is skipped with the reason.
//
// Throws BadInput, "FLAG=VALUE: column N: ...", for a library, direction or type that no benchmark
// has, and for a batch size that a problem cannot have or that no problem takes.
std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices);

}  // namespace dlroof::suites
