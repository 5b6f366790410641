// The database of a history: records in stored form (facts that rarely change as JSON, repetitions
// as CBOR, both exact), opening the file, and prepared statements of SQLiteCpp whose errors are
// BadInput with the file's path.
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
  // CBOR: an array of one array per repetition. Its items are seconds, iterations, noisy, CPU time,
  // CPU time of the main thread, run delay, core share, block, and the GPU's quantities in the
  // order of GpuSampleFields. Unknown items are null, or left out at the end.
  std::string repetitions;
  std::optional<double> median;  // [s] by Summarize (record.h), if its status is ok
  std::optional<std::pair<double, double>> ci95;  // [s]
  int clean = 0;                                  // [1] clean repetitions
};

PackedRecord Pack(const record::Record& record);
// Returns the record that Pack, also of an older schema, turned into these texts; "" means no
// repetitions. Throws BadInput, which begins with `where`, for anything else.
record::Record Unpack(const std::string& facts, const std::string& repetitions,
                      const std::string& where);

// Returns the repetitions alone. Throws BadInput, which begins with `where`, for damaged bytes.
std::vector<record::Repetition> UnpackRepetitions(const std::string& repetitions,
                                                  const std::string& where);

// Returns the number of packed repetitions, or 0 for damaged bytes.
int CountRepetitions(const std::string& repetitions);

// Opens a database in write-ahead mode. Readers see the last finished transaction while others
// write. A writer waits up to a minute for another writer. A killed program leaves complete
// transactions. Network file systems do not work, because the lock is in shared memory. ":memory:"
// opens a private database. Throws BadInput for a missing file, another format, and a file that is
// not writable.
std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access);

// Throws BadInput with the file's path and SQLite's message.
[[noreturn]] void Refuse(const std::string& path, const SQLite::Exception& error);

// Returns ask(), and throws SQLite's exceptions as BadInput.
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

  // Resets the statement and binds copies of the values in their order.
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

  // Columns of the current row, from 0. A null reads as 0, "" or nothing.
  std::int64_t Integer(int column) const { return statement_.getColumn(column).getInt64(); }
  std::string Text(int column) const { return statement_.getColumn(column).getString(); }
  std::optional<double> Real(int column) const {
    const auto value = statement_.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getDouble());
  }

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
