#include "reporters/figure/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "counters/base/process.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

std::string Caption(const roofline::PlacedRun& run, const Figure& figure) {
  std::string caption = figure.roofs.machine;
  // A GPU's roofs, and some imported roofs, have no number of threads.
  if (figure.roofs.device != "gpu" && figure.roofs.threads > 0)
    caption +=
        fmt::format(", {} thread{}", figure.roofs.threads, figure.roofs.threads == 1 ? "" : "s");
  caption += fmt::format(", bytes of {}{}",
                         figure.all_levels ? "every level" : roofline::LevelName(Key(figure.level)),
                         figure.has_nearer ? kOrOfCache : "");
  if (run.view.tensor_balance) caption += ", all FLOPs judged by the matrix ceiling";
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    left_out += !run.places[i].placement.classic.empty() &&
                !roofline::BelongsTo(run.file.records[i], figure.roofs);
  if (left_out > 0) caption += fmt::format(", without {} of other devices or threads", left_out);
  if (!figure.classic_moves.empty()) caption += ", arrows: from the older run";
  const auto& context = run.file.context;
  if (const auto date = record::Text(context, "date"); !date.empty()) caption += ", " + date;
  if (const auto version = record::Text(record::Member(context, "dlroof"), "version");
      !version.empty())
    caption += ", dlroof " + version;
  return caption;
}

// Returns the legend: for each operator its series' letters and names, and their numbers of marks.
std::string Legend(const Figure& figure, int width) {
  std::map<std::string, int> counts;
  for (const auto& mark : figure.classic) ++counts[mark.series];
  std::string legend, line, operation;
  char letter = 'A';
  for (const auto& [series, count] : counts) {
    const auto name = series.substr(0, series.find(' '));
    const auto item =
        fmt::format("  {}{} ({})", letter, text::Printable(series.substr(name.size())), count);
    if (line.empty() || name != operation || text::TextWidth(line + item) > width) {
      if (!line.empty()) legend += line + '\n';
      line = name == operation ? "   " : "  " + text::Printable(name);
      operation = name;
    }
    line += item;
    if (letter < 'Z') ++letter;
  }
  return legend + line + '\n';
}

// Removes empty lines, and the blanks that gnuplot adds at the ends of lines.
std::string Trimmed(const std::string& picture) {
  std::string trimmed;
  std::istringstream lines(picture);
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find_last_not_of(" \r\f");
    if (end != std::string::npos) trimmed += line.substr(0, end + 1) + "\n";
  }
  return trimmed;
}

// Adds a mark per record or, with all_levels, per record and level.
void AddMarks(const roofline::PlacedRun& run, Figure& figure) {
  for (const Level level : AllLevels()) {
    if (!figure.all_levels && level != figure.level) continue;
    auto classic = roofline::ClassicMarks(run, figure.roofs, level, figure.has_nearer);
    auto time = roofline::TimeMarks(run, figure.roofs, level, figure.has_nearer);
    if (figure.all_levels) {
      for (auto& mark : classic) mark.series = roofline::LevelName(Key(level));
      for (auto& mark : time) mark.series = roofline::LevelName(Key(level));
    }
    figure.classic.insert(figure.classic.end(), classic.begin(), classic.end());
    figure.time.insert(figure.time.end(), time.begin(), time.end());
  }
  // Limits the series, because gnuplot's time grows with the square of their number.
  constexpr std::size_t kMaxDrawn = 100;
  std::set<std::string> drawn;
  for (const auto& mark : figure.classic) drawn.insert(mark.series);
  while (drawn.size() > kMaxDrawn) drawn.erase(std::prev(drawn.end()));
  const auto join = [&](auto& mark) {
    if (!drawn.contains(mark.series)) mark.series = "~ others";
  };
  std::ranges::for_each(figure.classic, join);
  std::ranges::for_each(figure.time, join);
}

// Adds the sweep's lines and removes the marks of records that are on no line.
void SelectSweep(const roofline::PlacedRun& run, Figure& figure) {
  std::set<std::size_t> selected;
  for (auto& line : roofline::SweepLines(run, figure.sweep)) {
    const bool drawn = std::ranges::any_of(line.records, [&](std::size_t i) {
      return roofline::BelongsTo(run.file.records[i], figure.roofs);
    });
    if (!drawn) continue;
    selected.insert(line.records.begin(), line.records.end());
    figure.lines.push_back(std::move(line));
  }
  const auto is_other = [&](const auto& mark) { return !selected.contains(mark.record); };
  std::erase_if(figure.classic, is_other);
  std::erase_if(figure.time, is_other);
}

// Adds an arrow for each benchmark that has a mark in both runs.
void AddMoves(const roofline::PlacedRun& run, const roofline::PlacedRun& before, Figure& figure) {
  Figure old{.roofs = figure.roofs, .level = figure.level, .has_nearer = figure.has_nearer};
  AddMarks(before, old);
  const auto add = [&](const auto& old_marks, const auto& marks, const auto& where, auto& moves) {
    std::map<std::string, std::optional<Point>> known;
    for (const auto& mark : old_marks) known[before.file.records[mark.record].name] = where(mark);
    for (const auto& mark : marks) {
      const auto found = known.find(run.file.records[mark.record].name);
      const std::optional<Point> to = where(mark);
      if (found != known.end() && found->second && to) moves.emplace_back(*found->second, *to);
    }
  };
  const auto place = [](const auto& mark) { return Point(mark.intensity, mark.flops_per_second); };
  add(old.classic, figure.classic, place, figure.classic_moves);
  add(
      old.time, figure.time, [](const auto& mark) { return mark.point; }, figure.time_moves);
}

std::optional<roofline::Roof> SharedComputeRoof(const roofline::PlacedRun& run,
                                                const Figure& figure) {
  std::set<std::string> judged;
  for (const auto& mark : figure.time)
    for (const auto& [pipe, row] : run.places[mark.record].placement.time->compute_roofs)
      judged.insert(row);
  if (judged.size() != 1) return std::nullopt;
  for (const roofline::Roof& flat : figure.roofs.flops)
    if (flat.key == *judged.begin()) return flat;
  return std::nullopt;
}

// Returns the last line, which is gnuplot's message: lines before it repeat the command.
std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "no message";
  const auto start = text.find_last_of('\n', end);
  return text.substr(start + 1, end - start);
}

bool IsHarmless(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         byte >= 0x80 || std::strchr(" _.,:;/+-=()%<>|~*^#", c) != nullptr;
}

}  // namespace

std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run,
                                       const roofline::RoofSet& roofs) {
  const auto used = roofline::PipesInUse(run, roofs);
  const auto above = [&](const roofline::Roof& flat) {
    if (roofline::IsFinerPipe(flat.key)) return false;
    const auto is_finer = [&](const roofline::Roof& roof) {
      return used.count(roof.key) > 0 && roof.key.starts_with(flat.key + ".");
    };
    return std::ranges::any_of(roofs.flops, is_finer) &&
           std::ranges::all_of(roofs.flops, [&](const roofline::Roof& roof) {
             return !is_finer(roof) || roof.per_second < flat.per_second;
           });
  };
  std::vector<roofline::Roof> drawn;
  for (const roofline::Roof& flat : roofs.flops)
    if (used.empty() ? !roofline::IsFinerPipe(flat.key) : used.count(flat.key) > 0 || above(flat))
      drawn.push_back(flat);
  return drawn;
}

Figure MakeFigure(const roofline::PlacedRun& run, const FigureOptions& options) {
  const auto sets = roofline::RoofSets(run.file.machines);
  const auto main = roofline::MainRoofSet(run, sets);
  if (!main)
    throw BadInput(
        "figure: the file has no ceilings, so there is no roof to draw (measure them with dlroof "
        "machine)");
  Figure figure{.roofs = sets[*main]};
  const auto main_level = roofline::MainLevel(run, figure.roofs);
  const auto level = options.level ? options.level : main_level;
  if (!level)
    throw BadInput("figure: no benchmark of the file has a time, FLOPs, bytes and ceilings");
  figure.level = *level;
  figure.all_levels = options.all_levels;
  figure.has_nearer = !options.all_levels && level == main_level;
  figure.sweep = options.sweep;
  figure.flats = DrawnFlats(run, figure.roofs);
  AddMarks(run, figure);
  if (!options.sweep.empty()) SelectSweep(run, figure);
  if (options.before != nullptr) AddMoves(run, *options.before, figure);
  if (figure.classic.empty())
    throw BadInput("figure: no benchmark{} has a time, FLOPs and bytes of {}",
                   options.sweep.empty() ? "" : " on a line of this sweep",
                   figure.all_levels ? "any level" : roofline::LevelName(Key(figure.level)));
  figure.has_nearer =
      !figure.all_levels && std::ranges::any_of(figure.classic, [&](const auto& mark) {
        return mark.level != figure.level;
      });
  figure.compute_roof = SharedComputeRoof(run, figure);
  figure.caption = Caption(run, figure);
  return figure;
}

std::string TerminalPicture(const roofline::PlacedRun& run, int width) {
  const Figure figure = MakeFigure(run);
  return Trimmed(RunGnuplot(TerminalScript(figure, width))) + Legend(figure, width) + "  " +
         text::Printable(figure.caption) + "\n";
}

std::string GnuplotText(std::string_view text) {
  std::string harmless = "'";
  for (const char c : text::Printable(text)) harmless += c != '\0' && IsHarmless(c) ? c : '_';
  return harmless + "'";
}

std::string RunGnuplot(const std::string& script) {
  if (!FoundInPath("gnuplot"))
    throw BadInput("figures need gnuplot, which is not installed (apt-get install gnuplot-nox)");
  // --default-settings ignores the user's settings, so that pictures are the same everywhere.
  auto ran = RunChild({"gnuplot", "--default-settings", "-"}, {}, script);
  if (ran.exit_code != 0 || ran.out.empty())
    throw BadInput("gnuplot failed: {}", LastLine(ran.err));
  return std::move(ran.out);
}

PageFigure DrawForPage(const std::function<std::string()>& script) {
  try {
    return {.svg = RunGnuplot(script()), .why_none = ""};
  } catch (const BadInput& error) {
    std::cerr << "the page has no figure: " << error.what() << '\n';
    return {.why_none = error.what()};
  }
}

}  // namespace dlroof::figure
