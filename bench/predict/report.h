// Output of `dlroof model`: tables, JSON, a figure, an HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/predict/study.h"
#include "counters/delta/prediction.h"

namespace dlroof::predict {

// A what-if design's answer beside the base's, group by group.
struct DesignResult {
  Design design;
  std::vector<PredictedGroup> groups;
};

// One group's sweep.
struct GroupSweep {
  std::string group;
  std::vector<DesignPoint> points;
};

struct ModelReport {
  Design base;
  std::string choice;  // "fwd f32 nchw, batch 256"
  std::vector<PredictedGroup> groups;
  std::optional<record::RunFile> run;    // the run file asked about, with its predictions
  std::vector<DesignResult> designs;     // one per --scale
  std::vector<std::vector<Gain>> gains;  // per group, of the last design (the base without one)
  std::vector<SweepAxis> axes;
  std::vector<GroupSweep> sweeps;
};

std::string Table(const ModelReport& report);
// Unknown is absent. "model", "gpu" (figures with sources), "groups", "designs", "next", "sweep".
// For a run file it adds the members of one, so that `compare` can read it.
nlohmann::json ToJson(const ModelReport& report);

// gnuplot's picture of the designs (bars per group) or of a sweep (a line per group or per value of
// the second resource). Throws BadInput when there is neither, or gnuplot is missing.
std::string ModelFigure(const ModelReport& report, const std::string& extension);

// One file without scripts, for light and dark screens, phones and paper: the figure where there
// are designs or a sweep and gnuplot is installed, then every table, then the GPU's figures with
// their sources.
std::string ModelPage(const ModelReport& report);

std::string Table(const std::vector<delta::LevelStudy>& studies);
nlohmann::json ToJson(const std::vector<delta::LevelStudy>& studies);

// The tables of a report and the short texts in them, as text and page show them (tables.cpp).
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

// Figures of a GPU that nobody measured or published.
int Assumptions(const delta::GpuSpec& gpu);
// Figures that are ceilings of the machine itself.
int MeasuredCeilings(const delta::GpuSpec& gpu);

}  // namespace dlroof::predict
