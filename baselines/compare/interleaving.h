// The entry of an interleaved comparison in its two run files (context.dlroof.interleaved). Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof::compare {

struct Interleaving {
  std::string id;            // of this comparison: both files have it, no others
  double min_effect = 0.02;  // [1] by which it was decided when enough was measured
};

nlohmann::json ToJson(const Interleaving& interleaving);

// Present when both files are of one interleaved comparison, so that their blocks are pairs.
std::optional<Interleaving> InterleavingOf(const record::RunFile& base, const record::RunFile& fresh);

}  // namespace dlroof::compare
