// A benchmark's outcome in words, for tests of cells.
#pragma once

#include <fmt/format.h>

#include <string>

#include "bench/workload/workload.h"

namespace dlroof {

// Prepares, runs and verifies. Returns "ok ALGORITHM", "wrong ALGORITHM ERROR, HOW", "unsupported:
// WHY" where it cannot run here, or "failed: WHY".
inline std::string Outcome(const std::string& name, int threads = 2) {
  try {
    const auto call = MakeWorkload(name).prepare({.threads = threads, .seed = 7});
    call.run();
    const auto found = call.verify();
    if (!found.ok)
      return fmt::format("wrong {} {}, {}", call.algorithm, found.max_error, found.how);
    return "ok " + call.algorithm;
  } catch (const Unsupported& error) {
    return std::string("unsupported: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("failed: ") + error.what();
  }
}

}  // namespace dlroof
