// The database of a history: packs records for storage without loss (facts that rarely change as
// JSON, repetitions as CBOR), opens the file, and wraps SQLiteCpp's prepared statements so that
// SQLite errors become BadInput with the file's path.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/history/history.h"
#include "reporters/record/record.h"

namespace dlroof::history {

struct PackedRecord {
  std::string facts;  // JSON (record::ToJson)
  // CBOR: one array per repetition with seconds, iterations, noisy, CPU time, CPU time of the main
  // thread, run delay, core share, block, an array of the GPU's quantities in the order of
  // GpuSampleFields, link share and clean calls. Unknown items are null, or omitted at the end.
  std::string repetitions;
  std::optional<double> median;  // [s] of clean repetitions (record::Summarize), if status is ok
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0;                                  // [1] clean repetitions
};

PackedRecord Pack(const record::Record& record);
// Inverse of Pack. Empty `repetitions`: none. Throws BadInput, beginning with `where`, if damaged.
record::Record Unpack(const std::string& facts, const std::string& repetitions,
                      const std::string& where);

// Reads PackedRecord::repetitions. Throws BadInput, beginning with `where`, if they are damaged.
std::vector<record::Repetition> UnpackRepetitions(const std::string& repetitions,
                                                  const std::string& where);

// Returns `number`. Throws BadInput, beginning with `where`, if it is outside the range that member
// `key` of run files has (RangeOf).
double InRange(double number, std::string_view key, const std::string& where);

// Opens a database (kWrite: in SQLite's write-ahead mode). Readers see the last committed
// transaction while another process writes. A writer waits up to a minute for another writer. A
// killed process leaves only complete transactions. Network file systems do not work, because locks
// use shared memory. ":memory:" opens a private database. Throws BadInput for a missing file
// (kRead), another format, and a file that is not writable (kWrite).
std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access);

// Throws BadInput with the file's path and SQLite's message.
[[noreturn]] void Refuse(const std::string& path, const SQLite::Exception& error);

// Returns ask(). Converts SQLite's exceptions to BadInput.
template <class Ask>
auto Guarded(const SQLite::Database& database, const Ask& ask) {
  try {
    return ask();
  } catch (const SQLite::Exception& error) {
    Refuse(database.getFilename(), error);
  }
}

inline void Execute(SQLite::Database& database, const std::string& sql) {
  Guarded(database, [&] { return database.exec(sql); });
}

// Binary data to bind to a statement.
struct Blob {
  const std::string& bytes;
};

// A prepared statement. The database must outlive it.
class Query {
 public:
  Query(const SQLite::Database& database, const std::string& sql)
      : database_(database),
        statement_(Guarded(database, [&] { return SQLite::Statement(database, sql); })) {}

  // Resets the statement and binds copies of the values to its parameters in order.
  template <class... Values>
  Query& With(const Values&... values) {
    statement_.tryReset();  // not reset(), which throws the last step's error again
    Guarded(database_, [&] {
      statement_.clearBindings();
      int at = 0;
      (Bind(++at, values), ...);
    });
    return *this;
  }
  // Steps to the next row. Returns false after the last.
  bool Next() {
    return Guarded(database_, [&] { return statement_.executeStep(); });
  }
  void Run() {
    while (Next()) continue;
  }

  // Values of the current row; columns count from 0. NULL reads as 0, "" or nullopt.
  std::int64_t Integer(int column) const { return statement_.getColumn(column).getInt64(); }
  std::string Text(int column) const { return statement_.getColumn(column).getString(); }
  // Throws BadInput for a number outside the range of `key`.
  std::optional<double> Number(int column, const char* key) const {
    const auto value = statement_.getColumn(column);
    if (value.isNull()) return std::nullopt;
    return InRange(value.getDouble(), key, Path());
  }
  const std::string& Path() const { return database_.getFilename(); }

 private:
  template <class Value>
  void Bind(int at, const Value& value) {
    statement_.bind(at, value);
  }
  void Bind(int at, const Blob& blob) {
    statement_.bind(at, blob.bytes.data(), static_cast<int>(blob.bytes.size()));
  }
  void Bind(int at, const std::optional<double>& value) {
    if (value) statement_.bind(at, *value);  // else the binding stays null
  }

  const SQLite::Database& database_;
  SQLite::Statement statement_;
};

}  // namespace dlroof::history
