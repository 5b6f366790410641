// The real logs of tests/data/onednn_verbose.
#pragma once

#include <string>

#include "counters/base/files.h"
#include "reporters/logs/verbose_log.h"
#include "tests/test_data.h"

namespace dlroof::fakes {

inline std::string LogPath(const std::string& name) { return TestData("onednn_verbose/" + name); }

inline logs::VerboseLog FromLog(const std::string& name) {
  return logs::ReadVerboseLog(ReadFile(LogPath(name), "a log"));
}

}  // namespace dlroof::fakes
