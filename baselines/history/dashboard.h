// Writes a history as a static web site, which needs no server and no network.
#pragma once

#include <filesystem>

#include "baselines/history/history.h"

namespace dlroof::history {

struct DashboardCounts {
  int series = 0, runs = 0, changed = 0;  // [1] `changed`: series whose level changed
  int slower_last = 0, faster_last = 0;   // [1] series that changed on the newest date with changes
};

// Writes into `folder`, which is created if missing: index.html (last changes, all series, two
// dates side by side), roofline.html (of any date), badge.svg, the shared scripts, and the data
// that they load, under data/: series-*.js, times-*.js, run-*.js, machines-*.js. Deletes older
// files with these names. Throws BadInput for an empty history, a folder that cannot be written,
// and if dlroof was built without plotly.js.
DashboardCounts WriteDashboard(const history::History& history,
                               const std::filesystem::path& folder);

}  // namespace dlroof::history
