// Tables of ceilings and of trajectories.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/document/tables.h"
#include "reporters/record/record.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::document {
namespace {

enum Column {
  kName,
  kRate,
  kSustained,
  kClock,
  kPerCycle,
  kSpread,
  kScaling,
  kVisits,
  kReason,
  kColumns
};

std::string PerCycleText(const machine::Validation& validation) {
  if (validation.per_cycle.value_or(0) <= 0) return "";
  auto text = text::ThreeDigits(*validation.per_cycle);
  if (validation.per_cycle_expected.value_or(0) > 0)
    text += fmt::format(" of {:.4g}", *validation.per_cycle_expected);
  return text;
}

constexpr std::string_view kFlops = "FLOP/s", kBytes = "B/s";

Table::Row CeilingRow(const std::string& name, const machine::Ceiling& ceiling,
                      std::string_view unit) {
  Table::Row row(kColumns);
  const machine::Validation& validation = ceiling.validation;
  row[kName] = name;
  row[kRate] = text::WithPrefix(ceiling.per_second, unit);
  if (ceiling.sustained_per_second)
    row[kSustained] = text::WithPrefix(*ceiling.sustained_per_second, unit);
  if (ceiling.sustained_per_second && ceiling.sustained_clock_hz)
    row[kSustained].text += " at " + text::WithPrefix(*ceiling.sustained_clock_hz, "Hz");
  if (ceiling.clock_hz) row[kClock] = text::WithPrefix(*ceiling.clock_hz, "Hz");
  row[kPerCycle] = PerCycleText(validation);
  if (validation.spread) row[kSpread] = text::PercentText(*validation.spread);
  if (validation.scaling) row[kScaling] = fmt::format("{:.2f}", *validation.scaling);
  if (ceiling.visits.size() > 1) {
    const auto agreement = machine::AgreementOf(
        ceiling, unit == kFlops ? machine::kArithmeticAgreement : machine::kMemoryAgreement);
    row[kVisits] = fmt::format("{} of {}", agreement.agreeing, agreement.visits);
  }
  if (ceiling.IsSpecified()) {
    row[kReason] = "specified, not measured here" + (ceiling.how.empty() ? "" : ": " + ceiling.how);
  } else if (!ceiling.IsValidated()) {
    const auto reason = ceiling.ReasonText();
    row[kReason] = reason.empty() ? "no reason stored" : reason;
  }
  return row;
}

std::string PlainPipe(const std::string& key) {
  const auto unit = key.find('.');
  return unit == std::string::npos ? key : key.substr(0, key.find('.', unit + 1));
}

// Adds a row per pipe, e.g. "fp32.vector", the fastest pipe first. With `variants`, rows of the
// pipe's instruction sets follow, indented and without the pipe's name, e.g. "avx2". If a pipe has
// no row of its own, always adds the rows of its instruction sets, with full names.
void AddPipes(const std::map<std::string, machine::Ceiling>& flops, bool variants,
              std::vector<Table::Row>& rows) {
  struct Pipe {
    double plain_rate, rate;
    std::string plain, key;
  };
  std::vector<Pipe> pipes;
  for (const auto& [key, ceiling] : flops) {
    const auto plain = flops.find(PlainPipe(key));
    if (!variants && plain != flops.end() && plain->first != key) continue;
    const auto& top = plain == flops.end() ? *flops.find(key) : *plain;
    pipes.push_back({top.second.per_second, ceiling.per_second, top.first, key});
  }
  std::ranges::sort(pipes, {}, [](const Pipe& pipe) {
    return std::tuple(-pipe.plain_rate, pipe.plain, pipe.key != pipe.plain, -pipe.rate, pipe.key);
  });
  for (const auto& pipe : pipes) {
    const auto name = pipe.key == pipe.plain ? fmt::format("  {}", pipe.key)
                                             : "    " + pipe.key.substr(pipe.plain.size() + 1);
    rows.push_back(CeilingRow(name, flops.at(pipe.key), kFlops));
  }
}

void AddLevels(const std::map<Level, machine::Ceiling>& bytes, std::vector<Table::Row>& rows) {
  for (const auto& [level, ceiling] : bytes) {
    const auto& mix = ceiling.mix;
    const auto name =
        fmt::format("  {:<4}{}{}", roofline::LevelName(Key(level)), mix.empty() ? "" : " ", mix);
    rows.push_back(CeilingRow(name, ceiling, kBytes));
  }
}

void AddOverheads(const machine::CeilingSet& set, std::vector<Table::Row>& rows) {
  const auto add = [&](const std::string& name, double seconds) {
    auto& row = rows.emplace_back(kColumns);
    row[kName] = "  " + name;
    row[kRate] = text::WithPrefix(seconds, "s");
  };
  if (set.launch_seconds) add("launch", *set.launch_seconds);
  for (const auto& [name, seconds] : set.overheads) add(name, seconds);
}

void AddRemarks(const machine::CeilingSet& set, std::vector<std::string>& notes) {
  const auto add = [&](const std::string& key, const std::string& text, std::string_view prefix) {
    if (!key.empty() && !text.empty())
      notes.push_back(fmt::format("{}: {}{}", roofline::LevelName(key), prefix, text));
  };
  for (const auto& [key, edge] : set.edges) add(key, edge.text, "");
  for (const auto& [key, text] : set.absent) add(key, text, "not measured: ");
}

Table TableOf(const machine::Machine& machine, int threads, const machine::CeilingSet& set,
              bool all) {
  // A GPU has one set of ceilings, stored under one thread.
  const auto team = machine.device == "gpu"
                        ? std::string()
                        : fmt::format(" with {} thread{}", threads, threads == 1 ? "" : "s");
  Table table{.title = fmt::format("ceilings of {}{}", machine.name, team),
              .columns = {"", "rate", "sustained", "clock", "per cycle", "spread", "scaling",
                          "visits", "not validated"},
              .droppable = {kVisits, kClock, kScaling, kSpread, kSustained, kPerCycle},
              .last_is_sentence = true};
  AddPipes(set.flops, all, table.rows);
  AddLevels(set.bytes, table.rows);
  AddOverheads(set, table.rows);
  table.DropEmptyColumns();
  if (all) AddRemarks(set, table.notes);
  return table;
}

using Row = Table::Row;

bool AlongThreads(const roofline::Trajectory& trajectory) {
  return trajectory.along == roofline::kAlongThreads;
}

std::vector<std::string> Head(const roofline::Trajectory& trajectory) {
  std::vector<std::string> row = {AlongThreads(trajectory) ? "threads" : trajectory.along};
  if (!AlongThreads(trajectory)) row.emplace_back("threads");
  row.insert(row.end(), {"time", "FLOP/s"});
  row.push_back(trajectory.level ? "FLOP/byte " + roofline::LevelName(Key(*trajectory.level))
                                 : "FLOP/byte");
  row.insert(row.end(), {"% roof", AlongThreads(trajectory) ? "speedup" : "FLOP/s ratio"});
  if (AlongThreads(trajectory)) row.emplace_back("log2 efficiency");
  row.emplace_back("largest cause [points]");
  return row;
}

// Returns the cells about the step to this point; they are empty for the first point.
Row StepCells(const roofline::Trajectory& trajectory, std::size_t index, std::string_view mark) {
  Row cells(AlongThreads(trajectory) ? 3 : 2);
  if (index == 0 || trajectory.steps.empty()) return cells;
  const auto& step = trajectory.steps[index - 1];
  cells.front() = fmt::format("{}{}x", mark, text::ThreeDigits(step.rate_ratio));
  if (step.efficiency) cells[1] = fmt::format("{}{}", mark, text::PercentText(*step.efficiency));
  cells.back() = roofline::StepText(step);
  return cells;
}

Row PointRow(const roofline::Trajectory& trajectory, std::size_t index) {
  const auto& point = trajectory.points[index];
  const auto mark = roofline::MarkOf(point.noisy);
  Row row = {fmt::format("{:g}", point.value)};
  if (!AlongThreads(trajectory)) row.emplace_back(std::to_string(point.threads));
  row.insert(row.end(),
             {fmt::format("{}{}", mark, text::WithPrefix(point.seconds, "s")),
              point.flops_per_second ? text::WithPrefix(*point.flops_per_second, "FLOP/s") : "",
              point.intensity ? text::ThreeDigits(*point.intensity) : "",
              RoofShareText(point.share, point.noisy) + (point.specified ? " (specified)" : "")});
  const bool estimate = point.noisy || (index > 0 && trajectory.points[index - 1].noisy);
  for (auto& cell : StepCells(trajectory, index, roofline::MarkOf(estimate)))
    row.push_back(std::move(cell));
  return row;
}

}  // namespace

Document CeilingsDocument(const std::vector<machine::Machine>& machines, bool all) {
  Document document;
  for (const auto& machine : machines) {
    for (auto set = machine.by_threads.rbegin(); set != machine.by_threads.rend(); ++set) {
      document.Add(TableOf(machine, set->first, set->second, all));
      if (!all) break;
    }
    const auto check = machine.facts.find("live_check");
    if (all && check != machine.facts.end() && !check->second.empty())
      document.Say("checked before the run: " + check->second);
  }
  return document;
}

Document TrajectoriesDocument(const std::vector<roofline::Trajectory>& trajectories) {
  Document document;
  bool noisy = false;
  for (const auto& trajectory : trajectories) {
    Table table{.title = trajectory.name,
                .columns = Head(trajectory),
                .notes = {roofline::DiagnosisText(trajectory)}};
    for (std::size_t i = 0; i < trajectory.points.size(); ++i) {
      table.rows.push_back(PointRow(trajectory, i));
      noisy = noisy || trajectory.points[i].noisy;
    }
    document.Add(std::move(table));
  }
  if (noisy) document.Say(std::string(record::kEstimateMeaning));
  return document;
}

}  // namespace dlroof::document
