#include "reporters/ledger/waterfall.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "reporters/text/units.h"

namespace dlroof {
namespace {

constexpr int kColumns = 40;

// " 24..31": the interval of the share in percent; blanks where there is none.
std::string RangeText(const LedgerPart& part, double whole) {
  if (!part.ci95) return std::string(9, ' ');
  const auto percent = [&](double seconds) { return 100 * seconds / whole; };
  return fmt::format("{:>9}", fmt::format("{:.0f}..{:.0f}", percent(part.ci95->first),
                                          percent(part.ci95->second)));
}

}  // namespace

std::string WaterfallBar(double begin, double end) {
  const int from = std::min(kColumns - 1, static_cast<int>(std::lround(begin * kColumns)));
  const int to = std::max(from + 1, static_cast<int>(std::lround(end * kColumns)));
  return std::string(static_cast<std::size_t>(from), ' ') +
         std::string(static_cast<std::size_t>(to - from), '#') +
         std::string(static_cast<std::size_t>(std::max(0, kColumns - to)), ' ');
}

void WriteWaterfall(const Ledger& ledger, std::ostream& out) {
  double sum = 0;
  for (const auto& part : ledger.parts) {
    const auto share = [&](double seconds) { return seconds / ledger.seconds; };
    fmt::print(out, "  |{}| {:>9} {:5.1f} %{}  {}{}\n",
               WaterfallBar(share(sum), share(sum + part.seconds)), WithPrefix(part.seconds, "s"),
               100 * share(part.seconds), RangeText(part, ledger.seconds), Words(part.kind),
               part.how.empty() ? "" : fmt::format(" ({}: {})", Key(part.from), part.how));
    sum += part.seconds;
  }
  if (const auto& found = ledger.efficiencies)
    fmt::print(out,
               "  parallel efficiency {:.0f} % = load balance {:.0f} % x serialisation {:.0f} % x "
               "transfer {:.0f} %\n",
               100 * found->parallel, 100 * found->load_balance, 100 * found->serialisation,
               100 * found->transfer);
  if (ledger.efficiencies && ledger.efficiencies->computation)
    fmt::print(out, "  computation scaling {:.0f} %: useful time on one thread over that of all\n",
               100 * *ledger.efficiencies->computation);
}

}  // namespace dlroof
