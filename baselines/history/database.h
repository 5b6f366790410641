// The database of a history: how it is opened, and prepared statements of SQLiteCpp whose refusals
// are BadInput with the file's path.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "baselines/history/history.h"

namespace dlroof::history {

// Opens a database in write-ahead mode. Readers see the last finished transaction while others
// write. A writer waits up to a minute for another one. A killed program leaves all of its
// transaction or nothing. Network file systems do not work, because the lock is shared memory.
// ":memory:" is private to the caller. Throws BadInput: not there, no database, not writable.
std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access);

// Throws BadInput with the file's path and SQLite's own words.
[[noreturn]] void Refuse(const std::string& path, const SQLite::Exception& error);

// Returns what `ask` returns. Refuses where it throws.
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

// Bytes that are no text.
struct Blob {
  const std::string& bytes;
};

// A prepared statement. The database outlives it.
class Query {
 public:
  Query(const SQLite::Database& database, const std::string& sql)
      : database_(database),
        statement_(Guarded(database, [&] { return SQLite::Statement(database, sql); })) {}

  // Forgets the values of before and begins anew. Binds copies of the values in their order.
  template <class... Values>
  Query& With(const Values&... values) {
    statement_.tryReset();  // repeats the error of the last step, which was thrown
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

  // Columns of this row, from 0. A null is 0, an empty text or absent.
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
    if (value) statement_.bind(at, *value);  // else it stays null
  }

  const SQLite::Database& database_;
  SQLite::Statement statement_;
};

}  // namespace dlroof::history
