#include "baselines/history/database.h"

#include <sqlite3.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::history {
namespace {

using nlohmann::json;

int BlockOf(double block, const std::string& where) {
  constexpr double kMaxBlock = 1e6;  // limit of run files
  if (!(block >= 0 && block <= kMaxBlock))
    throw BadInput(where + ": damaged: a repetition with an invalid block");
  return static_cast<int>(block);
}

// Format of repetitions in schemas 1 and 2, which are only read. Each begins with a byte of flags:
// 1 noisy, 2 CPU time, 4 CPU time of the main thread, 8 run delay, 16 block, 32 GPU, 64 core share.
// With a GPU two bytes follow, little-endian, with a bit for each known quantity in the order of
// GpuSampleFields. Doubles follow: seconds, iterations, flagged values; block and GPU last.
constexpr unsigned kNoisy = 1, kBlock = 16, kGpu = 32, kAllFlags = 127;
constexpr std::array<std::pair<unsigned, std::optional<double> record::Repetition::*>, 4>
    kOptional = {{{2, &record::Repetition::cpu_seconds},
                  {4, &record::Repetition::main_cpu_seconds},
                  {8, &record::Repetition::run_delay_seconds},
                  {64, &record::Repetition::core_share}}};

double TakeDouble(std::string_view& bytes) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(8);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
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

record::GpuSample TakeGpuSample(unsigned known, std::string_view& bytes) {
  record::GpuSample sample;
  for (const auto& [key, member] : record::GpuSampleFields()) {
    if ((known & 1) != 0) sample.*member = TakeDouble(bytes);
    known >>= 1;
  }
  return sample;
}

record::Repetition Take(std::string_view& bytes, const std::string& where) {
  const auto layout = LayoutAt(bytes);
  if (!layout) throw BadInput(where + ": damaged: the repetitions are truncated");
  bytes.remove_prefix(layout->HeadBytes());
  record::Repetition repetition{.seconds = TakeDouble(bytes),
                                .iterations = TakeDouble(bytes),
                                .noisy = (layout->flags & kNoisy) != 0};
  for (const auto& [flag, member] : kOptional)
    if ((layout->flags & flag) != 0) repetition.*member = TakeDouble(bytes);
  if ((layout->flags & kBlock) != 0) repetition.block = BlockOf(TakeDouble(bytes), where);
  if ((layout->flags & kGpu) != 0)
    repetition.gpu = std::make_shared<record::GpuSample>(TakeGpuSample(layout->gpu, bytes));
  return repetition;
}

// Returns whether the bytes are of schemas 1 and 2: CBOR arrays begin with larger bytes.
bool HasFlags(std::string_view bytes) {
  return bytes.empty() || static_cast<unsigned char>(bytes.front()) <= kAllFlags;
}

// Reads repetitions of schemas 1 and 2. Throws BadInput (`where` first) for damaged bytes.
std::vector<record::Repetition> ReadFlagged(std::string_view bytes, const std::string& where) {
  std::vector<record::Repetition> repetitions;
  while (!bytes.empty()) repetitions.push_back(Take(bytes, where));
  return repetitions;
}

// Returns the number of repetitions (schemas 1 and 2) before the first damaged byte.
int CountFlagged(std::string_view bytes) {
  int count = 0;
  for (auto layout = LayoutAt(bytes); layout; layout = LayoutAt(bytes)) {
    bytes.remove_prefix(layout->Bytes());
    ++count;
  }
  return count;
}

constexpr std::array kOptionalFields = {
    &record::Repetition::cpu_seconds, &record::Repetition::main_cpu_seconds,
    &record::Repetition::run_delay_seconds, &record::Repetition::core_share};
constexpr std::size_t kFirstOptional = 3, kBlockColumn = kFirstOptional + kOptionalFields.size(),
                      kGpuColumn = kBlockColumn + 1;
// Items of a repetition that were added after those of the GPU.
constexpr std::array kLater = {&record::Repetition::link_share, &record::Repetition::clean_calls};

template <class Value>
json OrNull(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

std::optional<double> NumberAt(const json& row, std::size_t at) {
  if (at >= row.size() || row[at].is_null()) return std::nullopt;
  return row[at].get<double>();
}

json ToRow(const record::Repetition& repetition) {
  json row = {repetition.seconds, repetition.iterations, repetition.noisy};
  for (const auto member : kOptionalFields) row.push_back(OrNull(repetition.*member));
  row.push_back(OrNull(repetition.block));
  auto& sample = row.emplace_back();
  if (repetition.gpu)
    for (const auto& [key, member] : record::GpuSampleFields())
      sample.push_back(OrNull((*repetition.gpu).*member));
  for (const auto member : kLater) row.push_back(OrNull(repetition.*member));
  while (row.back().is_null()) row.erase(row.size() - 1);
  return row;
}

record::Repetition FromRow(const json& row, const std::string& where) {
  record::Repetition repetition{.seconds = row.at(0).get<double>(),
                                .iterations = row.at(1).get<double>(),
                                .noisy = row.at(2).get<bool>()};
  for (std::size_t i = 0; i < kOptionalFields.size(); ++i)
    repetition.*kOptionalFields.at(i) = NumberAt(row, kFirstOptional + i);
  if (const auto block = NumberAt(row, kBlockColumn)) repetition.block = BlockOf(*block, where);
  for (std::size_t i = 0; i < kLater.size(); ++i)
    repetition.*kLater.at(i) = NumberAt(row, kGpuColumn + 1 + i);
  if (row.size() <= kGpuColumn || row[kGpuColumn].is_null()) return repetition;
  record::GpuSample sample;
  std::size_t at = 0;
  for (const auto& [key, member] : record::GpuSampleFields())
    sample.*member = NumberAt(row[kGpuColumn], at++);
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
    if (HasFlags(repetitions)) return ReadFlagged(repetitions, where);
    if (!IsPacked(repetitions)) throw BadInput(where + ": damaged: repetitions in another form");
    std::vector<record::Repetition> all;
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

int CountRepetitions(const std::string& repetitions) {
  if (HasFlags(repetitions)) return CountFlagged(repetitions);
  if (!IsPacked(repetitions)) return 0;
  const auto rows = json::from_cbor(repetitions, true, false);
  return rows.is_array() ? static_cast<int>(rows.size()) : 0;
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
