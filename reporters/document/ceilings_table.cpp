// Tables of ceilings and of trajectories.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ceilings/machine/visits.h"
#include "reporters/document/tables.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/diagnosis.h"
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
constexpr std::array<const char*, kColumns> kTitles = {
    "", "rate", "sustained", "clock", "per cycle", "spread", "scaling", "visits", "not validated"};
// Columns to leave out in a narrow terminal, the first one first.
constexpr Column kDropped[] = {kVisits, kClock, kScaling, kSpread, kSustained, kPerCycle};
constexpr int kMinReason = 24;  // [columns] reasons are not shortened below this width
constexpr int kSeparation = 2;  // [columns] between two cells

using CeilingRow = std::array<std::string, kColumns>;
using Rows = std::vector<CeilingRow>;

std::string PerCycleText(const machine::Validation& validation) {
  if (validation.per_cycle.value_or(0) <= 0) return "";
  auto text = text::ThreeDigits(*validation.per_cycle);
  if (validation.per_cycle_expected.value_or(0) > 0)
    text += fmt::format(" of {:.4g}", *validation.per_cycle_expected);
  return text;
}

constexpr std::string_view kFlops = "FLOP/s", kBytes = "B/s";

CeilingRow CeilingCells(const std::string& name, const machine::Ceiling& ceiling,
                        std::string_view unit) {
  CeilingRow row;
  const machine::Validation& validation = ceiling.validation;
  row[kName] = text::Printable(name);
  row[kRate] = text::WithPrefix(ceiling.per_second, unit);
  if (ceiling.sustained_per_second)
    row[kSustained] = text::WithPrefix(*ceiling.sustained_per_second, unit);
  if (ceiling.sustained_per_second && ceiling.sustained_clock_hz)
    row[kSustained] += " at " + text::WithPrefix(*ceiling.sustained_clock_hz, "Hz");
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
    row[kReason] = "specified, not measured here" +
                   (ceiling.how.empty() ? "" : ": " + text::Printable(ceiling.how));
  } else if (!ceiling.IsValidated()) {
    row[kReason] = text::Printable(ceiling.ReasonText());
    if (row[kReason].empty()) row[kReason] = "no reason stored";
  }
  return row;
}

std::string PlainPipe(const std::string& key) {
  const auto unit = key.find('.');
  return unit == std::string::npos ? key : key.substr(0, key.find('.', unit + 1));
}

// Adds pipes, highest first, each followed by its rows by instruction set ("  avx2"). Such a row
// has its full name if the plain row is missing.
void AddPipes(const std::map<std::string, machine::Ceiling>& flops, Rows& rows) {
  struct Pipe {
    double plain_rate, rate;
    std::string plain, key;
  };
  std::vector<Pipe> pipes;
  for (const auto& [key, ceiling] : flops) {
    const auto plain = flops.find(PlainPipe(key));
    const auto& top = plain == flops.end() ? *flops.find(key) : *plain;
    pipes.push_back({top.second.per_second, ceiling.per_second, top.first, key});
  }
  std::sort(pipes.begin(), pipes.end(), [](const Pipe& a, const Pipe& b) {
    const auto order = [](const Pipe& pipe) {
      return std::tuple(-pipe.plain_rate, pipe.plain, pipe.key != pipe.plain, -pipe.rate, pipe.key);
    };
    return order(a) < order(b);
  });
  for (const auto& pipe : pipes) {
    const auto name = pipe.key == pipe.plain ? fmt::format("  {}", pipe.key)
                                             : "    " + pipe.key.substr(pipe.plain.size() + 1);
    rows.push_back(CeilingCells(name, flops.at(pipe.key), kFlops));
  }
}

void AddLevels(const std::map<Level, machine::Ceiling>& bytes, Rows& rows) {
  for (const auto& [level, ceiling] : bytes) {
    const auto& mix = ceiling.mix;
    const auto name =
        fmt::format("  {:<4}{}{}", roofline::LevelName(Key(level)), mix.empty() ? "" : " ", mix);
    rows.push_back(CeilingCells(name, ceiling, kBytes));
  }
}

void AddOverheads(const machine::CeilingSet& set, Rows& rows) {
  const auto add = [&](const std::string& name, double seconds) {
    rows.emplace_back();
    rows.back()[kName] = "  " + text::Printable(name);
    rows.back()[kRate] = text::WithPrefix(seconds, "s");
  };
  if (set.launch_seconds) add("launch", *set.launch_seconds);
  for (const auto& [name, seconds] : set.overheads) add(name, seconds);
}

// Returns the width of each column; a column with width 0 is left out, because no row has it or
// because the terminal is too narrow.
std::array<int, kColumns> Widths(const Rows& rows, int width) {
  std::array<int, kColumns> widths = {};
  for (const CeilingRow& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i)
      widths[i] = std::max(widths[i], text::TextWidth(row[i]));
  for (std::size_t i = 0; i < kColumns; ++i)
    if (widths[i] > 0) widths[i] = std::max(widths[i], text::TextWidth(kTitles[i]));
  if (width <= 0) return widths;
  const auto available = [&] {
    int left = width;
    for (std::size_t i = 0; i < kReason; ++i)
      if (widths[i] > 0) left -= widths[i] + (i == kName ? 0 : kSeparation);
    return left - kSeparation;
  };
  for (const Column column : kDropped)
    if (available() < std::min(widths[kReason], kMinReason)) widths[column] = 0;
  widths[kReason] = std::min(widths[kReason], std::max(available(), kMinReason));
  return widths;
}

// Returns at most `width` columns; "…" replaces the end, since the start of a reason says most.
std::string ShortenEnd(const std::string& text, int width) {
  std::string start;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && text::TextWidth(start) == width - 1 && text::TextWidth(text) > width)
      return start + "…";
    start += c;
  }
  return start;
}

void WriteRows(Rows rows, int width, std::ostream& out) {
  const auto widths = Widths(rows, width);
  rows.emplace(rows.begin());
  std::copy(kTitles.begin(), kTitles.end(), rows.front().begin());
  std::vector<std::vector<std::string>> shown;
  for (CeilingRow& row : rows) {
    auto& reason = row[kReason] = ShortenEnd(row[kReason], widths[kReason]);
    // Trailing blanks left-align the reason.
    const int blanks = widths[kReason] - text::TextWidth(reason);
    reason.append(static_cast<std::size_t>(std::max(0, blanks)), ' ');
    auto& cells = shown.emplace_back();
    for (std::size_t i = 0; i < kColumns; ++i)
      if (i == kName || widths[i] > 0) cells.push_back(std::move(row[i]));
  }
  text::WriteAligned(shown, 0, out);
}

// Writes a sentence, broken between words, with a hanging indent.
void WriteSentence(const std::string& text, int width, std::ostream& out) {
  std::string line = " ";
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    if (width > 0 && text::TextWidth(line) + 1 + text::TextWidth(word) > width &&
        text::TextWidth(line) > 3) {
      out << line << '\n';
      line.assign("   ");
    }
    line += ' ' + word;
    at = end + 1;
  }
  out << line << '\n';
}

void WriteRemark(const std::string& key, const std::string& text, int width, std::ostream& out) {
  if (key.empty() || text.empty()) return;
  WriteSentence(text::Printable(fmt::format("{}: {}", roofline::LevelName(key), text)), width, out);
}

void WriteRemarks(const machine::CeilingSet& set, int width, std::ostream& out) {
  for (const auto& [key, edge] : set.edges) WriteRemark(key, edge.text, width, out);
  for (const auto& [key, text] : set.absent) WriteRemark(key, "not measured: " + text, width, out);
}

void WriteSet(const machine::Machine& machine, int threads, const machine::CeilingSet& set,
              int width, bool remarks, std::ostream& out) {
  // A GPU has one set of ceilings, stored for one host thread.
  const auto team = machine.device == "gpu"
                        ? std::string()
                        : fmt::format(" with {} thread{}", threads, threads == 1 ? "" : "s");
  out << fmt::format("\nceilings of {}{}\n", text::Printable(machine.name), team);
  Rows rows;
  AddPipes(set.flops, rows);
  AddLevels(set.bytes, rows);
  AddOverheads(set, rows);
  if (!rows.empty()) WriteRows(std::move(rows), width, out);
  if (remarks) WriteRemarks(set, width, out);
}

using Row = std::vector<std::string>;

bool AlongThreads(const roofline::Trajectory& trajectory) {
  return trajectory.along == roofline::kAlongThreads;
}

Row Head(const roofline::Trajectory& trajectory) {
  Row row = {AlongThreads(trajectory) ? "threads" : text::Printable(trajectory.along)};
  if (!AlongThreads(trajectory)) row.emplace_back("threads");
  row.insert(row.end(), {"time", "FLOP/s"});
  row.push_back(trajectory.level ? "FLOP/byte " + roofline::LevelName(Key(*trajectory.level))
                                 : "FLOP/byte");
  row.insert(row.end(), {"% roof", AlongThreads(trajectory) ? "speedup" : "FLOP/s ratio"});
  if (AlongThreads(trajectory)) row.emplace_back("log2 efficiency");
  row.emplace_back("largest cause [points]");
  return row;
}

// Returns the cells of the step that ends at the point; they are empty for the first point.
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
  if (!AlongThreads(trajectory)) row.push_back(std::to_string(point.threads));
  row.push_back(fmt::format("{}{}", mark, text::WithPrefix(point.seconds, "s")));
  row.push_back(point.flops_per_second ? text::WithPrefix(*point.flops_per_second, "FLOP/s") : "");
  row.push_back(point.intensity ? text::ThreeDigits(*point.intensity) : "");
  row.push_back(point.fraction ? fmt::format("{}{}{}{}", roofline::AtMostMark(point.uncertain),
                                             mark, text::PercentText(*point.fraction),
                                             point.specified ? " (specified)" : "")
                               : "");
  const bool estimate = point.noisy || (index > 0 && trajectory.points[index - 1].noisy);
  for (auto& cell : StepCells(trajectory, index, roofline::MarkOf(estimate)))
    row.push_back(std::move(cell));
  return row;
}

}  // namespace

void WriteCeilings(const std::vector<machine::Machine>& machines, int width, std::ostream& out,
                   bool remarks) {
  for (const auto& machine : machines) {
    for (auto set = machine.by_threads.rbegin(); set != machine.by_threads.rend(); ++set)
      WriteSet(machine, set->first, set->second, width, remarks, out);
    const auto check = machine.facts.find("live_check");
    if (!remarks || check == machine.facts.end() || check->second.empty()) continue;
    out << '\n';
    WriteSentence(text::Printable("checked before the run: " + check->second), width, out);
  }
}

void WriteTrajectories(const std::vector<roofline::Trajectory>& trajectories, std::ostream& out) {
  bool noisy = false;
  for (const auto& trajectory : trajectories) {
    out << text::Printable(trajectory.name) << '\n';
    std::vector<Row> rows = {Head(trajectory)};
    for (std::size_t i = 0; i < trajectory.points.size(); ++i) {
      rows.push_back(PointRow(trajectory, i));
      noisy = noisy || trajectory.points[i].noisy;
    }
    text::WriteAligned(rows, 0, out);
    out << "  " << text::Printable(roofline::Diagnose(trajectory).sentence) << "\n\n";
  }
  if (noisy) out << roofline::kNoisyMeaning << '\n';
}

}  // namespace dlroof::document
