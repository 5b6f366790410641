#include "reporters/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "counters/error.h"
#include "reporters/gnuplot.h"
#include "reporters/json_access.h"
#include "reporters/terminal.h"

namespace dlroof {
namespace {

using nlohmann::json;

std::string Caption(const json& run_file, const Figure& figure) {
  const auto& context = Member(run_file, "context");
  const auto& ours = Member(context, "dlroof");
  std::string caption =
      fmt::format("{}, {} thread{}, bytes of {}", figure.roofs.machine, figure.roofs.threads,
                  figure.roofs.threads == 1 ? "" : "s", LevelName(Key(figure.level)));
  for (const auto& part : {Text(context, "date"), Text(ours, "version")})
    if (!part.empty()) caption += (part == Text(ours, "version") ? ", dlroof " : ", ") + part;
  return caption;
}

std::string ExtensionOf(const std::string& path) {
  const auto dot = path.find_last_of("./");
  return dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot + 1);
}

// Series in the order of their names, with how many marks each has.
std::string Legend(const Figure& figure) {
  std::map<std::string, int> counts;
  for (const auto& mark : figure.classic) ++counts[mark.series];
  std::string legend;
  int index = 0;
  for (const auto& [series, count] : counts) {
    legend += fmt::format("  {}  {} ({})\n", static_cast<char>('A' + std::min(index, 25)),
                          Printable(series), count);
    ++index;
  }
  return legend;
}

// Without the blanks that fill gnuplot's lines and the empty lines round its picture.
std::string Trimmed(const std::string& picture) {
  std::string trimmed;
  std::istringstream lines(picture);
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find_last_not_of(" \r\f");
    if (end != std::string::npos) trimmed += line.substr(0, end + 1) + "\n";
  }
  return trimmed;
}

}  // namespace

Figure MakeFigure(const json& run_file) {
  const auto sets = RoofSets(run_file);
  const auto main = MainRoofSet(run_file, sets);
  if (!main)
    throw BadInput(
        "figure: the file has no ceilings, so there is no roof to draw (dlroof machine measures "
        "them)");
  Figure figure;
  figure.roofs = sets[*main];
  const auto level = MainLevel(run_file, figure.roofs);
  if (!level)
    throw BadInput("figure: no benchmark of the file has a time, FLOPs, bytes and ceilings");
  figure.level = *level;
  const auto used = PipesInUse(run_file, figure.roofs);
  for (const Roof& flat : figure.roofs.flops)
    if (used.empty() ? !IsFinerPipe(flat.key) : used.count(flat.key) > 0)
      figure.flats.push_back(flat);
  figure.classic = ClassicMarks(run_file, figure.roofs, figure.level);
  figure.time = TimeMarks(run_file, figure.roofs, figure.level);
  figure.caption = Caption(run_file, figure);
  return figure;
}

void WriteFigure(const json& run_file, const std::string& path) {
  const auto extension = ExtensionOf(path);
  if (extension != "svg" && extension != "pdf" && extension != "png")
    throw BadInput(fmt::format("{}: a figure is .svg, .pdf or .png", Printable(path)));
  const auto picture = RunGnuplot(FigureScript(MakeFigure(run_file), extension));
  std::ofstream file(path, std::ios::binary);
  file << picture;
  file.close();
  if (!file) throw BadInput(fmt::format("{}: cannot be written", Printable(path)));
}

std::string TerminalPicture(const json& run_file, int width) {
  const Figure figure = MakeFigure(run_file);
  return Trimmed(RunGnuplot(TerminalScript(figure, width))) + Legend(figure) + "  " +
         Printable(figure.caption) + "\n";
}

}  // namespace dlroof
