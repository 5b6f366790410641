// Sweeps of a run file: benchmarks that differ in one parameter of their problem alone, in its
// order. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/roofline/op_words.h"

namespace dlroof {

struct SweepLine {
  std::string series;                // what its benchmarks share: "tf2.2 fwd f16"
  std::vector<std::size_t> records;  // indices into "records", by rising value
  std::vector<double> values;        // of the parameter, all different
};

// The lines of one parameter through the records that are placed, at least two points each; series
// in the order of the file. Two benchmarks of one value are on two lines, told apart by their
// padding.
std::vector<SweepLine> SweepLines(const nlohmann::json& run_file, const SweepParameter& parameter);

// Returns those of the parameters that the file's ops call by this name ("stride"). Throws BadInput
// for a name that no parameter has, listing those there are.
std::vector<SweepLine> SweepLines(const nlohmann::json& run_file, std::string_view name);

}  // namespace dlroof
