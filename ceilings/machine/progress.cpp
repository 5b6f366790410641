#include "ceilings/machine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace dlroof::machine {
namespace {

// "[ 12/52] fp32.vector.avx2, 1 threads; 14 s left"
std::string ProgressText(const MeasureProgress& progress) {
  return fmt::format("[{:3}/{}] {}; {:.0f} s left", progress.step, progress.steps, progress.text,
                     progress.eta_seconds);
}

}  // namespace

void ProgressPrinter::operator()(const MeasureProgress& progress) {
  if (terminal_) {
    out_ << "\r\033[K";  // to the first column, clear the line
    if (progress.step < progress.steps) out_ << ProgressText(progress);
    out_.flush();
    return;
  }
  const int tenths = progress.steps > 0 ? 10 * progress.step / progress.steps : 10;
  if (tenths == tenths_) return;
  tenths_ = tenths;
  out_ << ProgressText(progress) << '\n' << std::flush;
}

bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace dlroof::machine
