// The history: many runs in one SQLite file. Run files remain the exchange format. A run is read
// back exactly as it was added.
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

// Schema history: 1 = first. 2 = repetitions with their GPU's samples and their block. 3 =
// repetitions as CBOR (database.h). 4 = facts of run file schema 2; older facts are still read. The
// tables are those of 1. The next Add turns an older file into one of 4.
inline constexpr int kHistorySchema = 4;

// One benchmark on one machine, measured the same way each time.
struct Series {
  std::int64_t id = 0;
  std::string name;
  std::string fingerprint;  // of its device's machine; for plain Google Benchmark files a hash of
                            // their CPUs and caches, "plain-..."
  std::string machine;      // for people
  std::optional<int> threads;
  std::string cache;        // "warm", "cold", or "" in files without it
  std::string conventions;  // those that affect a time, as JSON, or "" in files without them
  int points = 0;           // [1] runs with this benchmark, timed or not
};

struct StoredRun {
  std::int64_t id = 0;
  std::string date;              // ISO 8601 as in its file; may be empty
  std::optional<double> moment;  // [s] since 1970, if it has a date
  std::string commit;
  std::string source;  // path that it was added from
  int points = 0;      // [1] benchmarks
};

// One benchmark in one run.
struct Point {
  std::int64_t run = 0, series = 0;
  std::uint64_t facts = 0;                        // equal if only times differ
  std::optional<double> median;                   // [s]; set if it is ok and enough are clean
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0, repetitions = 0;                 // [1]
};

struct Added {
  std::int64_t run = 0;
  bool already = false;  // the history has it; nothing was written
  int points = 0, new_series = 0;
};

// kWrite creates a missing file.
enum class Access { kRead, kWrite };

// All functions throw BadInput with the file's path.
class History {
 public:
  // Rejects other databases, and one with a newer schema.
  History(const std::string& path, Access access);

  // Adds one run in one transaction. Throws BadInput if two of its benchmarks share a name.
  Added Add(const compare::NamedRun& run);

  // Returns a guard. While it lives, all reads see the state of the first one, even if others add.
  [[nodiscard]] std::shared_ptr<SQLite::Transaction> Unchanging() const;

  // Returns the runs, oldest first.
  std::vector<StoredRun> Runs() const;
  // Returns the series, sorted by name, then machine.
  std::vector<Series> AllSeries() const;
  // Returns the series with this name; may be empty.
  std::vector<Series> SeriesNamed(const std::string& name) const;
  // Returns up to `most` names that contain `part`, for messages.
  std::vector<std::string> NamesWith(const std::string& part, int most) const;

  // Returns the points, oldest first.
  std::vector<Point> PointsOf(const Series& series) const;
  // Returns the points of one run in its order.
  std::vector<Point> PointsOf(const StoredRun& run) const;

  // Returns the run as it was added, without Google Benchmark's own entries.
  compare::NamedRun Read(const StoredRun& run) const;
  // Returns a point's status, reason, algorithm and work.
  record::Record Facts(const Point& point) const;

 private:
  // Rewrites the repetitions of an older file, within a transaction. A run's hash depends on their
  // bytes, so a run that is added again is recognized.
  void PackAnew();
  std::shared_ptr<SQLite::Database> database_;
};

}  // namespace dlroof::history
