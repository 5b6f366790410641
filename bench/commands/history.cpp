// dlroof history, dashboard and export: runs in a SQLite file and the times of one benchmark over
// the runs, a static web site of many runs, and export to other tools' formats.
#include "baselines/history/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/history/builds.h"
#include "baselines/statistics/judge.h"
#include "bench/commands/commands.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct HistoryFlags {
  std::string db = "perf.sqlite";
  std::vector<std::string> files;
  std::string name;
  history::Origin origin;
  std::optional<std::string> limit;
};

std::string Plural(int count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

void Add(const HistoryFlags& flags) {
  history::History history(flags.db, history::Access::kWrite);
  for (const auto& file : flags.files) {
    compare::NamedRun run{file, record::ReadRunFile(file, std::cerr)};
    history::SetOrigin(flags.origin, run.file);
    const auto added = history.Add(run);
    if (added.already)
      std::cout << fmt::format("{}: already stored as run {}\n", file, added.run);
    else
      std::cout << fmt::format("{}: run {}, {}, {} of them not stored before\n", file, added.run,
                               Plural(added.points, "benchmark"), added.new_series);
  }
}

history::Builds BuildsOf(const HistoryFlags& flags) {
  return history::Builds(history::FolderBeside(flags.db));
}

void List(const HistoryFlags& flags) {
  const history::History history(flags.db, history::Access::kRead);
  const auto programs = BuildsOf(flags).Commits();
  document::Table table{
      .columns = {"run", "date", "commit", "branch", "program", "benchmarks", "from"}};
  for (const auto& run : history.Runs()) {
    const bool program = std::ranges::binary_search(programs, run.commit);
    table.rows.push_back({std::to_string(run.id), run.date, run.commit, run.branch,
                          program ? "stored" : "", std::to_string(run.points), run.source});
  }
  table.notes = {Plural(static_cast<int>(table.rows.size()), "run")};
  document::Print({{std::move(table)}});
}

void KeepBuild(const HistoryFlags& flags) {
  const history::History history(flags.db, history::Access::kRead);
  const auto runs = history.Runs();
  if (runs.empty()) throw BadInput("{}: has no run", flags.db);
  const auto commit = flags.origin.commit.empty() ? runs.back().commit : flags.origin.commit;
  if (commit.empty())
    throw BadInput("{}: its newest run has no commit; name one with --commit", flags.db);
  const auto limit =
      flags.limit ? history::ParseSize("--limit", *flags.limit) : history::kUsualLimit;
  const auto kept = BuildsOf(flags).Keep(commit, flags.name, limit);
  std::cout << fmt::format("{}: {}: {:.1f} MB new, {:.1f} MB in all\n", text::Printable(commit),
                           Plural(static_cast<int>(kept.program.files.size()), "file"),
                           1e-6 * static_cast<double>(kept.added_bytes),
                           1e-6 * static_cast<double>(kept.all_bytes));
  for (const auto& evicted : kept.evicted)
    std::cout << fmt::format("removed the least recently used program, of {}\n",
                             text::Printable(evicted));
}

// Returns the record's work without Work::written, which older runs do not have.
std::map<Provenance, Work> CountsOf(record::Record record) {
  for (auto& [from, work] : record.work) work.written.reset();
  return std::move(record.work);
}

// The history of one benchmark: a table with a row per run, and the changes of level.
class SeriesTable {
 public:
  SeriesTable(const history::History& history, const history::Series& series,
              const std::vector<history::StoredRun>& runs, history::RunVerdicts& verdicts)
      : history_(history), points_(history.PointsOf(series)), runs_(runs) {
    timed_ = history::TimedOf(points_).index;
    if (!timed_.empty()) profile_ = history::ProfileOf(series, points_, verdicts);
  }

  void AddTo(document::Document& document, const history::Series& series) const {
    document::List about{.title = series.name};
    about.items = {
        {fmt::format("on {} ({}){}{}: {}, {} with a clean time", series.machine, series.fingerprint,
                     series.threads ? ", " + Plural(*series.threads, "thread") : "",
                     series.cache.empty() ? "" : ", " + series.cache,
                     Plural(static_cast<int>(points_.size()), "run"), timed_.size())}};
    if (profile_)
      about.items.push_back({fmt::format(
          "{}, {} among them; {}",
          profile_->deviation
              ? fmt::format("noise {:.1f} % from run to run", 100 * *profile_->deviation)
              : "noise not known",
          Plural(static_cast<int>(profile_->outliers.size()), "outlier"),
          Plural(static_cast<int>(profile_->changes.size()), "change"))});
    if (profile_ && profile_->drift)
      about.items.push_back({fmt::format("drifts: {:+.1f} % over {}", 100 * (*profile_->drift - 1),
                                         Plural(static_cast<int>(timed_.size()), "run"))});
    document.Add(std::move(about));
    document::Table table{.columns = {"run", "date", "commit", "time", "95 %", "clean", "note"}};
    // In plain Google Benchmark files it is unknown which repetitions were clean.
    const bool plain = series.fingerprint.starts_with("plain-");
    for (std::size_t i = 0; i < points_.size(); ++i) table.rows.push_back(Row(i, plain));
    if (std::ranges::any_of(points_, [](const auto& point) { return point.estimate.has_value(); }))
      table.notes = {"~ an estimate: too few repetitions were clean; levels and changes ignore it"};
    document.Add(std::move(table));
    if (!profile_) return;
    for (const auto& change : history::ChangesOf(0, *profile_, timed_))
      AddRange(change, series.name, document);
  }

 private:
  document::Table::Row Row(std::size_t i, bool plain) const {
    const history::Point& point = points_[i];
    const auto run = std::ranges::find(runs_, point.run, &history::StoredRun::id);
    return {std::to_string(point.run),
            run->date,
            run->commit,
            point.median     ? text::WithPrefix(*point.median, "s")
            : point.estimate ? "~" + text::WithPrefix(point.estimate->median, "s")
                             : "",
            point.ci95 ? fmt::format("{} to {}", text::WithPrefix(point.ci95->first, "s"),
                                     text::WithPrefix(point.ci95->second, "s"))
                       : "",
            fmt::format("{}/{}", plain ? "?" : std::to_string(point.clean), point.repetitions),
            Note(i)};
  }

  std::string Note(std::size_t i) const {
    std::string note;
    const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
    if (profile_)
      for (const auto& change : profile_->changes)
        if (timed_[change.at] == i)
          add(fmt::format("{} by {:.1f} % from here on, {}", change.ratio > 1 ? "slower" : "faster",
                          100 * std::abs(change.ratio - 1),
                          statistics::ConfirmedText(change.runs)));
    if (profile_)
      for (const auto outlier : profile_->outliers)
        if (timed_[outlier] == i) add("an outlier, which returned");
    // Notes on facts are shown only if the facts differ from the previous point's.
    if (i > 0 && points_[i].facts == points_[i - 1].facts && points_[i].median) return note;
    const record::Record facts = history_.Facts(points_[i]);
    if (facts.status != record::Status::kOk)
      add(fmt::format("{}: {}", record::Key(facts.status), facts.reason));
    else if (!points_[i].median && !points_[i].estimate)
      add(facts.reason.empty() ? "no time" : facts.reason);
    if (i == 0) return note;
    const record::Record before = history_.Facts(points_[i - 1]);
    const auto earlier = record::AlgorithmText(before), later = record::AlgorithmText(facts);
    if (earlier != later && !before.algorithm.empty() && !facts.algorithm.empty())
      add(fmt::format("algorithm {} -> {}", earlier, later));
    if (CountsOf(before) != CountsOf(facts))
      add("FLOPs, bytes or launches differ from the run before");
    return note;
  }

  // Adds the range of commits one of which changed the level, and the command that finds it.
  void AddRange(const history::LevelChange& change, const std::string& name,
                document::Document& document) const {
    const auto commit = [&](std::size_t point) {
      return std::ranges::find(runs_, points_[point].run, &history::StoredRun::id)->commit;
    };
    const auto last_before = std::ranges::lower_bound(timed_, change.earliest);
    if (last_before == timed_.begin()) return;
    const auto before = commit(*std::prev(last_before)), after = commit(change.latest);
    if (before.empty() || after.empty() || before == after) return;
    const bool own = workload::FindOp(name.substr(0, name.find('/'))) == nullptr;
    const auto bisect = history::BisectCommand(before, after, name, own ? "PATH" : "");
    document.Say(fmt::format("{:+.1f} % between {} and {}{}", 100 * std::expm1(change.log_ratio),
                             before, after, bisect.empty() ? bisect : ": " + bisect));
  }

  const history::History& history_;
  std::vector<history::Point> points_;
  const std::vector<history::StoredRun>& runs_;
  std::vector<std::size_t> timed_;  // indices of points with a time
  std::optional<history::SeriesProfile> profile_;
};

void Show(const HistoryFlags& flags) {
  const history::History history(flags.db, history::Access::kRead);
  const auto unchanging = history.Unchanging();
  auto name = flags.name;
  auto all = history.SeriesNamed(name);
  if (all.empty()) {
    constexpr int kNamed = 3;
    const auto like = history.NamesWith(name, kNamed + 1);
    if (like.size() == 1) {
      name = like.front();
      all = history.SeriesNamed(name);
    } else {
      std::string text;
      for (std::size_t i = 0; i < like.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? ", but " : ", ", i == kNamed ? "more" : like[i]);
      throw BadInput("{}: there is no benchmark '{}'{}", flags.db, name, text);
    }
  }
  const auto runs = history.Runs();
  document::Document document;
  history::RunVerdicts verdicts(history);
  for (const auto& series : all)
    SeriesTable(history, series, runs, verdicts).AddTo(document, series);
  document::Print(document);
}

// Returns a subcommand of `history`, with --db before its own options.
Command Below(const std::shared_ptr<HistoryFlags>& flags, const char* name, const char* about,
              void (*run)(const HistoryFlags&), std::vector<Option> options) {
  options.insert(options.begin(), Ruled("--db", {.type = kFile}, &flags->db,
                                        "file of the history (default perf.sqlite)"));
  return {.name = name, .about = about, .options = std::move(options), .run = [flags, run] {
            run(*flags);
            std::cout << std::flush;
            return 0;
          }};
}

Command MakeHistory() {
  auto flags = std::make_shared<HistoryFlags>();
  return {
      .name = "history",
      .about = "store runs in an SQLite file, show benchmarks over time",
      .commands = {
          Below(flags, "add", "add runs; runs that are already stored are ignored", Add,
                {Ruled("FILES", {.type = kFile, .required = true}, &flags->files,
                       "run files, or Google Benchmark JSON"),
                 {"--commit", &flags->origin.commit,
                  "commit of the measured program's repository (default: the one in the file)"},
                 {"--branch", &flags->origin.branch,
                  "branch of the runs, for dlroof gate --baseline"}}),
          Below(flags, "list", "list the runs, oldest first", List, {}),
          Below(flags, "keep-build",
                "store the program of a run, so that later builds can be measured interleaved with "
                "it",
                KeepBuild,
                {Ruled("PROGRAM", {.type = kFile, .required = true}, &flags->name,
                       "the program that measured the run"),
                 {"--commit", &flags->origin.commit,
                  "commit of the program (default: that of the newest run)"},
                 {"--limit", &flags->limit,
                  "limit in bytes of all stored programs (default 2G); the least recently used are "
                  "removed"}}),
          Below(flags, "show", "show a benchmark's times, changes and noise", Show,
                {Ruled("NAME", {.required = true}, &flags->name,
                       "name of a benchmark, or a unique part of it")})}};
}

[[maybe_unused]] const bool history_registered = RegisterCommand(MakeHistory);

struct DashboardFlags {
  std::optional<std::string> folder, db;
  std::string output = "site";
};

history::History HistoryOfFolder(const std::string& folder) {
  history::History history(":memory:", history::Access::kWrite);
  int others = 0;
  const auto files = history::JsonFiles(folder);
  for (const auto& file : files) {
    const auto run = history::ReadIfRun(file);
    if (run)
      history.Add(*run);
    else
      ++others;
  }
  if (others == static_cast<int>(files.size()))
    throw BadInput("{}: none of its {} JSON files is a run file", folder, files.size());
  if (others > 0)
    std::cerr << fmt::format("{}: skipped {} JSON files that are not run files\n", folder, others);
  return history;
}

int RunDashboard(const DashboardFlags& flags) {
  if (flags.folder.has_value() == flags.db.has_value())
    throw BadInput("dashboard: expected a folder of run files, or --db with a history");
  const history::History history = flags.db ? history::History(*flags.db, history::Access::kRead)
                                            : HistoryOfFolder(*flags.folder);
  const auto counts = history::WriteDashboard(history, flags.output);
  std::cerr << fmt::format("wrote {}/index.html: {} benchmarks, {} runs, {} changed their level",
                           flags.output, counts.series, counts.runs, counts.changed);
  if (counts.unjudged > 0)
    std::cerr << fmt::format("; cannot tell of {}: clean times in fewer than two runs",
                             counts.unjudged);
  std::cerr << '\n';
  return 0;
}

Command MakeDashboard() {
  auto flags = std::make_shared<DashboardFlags>();
  return {.name = "dashboard",
          .about = "write a static site of many runs (open index.html)",
          .options = {Ruled("DIR", {.type = kFolder}, &flags->folder, "folder of run files"),
                      Ruled("--db", {.type = kFile}, &flags->db,
                            "file of a history (dlroof history), instead of DIR"),
                      Ruled("-o,--output", {.type = kFolder}, &flags->output,
                            "folder to write the site to (default site)")},
          .run = [flags] { return RunDashboard(*flags); }};
}

[[maybe_unused]] const bool dashboard_registered = RegisterCommand(MakeDashboard);

struct ExportFlags {
  std::vector<std::string> files;
  std::optional<std::string> db, output;
  std::optional<std::size_t> last;
  std::optional<std::int64_t> run;
  std::string format;
};

std::vector<compare::NamedRun> ReadRuns(const ExportFlags& flags) {
  if (flags.files.empty() != flags.db.has_value())
    throw BadInput("export: expected either run files or --db with a history");
  if (flags.run && !flags.db) throw BadInput("export: --run: expected --db with a history");
  std::vector<compare::NamedRun> runs;
  for (const auto& file : flags.files) runs.push_back({file, record::ReadRunFile(file, std::cerr)});
  if (!flags.db) return runs;
  const history::History history(*flags.db, history::Access::kRead);
  const auto unchanging = history.Unchanging();
  auto stored = history.Runs();
  if (flags.run)
    std::erase_if(stored, [&](const history::StoredRun& run) { return run.id != *flags.run; });
  if (flags.run && stored.empty())
    throw BadInput("{}: there is no run {}; dlroof history list shows the runs", *flags.db,
                   *flags.run);
  const std::size_t count = std::min(flags.last.value_or(stored.size()), stored.size());
  for (std::size_t i = stored.size() - count; i < stored.size(); ++i)
    runs.push_back(history.Read(stored[i]));
  return runs;
}

int RunExport(const ExportFlags& flags) {
  auto runs = ReadRuns(flags);
  std::ostringstream out;
  history::Export(flags.format, std::move(runs), out, std::cerr);
  WriteOutput(flags.output, out.str());
  return 0;
}

Command MakeExport() {
  auto flags = std::make_shared<ExportFlags>();
  const auto& exporters = history::Exporters();
  const auto texts = VectorOf<std::string>(exporters, [](const auto& exporter) {
    return fmt::format("{} ({})", exporter.format, exporter.description);
  });
  return {
      .name = "export",
      .about = "write runs in the formats of other tools",
      .options = {Ruled("FILES", {.type = kFile}, &flags->files,
                        "run files, or Google Benchmark JSON"),
                  Ruled("--db", {.type = kFile}, &flags->db, "file of a history, instead of FILES"),
                  Ruled("--last", {.limits = AboveZero{}}, &flags->last,
                        "only the newest N runs of the history (default: all)"),
                  {"--run", &flags->run, "only this run of the history"},
                  Ruled("--format",
                        {.choices = VectorOf<std::string>(exporters, &history::Exporter::format),
                         .required = true},
                        &flags->format, fmt::format("{}", fmt::join(texts, "; "))),
                  Ruled("-o,--output", {.type = kFile}, &flags->output,
                        "file to write (default: standard output)")},
      .run = [flags] { return RunExport(*flags); }};
}

[[maybe_unused]] const bool export_registered = RegisterCommand(MakeExport);

}  // namespace
}  // namespace dlroof::commands
