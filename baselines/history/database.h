// SQLite in C++: opens, prepares, binds, steps. The one file that knows its C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace dlroof {

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement. Every function throws BadInput with the file and SQLite's own words.
class Statement {
 public:
  // Forgets what was bound and begins anew; the arguments are bound in their order. Texts and bytes
  // are copied.
  template <class... Values>
  Statement& With(const Values&... values) {
    Reset();
    int at = 0;
    (Bind(++at, values), ...);
    return *this;
  }
  bool Next();  // to the next row; false after the last
  void Run() {
    while (Next()) continue;
  }

  // Columns of this row, from 0. Views hold until the next row.
  std::int64_t Integer(int column) const;
  std::string_view Text(int column) const;  // empty for a null
  std::string_view Bytes(int column) const;
  std::optional<double> Real(int column) const;  // absent for a null

 private:
  friend class Database;
  Statement(sqlite3* database, std::string where, std::string_view sql);
  void Reset();
  void Bind(int at, std::int64_t value);
  void Bind(int at, int value) { Bind(at, static_cast<std::int64_t>(value)); }
  void Bind(int at, double value);
  void Bind(int at, std::string_view text);
  void Bind(int at, const std::string& text) { Bind(at, std::string_view(text)); }
  void Bind(int at, Blob bytes);
  void Bind(int at, const std::optional<double>& value);
  void Check(int result) const;

  sqlite3* database_;
  std::string where_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
};

enum class Access { kRead, kWrite };  // kWrite makes the file where there is none

// An open database in write-ahead mode: readers see the last finished transaction while others
// write, a writer waits for another one up to a minute, and a killed program leaves either all of
// its transaction or nothing. Not for network file systems (its lock is shared memory).
class Database {
 public:
  // ":memory:" is one that nobody else sees. Throws BadInput: not there, no database, not writable.
  Database(const std::string& path, Access access);

  Statement Prepare(std::string_view sql) const { return {database_.get(), path_, sql}; }
  void Execute(std::string_view sql) const { Prepare(sql).Run(); }
  std::int64_t LastId() const;  // of the last row inserted
  const std::string& path() const { return path_; }

 private:
  void UseWriteAheadLog() const;

  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
};

// Everything between construction and Commit() happens at once or not at all. A writing one has the
// write lock from its beginning, so that two writers never wait for each other's.
class Transaction {
 public:
  Transaction(const Database& database, Access access);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit();

 private:
  const Database& database_;
  bool open_ = true;
};

}  // namespace dlroof
