#include <fmt/format.h>

#include <ostream>

#include "baselines/formats/page_text.h"
#include "baselines/formats/write_comparison.h"

namespace dlroof::formats {
namespace {

// "Conv2D.cpu.onednn.fwd": what a CI server groups by.
std::string ClassOf(const record::Record& record) {
  std::string text = record.op;
  for (const auto* part : {&record.device, &record.library, &record.direction})
    if (!part->empty()) text += '.' + *part;
  return text;
}

const char* ElementOf(const compare::Comparison& row) {
  if (row.newly_failed) return "error";
  if (GotWorse(row)) return "failure";
  const bool judged = row.verdict == statistics::Verdict::kSame || row.verdict == statistics::Verdict::kFaster;
  return judged ? nullptr : "skipped";
}

std::string MessageOf(const compare::Comparison& row) {
  std::string text(statistics::Key(row.verdict));
  if (row.judgement) text += fmt::format(" by {}", RatioText(row));
  const auto notes = NotesOf(row);
  return notes.empty() ? text : text + ": " + notes;
}

void WriteCase(const compare::Comparison& row, std::ostream& out) {
  const record::Record& record = row.fresh != nullptr ? *row.fresh : *row.base;
  out << fmt::format(R"(    <testcase classname="{}" name="{}")", XmlText(ClassOf(record)),
                     XmlText(row.name()));
  if (row.fresh_seconds) out << fmt::format(R"( time="{:.9f}")", *row.fresh_seconds);
  const char* element = ElementOf(row);
  if (element == nullptr) {
    out << "/>\n";
    return;
  }
  out << fmt::format("><{} message=\"{}\"", element, XmlText(MessageOf(row)));
  if (element != std::string_view("skipped"))
    out << fmt::format(" type=\"{}\"", row.alerts.empty() ? statistics::Key(row.verdict) : "alert");
  out << "/></testcase>\n";
}

}  // namespace

void WriteJunit(const compare::CompareResult& result, const ComparedFiles& files, std::ostream& out) {
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
                     XmlText("dlroof compare " + files.base + " " + files.fresh), skipped);
  for (const auto& row : result.rows) WriteCase(row, out);
  std::string remarks;
  for (const auto& remark : RemarksOf(result)) remarks += remark + '\n';
  out << fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
                     XmlText(remarks));
}

}  // namespace dlroof::formats
