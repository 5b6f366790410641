// The page of a run file, and the JSON that its scripts draw from.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ceilings/machine/machine.h"
#include "reporters/page/assets.h"
#include "reporters/page/page.h"

namespace dlroof {

// Ceilings with proofs, mixes, curves and overheads; see ceilings_table_test.cpp.
inline nlohmann::json CeilingsRun() {
  auto run = nlohmann::json::parse(std::ifstream(DLROOF_TEST_DATA "/run_ceilings.json"));
  for (auto& machine : run["machines"]) machine = ToJson(MachineFromJson(machine, "run"));
  return run;
}

inline nlohmann::json SmallRun() {
  return nlohmann::json::parse(std::ifstream(DLROOF_TEST_DATA "/run_small.json"));
}

#define NEED_PLOTLY() \
  if (PlotlyScript().text.empty()) GTEST_SKIP() << "built without plotly.js"

inline std::string Page(const nlohmann::json& run_file, const nlohmann::json* before = nullptr) {
  std::ostringstream out;
  WritePage(run_file, out, before);
  return out.str();
}

inline std::string Content(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="content">)";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("</script>", start) - start);
}

}  // namespace dlroof
