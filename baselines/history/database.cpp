#include "baselines/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "counters/base/error.h"

namespace dlroof {
namespace {

constexpr int kPatienceMilliseconds = 60000;

[[noreturn]] void Refuse(const std::string& where, sqlite3* database, int result) {
  const char* words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result);
  switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw BadInput(fmt::format("{}: in use by another program for more than {} s", where,
                                 kPatienceMilliseconds / 1000));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw BadInput(fmt::format("{}: no history, or a damaged one: {}", where, words));
    default:
      throw BadInput(fmt::format("{}: {}", where, words));
  }
}

}  // namespace

Statement::Statement(sqlite3* database, std::string where, std::string_view sql)
    : database_(database), where_(std::move(where)), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* made = nullptr;
  const int result =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &made, nullptr);
  statement_.reset(made);
  Check(result);
}

void Statement::Check(int result) const {
  if (result != SQLITE_OK) Refuse(where_, database_, result);
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());  // repeats the error of the last step, which was thrown
  Check(sqlite3_clear_bindings(statement_.get()));
}

bool Statement::Next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  // A statement that ended holds no lock.
  sqlite3_reset(statement_.get());
  if (result != SQLITE_DONE) Refuse(where_, database_, result);
  return false;
}

void Statement::Bind(int at, std::int64_t value) {
  Check(sqlite3_bind_int64(statement_.get(), at, value));
}

void Statement::Bind(int at, double value) {
  Check(sqlite3_bind_double(statement_.get(), at, value));
}

void Statement::Bind(int at, std::string_view text) {
  // Without an address it would be a null.
  Check(sqlite3_bind_text64(statement_.get(), at, text.empty() ? "" : text.data(), text.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::Bind(int at, Blob blob) {
  const char* bytes = blob.bytes.empty() ? "" : blob.bytes.data();
  Check(sqlite3_bind_blob64(statement_.get(), at, bytes, blob.bytes.size(), SQLITE_TRANSIENT));
}

void Statement::Bind(int at, const std::optional<double>& value) {
  if (value) Bind(at, *value);  // else it stays null
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text), size);
}

std::string_view Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), size);
}

std::optional<double> Statement::Real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

Database::Database(const std::string& path, Access access)
    : path_(path), database_(nullptr, sqlite3_close) {
  std::error_code none;
  // SQLite would only say that it is unable to open it.
  if (path != ":memory:" && access == Access::kRead && !std::filesystem::exists(path, none))
    throw BadInput(path + ": no such history (dlroof history add makes one)");
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | (access == Access::kWrite ? SQLITE_OPEN_CREATE : 0);
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK) Refuse(path_, opened, result);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kPatienceMilliseconds);
  if (access == Access::kWrite) UseWriteAheadLog();
}

// The switch needs the file alone and does not wait for it, unlike everything that follows.
void Database::UseWriteAheadLog() const {
  constexpr int kStep = 10;  // [ms]
  for (int waited = 0;; waited += kStep) {
    const int result =
        sqlite3_exec(database_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (result == SQLITE_OK) break;
    if ((result & 0xFF) != SQLITE_BUSY || waited > kPatienceMilliseconds)
      Refuse(path_, database_.get(), result);
    std::this_thread::sleep_for(std::chrono::milliseconds(kStep));
  }
  Execute("PRAGMA synchronous = FULL");
  Execute("PRAGMA cache_size = -131072");  // [KiB] a run's scattered index pages stay in memory
}

std::int64_t Database::LastId() const { return sqlite3_last_insert_rowid(database_.get()); }

Transaction::Transaction(const Database& database, Access access) : database_(database) {
  database_.Execute(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.Execute("ROLLBACK");
  } catch (const BadInput&) {
    // SQLite rolled back by itself; the error that led here is the one to tell.
  }
}

void Transaction::Commit() {
  database_.Execute("COMMIT");
  open_ = false;
}

}  // namespace dlroof
