#include "bench/predict/page.h"

#include <fmt/format.h>

#include "bench/predict/text.h"
#include "counters/base/error.h"
#include "reporters/page/assets.h"
#include "reporters/text/units.h"

namespace dlroof {
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

struct Column {
  std::string title;
  std::string_view kind;  // a class of page.css: "name", "number", "note" or none
};
using Rows = std::vector<std::vector<std::string>>;  // text, a cell per column; empty: unknown

std::string HtmlTable(const std::vector<Column>& columns, const Rows& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const auto& column : columns)
    html += fmt::format("<th{}>{}</th>", column.kind == "number" ? " class=\"number\"" : "",
                        Html(column.title));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < columns.size(); ++i)
      html += fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", columns[i].kind,
                          Html(columns[i].title), Html(row.at(i)));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Section(std::string_view title, const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", Html(title), content);
}

std::string Note(std::string_view text) {
  return fmt::format("<p class=\"facts\">{}</p>\n", Html(text));
}

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

// The figure fits its place instead of having a size. Without gnuplot there is none: the tables say
// the same.
std::string Figure(const ModelReport& report) try {
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

std::string DesignSection(const ModelReport& report) {
  Rows rows;
  for (const auto& result : report.designs)
    for (size_t i = 0; i < result.groups.size(); ++i)
      rows.push_back({result.design.name, result.groups[i].name,
                      Factor(report.groups[i].seconds / result.groups[i].seconds),
                      WithPrefix(result.groups[i].seconds, "s"), BoundShares(result.groups[i]),
                      NewBottlenecks(report.groups[i], result.groups[i])});
  if (rows.empty()) return "";
  return Section("What if", HtmlTable({{"design", "name"},
                                       {"model", ""},
                                       {"faster", "number"},
                                       {"all calls", "number"},
                                       {"bound by", ""},
                                       {"new bottlenecks", "note"}},
                                      rows));
}

std::string GainSection(const ModelReport& report) {
  if (report.gains.empty()) return "";
  std::vector<Column> columns = {{"model", ""}};
  for (const auto resource : ScalableResources())
    columns.push_back({std::string(resource), "number"});
  Rows rows;
  for (size_t i = 0; i < report.gains.size(); ++i) {
    std::vector<std::string> row = {report.groups[i].name};
    for (const auto resource : ScalableResources())
      for (const auto& gain : report.gains[i])
        if (gain.resource == resource) row.push_back(Factor(gain.speedup));
    rows.push_back(std::move(row));
  }
  return Section("Balance next",
                 Note("How much faster twice of one resource makes it, each by itself" +
                      (report.designs.empty() ? std::string(".")
                                              : fmt::format(", in the design {}.",
                                                            report.designs.back().design.name))) +
                     HtmlTable(columns, rows));
}

// Draws the second of two resources along the row.
std::string SweepHtml(const ModelReport& report, const GroupSweep& sweep) {
  const auto& axes = report.axes;
  std::vector<Column> columns = {{axes[0].resource, "number"}};
  const size_t across = axes.size() > 1 ? axes[1].factors.size() : 1;
  for (size_t i = 0; i < across; ++i)
    columns.push_back(
        {axes.size() > 1 ? fmt::format("{} x{}", axes[1].resource, ThreeDigits(axes[1].factors[i]))
                         : "faster",
         "number"});
  Rows rows;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& point = sweep.points[i];
    if (i % across == 0) rows.push_back({fmt::format("x{}", ThreeDigits(point.factors[0]))});
    rows.back().push_back(fmt::format("{:.3f}x, {}", point.speedup, Key(point.bottleneck)));
  }
  return fmt::format("<h3>{}</h3>\n{}", Html(sweep.group), HtmlTable(columns, rows));
}

std::string SweepSection(const ModelReport& report) {
  std::string content;
  for (const auto& sweep : report.sweeps) content += SweepHtml(report, sweep);
  return content.empty() ? "" : Section("Sweep", content);
}

std::string NotPredictedHtml(const PredictedGroup& group) {
  Rows rows;
  for (const auto& one : group.not_predicted) rows.push_back({one.name, one.reason});
  if (rows.empty()) return "";
  return HtmlTable({{"not predicted", "name"}, {"why", "note"}}, rows);
}

std::string GroupSection(const PredictedGroup& group) {
  std::vector<Column> columns = {{"layer", "name"},      {"calls", "number"}, {"tile", "number"},
                                 {"L1", "number"},       {"L2", "number"},    {"DRAM", "number"},
                                 {"at least", "number"}, {"time", "number"},  {"bound", "bound"}};
  const auto means = MeanAbsoluteResiduals(group);
  for (const auto& [key, mean] : means) columns.push_back({key + " error", "number"});
  Rows rows;
  for (const auto& one : group.layers) {
    const auto& traffic = one.prediction.traffic;
    std::vector<std::string> row = {one.layer.name,
                                    fmt::format("{}", one.layer.count),
                                    TileText(one.prediction.plan.tile),
                                    WithPrefix(L1Bytes(traffic), "B"),
                                    WithPrefix(L2TileBytes(traffic), "B"),
                                    WithPrefix(Total(traffic.dram), "B"),
                                    WithPrefix(one.prediction.time.lower_bound_seconds, "s"),
                                    WithPrefix(one.seconds, "s"),
                                    std::string(Key(one.prediction.time.bottleneck))};
    const auto residuals = Residuals(one);
    for (const auto& [key, mean] : means)
      row.push_back(residuals.count(key) > 0 ? fmt::format("{:+.1f} %", 100 * residuals.at(key))
                                             : "");
    rows.push_back(std::move(row));
  }
  std::string note = fmt::format("All calls: {}; bound by {}.", WithPrefix(group.seconds, "s"),
                                 BoundShares(group));
  const auto medians = MedianAbsoluteResiduals(group);
  for (const auto& [key, mean] : means)
    note += fmt::format(
        " Mean absolute error, predicted against measured, {}: {:.1f} % (median {:.1f} %).", key,
        100 * mean, 100 * medians.at(key));
  return Section(group.name, Note(note) + HtmlTable(columns, rows) + NotPredictedHtml(group));
}

std::string GpuSection(const GpuSpec& gpu) {
  Rows rows;
  const auto json = ToJson(gpu);
  for (const auto& item : json.items())
    if (item.value().is_object())
      rows.push_back({item.key(), fmt::format("{:.6g}", item.value().at("value").get<double>()),
                      item.value().at("source").get<std::string>()});
  return fmt::format(
      "<section><details><summary>The GPU's {} figures, of which {} are assumptions</summary>\n{}"
      "</details></section>\n",
      gpu.sources.size(), Assumptions(gpu),
      HtmlTable({{"figure", "name"}, {"value", "number"}, {"source", "note"}}, rows));
}

}  // namespace

std::string ModelPage(const ModelReport& report) {
  std::string body = fmt::format(
      "<header><div class=\"title\"><h1>{}</h1><p class=\"counts\">{}</p></div>\n{}</header>\n"
      "<main>\n{}",
      Html(report.base.gpu.name), Html(report.choice),
      Note("DeLTA-style model: modelled, not measured. Bytes and times are for comparing designs."),
      Figure(report));
  body += DesignSection(report) + GainSection(report) + SweepSection(report);
  for (const auto& group : report.groups) body += GroupSection(group);
  body += GpuSection(report.base.gpu) + "</main>\n";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>dlroof model: {}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      Html(report.base.gpu.name), PageStyle().text, kStyle, body);
}

}  // namespace dlroof
