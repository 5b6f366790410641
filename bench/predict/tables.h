// The tables of a `dlroof model` report, as text and page show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/predict/report.h"

namespace dlroof {

struct ModelColumn {
  std::string title;
  std::string_view kind;  // a class of page.css: "name", "number", "bound", "note" or none
};

struct ModelTable {
  std::string title;  // empty: goes on with the table before it
  std::string note;   // above it; may be empty
  std::vector<ModelColumn> columns;
  std::vector<std::vector<std::string>> rows;  // text, a cell per column; empty: unknown
};

// What-if designs, the gain of twice of each resource, and sweeps; those that the report has.
std::vector<ModelTable> DesignTables(const ModelReport& report);
// A group's layers, and those that are not predicted where there are some.
std::vector<ModelTable> GroupTables(const PredictedGroup& group);

}  // namespace dlroof
