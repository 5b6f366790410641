#include "baselines/history/database.h"

#include <sqlite3.h>

#include <bit>
#include <chrono>
#include <cstring>
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

// The quantities that a repetition may lack, with their keys in run files and their flags.
struct OptionalField {
  const char* key;
  unsigned flag;
  std::optional<double> record::Repetition::*member;
};
constexpr OptionalField kOptional[] = {
    {"cpu_seconds", 2, &record::Repetition::cpu_seconds},
    {"main_cpu_seconds", 4, &record::Repetition::main_cpu_seconds},
    {"run_delay_seconds", 8, &record::Repetition::run_delay_seconds},
    {"core_share", 64, &record::Repetition::core_share}};

// Format of repetitions in schemas 1 and 2, which are only read. Each begins with a byte of flags:
// 1 noisy, 2 CPU time, 4 CPU time of the main thread, 8 run delay, 16 block, 32 GPU, 64 core share.
// With a GPU two bytes follow, little-endian, with a bit for each known quantity in the order of
// GpuSampleFields. Doubles follow: seconds, iterations, flagged values; block and GPU last.
constexpr unsigned kNoisy = 1, kBlock = 16, kGpu = 32, kAllFlags = 127;

double TakeDouble(std::string_view& bytes, const char* key, const std::string& where) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(8);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return InRange(value, key, where);
}

// The layout of a repetition: its flags, and a bit for each quantity of its GPU.
struct Layout {
  unsigned flags = 0, gpu = 0;

  std::size_t HeadBytes() const { return (flags & kGpu) != 0 ? 3 : 1; }
  std::size_t Bytes() const {
    const int doubles = 2 + std::popcount(flags & ~(kNoisy | kGpu)) + std::popcount(gpu);
    return HeadBytes() + 8 * static_cast<std::size_t>(doubles);
  }
};

// Returns the layout of the repetition that the bytes begin with, or nothing for damaged bytes.
std::optional<Layout> LayoutAt(std::string_view bytes) {
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) : 0;
  };
  Layout layout{byte(0), 0};
  if ((layout.flags & kGpu) != 0) layout.gpu = byte(1) | byte(2) << 8;
  const bool known =
      layout.flags <= kAllFlags && layout.gpu >> record::GpuSampleFields().size() == 0;
  return known && layout.Bytes() <= bytes.size() ? std::optional(layout) : std::nullopt;
}

record::GpuSample TakeGpuSample(unsigned known, std::string_view& bytes, const std::string& where) {
  record::GpuSample sample;
  for (const auto& [key, member] : record::GpuSampleFields()) {
    if ((known & 1) != 0) sample.*member = TakeDouble(bytes, key, where);
    known >>= 1;
  }
  return sample;
}

record::Repetition Take(std::string_view& bytes, const std::string& where) {
  const auto layout = LayoutAt(bytes);
  if (!layout) throw BadInput(where + ": damaged: the repetitions are truncated");
  bytes.remove_prefix(layout->HeadBytes());
  record::Repetition repetition{.seconds = TakeDouble(bytes, "seconds", where),
                                .iterations = TakeDouble(bytes, "iterations", where),
                                .noisy = (layout->flags & kNoisy) != 0};
  for (const auto& [key, flag, member] : kOptional)
    if ((layout->flags & flag) != 0) repetition.*member = TakeDouble(bytes, key, where);
  if ((layout->flags & kBlock) != 0)
    repetition.block = static_cast<int>(TakeDouble(bytes, "block", where));
  if ((layout->flags & kGpu) != 0)
    repetition.gpu = std::make_shared<record::GpuSample>(TakeGpuSample(layout->gpu, bytes, where));
  return repetition;
}

// Returns whether the bytes are of schemas 1 and 2: CBOR arrays begin with larger bytes.
bool HasFlags(std::string_view bytes) {
  return bytes.empty() || static_cast<unsigned char>(bytes.front()) <= kAllFlags;
}

constexpr std::size_t kFirstOptional = 3, kBlockColumn = kFirstOptional + std::size(kOptional),
                      kGpuColumn = kBlockColumn + 1;
// Items of a repetition that were added after those of the GPU. Schemas 1 and 2 lack them.
constexpr OptionalField kLater[] = {{"link_share", 0, &record::Repetition::link_share},
                                    {"clean_calls", 0, &record::Repetition::clean_calls}};

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
// booleans and null. The library reads other CBOR by recursion of any depth.
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

// Switches to write-ahead logging, which needs exclusive access; SQLite does not wait for it.
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
    if (std::string_view bytes = repetitions; HasFlags(bytes)) {
      while (!bytes.empty()) all.push_back(Take(bytes, where));
      return all;
    }
    if (!IsPacked(repetitions)) throw BadInput(where + ": damaged: repetitions in another form");
    for (const auto& row : json::from_cbor(repetitions)) all.push_back(FromRow(row, where));
    return all;
  } catch (const json::exception& error) {
    throw BadInput("{}: damaged: {}", where, JsonFault(error));
  }
}

record::Record Unpack(const std::string& facts, const std::string& repetitions,
                      const std::string& where) {
  try {
    record::Record record = record::RecordFromJson(facts, where);
    record.repetitions = UnpackRepetitions(repetitions, where);
    return record;
  } catch (const json::exception& error) {
    throw BadInput("{}: damaged: {}", where, JsonFault(error));
  }
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
