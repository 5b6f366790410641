#include "baselines/compare/write_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/document/document.h"
#include "reporters/text/text.h"

namespace dlroof::compare {
namespace {

using document::Document;
using nlohmann::json;
using statistics::Verdict;

constexpr std::size_t kMaxMarkdownRows = 100;
constexpr std::size_t kMaxRows = 40;  // larger tables omit unchanged rows and show their number

using Rows = std::vector<const Comparison*>;

Rows Ordered(const CompareResult& result) {
  auto rows = VectorOf<const Comparison*>(result.rows, [](const auto& row) { return &row; });
  std::ranges::stable_sort(rows, {}, &Comparison::verdict);
  return rows;
}

std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? text::WithPrefix(*seconds, "s") : "";
}

std::string FractionText(const Comparison& row) {
  const auto text = [](const Side& side) {
    if (side.fraction) return text::FixedText(100 * *side.fraction, 1);
    return side.fraction_at_most ? "<= " + text::FixedText(100 * *side.fraction_at_most, 1)
                                 : std::string("?");
  };
  const auto base = text(row.before), contender = text(row.after);
  if (base == "?" && contender == "?") return "";
  const bool specified = row.before.specified_roof || row.after.specified_roof;
  return fmt::format("{} -> {}{}", base, contender, specified ? " (specified)" : "");
}

std::string NameOf(const Comparison& row) {
  const bool mapped =
      row.base != nullptr && row.contender != nullptr && row.base->name != row.contender->name;
  return mapped ? row.base->name + " -> " + row.contender->name : row.name();
}

document::Table TableOf(const CompareResult& result, const Rows& rows) {
  document::Table table;
  table.columns = {"benchmark", "verdict",      result.across_machines ? "from roof" : "ratio",
                   "95 %",      "p (adjusted)", "base",
                   "new",       "% roof"};
  for (const auto* row : rows) {
    std::string ratio, interval, chance;
    if (const auto& judgement = row->judgement) {
      const double p_value = judgement->adjusted_p;
      ratio = text::FixedText(judgement->ratio, 3);
      interval = fmt::format("{:.3f} to {:.3f}", judgement->ci95.first, judgement->ci95.second);
      chance = p_value < 1e-4 ? "<0.0001" : text::FixedText(p_value, p_value < 0.01 ? 4 : 2);
    }
    table.rows.push_back({NameOf(*row), std::string(statistics::Key(row->verdict)), ratio, interval,
                          chance, SecondsText(row->before.seconds), SecondsText(row->after.seconds),
                          FractionText(*row)});
  }
  return table;
}

// Removes rows that neither run supports. If more than kMaxRows rows are left and not `all`, also
// removes rows without a change and returns their counts, e.g. "67 ambiguous, 2 same"; else "".
std::string DropUnchanged(bool all, Rows& rows) {
  std::erase_if(rows, [](const auto* row) { return row->verdict == Verdict::kUnsupported; });
  if (all || rows.size() <= kMaxRows) return "";
  std::map<Verdict, int> dropped;
  std::erase_if(rows, [&](const auto* row) {
    const bool drop =
        !row->GotWorse() && !statistics::IsChange(row->verdict) && row->verdict != Verdict::kFailed;
    if (drop) ++dropped[row->verdict];
    return drop;
  });
  return CountsText(dropped);
}

// Returns one item for each group of rows with equal notes. It names the group's first benchmark.
document::List NotesList(const Rows& rows) {
  text::InOrder<Rows> groups;
  for (const auto* row : rows)
    if (const auto notes = NotesOf(*row); !notes.empty())
      groups[fmt::format("{}: {}", statistics::Key(row->verdict), notes)].push_back(row);
  document::List list{.title = "why"};
  for (const auto& [text, subjects] : groups.all)
    list.items.push_back({fmt::format(
        "{}: {}", text, document::AndMore(NameOf(*subjects.front()), subjects.size()))});
  return list;
}

Document DocumentOf(const CompareResult& result, const Rows& rows, const std::string& dropped,
                    const Rows& explained) {
  Document report;
  if (result.judged.common)
    for (auto& line : statistics::Describe(*result.judged.common)) report.Say(std::move(line));
  auto table = TableOf(result, rows);
  if (!dropped.empty()) table.notes.push_back(fmt::format("and {} (--all shows them)", dropped));
  report.Add(std::move(table));
  report.Add(NotesList(explained));
  for (auto& remark : RemarksOf(result)) report.Say(std::move(remark));
  return report;
}

json ToJson(const Comparison& row) {
  json object = {{"name", row.name()}, {"verdict", statistics::Key(row.verdict)}};
  if (row.base != nullptr && row.base->name != row.name()) object["base_name"] = row.base->name;
  if (row.stored != nullptr) object["base_file"] = row.stored->where;
  if (!row.reason.empty()) object["reason"] = row.reason;
  if (row.timed) object["timed"] = *row.timed;
  if (row.judgement) {
    object["ratio"] = row.judgement->ratio;
    object["ci95"] = {row.judgement->ci95.first, row.judgement->ci95.second};
    object["p_value"] = row.judgement->p_value;
    object["adjusted_p_value"] = row.judgement->adjusted_p;
    object["removed"] = row.judgement->removed;
    if (row.judgement->earlier_runs > 0) object["earlier_runs"] = row.judgement->earlier_runs;
  }
  for (const auto& [key, value] : {std::pair("fastest_share", row.fastest_share),
                                   {"added_seconds", row.added_seconds},
                                   {"base_seconds", row.before.seconds},
                                   {"new_seconds", row.after.seconds},
                                   {"base_fraction", row.before.fraction},
                                   {"new_fraction", row.after.fraction},
                                   {"base_fraction_at_most", row.before.fraction_at_most},
                                   {"new_fraction_at_most", row.after.fraction_at_most}})
    if (value) object[key] = *value;
  if (row.before.specified_roof || row.after.specified_roof) object["given_roof"] = true;
  if (row.newly_failed) object["newly_failed"] = true;
  for (const auto& change : row.changes)
    object["changes"].push_back({{"kind", change.kind}, {"text", change.text}});
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
               {"false_discovery_rate", result.judged.false_discovery_rate},
               {"exit_code", result.exit_code},
               {"differs", result.context},
               {"summary", json::object()}};
  for (std::size_t i = 0; i < statistics::kVerdicts.size(); ++i)
    head["summary"][std::string(statistics::kVerdicts[i])] =
        FindCopy(result.count, static_cast<Verdict>(i)).value_or(0);
  if (result.rerun)
    head["measured_again"] = {{"file", result.rerun->where},
                              {"taken_back", result.rerun->retracted},
                              {"unknown", result.rerun->unknown}};
  if (!result.judged.common) return head;
  const auto& common = *result.judged.common;
  head["removed"] = {{"ratio", common.removed.ratio()},
                     {"ci95", common.removed.interval()},
                     {"ceilings", common.machine ? common.machine->count : 0},
                     {"by_ceilings", common.is_of_program},
                     {"text", fmt::format("{}", fmt::join(statistics::Describe(common), "; "))}};
  if (common.is_known())
    head["moved_together"] = {{"ratio", common.all.ratio()},
                              {"ci95", common.all.interval()},
                              {"benchmarks", common.all.count},
                              {"unexplained", common.is_unexplained}};
  return head;
}

// Returns the class name of a JUnit test case, e.g. "Conv2D.cpu.onednn.fwd".
std::string ClassOf(const record::Record& record) {
  std::string text = record.op;
  for (const auto* part : {&record.device, &record.library, &record.direction})
    if (!part->empty()) text += '.' + *part;
  return text;
}

// Returns the JUnit element ("error", "failure", "skipped") of a test case; "" if it passed.
std::string_view ElementOf(const Comparison& row) {
  if (row.newly_failed) return "error";
  if (row.GotWorse()) return "failure";
  return row.verdict == Verdict::kSame || row.verdict == Verdict::kFaster ? "" : "skipped";
}

std::string MessageOf(const Comparison& row) {
  std::string text(statistics::Key(row.verdict));
  if (row.judgement)
    text += fmt::format(" by {:.3f} ({:.3f} to {:.3f})", row.judgement->ratio,
                        row.judgement->ci95.first, row.judgement->ci95.second);
  const auto notes = NotesOf(row);
  return notes.empty() ? text : text + ": " + notes;
}

}  // namespace

std::string CountsText(const std::map<Verdict, int>& count) {
  const auto counts = VectorOf<std::string>(count, [](const auto& row) {
    return fmt::format("{} {}", row.second, statistics::Key(row.first));
  });
  return fmt::format("{}", fmt::join(counts, ", "));
}

std::string FewSharedText(const CompareResult& result) {
  std::size_t in_base = 0, in_contender = 0, in_both = 0;
  for (const auto& row : result.rows) {
    in_base += row.base != nullptr ? 1 : 0;
    in_contender += row.contender != nullptr ? 1 : 0;
    in_both += row.base != nullptr && row.contender != nullptr ? 1 : 0;
  }
  const std::size_t smaller = std::min(in_base, in_contender);
  if (2 * in_both >= smaller) return "";
  return fmt::format("only {} of {} benchmarks {} in both files ({} in BASE, {} in NEW)", in_both,
                     smaller, in_both == 1 ? "is" : "are", in_base, in_contender);
}

// Returns the number of blocks or processes [1] that measured the row's benchmark in NEW.
int BlocksOf(const Comparison& row) {
  const auto& repetitions = row.contender->repetitions;
  return repetitions.empty() ? 0 : repetitions.back().block.value_or(0) + 1;
}

// Returns the median of record::WallOverCpu [1] over benchmarks, or 1 if no benchmark has it.
double WallOverCpu(const CompareResult& result, const record::Record* Comparison::*side) {
  std::vector<double> ratios;
  for (const auto& row : result.rows)
    if (const record::Record* record = row.*side)
      if (const auto ratio = record::WallOverCpu(*record)) ratios.push_back(*ratio);
  return ratios.empty() ? 1 : Median(std::move(ratios));
}

std::string BudgetAdvice(const CompareResult& result) {
  const bool can_measure = std::ranges::any_of(result.rows, [](const Comparison& row) {
    return (row.verdict == Verdict::kAmbiguous || row.verdict == Verdict::kInsufficient) &&
           BlocksOf(row) < statistics::kLooks.back();
  });
  return can_measure ? fmt::format(", or a larger --budget, up to {} blocks each",
                                   statistics::kLooks.back())
                     : "";
}

std::string WaitText(const CompareResult& result) {
  const double before = WallOverCpu(result, &Comparison::base),
               after = WallOverCpu(result, &Comparison::contender);
  if (std::max(before, after) <= statistics::kMinWait) return "";
  return fmt::format(
      "wall time is {:.2f} times the CPU time in BASE, {:.2f} times in NEW (medians): the "
      "benchmarks wait, or other programs ran on their CPUs",
      before, after);
}

std::vector<std::string> RemarksOf(const CompareResult& result) {
  std::vector<std::string> remarks;
  const auto fastest = [](const auto& row) { return row.fastest_share.has_value(); };
  if (const auto count = std::ranges::count_if(result.rows, fastest); count > 0)
    remarks.push_back(
        fmt::format("judged {} by the mean of the fastest {:.0f} % of the repetitions in all "
                    "processes of a run, noisy ones too; base and new show this mean",
                    count, 100 * *std::ranges::find_if(result.rows, fastest)->fastest_share));
  const bool processes = std::ranges::any_of(result.rows, [](const auto& row) {
    return row.contender != nullptr && BlocksOf(row) >= int{statistics::kMinProcesses};
  });
  if (result.exit_code == 3 && !(result.judged.common && result.judged.common->is_unexplained))
    remarks.push_back(fmt::format(
        "cannot say whether anything is slower; {}",
        result.interleaved   ? "a quieter machine can" + BudgetAdvice(result)
        : result.of_programs ? "profile both programs when the machine is quiet; --again FILE "
                               "checks the changes by a second profile of NEW"
        : processes          ? "run both programs interleaved (dlroof run --ab)"
                             : "run several processes (dlroof run --processes 5) or both programs "
                               "interleaved (dlroof run --ab)"));
  if (auto wait = WaitText(result); !wait.empty()) remarks.push_back(std::move(wait));
  if (auto few = FewSharedText(result); !few.empty()) remarks.push_back(std::move(few));
  const bool moved = std::ranges::any_of(result.rows, [](const Comparison& row) {
    return !row.fastest_share && statistics::IsChange(row.verdict);
  });
  if (result.rerun)
    remarks.push_back(fmt::format(
        "checked against {}: {} slower or faster only in NEW, {} without enough times there",
        result.rerun->where, result.rerun->retracted, result.rerun->unknown));
  else if (moved && !result.interleaved && !result.across_machines)
    remarks.emplace_back(
        "a process may be slower or faster than the next one for its whole life: measure what "
        "moved once more and check it with --again FILE");
  if (std::ranges::any_of(result.rows, [](const auto& row) { return row.judgement.has_value(); }))
    remarks.push_back(fmt::format(
        "minimum effect {:.1f} % ({}); noise between runs {:.1f} % ({}); at most {:.0f} % of the "
        "verdicts slower and faster are expected to be chance",
        100 * result.judged.min_effect, result.judged.min_effect_from,
        100 * result.judged.run_noise, result.judged.run_noise_from,
        100 * result.judged.false_discovery_rate));
  if (!result.context.empty())
    remarks.push_back(fmt::format("differs between the runs: {}", fmt::join(result.context, "; ")));
  return remarks;
}

std::string NotesOf(const Comparison& row) {
  const auto cause = row.Cause();
  return fmt::format("{}{}{}", row.reason, row.reason.empty() || cause.empty() ? "" : "; ", cause);
}

void WriteTable(const CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out) {
  auto rows = Ordered(result);
  const auto dropped = DropUnchanged(files.all_rows, rows);
  Document report;
  report.Say(fmt::format("{} -> {}: {}", files.base, files.contender, CountsText(result.count)));
  report.Add(DocumentOf(result, rows, dropped, dropped.empty() ? Ordered(result) : rows));
  document::Write(report, width, out);
}

void WriteMarkdown(const CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  auto rows = Ordered(result);
  std::erase_if(rows, [](const auto* row) {
    return row->verdict == Verdict::kUnsupported ||
           (row->verdict == Verdict::kSame && row->changes.empty());
  });
  if (rows.size() > kMaxMarkdownRows) rows.resize(kMaxMarkdownRows);
  out << fmt::format("### dlroof: {}\n\n<code>{}</code> against <code>{}</code>\n\n",
                     CountsText(result.count), document::MarkdownText(files.contender),
                     document::MarkdownText(files.base));
  document::WriteMarkdown(DocumentOf(result, rows, "", rows), out);
}

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
  std::vector<document::TestCase> cases;
  for (const auto& row : result.rows) {
    const record::Record& record = row.contender != nullptr ? *row.contender : *row.base;
    auto& test =
        cases.emplace_back(document::TestCase{ClassOf(record), row.name(), row.after.seconds});
    test.element = ElementOf(row);
    if (test.element.empty()) continue;
    test.message = MessageOf(row);
    if (test.element != "skipped") test.type = statistics::Key(row.verdict);
  }
  document::WriteJunit("dlroof compare " + files.base + " " + files.contender, cases,
                       fmt::format("{}", fmt::join(RemarksOf(result), "\n")), out);
}

const std::vector<ComparisonWriter>& ComparisonWriters() {
  static const std::vector<ComparisonWriter> table = {
      {"table", [](const CompareResult& result, const ComparedFiles& files,
                   std::ostream& out) { WriteTable(result, files, text::TerminalColumns(), out); }},
      {"markdown", WriteMarkdown},
      {"json", WriteJson},
      {"junit", WriteJunit}};
  return table;
}

}  // namespace dlroof::compare
