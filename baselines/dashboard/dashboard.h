// The dashboard: a history as a static site that needs no server and no network.
#pragma once

#include <filesystem>

#include "baselines/history/history.h"

namespace dlroof::dashboard {

struct DashboardCounts {
  int series = 0, runs = 0, changed = 0;  // [1] series that changed their level
  int slower_last = 0, faster_last = 0;   // [1] changes at the newest moment at which any happened
};

// Writes into `folder`, which is made where there is none: index.html (what changed last, all
// series, two dates side by side), roofline.html (of any date), badge.svg, the scripts that they
// share, and under data/ what they load: series-*.js, times-*.js, run-*.js, machines-*.js. Older
// files of these names go. Throws BadInput: an empty history, a folder that cannot be written, no
// plotly.js in the program.
DashboardCounts WriteDashboard(const history::History& history,
                               const std::filesystem::path& folder);

}  // namespace dlroof::dashboard
