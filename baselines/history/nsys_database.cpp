#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "baselines/history/history.h"
#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/text.h"

namespace dlroof::history {
namespace {

// Limit of steps of SQLite's virtual machine: enough for 10^8 launches; stops malicious files.
constexpr int kMaxSteps = 2'000'000'000;

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";  // graphs traced as a whole
// The columns that every version of Nsight Systems writes and that this reader needs.
constexpr std::pair<const char*, const char*> kColumns[] = {
    {kKernels, "start"},    {kKernels, "end"},   {kKernels, "demangledName"},
    {kKernels, "deviceId"}, {"StringIds", "id"}, {"StringIds", "value"}};

bool Has(SQLite::Database& database, const char* table, const char* column) {
  SQLite::Statement query(database, "SELECT COUNT(*) FROM pragma_table_info(?) WHERE name = ?");
  query.bind(1, table);
  query.bind(2, column);
  return query.executeStep() && query.getColumn(0).getInt() > 0;
}

// Returns a table's texts in `column` by the rows' ids. Skips rows with values of other types.
std::map<std::int64_t, std::string> TextsById(SQLite::Database& database, const char* table,
                                              const char* column) {
  std::map<std::int64_t, std::string> texts;
  if (!Has(database, table, "id") || !Has(database, table, column)) return texts;
  SQLite::Statement query(database, fmt::format("SELECT id, {} FROM {}", column, table));
  while (query.executeStep())
    if (query.getColumn(0).isInteger() && query.getColumn(1).isText())
      texts.emplace(query.getColumn(0).getInt64(), query.getColumn(1).getString());
  return texts;
}

imports::Imported KernelsOf(SQLite::Database& database, const std::string& where) {
  for (const auto& [table, column] : kColumns)
    if (!Has(database, table, column))
      throw BadInput(
          "{}: a database without the column {} of Nsight Systems' table {}: export a report with "
          "kernels (--trace=cuda) by 'nsys export --type sqlite', or import rocprofv3's CSV",
          where, column, table);
  auto names = TextsById(database, "StringIds", "value");
  auto models = TextsById(database, "TARGET_INFO_GPU", "name");
  // Equal rows are one launch. The types are checked because SQLite subtracts a text as 0.
  SQLite::Statement query(database,
                          fmt::format("SELECT DISTINCT CASE WHEN typeof(start) = 'integer' AND "
                                      "typeof(\"end\") = 'integer' THEN \"end\" - start END, "
                                      "demangledName, deviceId, * FROM {}",
                                      kKernels));
  imports::Imported imported;
  imports::Records records;
  imports::LeftOut left_out;
  for (int row = 1; query.executeStep(); ++row)
    left_out.Try([&] {
      const auto place = fmt::format("{}: {}: launch {}", where, kKernels, row);
      if (query.getColumn(0).isNull() || !query.getColumn(1).isInteger() ||
          !query.getColumn(2).isInteger())
        throw BadInput("{}: expected integers in start, end, demangledName and deviceId", place);
      const auto& name = names[query.getColumn(1).getInt64()];
      if (name.empty()) throw BadInput("{}: its demangledName is not in StringIds", place);
      const auto gpu = query.getColumn(2).getInt64();
      records.AddKernels(name, {fmt::format("{}", gpu), models[gpu]},
                         imports::RunTime(place, 1e-9 * query.getColumn(0).getDouble()), 1);
    });
  records.MoveTo(imported, where);
  left_out.AddTo(imported, "launches are");
  if (Has(database, kGraphs, "start"))
    imported.remarks.push_back(fmt::format(
        "{}: the kernels of {} CUDA graphs are missing (nsys profile --cuda-graph-trace=node)",
        where, database.execAndGet(fmt::format("SELECT COUNT(*) FROM {}", kGraphs)).getInt()));
  if (imported.records.empty()) throw BadInput("{}: the database has no kernel with a time", where);
  return imported;
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
    return KernelsOf(database, where);
  } catch (const SQLite::Exception& error) {
    throw BadInput("{}: SQLite cannot read this database: {}", where,
                   text::Printable(error.what()));
  }
}

}  // namespace dlroof::history
