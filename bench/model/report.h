// Output of `dlroof model`: tables, JSON, a figure, and an HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/model/study.h"
#include "counters/delta/prediction.h"

namespace dlroof::model {

// The predictions for one what-if design, in the order of ModelReport::groups.
struct DesignResult {
  Design design;
  std::vector<PredictedGroup> groups;
};

// The sweep of one group.
struct GroupSweep {
  std::string group;
  std::vector<DesignPoint> points;
};

struct ModelReport {
  Design base;
  std::string choice;  // "fwd f32 nchw, batch 256"
  std::vector<PredictedGroup> groups;
  std::optional<record::RunFile> run;    // the run file with its predictions, if it is the input
  std::vector<DesignResult> designs;     // one per --scale
  std::vector<std::vector<Gain>> gains;  // per group, for the last design or else the base
  std::vector<SweepAxis> axes;
  std::vector<GroupSweep> sweeps;
};

std::string Table(const ModelReport& report);
// Returns "model", "gpu" (the GPU's parameters with their sources), "groups", "designs", "next" and
// "sweep", without members for unknown values. For a run file it also has the run file's members,
// so that `dlroof compare` can read it.
nlohmann::json ToJson(const ModelReport& report);

// Draws the designs (bars per group) or a sweep (a line per group or per value of the second
// resource) with gnuplot. Throws BadInput if the report has neither, or if gnuplot is missing.
std::string ModelFigure(const ModelReport& report, const std::string& extension);

// Returns a page without scripts, for light and dark screens, phones and paper: the figure of
// designs or of a sweep if gnuplot is installed, then every table, then the GPU's parameters with
// their sources.
std::string ModelPage(const ModelReport& report);

// A column of a table that both the text output and the page show.
struct ModelColumn {
  std::string title;
  std::string_view kind;  // CSS class in page.css: "name", "number", "bound", "note" or ""
};

struct ModelTable {
  std::string title;  // shown above the table, or ""
  std::string note;   // shown above the table; may be empty
  std::vector<ModelColumn> columns;
  std::vector<std::vector<std::string>> rows;  // a text per column; "" if unknown
};

// Returns tables of what-if designs, of the gains from doubling each resource, and of sweeps.
std::vector<ModelTable> DesignTables(const ModelReport& report);
// Returns a table of a group's layers, and one of the layers without a prediction if there are any.
std::vector<ModelTable> GroupTables(const PredictedGroup& group);

// Returns the number of a GPU's parameters that are assumed, neither measured nor published.
int Assumptions(const delta::GpuSpec& gpu);
// Returns the number of a GPU's parameters that are ceilings measured on the machine.
int MeasuredCeilings(const delta::GpuSpec& gpu);

}  // namespace dlroof::model
