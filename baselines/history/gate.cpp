#include <fmt/format.h>

#include <algorithm>
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

// Returns e.g. "+12.1 % (+10.3 % to +14.0 %), 1.2 ms to 1.3 ms: cause", or why the benchmark fails.
std::string WhatHappened(const compare::Comparison& row) {
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

// Returns the `dlroof bisect` command for the worst slowdown, from the last commit before the
// slower level to the first commit at it, or "" if a commit is unknown.
std::string BisectText(const Report& report) {
  const auto worse = Worse(*report.result);
  if (worse.empty() || worse.front()->newly_failed) return "";
  auto commits = report.commits;
  commits.push_back(report.commit);
  const auto& judgement = worse.front()->judgement;
  const auto since = static_cast<std::size_t>(judgement ? judgement->runs_since : 1);
  if (since >= commits.size()) return "";
  const auto bad = commits[commits.size() - since];
  const auto before = commits[commits.size() - since - 1];
  const auto good = since == 1 ? report.interleaved_with.value_or(before) : before;
  if (good.empty() || bad.empty() || good == bad) return "";
  return BisectCommand(Short(good), Short(bad), worse.front()->name(), report.own_program);
}

// Replaces line breaks by spaces, and the middle of a longer text than `most` columns by "…".
std::string OneLine(std::string text, int most) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text::ShortenMiddle(text, most);
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
  CountVerdicts(result);
  return replaced;
}

std::string BisectCommand(std::string_view before, std::string_view after, std::string_view name,
                          bool own_program) {
  if (before.starts_with('-') || after.starts_with('-')) return "";  // they would be options
  return fmt::format(
      "{}{} -- {}",
      text::CommandLine({"dlroof", "bisect", std::string(before), std::string(after)}),
      own_program ? " --build 'BUILD COMMAND' --program PATH" : "",
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
                           cell(WhatHappened(*worse[i]), kMaxWhatColumns));
  if (worse.size() > shown) comment += fmt::format("- and {} more\n", worse.size() - shown);
  if (!report.unclear.empty())
    comment += fmt::format(
        "- could still be slower: {}\n",
        cell(document::AndMore(report.unclear.front(), report.unclear.size()), kMaxWhatColumns));
  if (shown > 0 || !report.unclear.empty()) comment += '\n';
  comment += cell(AboutText(report), kMaxWhatColumns);
  if (const auto bisect = BisectText(report); !bisect.empty())
    comment += fmt::format("; which commit: `{}`", OneLine(bisect, kMaxWhatColumns));
  return comment + '\n';
}

std::string AnnotationsOf(const Report& report) {
  std::string lines;
  const auto worse = Worse(*report.result);
  for (std::size_t i = 0; i < std::min(worse.size(), kMaxAnnotations); ++i)
    lines += fmt::format(
        "::error title={}::{}\n", Escaped(fmt::format("dlroof: {}", worse[i]->name()), true),
        Escaped(fmt::format("{}: {}", worse[i]->name(), WhatHappened(*worse[i])), false));
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
                        text::Printable(WhatHappened(*row)));
  for (const auto& name : report.unclear)
    text += fmt::format("  {}  could still be slower\n", text::Printable(name));
  if (const auto bisect = BisectText(report); !bisect.empty())
    text += fmt::format("which commit: {}\n", text::Printable(bisect));
  return text;
}

}  // namespace dlroof::history
