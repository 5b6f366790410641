// Prints the progress of a measurement on a terminal or in a log.
#pragma once

#include <ostream>
#include <string>

namespace dlroof::machine {

struct MeasureProgress {
  int step = 0, steps = 0;  // `step` of `steps` begins; step == steps: done
  std::string text;         // what is measured now
  double eta_seconds = 0;   // [s] until done, at the speed so far
};

// On a terminal it overwrites one line and clears it at the end. Else it prints a line at the start
// and after each tenth. Pass it by std::ref: a copy would not know the last line.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  void operator()(const MeasureProgress& progress);

 private:
  std::ostream& out_;
  bool terminal_;
  int tenths_ = -1;
};

// Returns true where stderr is a terminal.
bool StderrIsTerminal();

}  // namespace dlroof::machine
