// A benchmark's outcome in words, for tests of cells.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof::fakes {

// A benchmark's call on one thread.
inline workload::PreparedCall Prepared(const std::string& name) {
  return workload::MakeWorkload(name).prepare({.threads = 1});
}

// Prepares, runs and verifies. Returns "ok ALGORITHM", "wrong ALGORITHM ERROR, HOW", "unsupported:
// WHY" where it cannot run here, or "failed: WHY".
inline std::string Outcome(const std::string& name, int threads = 2) {
  try {
    const auto call = workload::MakeWorkload(name).prepare({.threads = threads, .seed = 7});
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

// The memory that a call lists. Expects that no region is empty.
struct ListedBytes {
  size_t weights = 0, rest = 0;  // [byte]

  bool operator==(const ListedBytes&) const = default;
};
inline ListedBytes BytesOf(const workload::PreparedCall& call) {
  ListedBytes bytes;
  for (const auto& region : call.memory) {
    EXPECT_NE(region.begin, nullptr);
    EXPECT_GT(region.bytes, 0U);
    (region.weights ? bytes.weights : bytes.rest) += region.bytes;
  }
  return bytes;
}

// Expects of benchmarks of a oneDNN cell ("Conv2D/cpu/onednn/") that they agree with the reference:
// `variants` are words of direction, type and options, with @ for the problem. f32 runs wherever
// oneDNN does; other types may be unsupported here, but never wrong. Returns the number of those
// that ran.
inline int ExpectVariantsAgree(const std::string& cell, const std::string& variants,
                               const std::vector<std::string>& problems) {
  int ran = 0;
  std::istringstream words(variants);
  for (std::string variant; words >> variant;)
    for (const std::string& problem : problems) {
      std::string name = cell + variant;
      name.replace(name.find('@'), 1, problem);
      const auto outcome = Outcome(name);
      if (variant.find("/f32/") == std::string::npos && outcome.starts_with("unsupported"))
        continue;
      EXPECT_TRUE(outcome.starts_with("ok ")) << name << ": " << outcome;
      ++ran;
    }
  return ran;
}

// The same of one benchmark; an unsupported one names its type.
inline void ExpectAgrees(const std::string& name, const std::string& type) {
  const auto outcome = Outcome(name);
  const bool refused = type != "f32" && outcome.starts_with("unsupported");
  EXPECT_TRUE(refused || outcome.starts_with("ok ")) << name << ": " << outcome;
  EXPECT_TRUE(!refused || outcome.find(type) != std::string::npos)
      << outcome << ": the reason names no type";
}

}  // namespace dlroof::fakes
