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

std::string Bar(double begin, double end) {
  const int from = std::min(kColumns - 1, static_cast<int>(std::lround(begin * kColumns)));
  const int to = std::max(from + 1, static_cast<int>(std::lround(end * kColumns)));
  return std::string(static_cast<std::size_t>(from), ' ') +
         std::string(static_cast<std::size_t>(to - from), '#') +
         std::string(static_cast<std::size_t>(std::max(0, kColumns - to)), ' ');
}

}  // namespace

void WriteWaterfall(const Ledger& ledger, std::ostream& out) {
  double sum = 0;
  for (const auto& part : ledger.parts) {
    const auto share = [&](double seconds) { return seconds / ledger.seconds; };
    fmt::print(out, "  |{}| {:>9} {:5.1f} %  {}{}\n", Bar(share(sum), share(sum + part.seconds)),
               WithPrefix(part.seconds, "s"), 100 * share(part.seconds), Words(part.kind),
               part.how.empty() ? "" : fmt::format(" ({}: {})", Key(part.from), part.how));
    sum += part.seconds;
  }
  if (const auto& found = ledger.efficiencies)
    fmt::print(out,
               "  parallel efficiency {:.0f} % = load balance {:.0f} % x serialisation {:.0f} % x "
               "transfer {:.0f} %\n",
               100 * found->parallel, 100 * found->load_balance, 100 * found->serialisation,
               100 * found->transfer);
}

}  // namespace dlroof
