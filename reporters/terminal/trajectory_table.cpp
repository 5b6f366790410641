#include "reporters/terminal/trajectory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"
#include "reporters/trajectory/diagnosis.h"

namespace dlroof::terminal {
namespace {

using Row = std::vector<std::string>;

bool AlongThreads(const trajectory::Trajectory& trajectory) { return trajectory.along == trajectory::kAlongThreads; }

Row Head(const trajectory::Trajectory& trajectory) {
  Row row = {AlongThreads(trajectory) ? "threads" : text::Printable(trajectory.along)};
  if (!AlongThreads(trajectory)) row.emplace_back("threads");
  row.insert(row.end(), {"time", "FLOP/s"});
  row.push_back(trajectory.level ? "FLOP/byte " + roofline::LevelName(Key(*trajectory.level)) : "FLOP/byte");
  row.insert(row.end(), {"% roof", AlongThreads(trajectory) ? "speed" : "FLOP/s ratio"});
  if (AlongThreads(trajectory)) row.emplace_back("log2 efficiency");
  row.emplace_back("largest cause [points]");
  return row;
}

// The step's cells; empty ones for the first point.
Row StepCells(const trajectory::Trajectory& trajectory, std::size_t index, std::string_view mark) {
  Row cells(AlongThreads(trajectory) ? 3 : 2);
  if (index == 0 || trajectory.steps.empty()) return cells;
  const auto& step = trajectory.steps[index - 1];
  cells.front() = fmt::format("{}{}x", mark, text::ThreeDigits(step.rate_ratio));
  if (step.efficiency) cells[1] = fmt::format("{}{:.0f} %", mark, 100 * *step.efficiency);
  cells.back() = trajectory::StepText(step);
  return cells;
}

Row PointRow(const trajectory::Trajectory& trajectory, std::size_t index) {
  const auto& point = trajectory.points[index];
  const auto mark = roofline::MarkOf(point.disturbed);
  Row row = {fmt::format("{:g}", point.value)};
  if (!AlongThreads(trajectory)) row.push_back(std::to_string(point.threads));
  row.push_back(fmt::format("{}{}", mark, text::WithPrefix(point.seconds, "s")));
  row.push_back(point.flops_per_second ? text::WithPrefix(*point.flops_per_second, "FLOP/s") : "");
  row.push_back(point.intensity ? text::ThreeDigits(*point.intensity) : "");
  row.push_back(point.fraction ? fmt::format("{}{:.1f}{}", mark, 100 * *point.fraction,
                                             point.given ? " (given)" : "")
                               : "");
  const bool estimate = point.disturbed || (index > 0 && trajectory.points[index - 1].disturbed);
  for (auto& cell : StepCells(trajectory, index, roofline::MarkOf(estimate))) row.push_back(std::move(cell));
  return row;
}

}  // namespace

void WriteTrajectories(const std::vector<trajectory::Trajectory>& trajectories, std::ostream& out) {
  bool disturbed = false;
  for (const auto& trajectory : trajectories) {
    out << text::Printable(trajectory.name) << '\n';
    std::vector<Row> rows = {Head(trajectory)};
    for (std::size_t i = 0; i < trajectory.points.size(); ++i) {
      rows.push_back(PointRow(trajectory, i));
      disturbed = disturbed || trajectory.points[i].disturbed;
    }
    text::WriteAligned(rows, 0, out);
    out << "  " << text::Printable(trajectory::Diagnose(trajectory).sentence) << "\n\n";
  }
  if (disturbed) out << roofline::kDisturbedMeaning << '\n';
}

}  // namespace dlroof::terminal
