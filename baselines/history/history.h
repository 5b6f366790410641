// The history: many runs in one SQLite file. A run is read back exactly as it was added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "baselines/history/series_profile.h"

namespace SQLite {
class Database;
class Transaction;
}  // namespace SQLite

namespace dlroof::history {

// Version of the tables. Files with other versions are refused.
inline constexpr int kHistorySchema = 4;

// The runs of one benchmark on one machine with the same threads, cache state and conventions.
struct Series {
  std::int64_t id = 0;
  std::string name;
  std::string fingerprint;  // of the benchmark's device; in plain Google Benchmark files "plain-"
                            // and a hash of CPU count and caches
  std::string machine;      // name shown to users
  std::optional<int> threads;
  std::string cache;        // "warm", "cold", or "" in files without it
  std::string conventions;  // conventions of timing as JSON, or "" if the file has none
  int points = 0;           // [1] runs that contain this benchmark, with or without a time
};

struct StoredRun {
  std::int64_t id = 0;
  std::string date;              // ISO 8601 as in the run file; may be empty
  std::optional<double> moment;  // [s] since 1970, if it has a date
  std::string commit;  // of the measured program's repository; if unknown, of dlroof's build
  std::string source;  // path of the added file
  int points = 0;      // [1] number of benchmarks
  std::string branch;  // e.g. "main"; may be empty
};

// Returns the run's date (context.date) in seconds since 1970, or nullopt if it has none. Reads ISO
// 8601, e.g. "2026-03-02T10:00:00+01:00", and "2026-03-02 10:00:00" of old versions of Google
// Benchmark; without a zone it is UTC. Drops fractions of a second.
std::optional<double> Moment(const record::RunFile& file);

// Version of the measured program; members may be empty.
struct Origin {
  std::string commit, branch;
};
// Writes commit and branch, unless empty, into the run's context, from which a history reads them.
void SetOrigin(const Origin& origin, record::RunFile& file);
// Returns the commit that SetOrigin wrote, else the commit of dlroof's build; may be empty.
std::string CommitOf(const record::RunFile& file);

// The times of one benchmark in one run.
struct Point {
  std::int64_t run = 0, series = 0;
  std::uint64_t facts = 0;       // hash of the record without its times; for History::Facts
  std::optional<double> median;  // [s] set if status is ok and enough repetitions are clean
  std::optional<std::pair<double, double>> ci95;  // [s]
  // record::TimeOf of all repetitions if the status is ok but `median` is not set
  std::optional<record::Timing> estimate;
  int clean = 0, repetitions = 0;  // [1]
  // [1] Wall time / CPU time of the main thread (record::WallOverCpu).
  std::optional<double> wall_over_cpu;
};

struct Added {
  std::int64_t run = 0;
  bool already = false;            // the run was already in the history; nothing was written
  int points = 0, new_series = 0;  // [1] benchmarks of the run; series that it began
};

// kRead needs an existing file; kWrite creates a missing one.
enum class Access { kRead, kWrite };

// A file of runs. On SQLite errors and damaged content, functions throw BadInput with its path.
class History {
 public:
  // Throws BadInput for a file that is not a history or has another schema.
  History(const std::string& path, Access access);

  // Adds one run in one transaction. Throws BadInput if two of its benchmarks share a name.
  Added Add(const compare::NamedRun& run);

  // Returns a read transaction. While it exists, all reads see the state at the first read.
  [[nodiscard]] std::shared_ptr<SQLite::Transaction> Unchanging() const;

  // Returns the runs, oldest first.
  std::vector<StoredRun> Runs() const;
  // Returns the series, sorted by name, then machine.
  std::vector<Series> AllSeries() const;
  // Returns the series of the benchmark `name`.
  std::vector<Series> SeriesNamed(const std::string& name) const;
  // Returns up to `most` benchmark names that contain `part`, for messages.
  std::vector<std::string> NamesWith(const std::string& part, int most) const;

  // Returns the points of a series, oldest first.
  std::vector<Point> PointsOf(const Series& series) const;

  // Returns the run as it was added, without Google Benchmark's own entries.
  compare::NamedRun Read(const StoredRun& run) const;
  // Returns the point's record without times: status, reason, algorithm and work.
  record::Record Facts(const Point& point) const;

 private:
  std::shared_ptr<SQLite::Database> database_;
};

// Gives stored runs the verdicts that `dlroof gate` would give, so that a history shows the same.
class RunVerdicts {
 public:
  // [1] Number of earlier runs with which a run is compared, as in `dlroof gate`.
  static constexpr std::size_t kUsualRuns = 10;

  explicit RunVerdicts(const History& history) : history_(history), runs_(history.Runs()) {}

  // Compares the run of `point` with the kUsualRuns comparable runs before it and returns the
  // verdict on benchmark `name`. If all benchmarks moved together for an unknown reason, a
  // benchmark that did not change relative to the others gets the verdict on the common shift.
  // Returns nullopt if the point has no time, and if there is no run to compare with.
  std::optional<statistics::Verdict> Of(const Point& point, const std::string& name);

 private:
  using Verdicts = std::map<std::string, statistics::Verdict>;  // by name
  Verdicts Judge(std::int64_t run) const;

  const History& history_;
  std::vector<StoredRun> runs_;             // oldest first
  std::map<std::int64_t, Verdicts> known_;  // by run
};

// The points of a series that have a `median`: indices into its points, and the medians [s].
struct TimedPoints {
  std::vector<std::size_t> index;
  std::vector<double> seconds;
};
TimedPoints TimedOf(const std::vector<Point>& points);

// Returns the profile of a series' times. At least one of `points` must have a time.
SeriesProfile ProfileOf(const Series& series, const std::vector<Point>& points,
                        RunVerdicts& verdicts);

struct DashboardCounts {
  int series = 0, runs = 0, changed = 0;  // [1] `changed`: series with at least one change of level
  int measured = 0;                       // [1] series with a time, be it an estimate
  int unjudged = 0;  // [1] of `measured`: with clean times in fewer than two runs
};

// Writes a site into `folder` (created if missing): index.html (recent changes, all series,
// comparison of two dates), roofline.html (the roofline of a chosen date), badge.svg, shared
// scripts, and data/ with series-*.js, times-*.js, run-*.js, machines-*.js. Replaces existing
// files. Throws BadInput for an empty history, an unwritable folder, and a build without plotly.js.
DashboardCounts WriteDashboard(const history::History& history,
                               const std::filesystem::path& folder);

// A file format in which runs can be written, for another tool. To add one, write its function and
// add a row to the table in export.cpp.
struct Exporter {
  std::string_view format;       // value of --format
  std::string_view description;  // shown in help
  bool several = false;          // a file can contain more than one run
  // Writes `runs` (at least one, oldest first). Omits records without a time if the format has no
  // field for the reason. Writes to `warnings` what else it omits.
  void (*write)(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings);
};

const std::vector<Exporter>& Exporters();

// Sorts the runs by date and writes them. Throws BadInput for an unknown format, no runs, several
// runs in a format for one run, a name twice in a run, and a run without a date among several.
void Export(std::string_view format, std::vector<compare::NamedRun> runs, std::ostream& out,
            std::ostream& warnings);

// Events: changes of level in several series at the same time, probably by one commit. The site
// lists events instead of the many benchmarks that each event affects. Pure functions.

// A change of level in one series. Runs are indices in order of time.
struct LevelChange {
  std::size_t series = 0;
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // [earliest, latest]: runs that noise allows for `run`
  double log_ratio = 0;                  // [1] log(new level / old level); positive: slower
  double error = 0;                      // [1] standard error of log_ratio
  std::size_t runs = 0;                  // [1] number of runs at the new level
  // False if the series later returned to the old level, or if this change is such a return.
  bool lasts = false;
};

// How certain an event is. kSure: at least three series changed, or one by at least four standard
// errors. kUnconfirmed: the new level has one run. kProgramOrMachine: most series changed together
// by at most 10 %. kMayBeChance: the others; at most 1 of 200 unchanged series shows a change.
enum class Sureness { kSure, kUnconfirmed, kMayBeChance, kProgramOrMachine };
std::string_view Key(Sureness sureness);

struct Event {
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // runs that noise allows in all series
  double ratio = 1;                      // [1] new / old level, median over the series
  double low = 1, high = 1;  // [1] range of the series' ratios; of one series: 95 % interval
  Sureness sureness = Sureness::kMayBeChance;
  std::vector<std::size_t> series;  // indices, the largest change first
};

// Returns the changes of level of one series. run_of[i] is the run of the series' value i.
std::vector<LevelChange> ChangesOf(std::size_t series, const SeriesProfile& profile,
                                   const std::vector<std::size_t>& run_of);

// Groups the lasting changes into events, the newest first. The changes of an event have the same
// direction, and Event::run is within the range of each. `series_in_run[i]`: number of series with
// a time in run i; if it is empty, no event is kProgramOrMachine.
std::vector<Event> FindEvents(const std::vector<LevelChange>& changes,
                              const std::vector<std::size_t>& series_in_run = {});

// Returns a pattern for the names, e.g. "conv/{f16,f32}/*": for each part between slashes its texts
// ("*" if more than three). Returns "*" if the names have different numbers of parts.
std::string PatternOf(const std::vector<std::string>& names);

// A gate for CI: which benchmarks may still be slower and should be measured again, and reports for
// merge requests (at most ten lines), GitHub annotations and terminals. Pure functions.

// Returns the slower and faster benchmarks and those for which the comparison cannot exclude a
// slowdown above the minimum effect, without `settled`, the most likely slower first.
std::vector<std::string> UnclearNames(const compare::CompareResult& result,
                                      const std::set<std::string>& settled);

// Replaces the rows of `result` that have a judgement in `later`, a repeated comparison of some of
// its benchmarks, and recounts the verdicts. If no other benchmark of an interleaved `later` can be
// slower, a shift of all that was not removed (of few benchmarks) counts as explained. Returns the
// names of these rows. They point into the runs of `later`, which must outlive `result`.
std::set<std::string> ReplaceRows(const compare::CompareResult& later,
                                  compare::CompareResult& result);

// Content of a gate's report.
struct Report {
  const compare::CompareResult* result = nullptr;  // never null
  std::string commit;                              // of the new run; may be empty
  std::string branch;                              // of the stored runs
  // Of the stored runs, oldest first; at least one. "": unknown.
  std::vector<std::string> commits;
  int again = 0;  // [1] number of benchmarks measured again
  // Set if the new program was measured interleaved with this commit's stored program.
  std::optional<std::string> interleaved_with;
  std::vector<std::string> unclear = {};  // benchmarks for which a slowdown is not excluded
  // Path in the repository, or "PATH", of a user's program, which `dlroof bisect` cannot build by
  // itself; "": dlroof_bench.
  std::string program = {};
  // Returns whether `after` is in Git the only commit after `before`.
  std::function<bool(const std::string& before, const std::string& after)> adjacent = {};
};

inline constexpr int kMaxCommentLines = 10;

// Returns the comment for a merge request in Markdown, at most kMaxCommentLines lines.
std::string CommentOf(const Report& report);

// Returns workflow commands of GitHub Actions, one per line: an error for each of the ten worst
// benchmarks (GitHub shows ten), and a warning if Report::unclear has benchmarks.
std::string AnnotationsOf(const Report& report);

// Returns the command that finds the commit after `before`, up to `after`, that changed the
// benchmark, or "" if a commit would be read as an option. With a `program` (Report::program) the
// user must write the build command for the words BUILD COMMAND in it.
std::string BisectCommand(std::string_view before, std::string_view after, std::string_view name,
                          const std::string& program);

// Returns lines for a terminal: counts of verdicts, and each benchmark that got worse.
std::string SummaryOf(const Report& report);

}  // namespace dlroof::history
