#include "baselines/compare/write_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <unordered_map>

#include "counters/base/numbers.h"
#include "reporters/document/markup.h"
#include "reporters/text/text.h"

namespace dlroof::compare {
namespace {

using document::MarkdownText;

constexpr std::array<statistics::Verdict, 9> kWorstFirst = {
    statistics::Verdict::kSlower,       statistics::Verdict::kFailed,
    statistics::Verdict::kFaster,       statistics::Verdict::kAmbiguous,
    statistics::Verdict::kInsufficient, statistics::Verdict::kGone,
    statistics::Verdict::kNew,          statistics::Verdict::kSame,
    statistics::Verdict::kUnsupported};
constexpr std::size_t kMaxMarkdownRows = 100;
constexpr std::size_t kMaxRows = 40;  // a larger table shows what changed, and counts the rest

std::size_t Rank(const compare::Comparison& row) {
  if (!row.alerts.empty()) return 0;
  return std::ranges::find(kWorstFirst, row.verdict) - kWorstFirst.begin();
}

// Returns the rows, worst verdict first.
std::vector<const compare::Comparison*> Ordered(const compare::CompareResult& result) {
  std::array<std::vector<const compare::Comparison*>, kWorstFirst.size()> by_rank;
  for (const auto& row : result.rows) by_rank.at(Rank(row)).push_back(&row);
  std::vector<const compare::Comparison*> rows;
  rows.reserve(result.rows.size());
  for (const auto& some : by_rank) rows.insert(rows.end(), some.begin(), some.end());
  return rows;
}

std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? text::WithPrefix(*seconds, "s") : "";
}

std::string FractionText(const compare::Comparison& row) {
  const auto text = [](const std::optional<double>& exact, const std::optional<double>& at_most) {
    if (exact) return text::FixedText(100 * *exact, 1);
    return at_most ? "<= " + text::FixedText(100 * *at_most, 1) : std::string("?");
  };
  const auto base = text(row.base_fraction, row.base_fraction_at_most);
  const auto contender = text(row.contender_fraction, row.contender_fraction_at_most);
  if (base == "?" && contender == "?") return "";
  return fmt::format("{} -> {}{}", base, contender, row.specified_roof ? " (specified)" : "");
}

// Returns how likely a change this large is if nothing changed, over all benchmarks.
std::string PValueText(const compare::Comparison& row) {
  if (!row.judgement) return "";
  const double p_value = row.judgement->adjusted_p;
  return p_value < 1e-4 ? "<0.0001" : text::FixedText(p_value, p_value < 0.01 ? 4 : 2);
}

std::string IntervalText(const std::pair<double, double>& ci95) {
  auto text = text::FixedText(ci95.first, 3);
  text += " to ";
  text += text::FixedText(ci95.second, 3);
  return text;
}

// Returns a row's cells, under Titles() but the first.
std::vector<std::string> RowCells(const compare::Comparison& row) {
  std::vector<std::string> cells = {std::string(statistics::Key(row.verdict))};
  cells.push_back(row.judgement ? text::FixedText(row.judgement->ratio, 3) : "");
  cells.push_back(row.judgement ? IntervalText(row.judgement->ci95) : "");
  cells.push_back(PValueText(row));
  cells.push_back(SecondsText(row.base_seconds));
  cells.push_back(SecondsText(row.contender_seconds));
  cells.push_back(FractionText(row));
  return cells;
}

std::vector<std::string> Titles(const compare::CompareResult& result) {
  return {"benchmark", "verdict",      result.across_machines ? "from roof" : "ratio",
          "95 %",      "p (adjusted)", "base",
          "new",       "% roof"};
}

std::string NameOf(const compare::Comparison& row) {
  const bool mapped =
      row.base != nullptr && row.contender != nullptr && row.base->name != row.contender->name;
  return mapped ? row.base->name + " -> " + row.contender->name : row.name();
}

void WriteMarkdownRow(const compare::Comparison& row, std::ostream& out) {
  out << fmt::format("| <code>{}</code> |", MarkdownText(NameOf(row)));
  const auto cells = RowCells(row);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool stands_out = i == 0 && GotWorse(row);
    out << fmt::format(" {0}{1}{0} |", stands_out ? "**" : "", cells[i]);
  }
  out << ' ' << MarkdownText(NotesOf(row)) << " |\n";
}

// Drops the rows that neither run supports, and of a large comparison those that did not change.
// Returns how many of the second were dropped, by verdict.
std::map<statistics::Verdict, int> DropUnchanged(bool all,
                                                 std::vector<const compare::Comparison*>& rows) {
  std::erase_if(rows,
                [](const auto* row) { return row->verdict == statistics::Verdict::kUnsupported; });
  std::map<statistics::Verdict, int> dropped;
  if (all || rows.size() <= kMaxRows) return dropped;
  std::erase_if(rows, [&](const auto* row) {
    const bool drop = !GotWorse(*row) && !statistics::IsChange(row->verdict) &&
                      row->verdict != statistics::Verdict::kFailed;
    if (drop) ++dropped[row->verdict];
    return drop;
  });
  return dropped;
}

// [1] Numbers of benchmarks.
struct PartnerCounts {
  std::size_t in_base = 0, in_contender = 0, in_both = 0;
};

PartnerCounts CountPartners(const compare::CompareResult& result) {
  PartnerCounts counts;
  for (const auto& row : result.rows) {
    counts.in_base += row.base != nullptr ? 1 : 0;
    counts.in_contender += row.contender != nullptr ? 1 : 0;
    counts.in_both += row.base != nullptr && row.contender != nullptr ? 1 : 0;
  }
  return counts;
}

// Adds remarks on how one run was judged against another; `before` is their prefix.
void AddJudgedBy(const compare::CompareResult& result, const std::string& before,
                 std::vector<std::string>& remarks) {
  if (result.common && !before.empty())
    for (const auto& line : statistics::Describe(*result.common)) remarks.push_back(before + line);
  remarks.push_back(fmt::format(
      "{}minimum effect {:.1f} % ({}); noise between runs {:.1f} % ({}); at most {:.0f} % of the "
      "verdicts slower and faster are expected to be chance",
      before, 100 * result.min_effect, result.min_effect_from, 100 * result.run_noise,
      result.run_noise_from, 100 * statistics::kFalseDiscoveryRate));
  if (!result.context.empty())
    remarks.push_back(
        fmt::format("{}differs between the runs: {}", before, fmt::join(result.context, "; ")));
}

// Adds remarks on the check against a second run, or suggests that check if benchmarks moved.
void AddRerun(const compare::CompareResult& result, std::vector<std::string>& remarks) {
  // Runs in several processes already contain how much these differ.
  const bool moved = std::ranges::any_of(result.rows, [](const compare::Comparison& row) {
    return !row.fastest_share && statistics::IsChange(row.verdict);
  });
  if (result.rerun)
    remarks.push_back(fmt::format(
        "checked against {}: {} slower or faster only in NEW, {} without enough times there",
        result.rerun->where, result.rerun->retracted, result.rerun->unknown));
  else if (moved && !result.interleaved && !result.across_machines)
    remarks.emplace_back(
        "a process may be slower or faster than the next one for its whole life: measure what "
        "moved "
        "once more and check it with --again FILE");
}

// Writes the notes of the rows, a line for each text, with the first of its benchmarks.
void WriteNotes(const std::vector<const compare::Comparison*>& rows, std::ostream& out) {
  std::vector<std::pair<std::string, std::vector<const compare::Comparison*>>> notes;
  std::unordered_map<std::string, std::size_t> index;
  for (const auto* row : rows) {
    auto text = NotesOf(*row);
    if (text.empty()) continue;
    text = fmt::format("{}: {}", statistics::Key(row->verdict), text);
    const auto [found, added] = index.try_emplace(text, notes.size());
    if (added) notes.emplace_back(text, std::vector<const compare::Comparison*>());
    notes[found->second].second.push_back(row);
  }
  if (!notes.empty()) out << "\nwhy\n";
  for (const auto& [text, subjects] : notes) {
    out << "  " << text::Printable(text) << ": " << text::Printable(NameOf(*subjects.front()));
    if (subjects.size() > 1) out << " and " << subjects.size() - 1 << " more";
    out << '\n';
  }
}

}  // namespace

std::string CountsText(const compare::CompareResult& result) {
  std::string text;
  for (const statistics::Verdict verdict : kWorstFirst) {
    const auto found = result.count.find(verdict);
    if (found == result.count.end()) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", found->second, statistics::Key(verdict));
  }
  if (result.alerts > 0)
    text += fmt::format(", {} alert{}", result.alerts, result.alerts == 1 ? "" : "s");
  return text;
}

std::string FewSharedText(const compare::CompareResult& result) {
  const auto [in_base, in_contender, in_both] = CountPartners(result);
  const std::size_t smaller = std::min(in_base, in_contender);
  if (!result.parts.empty() || 2 * in_both >= smaller) return "";
  return fmt::format("only {} of {} benchmarks {} in both files ({} in BASE, {} in NEW)", in_both,
                     smaller, in_both == 1 ? "is" : "are", in_base, in_contender);
}

// Returns which times of GPU benchmarks were judged, if not the records' own.
std::string TimedText(const compare::CompareResult& result) {
  std::map<std::string, int> counts;
  for (const auto& row : result.rows)
    if (row.timed) ++counts[*row.timed];
  std::vector<std::string> kinds;
  for (const auto& [timed, count] : counts)
    kinds.push_back(fmt::format("{} by their {} times", count, timed));
  if (kinds.empty()) return "";
  return fmt::format(
      "GPU benchmarks judged {}: the launch-inclusive times of these files contain the host's "
      "noise",
      fmt::join(kinds, ", "));
}

// Returns how many benchmarks were judged by their fastest repetitions.
std::string FastestText(const compare::CompareResult& result) {
  std::map<double, int> counts;
  for (const auto& row : result.rows)
    if (row.fastest_share) ++counts[*row.fastest_share];
  std::vector<std::string> parts;
  for (const auto& [share, count] : counts)
    parts.push_back(fmt::format("{} by the mean of the fastest {:.0f} %", count, 100 * share));
  if (parts.empty()) return "";
  return fmt::format(
      "judged {} of the repetitions in all processes of a run, noisy ones too: base and new are "
      "that, and what differs between processes is in the interval",
      fmt::join(parts, ", "));
}

// Returns how queued times of GPUs were corrected.
std::string CorrectionText(const compare::CompareResult& result) {
  std::vector<double> added;
  for (const auto& row : result.rows)
    if (row.added_seconds) added.push_back(*row.added_seconds);
  if (added.empty()) return "";
  const double seconds = Median(std::move(added));
  return fmt::format(
      "queued times of GPU calls are compared with {}{} added to those of NEW: an empty kernel "
      "took that "
      "much {} there",
      seconds < 0 ? "-" : "+", text::WithPrefix(std::abs(seconds), "s"),
      seconds < 0 ? "longer" : "less");
}

std::vector<std::string> RemarksOf(const compare::CompareResult& result) {
  std::vector<std::string> remarks;
  if (auto timed = TimedText(result); !timed.empty()) remarks.push_back(std::move(timed));
  if (auto text = FastestText(result); !text.empty()) remarks.push_back(std::move(text));
  if (auto text = CorrectionText(result); !text.empty()) remarks.push_back(std::move(text));
  if (result.exit_code == 3 && !(result.common && result.common->is_unexplained))
    remarks.emplace_back("cannot say: no benchmark could be judged");
  if (auto few = FewSharedText(result); !few.empty()) remarks.push_back(std::move(few));
  if (!result.parts.empty()) {
    const auto partners = CountPartners(result);
    remarks.push_back(fmt::format("{} of {} benchmarks of NEW have no stored result",
                                  partners.in_contender - partners.in_both, partners.in_contender));
  }
  AddRerun(result, remarks);
  if (result.parts.size() < 2) AddJudgedBy(result, "", remarks);
  if (result.parts.size() > 1)
    for (const auto& part : result.parts)
      AddJudgedBy(part, fmt::format("against {} ({}): ", part.base, CountsText(part)), remarks);
  if (auto residuals = compare::Describe(result.residuals); !residuals.empty())
    remarks.push_back(std::move(residuals));
  return remarks;
}

std::string NotesOf(const compare::Comparison& row) {
  std::string notes = row.reason;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) notes += (notes.empty() ? "" : "; ") + text;
  };
  for (const auto& alert : row.alerts) add(fmt::format("alert on {}", compare::Key(alert.on)));
  for (const auto& alert : row.alerts)
    if (alert.on == compare::Quantity::kFraction) add(alert.text);
  for (const auto& residual : row.residuals)
    if (residual.moved) add(residual.Text());
  add(row.Cause());
  return notes;
}

std::string RatioText(const compare::Comparison& row) {
  if (!row.judgement) return "";
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", row.judgement->ratio, row.judgement->ci95.first,
                     row.judgement->ci95.second);
}

bool GotWorse(const compare::Comparison& row) {
  return row.verdict == statistics::Verdict::kSlower || row.newly_failed || !row.alerts.empty();
}

void WriteTable(const compare::CompareResult& result, const ComparedFiles& files, int width,
                std::ostream& out) {
  out << text::Printable(files.base) << " -> " << text::Printable(files.contender) << ": "
      << CountsText(result) << '\n';
  if (result.common && result.parts.size() < 2)
    for (const auto& line : statistics::Describe(*result.common)) out << line << '\n';
  auto ordered = Ordered(result);
  const auto dropped = DropUnchanged(files.all_rows, ordered);
  std::vector<std::vector<std::string>> rows = {Titles(result)};
  for (const auto* comparison : ordered) {
    auto& row = rows.emplace_back(RowCells(*comparison));
    row.insert(row.begin(), text::Printable(NameOf(*comparison)));
  }
  if (rows.size() > 1) {
    out << '\n';
    text::WriteAligned(rows, width, out);
  }
  if (!dropped.empty()) {
    std::vector<std::string> counts;
    for (const auto& [verdict, count] : dropped)
      counts.push_back(fmt::format("{} {}", count, statistics::Key(verdict)));
    out << fmt::format("and {} (--all shows them)\n", fmt::join(counts, ", "));
  }
  WriteNotes(dropped.empty() ? Ordered(result) : ordered, out);
  out << '\n';
  for (const auto& remark : RemarksOf(result)) out << text::Printable(remark) << '\n';
}

void WriteMarkdown(const compare::CompareResult& result, const ComparedFiles& files,
                   std::ostream& out) {
  out << "### dlroof: " << CountsText(result) << "\n\n";
  out << fmt::format("<code>{}</code> against <code>{}</code>\n\n", MarkdownText(files.contender),
                     MarkdownText(files.base));
  if (result.common && result.parts.size() < 2)
    for (const auto& text : statistics::Describe(*result.common))
      out << MarkdownText(text) << "\n\n";
  std::vector<const compare::Comparison*> rows = Ordered(result);
  std::erase_if(rows, [](const auto* row) {
    return row->verdict == statistics::Verdict::kUnsupported ||
           (row->verdict == statistics::Verdict::kSame && row->alerts.empty() &&
            row->changes.empty());
  });
  if (!rows.empty())
    out << fmt::format(
        "| {} | why |\n| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | --- |\n",
        fmt::join(Titles(result), " | "));
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxMarkdownRows); ++i)
    WriteMarkdownRow(*rows[i], out);
  if (rows.size() > kMaxMarkdownRows)
    out << fmt::format("\nand {} more rows.\n", rows.size() - kMaxMarkdownRows);
  out << '\n';
  for (const auto& remark : RemarksOf(result)) out << "- " << MarkdownText(remark) << '\n';
}

const std::vector<ComparisonWriter>& ComparisonWriters() {
  static const std::vector<ComparisonWriter> table = {
      {"table", [](const compare::CompareResult& result, const ComparedFiles& files,
                   std::ostream& out) { WriteTable(result, files, text::TerminalColumns(), out); }},
      {"markdown", WriteMarkdown},
      {"json", WriteJson},
      {"junit", WriteJunit}};
  return table;
}

}  // namespace dlroof::compare
