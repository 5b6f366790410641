// The history: many runs in one SQLite file. A run is read back exactly as it was added.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace SQLite {
class Database;
class Transaction;
}  // namespace SQLite

namespace dlroof::history {

// Schemas: 1 is the first. 2 added the GPU's samples and the block of repetitions. 3 stores
// repetitions as CBOR (database.h). 4 stores facts of run file schema 2; older facts are still
// read. All have the tables of 1. Add upgrades an older file to 4.
inline constexpr int kHistorySchema = 4;

// One benchmark on one machine, measured the same way each time.
struct Series {
  std::int64_t id = 0;
  std::string name;
  std::string fingerprint;  // of its device's machine; in plain Google Benchmark files "plain-..."
                            // and a hash of CPUs and caches
  std::string machine;      // for people
  std::optional<int> threads;
  std::string cache;        // "warm", "cold", or "" in files without it
  std::string conventions;  // conventions that affect a time, as JSON, or "" in files without them
  int points = 0;           // [1] runs with this benchmark, timed or not
};

struct StoredRun {
  std::int64_t id = 0;
  std::string date;              // ISO 8601 as in its file; may be empty
  std::optional<double> moment;  // [s] since 1970, if it has a date
  std::string commit;  // of the measured program's repository; otherwise of dlroof's build
  std::string source;  // path of the added file
  int points = 0;      // [1] benchmarks
  std::string branch;  // such as "main"; may be empty
};

// Where the measured program comes from. Members that are empty leave the file as it is.
struct Origin {
  std::string commit, branch;
};
// Writes the origin into the context of a run, from which the history reads it.
void SetOrigin(const Origin& origin, record::RunFile& file);
// Returns the commit of the program's repository (SetOrigin), otherwise that of dlroof's build; may
// be empty.
std::string CommitOf(const record::RunFile& file);

// The times of one benchmark in one run.
struct Point {
  std::int64_t run = 0, series = 0;
  std::uint64_t facts = 0;       // hash of all but the times (History::Facts)
  std::optional<double> median;  // [s] set if the status is ok and enough repetitions are clean
  std::optional<std::pair<double, double>> ci95;  // [s]
  // If too few repetitions are clean: the time that record::TimeOf estimates from them. Only set by
  // PointsOf, and only if the status is ok.
  std::optional<record::Timing> estimate;
  int clean = 0, repetitions = 0;  // [1]
};

struct Added {
  std::int64_t run = 0;
  bool already = false;  // the history already has the run; nothing was written
  int points = 0, new_series = 0;
};

// How a file is opened; kWrite creates a missing file.
enum class Access { kRead, kWrite };

// All functions throw BadInput with the file's path.
class History {
 public:
  // Throws for files that are not a history or have a newer schema.
  History(const std::string& path, Access access);

  // Adds one run in one transaction. Throws BadInput if two of its benchmarks share a name.
  Added Add(const compare::NamedRun& run);

  // Returns a guard. While it lives, all reads see the state at the first read.
  [[nodiscard]] std::shared_ptr<SQLite::Transaction> Unchanging() const;

  // Returns the runs, oldest first.
  std::vector<StoredRun> Runs() const;
  // Returns the series, sorted by name, then machine.
  std::vector<Series> AllSeries() const;
  // Returns the series with this name; may be empty.
  std::vector<Series> SeriesNamed(const std::string& name) const;
  // Returns up to `most` benchmark names that contain `part`, for messages.
  std::vector<std::string> NamesWith(const std::string& part, int most) const;

  // Returns the points of a series, oldest first.
  std::vector<Point> PointsOf(const Series& series) const;
  // Returns the points of a run, in the run's order.
  std::vector<Point> PointsOf(const StoredRun& run) const;

  // Returns the run as it was added, without Google Benchmark's own entries.
  compare::NamedRun Read(const StoredRun& run) const;
  // Returns a record with the point's status, reason, algorithm and work, without its times.
  record::Record Facts(const Point& point) const;

 private:
  // Converts the repetitions of an older file within a transaction. Recomputes the runs' hashes,
  // which depend on these bytes, so that a run that is added again is recognized.
  void PackAnew();
  // Keeps the estimates of points whose status is ok.
  std::vector<Point> WithEstimates(std::vector<Point> points) const;
  std::shared_ptr<SQLite::Database> database_;
};

}  // namespace dlroof::history
