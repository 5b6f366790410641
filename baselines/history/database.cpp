#include "baselines/history/database.h"

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "counters/base/error.h"

namespace dlroof::history {
namespace {

constexpr int kPatienceMilliseconds = 60000;

// The switch needs the file alone and does not wait for it, unlike everything that follows.
void UseWriteAheadLog(SQLite::Database& database) {
  constexpr int kStep = 10;  // [ms]
  for (int waited = 0;; waited += kStep) {
    const int result = database.tryExec("PRAGMA journal_mode = WAL");
    if (result == SQLITE_OK) break;
    if ((result & 0xFF) != SQLITE_BUSY || waited > kPatienceMilliseconds) database.check(result);
    std::this_thread::sleep_for(std::chrono::milliseconds(kStep));
  }
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA cache_size = -131072");  // [KiB] keeps scattered index pages in memory
}

}  // namespace

void Refuse(const std::string& path, const SQLite::Exception& error) {
  switch (error.getErrorCode() & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw BadInput("{}: in use by another program for more than {} s", path,
                     kPatienceMilliseconds / 1000);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw BadInput("{}: no history, or a damaged one: {}", path, error.what());
    default:
      throw BadInput("{}: {}", path, error.what());
  }
}

std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access) {
  std::error_code none;
  // SQLite would only report that it is unable to open the file.
  if (path != ":memory:" && access == Access::kRead && !std::filesystem::exists(path, none))
    throw BadInput(path + ": no such history (dlroof history add makes one)");
  const int create = access == Access::kWrite ? SQLite::OPEN_CREATE : 0;
  try {
    auto database = std::make_shared<SQLite::Database>(path, SQLite::OPEN_READWRITE | create,
                                                       kPatienceMilliseconds);
    if (access == Access::kWrite) UseWriteAheadLog(*database);
    return database;
  } catch (const SQLite::Exception& error) {
    Refuse(path, error);
  }
}

}  // namespace dlroof::history
