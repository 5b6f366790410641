#include "baselines/history/database.h"

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::history {
namespace {

using nlohmann::json;

// A quantity that a repetition may lack, and its key in run files.
struct OptionalField {
  const char* key;
  std::optional<double> record::Repetition::*member;
};
constexpr OptionalField kOptional[] = {
    {"cpu_seconds", &record::Repetition::cpu_seconds},
    {"main_cpu_seconds", &record::Repetition::main_cpu_seconds},
    {"run_delay_seconds", &record::Repetition::run_delay_seconds},
    {"core_share", &record::Repetition::core_share}};
constexpr std::size_t kFirstOptional = 3, kBlockColumn = kFirstOptional + std::size(kOptional),
                      kGpuColumn = kBlockColumn + 1;
// Stored after the GPU's quantities, because older files lack them.
constexpr OptionalField kLater[] = {{"link_share", &record::Repetition::link_share},
                                    {"clean_calls", &record::Repetition::clean_calls}};

template <class Value>
json OrNull(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

std::optional<double> NumberAt(const json& row, std::size_t at, const char* key,
                               const std::string& where) {
  if (at >= row.size() || row[at].is_null()) return std::nullopt;
  return InRange(row[at].get<double>(), key, where);
}

json ToRow(const record::Repetition& repetition) {
  json row = {repetition.seconds, repetition.iterations, repetition.noisy};
  for (const auto& field : kOptional) row.push_back(OrNull(repetition.*field.member));
  row.push_back(OrNull(repetition.block));
  auto& sample = row.emplace_back();
  if (repetition.gpu)
    for (const auto& [key, member] : record::GpuSampleFields())
      sample.push_back(OrNull((*repetition.gpu).*member));
  for (const auto& field : kLater) row.push_back(OrNull(repetition.*field.member));
  while (row.back().is_null()) row.erase(row.size() - 1);
  return row;
}

record::Repetition FromRow(const json& row, const std::string& where) {
  record::Repetition repetition{.seconds = InRange(row.at(0).get<double>(), "seconds", where),
                                .iterations = InRange(row.at(1).get<double>(), "iterations", where),
                                .noisy = row.at(2).get<bool>()};
  const auto read = [&](const auto& fields, std::size_t at) {
    for (const auto& field : fields)
      repetition.*field.member = NumberAt(row, at++, field.key, where);
  };
  read(kOptional, kFirstOptional);
  read(kLater, kGpuColumn + 1);
  if (const auto block = NumberAt(row, kBlockColumn, "block", where))
    repetition.block = static_cast<int>(*block);
  if (row.size() <= kGpuColumn || row[kGpuColumn].is_null()) return repetition;
  record::GpuSample sample;
  std::size_t at = 0;
  for (const auto& [key, member] : record::GpuSampleFields())
    sample.*member = NumberAt(row[kGpuColumn], at++, key, where);
  repetition.gpu = std::make_shared<record::GpuSample>(sample);
  return repetition;
}

// Returns whether the bytes are CBOR as Pack writes it: arrays of at most three levels, numbers,
// booleans and null. (json::from_cbor would read other CBOR by recursion of any depth.)
bool IsPacked(std::string_view bytes) {
  std::vector<std::uint64_t> left = {1};  // items left in each open array
  while (!left.empty()) {
    if (left.back() == 0) {
      left.pop_back();
      continue;
    }
    --left.back();
    const unsigned head = bytes.empty() ? 0xFF : static_cast<unsigned char>(bytes.front());
    const unsigned major = head >> 5, argument = head & 31;
    const std::size_t size = 1 + (argument < 24 ? 0 : std::size_t{1} << (argument - 24));
    if (argument > 27 || size > bytes.size()) return false;
    if (major == 4) {
      std::uint64_t count = argument < 24 ? argument : 0;
      for (const char c : bytes.substr(1, size - 1))
        count = count << 8 | static_cast<unsigned char>(c);
      left.push_back(count);
    }
    if ((major > 1 && major != 4 && major != 7) || left.size() > 4) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

constexpr int kBusyTimeoutMilliseconds = 60000;

// Switches to write-ahead logging. This needs exclusive access, for which SQLite does not wait. So
// it retries for up to kBusyTimeoutMilliseconds.
void UseWriteAheadLog(SQLite::Database& database) {
  constexpr int kStep = 10;  // [ms]
  for (int waited = 0;; waited += kStep) {
    const int result = database.tryExec("PRAGMA journal_mode = WAL");
    if (result == SQLITE_OK) break;
    if ((result & 0xFF) != SQLITE_BUSY || waited > kBusyTimeoutMilliseconds) database.check(result);
    std::this_thread::sleep_for(std::chrono::milliseconds(kStep));
  }
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA cache_size = -131072");  // [KiB] large enough for the scattered index pages
}

}  // namespace

double InRange(double number, std::string_view key, const std::string& where) {
  if (const auto& range = RangeOf(key); !range.Contains(number))
    throw BadInput("{}: damaged: '{}': expected {}, got {:g}", where, key, range.Expected(),
                   number);
  return number;
}

PackedRecord Pack(const record::Record& record) {
  PackedRecord packed;
  packed.facts = record::ToJson(record).dump(-1, ' ', false, json::error_handler_t::replace);
  json rows = json::array();
  for (const auto& repetition : record.repetitions) rows.push_back(ToRow(repetition));
  json::to_cbor(rows, packed.repetitions);
  if (record.status != record::Status::kOk) return packed;
  const auto timing = record::Summarize(record.repetitions);
  if (!timing) return packed;
  packed.median = timing->median;
  packed.ci95 = timing->ci95;
  packed.clean = timing->clean;
  return packed;
}

std::vector<record::Repetition> UnpackRepetitions(const std::string& repetitions,
                                                  const std::string& where) {
  try {
    std::vector<record::Repetition> all;
    if (repetitions.empty()) return all;
    if (!IsPacked(repetitions)) throw BadInput(where + ": damaged: repetitions in another form");
    for (const auto& row : json::from_cbor(repetitions)) all.push_back(FromRow(row, where));
    return all;
  } catch (const json::exception& error) {
    throw BadInput("{}: damaged: {}", where, JsonFault(error));
  }
}

record::Record Unpack(const std::string& facts, const std::string& repetitions,
                      const std::string& where) {
  record::Record record = record::RecordFromJson(facts, where);
  record.repetitions = UnpackRepetitions(repetitions, where);
  return record;
}

void Refuse(const std::string& path, const SQLite::Exception& error) {
  switch (error.getErrorCode() & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw BadInput("{}: locked by another program for more than {} s", path,
                     kBusyTimeoutMilliseconds / 1000);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw BadInput("{}: not a history, or damaged: {}", path, error.what());
    default:
      throw BadInput("{}: {}", path, error.what());
  }
}

std::shared_ptr<SQLite::Database> OpenDatabase(const std::string& path, Access access) {
  std::error_code none;
  // SQLite's own error does not say that the file is missing.
  if (path != ":memory:" && access == Access::kRead && !std::filesystem::exists(path, none))
    throw BadInput(path + ": no such history (dlroof history add creates one)");
  const int create = access == Access::kWrite ? SQLite::OPEN_CREATE : 0;
  try {
    auto database = std::make_shared<SQLite::Database>(path, SQLite::OPEN_READWRITE | create,
                                                       kBusyTimeoutMilliseconds);
    if (access == Access::kWrite) UseWriteAheadLog(*database);
    return database;
  } catch (const SQLite::Exception& error) {
    Refuse(path, error);
  }
}

}  // namespace dlroof::history
