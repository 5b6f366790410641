#include <fmt/format.h>

#include <ostream>

#include "baselines/formats/write_comparison.h"

namespace dlroof {
namespace {

// Text inside an attribute's quotes. XML 1.0 (2.2) has no control characters but tab, newline and
// return, not even as references, and no U+FFFE and U+FFFF.
std::string Attribute(std::string_view text) {
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

// "Conv2D.cpu.onednn.fwd": what a CI server groups by.
std::string ClassOf(const Record& record) {
  std::string text = record.op;
  for (const auto* part : {&record.device, &record.library, &record.direction})
    if (!part->empty()) text += '.' + *part;
  return text;
}

const char* ElementOf(const Comparison& row) {
  if (row.newly_failed) return "error";
  if (GotWorse(row)) return "failure";
  const bool judged = row.verdict == Verdict::kSame || row.verdict == Verdict::kFaster;
  return judged ? nullptr : "skipped";
}

std::string MessageOf(const Comparison& row) {
  std::string text(Key(row.verdict));
  if (row.judgement) text += fmt::format(" by {}", RatioText(row));
  const auto notes = NotesOf(row);
  return notes.empty() ? text : text + ": " + notes;
}

void WriteCase(const Comparison& row, std::ostream& out) {
  const Record& record = row.fresh != nullptr ? *row.fresh : *row.base;
  out << fmt::format(R"(    <testcase classname="{}" name="{}")", Attribute(ClassOf(record)),
                     Attribute(row.name()));
  if (row.fresh_seconds) out << fmt::format(R"( time="{:.9f}")", *row.fresh_seconds);
  const char* element = ElementOf(row);
  if (element == nullptr) {
    out << "/>\n";
    return;
  }
  out << fmt::format("><{} message=\"{}\"", element, Attribute(MessageOf(row)));
  if (element != std::string_view("skipped"))
    out << fmt::format(" type=\"{}\"", row.alerts.empty() ? Key(row.verdict) : "alert");
  out << "/></testcase>\n";
}

}  // namespace

void WriteJunit(const CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  int failures = 0, errors = 0, skipped = 0;
  for (const auto& row : result.rows) {
    const std::string_view element = ElementOf(row) == nullptr ? "" : ElementOf(row);
    failures += element == "failure" ? 1 : 0;
    errors += element == "error" ? 1 : 0;
    skipped += element == "skipped" ? 1 : 0;
  }
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out << fmt::format(R"(<testsuites tests="{0}" failures="{1}" errors="{2}">
  <testsuite name="{3}" tests="{0}" failures="{1}" errors="{2}" skipped="{4}">
)",
                     result.rows.size(), failures, errors,
                     Attribute("dlroof compare " + files.base + " " + files.fresh), skipped);
  for (const auto& row : result.rows) WriteCase(row, out);
  std::string remarks;
  for (const auto& remark : RemarksOf(result)) remarks += remark + '\n';
  out << fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
                     Attribute(remarks));
}

}  // namespace dlroof
