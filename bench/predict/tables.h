// The tables of a `dlroof model` report and the short texts in them, as text and page show them.
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

std::string TileText(const CtaTile& tile);  // "128x64x8", "128x64x8/4" with K in four slices
std::string BoundShares(
    const PredictedGroup& group);  // "compute 92 %, DRAM 8 %" of the time, from 0.5 % on
// "compute -> DRAM (9 calls)": layers that another resource bounds than before; "none".
std::string NewBottlenecks(const PredictedGroup& before, const PredictedGroup& after);
// Figures of a GPU that nobody measured or published.
int Assumptions(const GpuSpec& gpu);
// Figures that are ceilings of the machine itself.
int MeasuredCeilings(const GpuSpec& gpu);

}  // namespace dlroof
