#include "counters/cpu/issue_rate.h"

namespace dlroof {

std::optional<double> MeasureIssueRate() { return std::nullopt; }

}  // namespace dlroof
