#include "baselines/history/nsys_database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::history {
namespace {

// Limit of SQLite's virtual machine steps: enough for 10^8 launches; stops a malicious file.
constexpr int kMaxSteps = 2'000'000'000;

constexpr const char* kColumns = "pragma_table_info('CUPTI_ACTIVITY_KIND_KERNEL') WHERE";

bool Has(SQLite::Database& database, const char* rows, const char* name) {
  SQLite::Statement query(database, fmt::format("SELECT COUNT(*) FROM {} name = ?", rows));
  query.bind(1, name);
  return query.executeStep() && query.getColumn(0).getInt() == 1;
}

std::vector<record::Record> KernelsOf(SQLite::Database& database, const std::string& where) {
  for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"})
    if (!Has(database, "sqlite_master WHERE type = 'table' AND", table))
      throw BadInput(
          "{}: a database without Nsight Systems' table {}: export the report by 'nsys "
          "export --type sqlite', or import the CSV of 'rocprofv3 --output-format csv'",
          where, table);
  SQLite::Statement query(
      database,
      fmt::format("SELECT names.value, COUNT(*), SUM(kernels.\"end\" - kernels.start) FROM "
                  "CUPTI_ACTIVITY_KIND_KERNEL AS kernels JOIN StringIds AS names ON names.id = "
                  "kernels.{} GROUP BY names.value ORDER BY 3 DESC",
                  Has(database, kColumns, "demangledName") ? "demangledName" : "shortName"));
  std::vector<record::Record> records;
  while (query.executeStep()) {
    const double seconds = 1e-9 * query.getColumn(2).getDouble();
    if (!imports::IsRunTime(seconds)) continue;
    record::Record record{.name = query.getColumn(0).getString(), .device = "gpu"};
    record.repetitions = {{.seconds = seconds, .iterations = 1}};
    record.work[Provenance::kMeasured].launches = query.getColumn(1).getDouble();
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

bool LooksLikeNsysDatabase(std::string_view text) {
  return text.starts_with(std::string_view("SQLite format 3\0", 16));
}

imports::Imported ImportNsysDatabase(const std::string& text, const std::string& where) {
  std::string bytes = text;  // SQLite's interface requires a mutable buffer
  try {
    SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(database.getHandle(), "main",
                            reinterpret_cast<unsigned char*>(bytes.data()), size, size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
      throw BadInput("{}: SQLite cannot read this database", where);
    sqlite3_progress_handler(
        database.getHandle(), kMaxSteps, [](void*) { return 1; }, nullptr);
    imports::Imported imported{.records = KernelsOf(database, where), .machine = {}, .remarks = {}};
    if (imported.records.empty())
      throw BadInput("{}: the database has no kernel with a time", where);
    return imported;
  } catch (const SQLite::Exception& error) {
    throw BadInput("{}: SQLite cannot read this database: {}", where,
                   text::Printable(error.what()));
  }
}

}  // namespace dlroof::history
