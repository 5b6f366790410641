// Two clusters side by side as text for people and for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "baselines/versus/versus.h"
#include "baselines/versus/versus_models.h"

namespace dlroof::cluster {

// Two clusters and what they have in common. The clusters must outlive it.
struct VersusReport {
  const VersusCluster* a = nullptr;
  const VersusCluster* b = nullptr;
  Versus versus;
  std::vector<VersusModel> models;
};

// Tables as wide as the terminal (`width` [columns], 0: no limit), then what they rest on.
void WriteVersusTable(const VersusReport& report, int width, std::ostream& out);
void WriteVersusMarkdown(const VersusReport& report, std::ostream& out);
// A line for each row with every digit; an unknown cell is empty.
void WriteVersusCsv(const VersusReport& report, std::ostream& out);
// A page of its own, without scripts. `figure` is an SVG, or empty; `no_figure` says why then.
void WriteVersusPage(const VersusReport& report, const std::string& figure,
                     const std::string& no_figure, std::ostream& out);
// "a", "b", "rows", "models"; an unknown quantity has no key.
nlohmann::json VersusJson(const VersusReport& report);

}  // namespace dlroof::cluster
