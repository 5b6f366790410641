// Errors that a user can mend, apart from defects of the program.
#pragma once

#include <stdexcept>
#include <string>

namespace dlroof {

// Input that cannot be used: a flag, a name, a file. `what()` is one sentence that says where
// (file, line or column) and what was expected. The programs print it and exit with 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// This problem cannot run here (library, CPU or type). Recorded with its reason; the run goes on.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dlroof
