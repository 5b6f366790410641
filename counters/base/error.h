// Errors that a user can mend, apart from defects of the program.
#pragma once

#include <stdexcept>
#include <string>

namespace dlroof {

// Input that cannot be used: a flag, a name, a file. `what()` is one sentence: its place, the fault
// and the expectation. The programs print it and exit with 2.
struct BadInput : std::runtime_error {
  struct Place {
    std::string where = {};  // a file or a flag; empty: the catcher knows it
    int line = 0;            // from 1; 0: unknown
    int column = 0;          // from 1; 0: unknown
  };

  // The text names its place itself, or has none.
  explicit BadInput(const std::string& all) : runtime_error(all), text(all) {}
  // what() is "WHERE:LINE: column COLUMN: TEXT" without the unknown parts.
  BadInput(const Place& at, const std::string& why);

  Place place;
  std::string text;
};

// This problem cannot run here (library, CPU or type). Recorded with its reason; the run goes on.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dlroof
