// Raw values of counters kept in a file, so that a machine without a GPU can decode them again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/work.h"

namespace dlroof::cupti {

struct RecordedCall {
  std::string name;
  std::vector<std::string> pipes;        // that the call is known to use
  std::map<std::string, double> values;  // by metric
  std::vector<TracedKernel> kernels;
  std::optional<Work> expected;  // where the call's work is known
  int passes = 0;                // [1] 0: not known
  std::string origin;            // where the values are from, when not the recording's
};

struct CuptiRecording {
  std::string chip;    // "GH100"
  std::string origin;  // GPU, driver, CUPTI, date; or the publication
  // Quantities ("fp32.vector", "dram", "launches") whose counter failed on this hardware, by the
  // self-test: their values are kept, and are known to be wrong.
  std::vector<std::string> failed;
  std::vector<RecordedCall> calls;
};

nlohmann::json ToJson(const CuptiRecording& recording);
// `where` starts every message. Throws BadInput for a missing or wrong-typed key.
CuptiRecording CuptiRecordingFromJson(const nlohmann::json& json, const std::string& where);

}  // namespace dlroof::cupti
