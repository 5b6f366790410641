#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/compare/write_comparison.h"
#include "reporters/document/document.h"

namespace dlroof::compare {
namespace {

using document::XmlText;

using nlohmann::json;

void PutIfKnown(json& object, const char* key, const auto& value) {
  if (value) object[key] = *value;
}

json ToJson(const Comparison& row) {
  json object = {{"name", row.name()}, {"verdict", statistics::Key(row.verdict)}};
  if (row.base != nullptr && row.base->name != row.name()) object["base_name"] = row.base->name;
  if (row.stored != nullptr) object["base_file"] = row.stored->where;
  if (!row.reason.empty()) object["reason"] = row.reason;
  PutIfKnown(object, "timed", row.timed);
  PutIfKnown(object, "fastest_share", row.fastest_share);
  PutIfKnown(object, "added_seconds", row.added_seconds);
  if (row.judgement) {
    object["ratio"] = row.judgement->ratio;
    object["ci95"] = {row.judgement->ci95.first, row.judgement->ci95.second};
    object["p_value"] = row.judgement->p_value;
    object["adjusted_p_value"] = row.judgement->adjusted_p;
    object["removed"] = row.judgement->removed;
    if (row.judgement->earlier_runs > 0) object["earlier_runs"] = row.judgement->earlier_runs;
  }
  PutIfKnown(object, "base_seconds", row.before.seconds);
  PutIfKnown(object, "new_seconds", row.after.seconds);
  PutIfKnown(object, "base_fraction", row.before.fraction);
  PutIfKnown(object, "new_fraction", row.after.fraction);
  PutIfKnown(object, "base_fraction_at_most", row.before.fraction_at_most);
  PutIfKnown(object, "new_fraction_at_most", row.after.fraction_at_most);
  if (row.before.specified_roof || row.after.specified_roof) object["given_roof"] = true;
  if (row.newly_failed) object["newly_failed"] = true;
  for (const auto& [kind, text] : row.changes)
    object["changes"].push_back({{"kind", kind}, {"text", text}});
  if (const auto cause = row.Cause(); !cause.empty()) object["why"] = cause;
  return object;
}

json Header(const CompareResult& result, const ComparedFiles& files) {
  json head = {{"base", files.base},
               {"new", files.contender},
               {"judged_by", result.across_machines ? "fraction" : "seconds"},
               {"min_effect", result.judged.min_effect},
               {"min_effect_from", result.judged.min_effect_from},
               {"run_noise", result.judged.run_noise},
               {"run_noise_from", result.judged.run_noise_from},
               {"false_discovery_rate", statistics::kFalseDiscoveryRate},
               {"exit_code", result.exit_code},
               {"differs", result.context},
               {"summary", json::object()}};
  for (const statistics::Verdict verdict : statistics::AllVerdicts()) {
    const auto found = result.count.find(verdict);
    head["summary"][std::string(statistics::Key(verdict))] =
        found == result.count.end() ? 0 : found->second;
  }
  if (result.rerun)
    head["measured_again"] = {{"file", result.rerun->where},
                              {"taken_back", result.rerun->retracted},
                              {"unknown", result.rerun->unknown}};
  if (!result.judged.common) return head;
  const auto& common = *result.judged.common;
  const auto interval = [](double log_ratio, double error) {
    return json{std::exp(log_ratio - 1.96 * error), std::exp(log_ratio + 1.96 * error)};
  };
  head["removed"] = {{"ratio", std::exp(common.removed)},
                     {"ci95", interval(common.removed, common.removed_error)},
                     {"ceilings", common.machine ? common.machine->count : 0},
                     {"by_ceilings", common.is_of_program},
                     {"text", fmt::format("{}", fmt::join(statistics::Describe(common), "; "))}};
  if (common.is_known())
    head["moved_together"] = {{"ratio", std::exp(common.log_ratio)},
                              {"ci95", interval(common.log_ratio, common.standard_error)},
                              {"benchmarks", common.benchmarks},
                              {"unexplained", common.is_unexplained}};
  return head;
}

// Returns the class name of a JUnit test case: "Conv2D.cpu.onednn.fwd".
std::string ClassOf(const record::Record& record) {
  std::string text = record.op;
  for (const auto* part : {&record.device, &record.library, &record.direction})
    if (!part->empty()) text += '.' + *part;
  return text;
}

// Returns the element of a test case that did not pass, else "".
std::string_view ElementOf(const Comparison& row) {
  if (row.newly_failed) return "error";
  if (row.GotWorse()) return "failure";
  const bool judged =
      row.verdict == statistics::Verdict::kSame || row.verdict == statistics::Verdict::kFaster;
  return judged ? "" : "skipped";
}

std::string MessageOf(const Comparison& row) {
  std::string text(statistics::Key(row.verdict));
  if (row.judgement)
    text += fmt::format(" by {:.3f} ({:.3f} to {:.3f})", row.judgement->ratio,
                        row.judgement->ci95.first, row.judgement->ci95.second);
  const auto notes = NotesOf(row);
  return notes.empty() ? text : text + ": " + notes;
}

void WriteCase(const Comparison& row, std::ostream& out) {
  const record::Record& record = row.contender != nullptr ? *row.contender : *row.base;
  out << fmt::format(R"(    <testcase classname="{}" name="{}")", XmlText(ClassOf(record)),
                     XmlText(row.name()));
  if (row.after.seconds) out << fmt::format(R"( time="{:.9f}")", *row.after.seconds);
  const auto element = ElementOf(row);
  if (element.empty()) {
    out << "/>\n";
    return;
  }
  out << fmt::format("><{} message=\"{}\"", element, XmlText(MessageOf(row)));
  if (element != "skipped") out << fmt::format(" type=\"{}\"", statistics::Key(row.verdict));
  out << "/></testcase>\n";
}

}  // namespace

// Writes rows one by one: a JSON tree of 100,000 rows would need too much memory and time.
void WriteJson(const CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  auto head = Header(result, files).dump(1, ' ', false, json::error_handler_t::replace);
  head.resize(head.rfind('\n'));
  out << head << ",\n \"benchmarks\": [";
  const char* before = "\n  ";
  for (const auto& row : result.rows) {
    out << before << ToJson(row).dump(-1, ' ', false, json::error_handler_t::replace);
    before = ",\n  ";
  }
  out << "\n ]\n}\n";
}

void WriteJunit(const CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  std::map<std::string_view, int> count;  // of elements
  for (const auto& row : result.rows) ++count[ElementOf(row)];
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out << fmt::format(R"(<testsuites tests="{0}" failures="{1}" errors="{2}">
  <testsuite name="{3}" tests="{0}" failures="{1}" errors="{2}" skipped="{4}">
)",
                     result.rows.size(), count["failure"], count["error"],
                     XmlText("dlroof compare " + files.base + " " + files.contender),
                     count["skipped"]);
  for (const auto& row : result.rows) WriteCase(row, out);
  out << fmt::format("    <system-out>{}\n</system-out>\n  </testsuite>\n</testsuites>\n",
                     XmlText(fmt::format("{}", fmt::join(RemarksOf(result), "\n"))));
}

}  // namespace dlroof::compare
