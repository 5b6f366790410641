// The check of a prepared call's output.
#pragma once

#include <stdexcept>
#include <string>

#include "bench/workload/workload.h"

namespace dlroof {

// Thrown when an output differs from the reference's.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Compares with the reference. Returns how, for people. Throws WrongResult.
std::string VerifiedHow(const PreparedCall& call);

}  // namespace dlroof
