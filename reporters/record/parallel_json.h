// A watched call as JSON: what `parallel` holds in records and labels.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "counters/parallel_time.h"
#include "reporters/record/json_object.h"

namespace dlroof {

nlohmann::json ToJson(const ParallelTime& time);
// Throws BadInput with the place for a member that cannot be.
ParallelTime ParallelFromJson(const JsonObject& at);

}  // namespace dlroof
