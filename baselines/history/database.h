// The file of a history, and how it is opened.
#pragma once

#include <memory>
#include <string>

namespace SQLite {
class Database;
}

namespace dlroof {

enum class Access { kRead, kWrite };  // kWrite makes the file where there is none

// Opens a database in write-ahead mode. Readers see the last finished transaction while others
// write. A writer waits up to a minute for another one. A killed program leaves all of its
// transaction or nothing. Network file systems do not work, because the lock is shared memory.
// ":memory:" is private to the caller. Throws BadInput: not there, no database, not writable.
std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access);

}  // namespace dlroof
