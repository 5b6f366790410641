// Writes a history as a static web site that works without a server or network access.
#pragma once

#include <filesystem>

#include "baselines/history/history.h"

namespace dlroof::history {

struct DashboardCounts {
  int series = 0, runs = 0, changed = 0;  // [1] `changed`: series with at least one change of level
  int slower_last = 0, faster_last = 0;  // [1] series that changed on the newest date with a change
};

// Writes into `folder` (created if missing): index.html (recent changes, all series, comparison of
// two dates), roofline.html (the roofline of a chosen date), badge.svg, the shared scripts, and the
// data they load from data/: series-*.js, times-*.js, run-*.js, machines-*.js. Deletes existing
// files with these names. Throws BadInput for an empty history, an unwritable folder, and a build
// without plotly.js.
DashboardCounts WriteDashboard(const history::History& history,
                               const std::filesystem::path& folder);

}  // namespace dlroof::history
