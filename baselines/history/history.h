// The history: many runs in one SQLite file. Run files stay the exchange format: what goes in comes
// out again, to the last digit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/history/database.h"

namespace dlroof {

// Schema history: 1 = first. 2 = repetitions with their GPU's samples and their block
// (packed_record.h); the tables are those of 1, and a file of 1 becomes one of 2 by the next Add.
inline constexpr int kHistorySchema = 2;

// What may be drawn as one line over time: the same benchmark on the same machine, measured the
// same way.
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
  std::optional<double> median;                   // [s]; absent: not ok, or disturbed
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0, repetitions = 0;                 // [1]
};

struct Added {
  std::int64_t run = 0;
  bool already = false;  // it is there; nothing was written
  int points = 0, new_series = 0;
};

// All functions throw BadInput with the file's path.
class History {
 public:
  // Refuses a database that is none of ours, and one of a newer schema.
  History(const std::string& path, Access access);

  // One run, as a whole or not at all. Throws BadInput for a name that stands there twice.
  Added Add(const NamedRun& run);

  // While it lives, everything that is read is as it was at the first look, whatever others add.
  [[nodiscard]] Transaction Unchanging() const { return {database_, Access::kRead}; }

  // Oldest first.
  std::vector<StoredRun> Runs() const;
  // By name, then machine.
  std::vector<Series> AllSeries() const;
  // Those of this name; none is none.
  std::vector<Series> SeriesNamed(const std::string& name) const;
  // Up to `most` names that contain `part`, for messages.
  std::vector<std::string> NamesWith(const std::string& part, int most) const;

  // Oldest first.
  std::vector<Point> PointsOf(const Series& series) const;
  // Of one run, in its order.
  std::vector<Point> PointsOf(const StoredRun& run) const;

  // The run as it was added, without Google Benchmark's own entries.
  NamedRun Read(const StoredRun& run) const;
  // Status, reason, algorithm and work of a point.
  Record Facts(const Point& point) const;

 private:
  std::vector<Series> ReadSeries(Statement& statement) const;
  Database database_;
};

}  // namespace dlroof
