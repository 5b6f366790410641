// The GPU's samples beside the repetitions of a record.
#pragma once

#include <functional>
#include <memory>

#include "reporters/record/record.h"

namespace dlroof::fakes {

// Changes the sample of each repetition; one that has none gets one.
inline void ChangeSamples(record::Record& record,
                          const std::function<void(record::GpuSample&)>& change) {
  for (auto& repetition : record.repetitions) {
    auto sample = repetition.gpu ? *repetition.gpu : record::GpuSample();
    change(sample);
    repetition.gpu = std::make_shared<const record::GpuSample>(sample);
  }
}

}  // namespace dlroof::fakes
