// The page of a run, and the JSON that its scripts draw from.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ceilings/machine/machine.h"
#include "reporters/figure/page.h"
#include "tests/fakes/placed_files.h"

namespace dlroof::fakes {

#define NEED_PLOTLY() \
  if (!PlotlyScript()) GTEST_SKIP() << "built without plotly.js"

inline std::string Page(const roofline::PlacedRun& run) {
  std::ostringstream out;
  figure::WritePage(run, out);
  return out.str();
}

inline std::string Page(const nlohmann::json& content) {
  std::ostringstream out;
  figure::WritePage(content, out);
  return out.str();
}

inline std::string Content(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="content">)";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("</script>", start) - start);
}

}  // namespace dlroof::fakes
