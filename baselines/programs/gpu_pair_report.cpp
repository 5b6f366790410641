#include "baselines/programs/gpu_pair_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "baselines/programs/gpu_pair.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

using document::Cell;
using document::Document;
using document::Table;

constexpr std::size_t kMostChanges = 4;  // in a sentence
constexpr double kLeastChange = 0.05;    // [1] of the largest change; smaller ones are not named

// Differences below a picosecond are rounding of sums.
std::string Change(double seconds) {
  if (std::abs(seconds) < 1e-12) return "+0 s";
  return fmt::format("{}{}", seconds < 0 ? "-" : "+", TimeText(std::abs(seconds)));
}
// A part of a time in both programs. The parts of a table add up to its last row.
struct Part {
  std::string label;
  double a_number = 0, b_number = 0;    // [1]; 0: no number is shown
  double a_seconds = 0, b_seconds = 0;  // [s]
};

Table::Row PartRow(const Part& part, const std::string& a_share, const std::string& b_share) {
  const auto number = [](double value) { return Cell{value > 0 ? LaunchesText(value) : ""}; };
  return {{part.label},
          number(part.a_number),
          {TimeText(part.a_seconds)},
          {a_share},
          number(part.b_number),
          {TimeText(part.b_seconds)},
          {b_share},
          {RatioText(part.a_seconds, part.b_seconds)},
          {Change(part.b_seconds - part.a_seconds)}};
}

// Returns a table whose shares add up to 100.0 % of `whole`, the last row.
Table PartsTable(const std::string& title, const char* number, std::vector<Part> parts,
                 const Part& whole) {
  std::erase_if(parts, [](const Part& one) { return one.a_seconds <= 0 && one.b_seconds <= 0; });
  Table table{.columns = {title, fmt::format("A {}", number), "A time", "A share",
                          fmt::format("B {}", number), "B time", "B share", "B/A", "B - A"}};
  std::vector<double> a, b;
  for (const auto& part : parts) {
    a.push_back(part.a_seconds);
    b.push_back(part.b_seconds);
  }
  const auto a_tenths = document::Tenths(a), b_tenths = document::Tenths(b);
  for (std::size_t i = 0; i < parts.size(); ++i)
    table.rows.push_back(
        PartRow(parts[i], document::TenthsText(a_tenths[i]), document::TenthsText(b_tenths[i])));
  const auto all = [](double seconds) { return seconds > 0 ? document::TenthsText(1000) : ""; };
  if (!parts.empty())
    table.last.push_back(PartRow(whole, all(whole.a_seconds), all(whole.b_seconds)));
  return table;
}

std::string WhatTimesAre(PairedTimes times) {
  return times == PairedTimes::kSteps ? "a step" : "the whole traces";
}

std::string ProgramText(const char* name, const ComparedGpuProgram& one) {
  const auto& timeline = one.program.timelines.front();
  const auto& steps = timeline.steps;
  auto text = fmt::format("{}: {}", name, one.where);
  if (!one.program.command.empty()) text += fmt::format(", `{}`", one.program.command);
  if (!timeline.device_name.empty()) text += ", " + timeline.device_name;
  if (steps.count > 0)
    text += fmt::format(", {} steps of {:.0f} launches, median {} (middle half {} to {})",
                        steps.count, steps.launches, TimeText(steps.median_seconds),
                        TimeText(steps.lower_seconds), TimeText(steps.upper_seconds));
  else
    text +=
        fmt::format(", {:.0f} launches in {}", timeline.launches, TimeText(timeline.wall_seconds));
  return text;
}

// Returns what makes the difference of the whole, the largest part first.
std::string ChangesText(const GpuPairReport& report) {
  const auto& pair = report.pair;
  const bool durations = pair.times == PairedTimes::kDurations;
  const double a = durations ? pair.a.kernels.seconds : pair.a.wall_seconds;
  const double b = durations ? pair.b.kernels.seconds : pair.b.wall_seconds;
  std::string what = durations                           ? "kernels of B take"
                     : pair.times == PairedTimes::kSteps ? "a step of B takes"
                                                         : "B takes";
  auto text =
      a > 0 ? fmt::format("{} {} times A's, {}", what, text::FixedText(b / a, 2), Change(b - a))
            : fmt::format("{} {}", what, TimeText(b));
  const auto changes = ChangesOf(pair);
  std::vector<std::string> named;
  for (const auto& one : changes)
    if (named.size() < kMostChanges && std::abs(one.Seconds()) >= 1e-12 &&
        std::abs(one.Seconds()) >= kLeastChange * std::abs(changes.front().Seconds()))
      named.push_back(fmt::format("{} {}", one.what, Change(one.Seconds())));
  return named.empty() ? text : fmt::format("{}: {}", text, fmt::join(named, ", "));
}

// Adds the sentence on the order of the two steps if the middle halves of their times allow both.
void AddOrder(const GpuPairReport& report, Document& document) {
  if (report.pair.times != PairedTimes::kSteps) return;
  const auto &a = report.a.program.timelines.front().steps,
             &b = report.b.program.timelines.front().steps;
  if (a.lower_seconds <= b.upper_seconds && b.lower_seconds <= a.upper_seconds)
    document.Say("the middle halves of the steps' times overlap: which is faster is not clear");
}

void AddHead(const GpuPairReport& report, Document& document) {
  const auto& pair = report.pair;
  document.Say(ProgramText("A", report.a));
  document.Say(ProgramText("B", report.b));
  if (!pair.differences.empty())
    document.Say(fmt::format("A | B differ: {}", fmt::join(pair.differences, "; ")));
  for (const auto& remark : pair.remarks) document.Say(remark);
  document.Say(ChangesText(report));
  AddOrder(report, document);
}

void AddNotes(const char* name, const GpuTimes& times, Table& table) {
  if (times.overlap_seconds > 1e-3 * times.wall_seconds)
    table.notes.push_back(fmt::format("{}: {} of kernels run at the same time as others", name,
                                      TimeText(times.overlap_seconds)));
  if (times.hidden_copy_seconds > 1e-3 * times.wall_seconds)
    table.notes.push_back(fmt::format("{}: {} of copies run while kernels run", name,
                                      TimeText(times.hidden_copy_seconds)));
}

// Adds how the wall time of both is spent, if that of both is known.
void AddWall(const GpuPair& pair, Document& document) {
  const auto &a = pair.a, &b = pair.b;
  if (!a.times || !b.times) return;
  auto table = PartsTable(
      WhatTimesAre(pair.times), "launches",
      {{"kernels", a.kernels.launches, b.kernels.launches, a.times->kernel_seconds,
        b.times->kernel_seconds},
       {"copies, no kernel runs", 0, 0, a.times->copy_seconds, b.times->copy_seconds},
       {"fills of memory, nothing else runs", 0, 0, a.times->fill_seconds, b.times->fill_seconds},
       {"idle", 0, 0, a.times->idle_seconds, b.times->idle_seconds}},
      {"wall time", 0, 0, a.wall_seconds, b.wall_seconds});
  AddNotes("A", *a.times, table);
  AddNotes("B", *b.times, table);
  document.Add(std::move(table));
}

Part AllKernels(const GpuPair& pair) {
  const auto &a = pair.a.kernels, &b = pair.b.kernels;
  return {"all kernels", a.launches, b.launches, a.seconds, b.seconds};
}

void AddKinds(const GpuPair& pair, Document& document) {
  if (pair.kinds.empty()) return;
  std::vector<Part> parts;
  for (const auto& row : pair.kinds)
    parts.push_back(
        {std::string(Key(row.kind)), row.a.launches, row.b.launches, row.a.seconds, row.b.seconds});
  auto table = PartsTable("kinds of kernels", "launches", std::move(parts), AllKernels(pair));
  table.notes.emplace_back(
      "by the words of their names; product: matrix products, convolutions, attention; layout: "
      "copies, conversions, transpositions");
  document.Add(std::move(table));
}

// Adds the kernels' time by their roofs, if kernels of one program were counted.
void AddRoofs(const GpuPair& pair, Document& document) {
  const auto &a = pair.a.roofs, &b = pair.b.roofs;
  const auto counted = [](const RoofTimes& one) {
    return one.roof_seconds + one.above_seconds + one.zero_flop_seconds > 0;
  };
  if (!counted(a) && !counted(b)) return;
  document.Add(
      PartsTable("kernels by their roofs", "launches",
                 {{a.at_most || b.at_most ? "needed by the roofs at most" : "needed by the roofs",
                   0, 0, a.roof_seconds, b.roof_seconds},
                  {"above the roofs", 0, 0, a.above_seconds, b.above_seconds},
                  {"without FLOPs", a.zero_flop_launches, b.zero_flop_launches, a.zero_flop_seconds,
                   b.zero_flop_seconds},
                  {"not counted", 0, 0, a.uncounted_seconds, b.uncounted_seconds}},
                 AllKernels(pair)));
}

void AddCopies(const GpuPair& pair, Document& document) {
  Table table{.columns = {"copies", "A number", "A bytes", "A time", "B number", "B bytes",
                          "B time", "B/A"}};
  std::map<std::string_view, std::pair<GpuCopies, GpuCopies>> kinds;
  for (const auto& one : pair.a.copies) kinds[one.kind].first = one;
  for (const auto& one : pair.b.copies) kinds[one.kind].second = one;
  for (const auto& [kind, both] : kinds) {
    Table::Row row = {{std::string(kind)}};
    for (const auto* one : {&both.first, &both.second}) {
      const bool some = one->copies > 0;
      row.push_back({some ? LaunchesText(one->copies) : ""});
      row.push_back({some ? text::WithPrefix(one->bytes, "B") : ""});
      row.push_back({some ? TimeText(one->seconds) : ""});
    }
    row.push_back({RatioText(both.first.seconds, both.second.seconds)});
    table.rows.push_back(std::move(row));
  }
  document.Add(std::move(table));
}

}  // namespace

Document GpuPairDocument(const GpuPairReport& report, bool all) {
  Document document;
  const auto& pair = report.pair;
  AddHead(report, document);
  AddWall(pair, document);
  AddKinds(pair, document);
  AddRoofs(pair, document);
  AddKernelTables(pair, all, document);
  AddCopies(pair, document);
  return document;
}

}  // namespace dlroof::programs
