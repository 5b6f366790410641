#include "baselines/history/history.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

#include "baselines/history/database.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"

namespace dlroof::history {
namespace {

using nlohmann::json;

constexpr const char *kCommit = "commit", *kBranch = "branch";  // keys in a run's context

constexpr int kApplicationId = 0x646C7266;  // "dlrf"; file(1) identifies the format by it

// The points of a run have consecutive ids, in the order of the run file. `texts` stores each
// distinct text once. Its key is a hash, so that Prepare needs no access to the file.
constexpr const char* kTables[] = {
    "CREATE TABLE texts (hash INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL UNIQUE, date TEXT NOT NULL, "
    "moment REAL NOT NULL, code TEXT NOT NULL, source TEXT NOT NULL, context TEXT NOT NULL, "
    "machines INTEGER NOT NULL, first_point INTEGER NOT NULL, points INTEGER NOT NULL)",
    "CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, "
    "machine TEXT NOT NULL, threads INTEGER NOT NULL, cache TEXT NOT NULL, conventions INTEGER NOT "
    "NULL, UNIQUE (name, fingerprint, threads, cache, conventions))",
    "CREATE TABLE points (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, series INTEGER NOT NULL, "
    "facts INTEGER NOT NULL, median REAL, low REAL, high REAL, clean INTEGER NOT NULL, "
    "repetitions BLOB NOT NULL)",
    "CREATE INDEX points_of_series ON points (series)"};

std::int64_t OneNumber(SQLite::Database& database, const char* sql) {
  Query statement(database, sql);
  return statement.Next() ? statement.Integer(0) : 0;
}

SQLite::Transaction BeginWriting(SQLite::Database& database) {
  return Guarded(database, [&] {
    return SQLite::Transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

void MakeTables(SQLite::Database& database) {
  auto making = BeginWriting(database);
  // Another process may have created the tables in the meantime.
  if (OneNumber(database, "SELECT count(*) FROM sqlite_master") > 0) return;
  for (const char* sql : kTables) Execute(database, sql);
  Execute(database, fmt::format("PRAGMA application_id = {}", kApplicationId));
  Execute(database, fmt::format("PRAGMA user_version = {}", kHistorySchema));
  Guarded(database, [&] { making.commit(); });
}

void CheckSchema(SQLite::Database& database) {
  if (OneNumber(database, "PRAGMA application_id") != kApplicationId)
    throw BadInput(database.getFilename() + ": a SQLite database, but not a history of dlroof");
  const auto schema = OneNumber(database, "PRAGMA user_version");
  if (schema > kHistorySchema)
    throw BadInput("{}: written by a newer dlroof (schema {}, this one reads up to {})",
                   database.getFilename(), schema, kHistorySchema);
  if (schema < kHistorySchema)
    throw BadInput("{}: written by an older dlroof (schema {}): add its run files to a new history",
                   database.getFilename(), schema);
  // Rejects views and triggers of any name: they could replace a table's content or run code on
  // access. Only SQLite's own indexes have no sql.
  Query parts(database, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL");
  std::size_t known = 0;
  while (parts.Next()) {
    if (std::ranges::find(kTables, parts.Text(0)) == std::end(kTables))
      throw BadInput("{}: not a history of dlroof: its schema has \"{}\"", database.getFilename(),
                     parts.Text(0));
    ++known;
  }
  if (known != std::size(kTables))
    throw BadInput("{}: damaged: it lacks tables of a history", database.getFilename());
}

// Returns the hash as a signed integer, since SQLite has no unsigned integers.
std::int64_t Signed(std::uint64_t hash) { return static_cast<std::int64_t>(hash); }

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns the conventions that affect times, as JSON. Other conventions (e.g. of counting FLOPs)
// may change within a series. Device times of different kinds (record.timed) are separate series;
// times of the oldest runs include the launch and have no `timed`.
std::string TimeConventions(const record::RunFile& file, const record::Record& record) {
  const auto& all = record::Member(record::Member(file.context, "dlroof"), "conventions");
  json some = json::object();
  for (const char* key : {"cache", "data", "seconds"})
    if (const auto& text = record::Member(all, key); !text.is_null()) some[key] = text;
  if (record::IsDeviceTime(record)) some["timed"] = *record.timed;
  return some.empty() ? "" : Dump(some);
}

Series SeriesOf(const record::RunFile& file, const record::Record& record) {
  Series series{.name = record.name,
                .threads = record.threads,
                .cache = record.cache.value_or(""),
                .conventions = TimeConventions(file, record)};
  const auto* machine = record::MachineFor(file, record);
  // A benchmark whose name has no device belongs to the file's machine if the file has only one.
  if (machine == nullptr && file.machines.size() == 1) machine = &file.machines.front();
  if (machine != nullptr) {
    series.fingerprint = machine->fingerprint;
    series.machine = machine->name;
  } else {
    series.fingerprint =
        "plain-" +
        machine::Fingerprint({{"cpu.count", Dump(record::Member(file.context, "num_cpus"))},
                              {"cpu.caches", Dump(record::Member(file.context, "caches"))}});
    series.machine = record::Text(file.context, "host_name");
  }
  return series;
}

// A run packed for storage; Add packs it before it locks the database.
struct Prepared {
  std::string context, machines;
  std::vector<std::pair<Series, PackedRecord>> records;
  std::uint64_t hash = 0;
};

Prepared Prepare(const record::RunFile& file) {
  Prepared made{.context = Dump(file.context)};
  json machines = json::array();
  for (const auto& machine : file.machines) machines.push_back(machine::ToJson(machine));
  made.machines = Dump(machines);
  made.hash = HashOf(made.machines, HashOf(made.context));
  for (const auto& record : file.records) {
    const auto& [series, packed] = made.records.emplace_back(SeriesOf(file, record), Pack(record));
    made.hash = HashOf(packed.repetitions, HashOf(packed.facts, made.hash));
  }
  return made;
}

// Throws BadInput unless low <= median <= high, all among the times of the repetitions.
void CheckTimes(const Point& point, const std::vector<record::Repetition>& repetitions,
                const std::string& where) {
  if (!point.median || repetitions.empty()) return;
  const auto [least, most] = std::ranges::minmax(repetitions, {}, &record::Repetition::seconds);
  const auto [low, high] = point.ci95.value_or(std::pair(*point.median, *point.median));
  const double rising[] = {least.seconds, low, *point.median, high, most.seconds};
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 1; i < std::size(rising); ++i)
    if (rising[i - 1] > (1 + kRounding) * rising[i])
      throw BadInput(
          "{}: damaged: a median of {:g} s ({:g} s to {:g} s) of times from {:g} s to "
          "{:g} s",
          where, *point.median, low, high, least.seconds, most.seconds);
}

// Reads a row of PointsOf.
Point ReadPoint(const Query& row) {
  Point point{.run = row.Integer(0),
              .series = row.Integer(1),
              .facts = static_cast<std::uint64_t>(row.Integer(2)),
              .median = row.Number(3, "median")};
  if (const auto low = row.Number(4, "median"), high = row.Number(5, "median"); low && high)
    point.ci95 = {*low, *high};
  point.clean = static_cast<int>(row.Number(6, "clean").value_or(0));
  std::vector<record::Repetition> repetitions;
  try {
    repetitions = UnpackRepetitions(row.Text(7), "");
    point.repetitions = static_cast<int>(repetitions.size());
    point.wall_over_cpu = record::WallOverCpu(repetitions);
    if (!point.median) point.estimate = record::TimeOf(repetitions);
  } catch (const BadInput&) {  // damaged: reading the record reports it
  }
  CheckTimes(point, repetitions, row.Path());
  return point;
}

constexpr const char* kSelectSeries =
    "SELECT s.id, s.name, s.fingerprint, s.machine, nullif(s.threads, 0), s.cache, t.text, "
    "(SELECT count(*) FROM points p WHERE p.series = s.id) FROM series s JOIN texts t ON "
    "t.hash = s.conventions";

std::vector<Series> ReadSeries(Query& row) {
  std::vector<Series> all;
  while (row.Next()) {
    Series series{.id = row.Integer(0),
                  .name = row.Text(1),
                  .fingerprint = row.Text(2),
                  .machine = row.Text(3),
                  .cache = row.Text(5),
                  .conventions = row.Text(6),
                  .points = static_cast<int>(row.Integer(7))};
    if (const auto threads = row.Number(4, "threads")) series.threads = static_cast<int>(*threads);
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace

std::optional<double> Moment(const record::RunFile& file) {
  const auto date = record::Text(file.context, "date");
  tm parts = {};
  char between = ' ', sign = '+';
  int end = 0, hours = 0, minutes = 0;
  const int read =
      std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &between, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  if (read < 7 || (between != 'T' && between != ' ')) return std::nullopt;
  // After fractions of a second: the zone, e.g. "Z", "+01:00", "-0530" or "+01", or nothing.
  const auto zone = date.find_first_not_of(".,0123456789", static_cast<std::size_t>(end));
  if (zone != std::string::npos &&
      std::sscanf(date.c_str() + zone, " %c%2d:%2d", &sign, &hours, &minutes) == 2)
    std::sscanf(date.c_str() + zone, " %*c%*2d%2d", &minutes);
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) - (sign == '-' ? -60 : 60) * (60 * hours + minutes);
}

std::string CommitOf(const record::RunFile& file) {
  auto commit = record::Text(file.context, kCommit);
  return commit.empty() ? record::Text(record::Member(file.context, "dlroof"), "commit") : commit;
}

void SetOrigin(const Origin& origin, record::RunFile& file) {
  if (!origin.commit.empty()) file.context[kCommit] = origin.commit;
  if (!origin.branch.empty()) file.context[kBranch] = origin.branch;
}

History::History(const std::string& path, Access access) : database_(OpenDatabase(path, access)) {
  if (access == Access::kWrite && OneNumber(*database_, "SELECT count(*) FROM sqlite_master") == 0)
    MakeTables(*database_);
  CheckSchema(*database_);
}

Added History::Add(const compare::NamedRun& run) {
  compare::CheckNames(run);
  const auto made = Prepare(run.file);
  Added added{.points = static_cast<int>(made.records.size())};
  auto adding = BeginWriting(*database_);
  Query known(*database_, "SELECT id FROM runs WHERE hash = ?");
  if (known.With(Signed(made.hash)).Next()) {
    added.run = known.Integer(0);
    added.already = true;
    return added;
  }
  Query add_text(*database_, "INSERT OR IGNORE INTO texts VALUES (?, ?)"),
      find_series(*database_,
                  "SELECT id FROM series WHERE name = ? AND fingerprint = ? AND threads = ? AND "
                  "cache = ? AND conventions = ?"),
      add_series(*database_,
                 "INSERT INTO series (name, fingerprint, threads, cache, conventions, machine) "
                 "VALUES (?, ?, ?, ?, ?, ?)"),
      add_point(*database_,
                "INSERT INTO points (run, series, facts, median, low, high, clean, repetitions) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const auto key_of = [&](const std::string& text) {
    const auto hash = Signed(HashOf(text));
    add_text.With(hash, text).Run();
    return hash;
  };
  Query(*database_,
        "INSERT INTO runs (hash, date, moment, code, source, context, machines, first_point, "
        "points) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .With(Signed(made.hash), record::Text(run.file.context, "date"),
            std::max(0.0, Moment(run.file).value_or(0)), CommitOf(run.file), run.where,
            made.context, key_of(made.machines),
            OneNumber(*database_, "SELECT coalesce(max(id), 0) + 1 FROM points"), added.points)
      .Run();
  added.run = database_->getLastInsertRowid();
  for (const auto& [series, record] : made.records) {
    const int threads = series.threads.value_or(0);
    const auto conventions = key_of(series.conventions);
    const bool is_new =
        !find_series.With(series.name, series.fingerprint, threads, series.cache, conventions)
             .Next();
    if (is_new)
      add_series
          .With(series.name, series.fingerprint, threads, series.cache, conventions, series.machine)
          .Run();
    added.new_series += is_new ? 1 : 0;
    const auto id = is_new ? database_->getLastInsertRowid() : find_series.Integer(0);
    std::optional<double> low, high;
    if (record.ci95) std::tie(low, high) = *record.ci95;
    add_point
        .With(added.run, id, key_of(record.facts), record.median, low, high, record.clean,
              Blob{record.repetitions})
        .Run();
  }
  Guarded(*database_, [&] { adding.commit(); });
  return added;
}

std::shared_ptr<SQLite::Transaction> History::Unchanging() const {
  return Guarded(*database_, [&] { return std::make_shared<SQLite::Transaction>(*database_); });
}

std::vector<StoredRun> History::Runs() const {
  Query row(*database_,
            fmt::format("SELECT id, date, nullif(moment, 0), code, source, points, CASE WHEN "
                        "json_valid(context) THEN json_extract(context, '$.{}') END FROM runs "
                        "ORDER BY moment, id",
                        kBranch));
  std::vector<StoredRun> runs;
  while (row.Next()) {
    const auto points = row.Number(5, "points").value_or(0);
    runs.push_back({row.Integer(0), row.Text(1), row.Number(2, "moment"), row.Text(3), row.Text(4),
                    static_cast<int>(points), row.Text(6)});
  }
  return runs;
}

std::vector<Series> History::AllSeries() const {
  Query statement(*database_,
                  fmt::format("{} ORDER BY s.name, s.fingerprint, s.id", kSelectSeries));
  return ReadSeries(statement);
}

std::vector<Series> History::SeriesNamed(const std::string& name) const {
  Query statement(*database_,
                  fmt::format("{} WHERE s.name = ? ORDER BY s.fingerprint, s.id", kSelectSeries));
  return ReadSeries(statement.With(name));
}

std::vector<std::string> History::NamesWith(const std::string& part, int most) const {
  Query statement(
      *database_,
      "SELECT DISTINCT name FROM series WHERE instr(name, ?) > 0 ORDER BY name LIMIT ?");
  statement.With(part, most);
  std::vector<std::string> names;
  while (statement.Next()) names.emplace_back(statement.Text(0));
  return names;
}

std::vector<Point> History::PointsOf(const Series& series) const {
  Query row(*database_,
            "SELECT p.run, p.series, p.facts, p.median, p.low, p.high, p.clean, p.repetitions FROM "
            "points p JOIN runs r ON r.id = p.run WHERE p.series = ? ORDER BY r.moment, r.id");
  row.With(series.id);
  std::vector<Point> points;
  while (row.Next()) points.push_back(ReadPoint(row));
  std::map<std::uint64_t, bool> is_ok;  // by hash of the facts, which many points share
  for (auto& point : points) {
    if (!point.estimate) continue;
    const auto [found, added] = is_ok.try_emplace(point.facts, false);
    if (added) found->second = Facts(point).status == record::Status::kOk;
    if (!found->second) point.estimate.reset();
  }
  return points;
}

compare::NamedRun History::Read(const StoredRun& stored) const {
  compare::NamedRun run{fmt::format("{}: run {}", database_->getFilename(), stored.id), {}};
  Query head(
      *database_,
      "SELECT r.context, t.text FROM runs r JOIN texts t ON t.hash = r.machines WHERE r.id = ?");
  if (!head.With(stored.id).Next()) throw BadInput(run.where + ": no such run");
  try {
    run.file.context = ParsedJson(head.Text(0), run.where + ": damaged");
    record::UpdateSchema(run.file.context, run.where);
    for (const auto& machine : ParsedJson(head.Text(1), run.where + ": damaged"))
      run.file.machines.push_back(machine::MachineFromJson(machine, run.where));
    Query row(
        *database_,
        "SELECT t.text, p.repetitions FROM runs r JOIN points p ON p.id BETWEEN r.first_point AND "
        "r.first_point + r.points - 1 AND p.run = r.id JOIN texts t ON t.hash = p.facts WHERE r.id "
        "= ? ORDER BY p.id");
    row.With(stored.id);
    constexpr auto kMaxRecords =
        record::kMaxEntriesAndBenchmarks / (1 + record::kEntriesOfBenchmark);
    for (std::size_t bytes = 0; row.Next();) {
      const auto facts = row.Text(0);
      bytes += facts.size();  // counts a text that points share once per point
      if (bytes > record::kMaxFileBytes || run.file.records.size() == kMaxRecords)
        throw BadInput("{}: damaged: it has more than a run file", run.where);
      run.file.records.push_back(Unpack(facts, row.Text(1), run.where));
    }
  } catch (const json::exception& error) {
    throw BadInput("{}: damaged: {}", run.where, JsonFault(error));
  }
  return run;
}

record::Record History::Facts(const Point& point) const {
  Query row(*database_, "SELECT text FROM texts WHERE hash = ?");
  if (!row.With(Signed(point.facts)).Next())
    throw BadInput("{}: damaged: a text is missing", database_->getFilename());
  return Unpack(row.Text(0), {}, database_->getFilename());
}

}  // namespace dlroof::history
