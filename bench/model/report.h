// Output of `dlroof model`: a document, JSON, a figure, and a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/model/study.h"
#include "reporters/document/document.h"

namespace dlroof::model {

// The predictions for one what-if design; groups in the order of ModelReport::groups.
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
  std::optional<record::RunFile> run;    // the run file with predictions added, if it is the input
  std::vector<DesignResult> designs;     // one per flag --scale
  std::vector<std::vector<Gain>> gains;  // per group, for the last design or the base
  std::vector<SweepAxis> axes;
  std::vector<GroupSweep> sweeps;
};

// Returns tables of each group's layers, of what-if designs, of the gains from doubling each
// resource, and of sweeps.
document::Document DocumentOf(const ModelReport& report);
// Returns members "model", "gpu" (parameters with their sources), "groups", "designs", "next" and
// "sweep"; unknown values are omitted. For a run file also the run file's members, so that `dlroof
// compare` can read it.
nlohmann::json ToJson(const ModelReport& report);

// Draws the designs (bars per group), or a sweep (a line per group or per value of the second
// resource), with gnuplot. Throws BadInput if the report has neither, or gnuplot is missing.
std::string ModelFigure(const ModelReport& report, const std::string& extension);

// Returns the gnuplot script of ModelFigure.
std::string FigureScript(const ModelReport& report, const std::string& extension);

// Returns a page without scripts: the figure (if gnuplot is installed), the document, and the GPU's
// parameters with their sources.
std::string ModelPage(const ModelReport& report);

}  // namespace dlroof::model
