#include "baselines/formats/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "baselines/formats/markdown_text.h"
#include "baselines/formats/xml_text.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

constexpr const char* kStyle =
    "body{margin:0 auto;max-width:1500px;padding:14px 20px;background:#f6f7f9;color:#1b2430;"
    "font:14px/1.45 system-ui,'Segoe UI','Liberation Sans',sans-serif}"
    "h1{font-size:20px}h2{font-size:15px;margin:18px 0 4px}"
    "section{background:#fff;border:1px solid #dde2e9;border-radius:10px;padding:4px 14px 12px;"
    "margin-top:12px;overflow-x:auto}"
    "table{border-collapse:collapse;font-size:13px}th,td{padding:3px 7px;text-align:right;"
    "border-bottom:1px solid #dde2e9;white-space:nowrap}"
    "th{color:#5b6675}td:first-child,th:first-child{text-align:left;font-family:monospace}"
    "svg{max-width:100%;height:auto}svg image{image-rendering:pixelated}li{margin:2px 0}";

}  // namespace

void BeginPage(const std::string& title, std::ostream& out) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; img-src data:\">\n<meta name=\"generator\" content=\"dlroof\">\n"
         "<title>dlroof</title>\n<style>"
      << kStyle << "</style>\n</head>\n<body>\n<h1>" << XmlText(title) << "</h1>\n";
}

void EndPage(std::ostream& out) { out << "</body>\n</html>\n"; }

void WritePageFigure(const std::string& figure, const std::string& why_not, std::ostream& out) {
  out << "<section>\n";
  if (figure.empty())
    out << "<p>" << XmlText(why_not) << "</p>\n";
  else
    out << figure.substr(std::min(figure.find("<svg"), figure.size())) << '\n';
  out << "</section>\n";
}

void WritePageTable(const std::string& title, const Cells& cells, std::ostream& out) {
  out << fmt::format("<section>\n<h2>{}</h2>\n<table>\n", XmlText(title));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* tag = i == 0 ? "th" : "td";
    out << "<tr>";
    for (const auto& cell : cells[i]) out << fmt::format("<{0}>{1}</{0}>", tag, XmlText(cell));
    out << "</tr>\n";
  }
  out << "</table>\n</section>\n";
}

void WritePageList(const std::string& title, const char* tag, const std::vector<std::string>& items,
                   std::ostream& out) {
  out << fmt::format("<section>\n<h2>{}</h2>\n<{}>\n", XmlText(title), tag);
  for (const auto& item : items) out << fmt::format("<li>{}</li>\n", XmlText(item));
  out << fmt::format("</{}>\n</section>\n", tag);
}

void WriteMarkdownTable(const Cells& cells, std::ostream& out) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out << '|';
    for (const auto& cell : cells[i]) out << ' ' << MarkdownText(cell) << " |";
    out << '\n';
    if (i > 0) continue;
    out << "| --- |";
    for (std::size_t column = 1; column < cells[0].size(); ++column) out << " ---: |";
    out << '\n';
  }
}

Cells PrintableCells(Cells cells) {
  for (auto& row : cells)
    for (auto& cell : row) cell = Printable(cell);
  return cells;
}

}  // namespace dlroof
