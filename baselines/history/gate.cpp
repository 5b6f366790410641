#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "baselines/compare/write_comparison.h"
#include "baselines/history/history.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/text/text.h"

namespace dlroof::history {
namespace {

using statistics::Verdict;

bool BothRan(const compare::Comparison& row) {
  return row.base != nullptr && row.contender != nullptr &&
         row.base->status == record::Status::kOk && row.contender->status == record::Status::kOk;
}

// Returns a sort key (larger: more likely slower), or nullopt if a slowdown is excluded. For a
// faster benchmark it is not excluded: if the machine became quieter, this may hide a slowdown.
std::optional<double> Suspicion(const compare::Comparison& row, double min_effect) {
  constexpr double kSlowerFirst = 1e6;
  if (!BothRan(row)) return std::nullopt;
  if (row.verdict == Verdict::kInsufficient) return 0;
  if (!row.judgement) return std::nullopt;
  if (row.verdict == Verdict::kSlower) return kSlowerFirst + row.judgement->ratio;
  const bool possible = row.judgement->ci95.second > 1 + min_effect;
  if ((row.verdict == Verdict::kAmbiguous && possible) || row.verdict == Verdict::kFaster)
    return row.judgement->ratio;
  return std::nullopt;
}

constexpr std::size_t kMaxBullets = 5, kMaxAnnotations = 10;
constexpr std::size_t kCommitDigits = 12;
constexpr int kMaxNameColumns = 120, kMaxWhatColumns = 400;

std::string Short(const std::string& commit) { return commit.substr(0, kCommitDigits); }

std::string Percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

// Returns the rows that got worse, sorted by descending ratio; rows without a ratio come first.
std::vector<const compare::Comparison*> Worse(const compare::CompareResult& result) {
  std::vector<const compare::Comparison*> rows;
  for (const auto& row : result.rows)
    if (row.GotWorse()) rows.push_back(&row);
  const auto ratio = [](const auto* row) { return row->judgement ? row->judgement->ratio : 1e9; };
  std::ranges::stable_sort(rows, std::greater(), ratio);
  return rows;
}

std::string CountsWithUnclear(const Report& report) {
  std::string text = compare::CountsText(report.result->count);
  if (const auto count = report.unclear.size(); count > 0)
    text += fmt::format(" ({} could still be slower)", count);
  return text;
}

// The last commit before a row's level in the new run, and the first commit at it; "": unknown.
struct ChangedBetween {
  std::string before, since;
};

ChangedBetween CommitsOf(const compare::Comparison& row, const Report& report) {
  auto commits = report.commits;
  commits.push_back(report.commit);
  const auto runs = static_cast<std::size_t>(row.judgement ? row.judgement->runs_since : 1);
  if (runs >= commits.size()) return {"", commits.front()};
  const auto at = commits.size() - runs;
  return {runs == 1 ? report.interleaved_with.value_or(commits[at - 1]) : commits[at - 1],
          commits[at]};
}

// Returns e.g. "+12.1 % (+10.3 % to +14.0 %), 1.2 ms to 1.3 ms, slower since 0123456789ab: cause",
// or why the benchmark fails.
std::string WhatHappened(const compare::Comparison& row, const Report& report) {
  if (row.newly_failed) return "fails now: " + compare::NotesOf(row);
  std::string text;
  if (row.judgement)
    text = fmt::format("{} ({} to {})", Percent(row.judgement->ratio),
                       Percent(row.judgement->ci95.first), Percent(row.judgement->ci95.second));
  if (row.after.seconds && row.judgement && row.judgement->earlier_runs > 0)
    text += fmt::format(
        ", {} (mean of {} runs) to {}",
        text::WithPrefix(*row.after.seconds / row.judgement->ratio / row.judgement->removed, "s"),
        row.judgement->earlier_runs + 1, text::WithPrefix(*row.after.seconds, "s"));
  else if (row.before.seconds && row.after.seconds)
    text += fmt::format(", {} to {}", text::WithPrefix(*row.before.seconds, "s"),
                        text::WithPrefix(*row.after.seconds, "s"));
  if (row.judgement && row.judgement->runs_since > 1) {
    const auto since = CommitsOf(row, report).since;
    text += since.empty() ? fmt::format(", slower for {} runs", row.judgement->runs_since)
                          : ", slower since " + Short(since);
  }
  if (const auto cause = row.Cause(); !row.changes.empty()) text += ": " + cause;
  return text;
}

std::string AgainText(const Report& report) {
  if (report.again == 0) return "";
  return fmt::format("; {} measured again{}", report.again,
                     report.interleaved_with ? fmt::format(", interleaved with the program of {}",
                                                           Short(*report.interleaved_with))
                                             : "");
}

std::string AboutText(const Report& report) {
  return fmt::format("{} against {} run{} of {}{}{}",
                     report.commit.empty() ? "this build" : Short(report.commit),
                     report.commits.size(), report.commits.size() == 1 ? "" : "s", report.branch,
                     report.commits.back().empty()
                         ? ""
                         : fmt::format(", the newest of {}", Short(report.commits.back())),
                     AgainText(report));
}

// Replaces line breaks by spaces, and the middle of a longer text than `most` columns by "…".
std::string OneLine(std::string text, int most) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text::ShortenMiddle(text, most);
}

// Returns which commit caused the worst slowdown, or the `dlroof bisect` command that finds it,
// between two marks `quote`; "" if a commit is unknown.
std::string WhichCommit(const Report& report, std::string_view quote) {
  const auto worse = Worse(*report.result);
  if (worse.empty() || worse.front()->newly_failed) return "";
  const auto [before, since] = CommitsOf(*worse.front(), report);
  if (before.empty() || since.empty() || before == since) return "";
  const auto bisect =
      BisectCommand(Short(before), Short(since), worse.front()->name(), report.program);
  if (bisect.empty()) return "";
  if (report.adjacent && report.adjacent(before, since))
    return fmt::format("which commit: {0}{1}{0}, the only one after {0}{2}{0}", quote, Short(since),
                       Short(before));
  return fmt::format("which commit: {0}{1}{0}", quote, OneLine(bisect, kMaxWhatColumns));
}

// Returns why most of the unclear benchmarks are unclear (the first one's reason), and what helps.
std::string WhyUnclear(const Report& report) {
  const std::set<std::string> names(report.unclear.begin(), report.unclear.end());
  std::map<Verdict, std::vector<std::string>> reasons;
  for (const auto& row : report.result->rows)
    if (names.contains(row.name()) && !row.reason.empty())
      reasons[row.verdict].push_back(row.reason);
  std::string text;
  if (!reasons.empty())
    text = std::ranges::max_element(reasons, {},
                                    [](const auto& of_verdict) { return of_verdict.second.size(); })
               ->second.front() +
           "; ";
  if (const auto wait = compare::WaitText(*report.result); !wait.empty()) text += wait + "; ";
  return text + "a machine without other programs can tell" + compare::BudgetAdvice(*report.result);
}

// Escapes a workflow command's message or (`property`) a property's value, as in
// https://github.com/actions/toolkit, packages/core/src/command.ts, escapeData and escapeProperty.
std::string Escaped(const std::string& text, bool property) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    if (special)
      escaped += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      escaped += c;
  }
  return escaped;
}

}  // namespace

std::vector<std::string> UnclearNames(const compare::CompareResult& result,
                                      const std::set<std::string>& settled) {
  std::vector<std::pair<double, std::string>> suspects;
  for (const auto& row : result.rows)
    if (const auto suspicion = Suspicion(row, result.judged.min_effect);
        suspicion && !settled.contains(row.name()))
      suspects.emplace_back(-*suspicion, row.name());
  std::ranges::sort(suspects);
  return VectorOf<std::string>(suspects, [](const auto& row) { return row.second; });
}

std::set<std::string> ReplaceRows(const compare::CompareResult& later,
                                  compare::CompareResult& result) {
  std::unordered_map<std::string, const compare::Comparison*> by_name;
  for (const auto& row : later.rows)
    if (BothRan(row) && row.judgement) by_name.emplace(row.name(), &row);
  std::set<std::string> replaced;
  for (auto& row : result.rows) {
    const auto* newer = FindCopy(by_name, row.name()).value_or(nullptr);
    if (newer == nullptr) continue;
    const auto* stored = row.stored;
    row = *newer;
    row.stored = stored;
    replaced.insert(row.name());
  }
  if (later.interleaved && !result.interleaved)
    result.judged.run_noise_from += "; none of what was measured again, interleaved";
  result.interleaved = result.interleaved || later.interleaved;
  auto& common = result.judged.common;
  if (later.interleaved && common && !common->is_known() && UnclearNames(result, replaced).empty())
    common->is_unexplained = false;
  CountVerdicts(result);
  return replaced;
}

std::string BisectCommand(std::string_view before, std::string_view after, std::string_view name,
                          const std::string& program) {
  if (before.starts_with('-') || after.starts_with('-')) return "";  // they would be options
  return fmt::format(
      "{}{} -- {}",
      text::CommandLine({"dlroof", "bisect", std::string(before), std::string(after)}),
      program.empty() ? ""
                      : " " + text::CommandLine({"--build", "BUILD COMMAND", "--program", program}),
      text::CommandLine({std::string(name)}));
}

std::string CommentOf(const Report& report) {
  const auto cell = [](const std::string& text, int most) {
    return document::MarkdownText(OneLine(text, most));
  };
  std::string comment = fmt::format("### dlroof: {}\n\n", CountsWithUnclear(report));
  const auto worse = Worse(*report.result);
  const auto shown = std::min(worse.size(), kMaxBullets - (report.unclear.empty() ? 0 : 1));
  for (std::size_t i = 0; i < shown; ++i)
    comment += fmt::format("- **{}** {}\n", cell(worse[i]->name(), kMaxNameColumns),
                           cell(WhatHappened(*worse[i], report), kMaxWhatColumns));
  if (worse.size() > shown) comment += fmt::format("- and {} more\n", worse.size() - shown);
  if (!report.unclear.empty())
    comment += fmt::format(
        "- could still be slower: {}: {}\n",
        cell(document::AndMore(report.unclear.front(), report.unclear.size()), kMaxNameColumns),
        cell(WhyUnclear(report), kMaxWhatColumns));
  if (shown > 0 || !report.unclear.empty()) comment += '\n';
  comment += cell(AboutText(report), kMaxWhatColumns);
  if (const auto which = WhichCommit(report, "`"); !which.empty()) comment += "; " + which;
  return comment + '\n';
}

std::string AnnotationsOf(const Report& report) {
  std::string lines;
  const auto worse = Worse(*report.result);
  for (std::size_t i = 0; i < std::min(worse.size(), kMaxAnnotations); ++i)
    lines += fmt::format(
        "::error title={}::{}\n", Escaped(fmt::format("dlroof: {}", worse[i]->name()), true),
        Escaped(fmt::format("{}: {}", worse[i]->name(), WhatHappened(*worse[i], report)), false));
  if (!report.unclear.empty())
    lines +=
        fmt::format("::warning title=dlroof::{}\n",
                    Escaped(fmt::format("{} benchmarks could be slower: the time for measuring "
                                        "again is over ({})",
                                        report.unclear.size(), AboutText(report)),
                            false));
  return lines;
}

std::string SummaryOf(const Report& report) {
  std::string text =
      fmt::format("{}: {}\n", text::Printable(AboutText(report)), CountsWithUnclear(report));
  for (const auto* row : Worse(*report.result))
    text += fmt::format("  {}  {}\n", text::Printable(row->name()),
                        text::Printable(WhatHappened(*row, report)));
  for (const auto& name : report.unclear)
    text += fmt::format("  {}  could still be slower\n", text::Printable(name));
  if (!report.unclear.empty()) text += fmt::format("{}\n", text::Printable(WhyUnclear(report)));
  if (const auto which = WhichCommit(report, ""); !which.empty())
    text += text::Printable(which) + '\n';
  return text;
}

}  // namespace dlroof::history
