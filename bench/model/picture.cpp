#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/model/report.h"
#include "counters/base/error.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/page.h"
#include "reporters/figure/panel.h"
#include "reporters/text/text.h"

namespace dlroof::model {
namespace {

std::string Terminal(const std::string& extension) {
  if (extension == "pdf") return "set terminal pdfcairo size 9in,5in font 'Helvetica,11'\n";
  if (extension == "png") return "set terminal pngcairo size 1100,600 font 'Helvetica,11'\n";
  return "set terminal svg size 1100,600 font 'Helvetica,13' background '#ffffff'\n";
}

std::string Common(const ModelReport& report) {
  return fmt::format(
      "set title {} noenhanced\nset ylabel 'speed-up [1]'\nset grid ytics\n"
      "set key tmargin center horizontal noenhanced\nset yrange [0:*]\n",
      figure::GnuplotText(report.base.gpu.name + ", " + report.choice + ": DeLTA-style model"));
}

// Returns a label with each part of "sm=2,dram=1.5" on its own line, so that labels fit side by
// side. It needs no escaping, because Rescaled accepts only resources and numbers.
std::string TickLabel(const std::string& design, size_t index) {
  std::string label;
  for (const char c : design) label += c == ',' ? std::string("\\n") : std::string(1, c);
  return fmt::format("{}\"{}\" {}", index == 0 ? "" : ", ", label, index);
}

std::string Bars(const ModelReport& report) {
  std::string data = "$designs << EOD\n", ticks;
  std::ptrdiff_t most_lines = 1;
  for (size_t d = 0; d < report.designs.size(); ++d) {
    const auto& result = report.designs[d];
    const auto& name = result.design.name;
    ticks += TickLabel(name, d);
    most_lines = std::max(most_lines, 1 + std::ranges::count(name, ','));
    for (size_t i = 0; i < report.groups.size(); ++i)
      data += fmt::format(" {:.6g}", report.groups[i].seconds / result.groups[i].seconds);
    data += "\n";
  }
  std::string plots;
  for (size_t i = 0; i < report.groups.size(); ++i)
    plots += fmt::format("$designs using {} title {} lc rgb '{}', ", i + 1,
                         figure::GnuplotText(report.groups[i].name), figure::SeriesColour(i));
  return data +
         fmt::format(
             "EOD\nset datafile separator whitespace\nset style data histograms\n"
             "set style histogram clustered gap 1\nset style fill solid 0.9\n"
             "set xrange [-0.6:{}]\nset bmargin {}\nset xtics nomirror scale 0 noenhanced ({})\n"
             "plot {}1 with lines lw 1.5 lc rgb '#6b7280' title 'as it is'\n",
             static_cast<double>(report.designs.size()) - 0.4, most_lines + 1, ticks, plots);
}

// Draws a line per group and value of the second resource. If there are several groups, each has a
// colour, and its lines have different dashes. Otherwise each line has its own colour.
std::string Lines(const ModelReport& report) {
  std::string data, plots;
  size_t index = 0;
  for (size_t group = 0; group < report.sweeps.size(); ++group) {
    const auto& sweep = report.sweeps[group];
    std::map<double, std::string> lines;
    for (const auto& point : sweep.points)
      lines[point.factors.size() > 1 ? point.factors[1] : 1] +=
          fmt::format("{:.6g} {:.6g}\n", point.factors[0], point.speedup);
    size_t of_group = 0;
    for (const auto& [second, line] : lines) {
      data += fmt::format("$line{} << EOD\n{}EOD\n", index, line);
      const auto title = report.axes.size() > 1
                             ? fmt::format("{}, {} x{}", sweep.group, report.axes[1].resource,
                                           text::ThreeDigits(second))
                             : sweep.group;
      const size_t colour = report.sweeps.size() > 1 ? group : of_group;
      plots += fmt::format("{}$line{} with linespoints dt {} pt 7 ps 0.6 lw 2 lc rgb '{}' title {}",
                           index == 0 ? "" : ", ", index, ++of_group, figure::SeriesColour(colour),
                           figure::GnuplotText(title));
      ++index;
    }
  }
  return data +
         fmt::format("set xlabel {} noenhanced\nplot ",
                     figure::GnuplotText(report.axes[0].resource + " (x of today)")) +
         plots + "\n";
}

}  // namespace

std::string ModelFigure(const ModelReport& report, const std::string& extension) {
  if (report.designs.empty() && report.sweeps.empty())
    throw BadInput("a figure needs --scale or --sweep, and neither was given");
  const auto body = report.sweeps.empty() ? Bars(report) : Lines(report);
  return figure::RunGnuplot(Terminal(extension) + Common(report) + body);
}

namespace {

constexpr std::string_view kStyle = R"(
.drawn svg { display: block; width: 100%; min-width: 760px; height: auto; }
@media screen and (prefers-color-scheme: dark) {
  .drawn svg { filter: invert(.9) hue-rotate(180deg); border-radius: 6px; }
}
td.worst { color: var(--warn); }
)";

std::string Html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<' || c == '>' || c == '&' || c == '"' || byte < 0x20 || byte == 0x7f)
      escaped += fmt::format("&#{};", byte < 0x20 ? 0xfffd : static_cast<int>(byte));
    else
      escaped += c;
  }
  return escaped;
}

std::string HtmlTable(const ModelTable& table) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const auto& column : table.columns)
    html += fmt::format("<th{}>{}</th>", column.kind == "number" ? " class=\"number\"" : "",
                        Html(column.title));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < table.columns.size(); ++i)
      html += fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", table.columns[i].kind,
                          Html(table.columns[i].title), Html(row.at(i)));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Note(std::string_view text) {
  return fmt::format("<p class=\"facts\">{}</p>\n", Html(text));
}

// Returns an HTML section for each title.
std::string Sections(const std::vector<ModelTable>& tables) {
  std::string html;
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto& table = tables[i];
    if (!table.title.empty()) html += fmt::format("<section>\n<h2>{}</h2>\n", Html(table.title));
    if (!table.note.empty()) html += Note(table.note);
    html += HtmlTable(table);
    if (i + 1 == tables.size() || !tables[i + 1].title.empty()) html += "</section>\n";
  }
  return html;
}

// Returns the figure as SVG without a fixed size, so that it fits the page, or a note if gnuplot is
// missing.
std::string InlineFigure(const ModelReport& report) try {
  if (report.designs.empty() && report.sweeps.empty()) return "";
  std::string figure = ModelFigure(report, "svg");
  const auto begin = figure.find("<svg"), size = figure.find(" width=", begin);
  const auto view = figure.find("viewBox", begin);
  if (begin == std::string::npos || size == std::string::npos || view < size) return "";
  figure.replace(size, view - size, " role=\"img\" aria-label=\"Speed-up of each design\" ");
  return fmt::format("<figure class=\"drawn\"><div class=\"scroll\">{}</div></figure>\n",
                     figure.substr(begin));
} catch (const BadInput& error) {
  return Note(error.what());
}

std::string GpuSection(const delta::GpuSpec& gpu) {
  ModelTable table{"", "", {{"figure", "name"}, {"value", "number"}, {"source", "note"}}, {}};
  const auto json = delta::ToJson(gpu);
  for (const auto& item : json.items())
    if (item.value().is_object())
      table.rows.push_back({item.key(),
                            fmt::format("{:.6g}", item.value().at("value").get<double>()),
                            item.value().at("source").get<std::string>()});
  return fmt::format(
      "<section><details><summary>The GPU's {} figures, of which {} are assumptions</summary>\n{}"
      "</details></section>\n",
      gpu.sources.size(), Assumptions(gpu), HtmlTable(table));
}

}  // namespace

std::string ModelPage(const ModelReport& report) {
  std::string body = fmt::format(
      "<header><div class=\"title\"><h1>{}</h1><p class=\"counts\">{}</p></div>\n{}</header>\n"
      "<main>\n{}",
      Html(report.base.gpu.name), Html(report.choice),
      Note("DeLTA-style model: modelled, not measured. Bytes and times are for comparing designs."),
      InlineFigure(report));
  body += Sections(DesignTables(report));
  for (const auto& group : report.groups) body += Sections(GroupTables(group));
  body += GpuSection(report.base.gpu) + "</main>\n";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>dlroof model: {}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      Html(report.base.gpu.name), figure::PageStyle().text, kStyle, body);
}

}  // namespace dlroof::model
