// A Document as Markdown and as a page without scripts.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <ostream>
#include <sstream>

#include "reporters/document/document.h"
#include "reporters/text/text.h"

namespace dlroof::document {
namespace {

// Dark mode inverts gnuplot's charts, which are dark on white; the hue rotation restores colours.
constexpr const char* kStyle =
    ":root{--page:#f6f7f9;--card:#fff;--ink:#1b2430;--soft:#5b6675;--line:#dde2e9}"
    "body{margin:0 auto;max-width:1500px;padding:14px 20px;background:var(--page);color:var(--ink);"
    "font:14px/1.45 system-ui,'Segoe UI','Liberation Sans',sans-serif}"
    "h1{font-size:20px}h2{font-size:15px;margin:18px 0 4px}ul,ol{padding-left:22px}"
    "li,h1{overflow-wrap:anywhere}section{background:var(--card);border:1px solid var(--line);"
    "border-radius:10px;padding:4px 14px 12px;margin-top:12px;overflow-x:auto}"
    "table{border-collapse:collapse;font-size:13px}th,td{padding:3px 7px;text-align:right;"
    "border-bottom:1px solid var(--line);white-space:nowrap}"
    "th{color:var(--soft);white-space:normal;vertical-align:bottom}"
    "td.long{white-space:normal;overflow-wrap:anywhere;min-width:15em}td:first-child,th:first-"
    "child{text-align:left;font-family:monospace}"
    "svg{display:block;width:980px;max-width:100%;min-width:620px;height:auto;margin:auto}"
    "svg image{image-rendering:pixelated}li{margin:2px 0}"
    "@media screen and (prefers-color-scheme:dark){:root{--page:#11151b;--card:#191f27;"
    "--ink:#e4e9f0;--soft:#9aa7b6;--line:#2c3541}svg{filter:invert(.9) hue-rotate(180deg)}}"
    "@media(max-width:760px){body{padding:10px}section{padding:4px 10px 10px}"
    "td:first-child,th:first-child{position:sticky;left:0;background:var(--card);min-width:9em;max-"
    "width:45vw;"
    "white-space:normal;overflow-wrap:anywhere}}";
constexpr std::size_t kItemColumns = 120;  // [byte] maximum line length of a list item
constexpr int kLongCell = 24;              // [columns] a page wraps longer table cells

// Returns the text's width [px] in an 11 px sans-serif font; textLength fits other fonts to it.
double WidthOf(std::string_view text) { return 6.5 * text::TextWidth(text) + 10; }

// Calls `write` for each row of the table, including `last`.
template <class Write>
void ForRows(const Table& table, const Write& write) {
  for (const auto* rows : {&table.rows, &table.last})
    for (const auto& row : *rows) write(row);
}

struct MarkdownBlock {
  std::ostream& out;

  void operator()(const Sentences& block) const {
    for (const auto& text : block.texts) out << MarkdownItem("-", text);
  }
  void operator()(const List& block) const {
    if (!block.title.empty()) out << MarkdownText(block.title) << "\n\n";
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      out << MarkdownItem(block.numbered ? fmt::format("{}.", i + 1) : "-", block.items[i].text);
      for (const auto& detail : block.items[i].details) out << "  " << MarkdownItem("-", detail);
    }
  }
  void operator()(const Table& block) const {
    if (!block.title.empty()) out << MarkdownText(block.title) << "\n\n";
    out << '|';
    for (const auto& column : block.columns) out << ' ' << MarkdownText(column) << " |";
    out << "\n| --- |";
    for (std::size_t i = 1; i < block.columns.size(); ++i) out << " ---: |";
    ForRows(block, [&](const Table::Row& row) {
      out << "\n|";
      for (const auto& cell : row) out << ' ' << MarkdownText(cell.text) << " |";
    });
    out << '\n';
    for (const auto& note : block.notes) out << '\n' << MarkdownText(note) << '\n';
  }
  void operator()(const auto&) const {}  // a Bar or Strip has no form here
};

struct HtmlBlock {
  std::ostream& out;

  void Begin(const std::string& title) const {
    out << "<section>\n";
    if (!title.empty()) fmt::print(out, "<h2>{}</h2>\n", XmlText(title));
  }
  void operator()(const Sentences& block) const {
    List list;
    for (const auto& text : block.texts) list.items.push_back({text});
    (*this)(list);
  }
  void operator()(const List& block) const {
    const char* tag = block.numbered ? "ol" : "ul";
    Begin(block.title);
    fmt::print(out, "<{}>\n", tag);
    for (const auto& item : block.items) {
      fmt::print(out, "<li>{}", XmlText(item.text));
      for (const auto& detail : item.details) fmt::print(out, "<br>{}", XmlText(detail));
      out << "</li>\n";
    }
    fmt::print(out, "</{}>\n</section>\n", tag);
  }
  void operator()(const Table& block) const {
    Begin(block.title);
    out << "<table>\n<tr>";
    for (const auto& column : block.columns) fmt::print(out, "<th>{}</th>", XmlText(column));
    out << "</tr>\n";
    ForRows(block, [&](const Table::Row& row) {
      out << "<tr>";
      for (const auto& cell : row)
        fmt::print(out, "<td{}>{}</td>",
                   text::TextWidth(cell.text) > kLongCell ? " class=\"long\"" : "",
                   XmlText(cell.text));
      out << "</tr>\n";
    });
    out << "</table>\n";
    for (const auto& note : block.notes) fmt::print(out, "<p>{}</p>\n", XmlText(note));
    out << "</section>\n";
  }
  void operator()(const auto&) const {}  // bars and strips
};

}  // namespace

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (text.compare(at, 2, "\xEF\xBF") == 0 && at + 2 < text.size() &&
        static_cast<unsigned char>(text[at + 2]) >= 0xBE) {
      escaped += static_cast<unsigned char>(text[at + 2]) == 0xBE ? "\\uFFFE" : "\\uFFFF";
      at += 2;
    } else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' || c == '\n' ||
               c == '\t' || c == '\r') {
      escaped += fmt::format("&#{};", static_cast<int>(c));
    } else if (byte < 0x20 || byte == 0x7F) {
      escaped += fmt::format("\\u{:04X}", static_cast<int>(byte));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void WriteJunit(const std::string& suite, const std::vector<TestCase>& cases,
                const std::string& output, std::ostream& out) {
  std::map<std::string_view, int> count;  // number of cases by TestCase::element
  for (const auto& one : cases) ++count[one.element];
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  fmt::print(out, R"(<testsuites tests="{0}" failures="{1}" errors="{2}">
  <testsuite name="{3}" tests="{0}" failures="{1}" errors="{2}" skipped="{4}">
)",
             cases.size(), count["failure"], count["error"], XmlText(suite), count["skipped"]);
  for (const auto& one : cases) {
    fmt::print(out, R"(    <testcase classname="{}" name="{}")", XmlText(one.class_name),
               XmlText(one.name));
    if (one.seconds) fmt::print(out, R"( time="{:.9f}")", *one.seconds);
    if (one.element.empty()) {
      out << "/>\n";
      continue;
    }
    fmt::print(out, "><{} message=\"{}\"", one.element, XmlText(one.message));
    if (!one.type.empty()) fmt::print(out, " type=\"{}\"", one.type);
    out << "/></testcase>\n";
  }
  fmt::print(out, "    <system-out>{}\n</system-out>\n  </testsuite>\n</testsuites>\n",
             XmlText(output));
}

std::string MarkdownText(const std::string& text) {
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // '_' within a word is literal (CommonMark 6.2).
    const bool within_word =
        c == '_' && i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    const bool plain = is_word(c) || within_word || static_cast<unsigned char>(c) >= 0x80 ||
                       std::string_view(" /.,:;-+()%=?'\"").find(c) != std::string_view::npos;
    if (plain || (c == '>' && i > 0 && text[i - 1] == '-'))  // an arrow
      escaped += c;
    else if (std::ispunct(static_cast<unsigned char>(c)) != 0)
      escaped += {'\\', c};
    else
      escaped += fmt::format("&#{};", static_cast<int>(c));
  }
  return escaped;
}

std::string MarkdownItem(std::string_view mark, const std::string& text) {
  const std::string indent(mark.size() + 1, ' ');
  std::string lines, line(mark);
  std::istringstream words(MarkdownText(text));
  std::string part;  // a word and the short words that follow it
  const auto add_part = [&] {
    if (line.size() + part.size() > kItemColumns && line.size() > mark.size()) {
      lines += line + '\n';
      line = indent + part.substr(1);
    } else {
      line += part;
    }
  };
  for (std::string word; words >> word; part += ' ' + word) {
    // A short word must not begin a line, where Markdown could read it as a list mark, e.g. "-".
    if (word.size() <= 3) continue;
    if (!part.empty()) add_part();
    part.clear();
  }
  if (!part.empty()) add_part();
  return lines + line + '\n';
}

std::string BadgeSvg(std::string_view label, std::string_view text, std::optional<bool> good) {
  const double left = WidthOf(label), right = WidthOf(text);
  const auto word = [](double begin, double width, const std::string& escaped) {
    return fmt::format("<text x=\"{}\" y=\"14\" textLength=\"{}\">{}</text>", begin + width / 2,
                       width - 10, escaped);
  };
  const auto label_text = XmlText(text::Printable(label)),
             value_text = XmlText(text::Printable(text));
  return fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {text}"><title>{label}: {text}</title><clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="{left}" height="20" fill="#30363d"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{first}{second}</g></svg>
)svg",
      fmt::arg("width", left + right), fmt::arg("left", left), fmt::arg("right", right),
      fmt::arg("label", label_text), fmt::arg("text", value_text),
      fmt::arg("colour", !good   ? "#59636e"
                         : *good ? "#1a7f4b"
                                 : "#b3261e"),
      fmt::arg("first", word(0, left, label_text)),
      fmt::arg("second", word(left, right, value_text)));
}

void WriteMarkdown(const Document& document, std::ostream& out) {
  for (const auto& block : document.blocks) {
    if (&block != document.blocks.data()) out << '\n';
    std::visit(MarkdownBlock{out}, block);
  }
}

void WriteHtml(const Document& document, const std::string& title, const std::string& svg,
               const std::string& why_none, std::ostream& out) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; img-src data:\">\n<meta name=\"generator\" content=\"dlroof\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>dlroof</title>\n<style>"
      << kStyle << "</style>\n</head>\n<body>\n<h1>" << XmlText(title) << "</h1>\n<section>\n";
  if (svg.empty())
    fmt::print(out, "<p>{}</p>\n", XmlText(why_none));
  else
    out << svg.substr(std::min(svg.find("<svg"), svg.size())) << '\n';
  out << "</section>\n";
  for (const auto& block : document.blocks) std::visit(HtmlBlock{out}, block);
  out << "</body>\n</html>\n";
}

}  // namespace dlroof::document
