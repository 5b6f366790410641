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

// Schemas: 2 added the GPU's samples and the block of repetitions; 3 stores repetitions as CBOR
// (database.h); 4 stores facts of run file schema 2. All have the same tables. Older facts are
// still readable. Add upgrades an older file to 4.
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
  std::string branch;  // such as "main"; may be empty
};

// Version of the measured program. SetOrigin ignores empty members.
struct Origin {
  std::string commit, branch;
};
// Writes commit and branch into the run's context, from which the history reads them.
void SetOrigin(const Origin& origin, record::RunFile& file);
// Returns the commit written by SetOrigin, otherwise that of dlroof's build; may be empty.
std::string CommitOf(const record::RunFile& file);

// The times of one benchmark in one run.
struct Point {
  std::int64_t run = 0, series = 0;
  std::uint64_t facts = 0;       // hash of everything except the times; key for History::Facts
  std::optional<double> median;  // [s] set if status is ok and enough repetitions are clean
  std::optional<std::pair<double, double>> ci95;  // [s]
  // Estimate from all repetitions (record::TimeOf) if too few of them are clean. Set only by
  // History::PointsOf, and only if the status is ok.
  std::optional<record::Timing> estimate;
  int clean = 0, repetitions = 0;  // [1]
};

struct Added {
  std::int64_t run = 0;
  bool already = false;  // the run was in the history before; nothing was written
  int points = 0, new_series = 0;
};

// kWrite creates a missing file.
enum class Access { kRead, kWrite };

// All functions throw BadInput with the file's path on SQLite errors and for damaged content.
class History {
 public:
  // Throws BadInput for a file that is not a history or has a newer schema.
  History(const std::string& path, Access access);

  // Adds one run in one transaction. Throws BadInput if two of its benchmarks share a name.
  Added Add(const compare::NamedRun& run);

  // Returns a read transaction: while it exists, all reads see the state at the first read.
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
  // Returns the point's record without times: status, reason, algorithm and work.
  record::Record Facts(const Point& point) const;

 private:
  // Rewrites the repetitions of an older file within the caller's transaction. Recomputes the runs'
  // hashes, which include these bytes, so that Add still recognizes a run that it has.
  void PackAnew();
  // Removes the estimate of points whose status is not ok.
  std::vector<Point> WithEstimates(std::vector<Point> points) const;
  std::shared_ptr<SQLite::Database> database_;
};

}  // namespace dlroof::history
