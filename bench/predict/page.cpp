#include <fmt/format.h>

#include "bench/predict/report.h"
#include "counters/base/error.h"
#include "reporters/page/assets.h"

namespace dlroof::predict {
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

// A section per title.
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

// The figure fits its place instead of having a size. Without gnuplot there is none: the tables say
// the same.
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
      Html(report.base.gpu.name), page::PageStyle().text, kStyle, body);
}

}  // namespace dlroof::predict
