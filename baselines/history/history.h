// The history: many runs in one SQLite file. Run files stay the exchange format. A run comes out as
// it was added, to the last digit.
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
// repetitions as CBOR (packed_record.h). 4 = facts of schema 2 (run_file.h), older ones beside
// them. The tables are those of 1. The next Add turns an older file into one of 4.
inline constexpr int kHistorySchema = 4;

// One line over time: the same benchmark on the same machine, measured the same way.
struct Series {
  std::int64_t id = 0;
  std::string name;
  std::string fingerprint;  // of its device's machine; of plain Google Benchmark files a hash of
                            // their CPUs and caches, "plain-..."
  std::string machine;      // for people
  int threads = 0;          // 0: not known
  std::string cache;        // empty: not known
  std::string conventions;  // those that a time depends on, JSON; empty: not stated
  int points = 0;           // [1] runs that hold it, with a time or without
};

struct StoredRun {
  std::int64_t id = 0;
  std::string date;   // ISO 8601, as its file says; empty: it does not
  double moment = 0;  // [s] since 1970; 0: not known
  std::string commit;
  std::string source;  // path that it was added from
  int points = 0;      // [1] benchmarks
};

// One benchmark in one run.
struct Point {
  std::int64_t run = 0, series = 0;
  std::uint64_t facts = 0;                        // equal: nothing but times differs
  std::optional<double> median;                   // [s]; absent: not ok, or noisy
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0, repetitions = 0;                 // [1]
};

struct Added {
  std::int64_t run = 0;
  bool already = false;  // it is there; nothing was written
  int points = 0, new_series = 0;
};

// kWrite makes the file where there is none.
enum class Access { kRead, kWrite };

// All functions throw BadInput with the file's path.
class History {
 public:
  // Refuses a database that is none of ours, and one of a newer schema.
  History(const std::string& path, Access access);

  // Adds one run, as a whole or not at all. Throws BadInput if two of its benchmarks share a name.
  Added Add(const compare::NamedRun& run);

  // Returns a guard. While it lives, reads see the state of the first read, whatever others add.
  [[nodiscard]] std::shared_ptr<SQLite::Transaction> Unchanging() const;

  // Returns them oldest first.
  std::vector<StoredRun> Runs() const;
  // Returns them by name, then machine.
  std::vector<Series> AllSeries() const;
  // Returns the series of this name; may be empty.
  std::vector<Series> SeriesNamed(const std::string& name) const;
  // Returns up to `most` names that contain `part`, for messages.
  std::vector<std::string> NamesWith(const std::string& part, int most) const;

  // Returns them oldest first.
  std::vector<Point> PointsOf(const Series& series) const;
  // Returns the points of one run in its order.
  std::vector<Point> PointsOf(const StoredRun& run) const;

  // Returns the run as it was added, without Google Benchmark's own entries.
  compare::NamedRun Read(const StoredRun& run) const;
  // Returns a point's status, reason, algorithm and work.
  record::Record Facts(const Point& point) const;

 private:
  // Stores the repetitions of an older file anew, within a transaction. A run's hash depends on
  // their bytes, so that a run which is added again is known.
  void PackAnew();
  std::shared_ptr<SQLite::Database> database_;
};

}  // namespace dlroof::history
