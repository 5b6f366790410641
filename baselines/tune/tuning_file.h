// The file of one or more tunings: their state after every block, and their result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "baselines/tune/tuning.h"

namespace dlroof::tuning {

struct TuningFile {
  nlohmann::json about;         // the command and its flags
  std::vector<Tuning> tunings;  // the last may be unfinished
};

nlohmann::json ToJson(const Tuning& tuning);
nlohmann::json ToJson(const Effect& effect);
nlohmann::json ToJson(const TuningFile& file);

// Throws BadInput, which names the place: not a file of tunings, or one of another version.
TuningFile ParseTuningFile(const std::string& text, const std::string& where);
// The same of a file. Throws BadInput also where it cannot be read.
TuningFile ReadTuningFile(const std::string& path);

}  // namespace dlroof::tuning
