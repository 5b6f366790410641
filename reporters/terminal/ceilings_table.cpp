#include "reporters/terminal/ceilings_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reporters/roofline/chart.h"
#include "reporters/text/json_access.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

using nlohmann::json;

enum Column { kName, kRate, kSustained, kClock, kPerCycle, kSpread, kScaling, kDoubt, kColumns };
constexpr std::array<const char*, kColumns> kTitles = {
    "", "rate", "sustained", "clock", "per cycle", "spread", "scaling", "not proved"};
// What goes first where the terminal is narrow.
constexpr Column kDropped[] = {kClock, kScaling, kSpread, kSustained, kPerCycle};
constexpr int kLeastDoubt = 24;  // columns in which the start of a reason still tells something
constexpr int kGap = 2;

using Row = std::array<std::string, kColumns>;
using Rows = std::vector<Row>;

std::string Padding(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

std::string PerCycleText(const json& proof) {
  const auto measured = Positive(proof, "per_cycle");
  const auto expected = Positive(proof, "per_cycle_expected");
  if (!measured) return "";
  return expected ? fmt::format("{} of {:.4g}", ThreeDigits(*measured), *expected)
                  : ThreeDigits(*measured);
}

// A ceiling's cells; the name is the caller's.
Row CeilingRow(const std::string& name, const json& ceiling, const char* unit) {
  Row row;
  row[kName] = Printable(name);
  const auto& proof = Member(ceiling, "proof");
  if (const auto rate = Positive(ceiling, "per_second")) row[kRate] = WithPrefix(*rate, unit);
  if (const auto rate = Positive(ceiling, "sustained_per_second"))
    row[kSustained] = WithPrefix(*rate, unit);
  if (const auto clock = Positive(ceiling, "clock_hz")) row[kClock] = WithPrefix(*clock, "Hz");
  row[kPerCycle] = PerCycleText(proof);
  if (const auto spread = Number(proof, "spread"))
    row[kSpread] = fmt::format("{:.1f} %", 100 * *spread);
  if (const auto scaling = Number(proof, "scaling"))
    row[kScaling] = fmt::format("{:.2f}", *scaling);
  if (Member(ceiling, "proved") != true) {
    for (const auto& reason : Member(ceiling, "reasons"))
      if (reason.is_string())
        row[kDoubt] += (row[kDoubt].empty() ? "" : "; ") + Printable(reason.get<std::string>());
    if (row[kDoubt].empty()) row[kDoubt] = "no reason given";
  }
  return row;
}

std::string PlainPipe(const std::string& key) {
  const auto unit = key.find('.');
  return unit == std::string::npos ? key : key.substr(0, key.find('.', unit + 1));
}

// Pipes, highest first, each with its finer rows ("  avx2") under it; a finer row without a plain
// one stands for itself.
void AddPipes(const json& flops, Rows& rows) {
  struct Pipe {
    double plain_rate, rate;
    std::string plain, key;
  };
  std::vector<Pipe> pipes;
  if (!flops.is_object()) return;
  for (const auto& [key, ceiling] : flops.items()) {
    const auto rate = Positive(ceiling, "per_second");
    if (!rate) continue;
    const auto plain_rate = Positive(Member(flops, PlainPipe(key).c_str()), "per_second");
    pipes.push_back({plain_rate.value_or(*rate), *rate, plain_rate ? PlainPipe(key) : key, key});
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
    rows.push_back(CeilingRow(name, flops[pipe.key], "FLOP/s"));
  }
}

void AddLevels(const json& bytes, Rows& rows) {
  for (const Level level : AllLevels()) {
    const std::string key(Key(level));
    const auto& ceiling = Member(bytes, key.c_str());
    if (!Positive(ceiling, "per_second")) continue;
    const auto mix = Text(ceiling, "mix");
    const auto name = fmt::format("  {:<4}{}{}", LevelName(key), mix.empty() ? "" : " ", mix);
    rows.push_back(CeilingRow(name, ceiling, "B/s"));
  }
}

void AddOverheads(const json& set, Rows& rows) {
  const auto add = [&](const std::string& name, std::optional<double> seconds) {
    if (!seconds) return;
    rows.emplace_back();
    rows.back()[kName] = "  " + Printable(name);
    rows.back()[kRate] = WithPrefix(*seconds, "s");
  };
  add("launch", Positive(set, "launch_seconds"));
  const auto& overheads = Member(set, "overheads");
  if (!overheads.is_object()) return;
  for (const auto& [name, seconds] : overheads.items())
    add(name, Positive(overheads, name.c_str()));
}

// Width of each column, 0 where it is left out: empty, or no room for it.
std::array<int, kColumns> Widths(const Rows& rows, int width) {
  std::array<int, kColumns> widths = {};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  for (std::size_t i = 0; i < kColumns; ++i)
    if (widths[i] > 0) widths[i] = std::max(widths[i], TextWidth(kTitles[i]));
  if (width <= 0) return widths;
  const auto room = [&] {
    int left = width;
    for (std::size_t i = 0; i < kDoubt; ++i)
      if (widths[i] > 0) left -= widths[i] + (i == kName ? 0 : kGap);
    return left - kGap;
  };
  for (const Column column : kDropped)
    if (room() < std::min(widths[kDoubt], kLeastDoubt)) widths[column] = 0;
  widths[kDoubt] = std::min(widths[kDoubt], std::max(room(), kLeastDoubt));
  return widths;
}

// At most `width` columns, the end replaced by "…": a reason's start says most.
std::string ShortenEnd(const std::string& text, int width) {
  std::string start;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && TextWidth(start) == width - 1 && TextWidth(text) > width) return start + "…";
    start += c;
  }
  return start;
}

void WriteRows(Rows rows, int width, std::ostream& out) {
  const auto widths = Widths(rows, width);
  Row head;
  std::copy(kTitles.begin(), kTitles.end(), head.begin());
  rows.insert(rows.begin(), head);
  for (const Row& row : rows) {
    std::string line = row[kName] + Padding(widths[kName] - TextWidth(row[kName]));
    for (std::size_t i = kRate; i < kDoubt; ++i)
      if (widths[i] > 0) line += Padding(kGap + widths[i] - TextWidth(row[i])) + row[i];
    if (widths[kDoubt] > 0) line += Padding(kGap) + ShortenEnd(row[kDoubt], widths[kDoubt]);
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

// A sentence, broken between words; the lines after the first are indented further.
void WriteSentence(const std::string& text, int width, std::ostream& out) {
  std::string line = " ";
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    if (width > 0 && TextWidth(line) + 1 + TextWidth(word) > width && TextWidth(line) > 3) {
      out << line << '\n';
      line.assign("   ");
    }
    line += ' ' + word;
    at = end + 1;
  }
  out << line << '\n';
}

// Writes one line of a set's map of texts.
void WriteRemark(const std::string& key, const std::string& text, int width, std::ostream& out) {
  if (key.empty() || text.empty()) return;
  WriteSentence(Printable(fmt::format("{}: {}", LevelName(key), text)), width, out);
}

void WriteRemarks(const json& set, int width, std::ostream& out) {
  if (const auto& edges = Member(set, "edges"); edges.is_object())
    for (const auto& [key, edge] : edges.items()) WriteRemark(key, Text(edge, "text"), width, out);
  if (const auto& absent = Member(set, "absent"); absent.is_object())
    for (const auto& [key, text] : absent.items())
      if (text.is_string())
        WriteRemark(key, "not measured: " + text.get<std::string>(), width, out);
}

void WriteSet(const json& machine, const MeasuredSet& set, int width, std::ostream& out) {
  // A GPU's only set stands under the host's one thread.
  const auto team = Text(machine, "device") == "gpu" ? std::string()
                                                     : fmt::format(" with {} thread{}", set.threads,
                                                                   set.threads == 1 ? "" : "s");
  out << fmt::format("\nceilings of {}{}\n", Printable(Text(machine, "name")), team);
  Rows rows;
  AddPipes(Member(*set.ceilings, "flops"), rows);
  AddLevels(Member(*set.ceilings, "bytes"), rows);
  AddOverheads(*set.ceilings, rows);
  if (!rows.empty()) WriteRows(std::move(rows), width, out);
  WriteRemarks(*set.ceilings, width, out);
}

}  // namespace

void WriteCeilings(const json& run_file, int width, std::ostream& out) {
  const auto& machines = Member(run_file, "machines");
  if (!machines.is_array()) return;
  for (const auto& machine : machines) {
    if (!machine.is_object()) continue;
    for (const auto& set : MeasuredSets(machine)) WriteSet(machine, set, width, out);
    const auto look = Text(Member(machine, "facts"), "live_check");
    if (look.empty()) continue;
    out << '\n';
    WriteSentence(Printable("looked at again before the run: " + look), width, out);
  }
}

}  // namespace dlroof
