#include "reporters/large_run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "reporters/json_access.h"
#include "reporters/json_cursor.h"

namespace dlroof {
namespace {

using nlohmann::json;

// A record with thousands of repetitions fits, and so do the machines.
constexpr std::size_t kWindow = 8 << 20;

double Count(JsonCursor& at) {
  const double value = at.Number();
  if (value < 0) throw Unusual{};
  return value;
}

GpuSample ReadGpuSample(JsonCursor& at) {
  GpuSample sample;
  at.Object([&](std::string_view key) {
    for (const auto& [known, member] : GpuSampleFields())
      if (key == known) {
        sample.*member = at.Number();
        return;
      }
    at.Skip();
  });
  return sample;
}

int Block(JsonCursor& at) {
  const double block = Count(at);
  if (block > 1e6) throw Unusual{};
  return static_cast<int>(block);
}

// Element by element: the whole may be larger than the window.
template <class Element>
void ReadLongArray(JsonCursor& at, const Element& element) {
  at.Array([&] {
    at.Refill();
    element();
  });
}

// One file being read.
struct Reading {
  JsonCursor& at;
  Keep keep;
  std::vector<Repetition> repetitions;  // of the record at hand: its own list gets the exact size
};

// As `key == literal`, which costs a call of memcmp for each of a file's 10^7 keys.
template <std::size_t size>
bool Is(std::string_view key, const char (&literal)[size]) {
  return key.size() == size - 1 && std::memcmp(key.data(), literal, size - 1) == 0;
}

void ReadKeptOnlyWithAll(Reading& reading, std::optional<double>& value) {
  if (reading.keep == Keep::kAll)
    value = reading.at.Number();
  else
    reading.at.SkipNumber();
}

void ReadRepetition(Reading& reading, Repetition& repetition) {
  auto& at = reading.at;
  std::optional<double> iterations;
  at.Object([&](std::string_view key) {
    if (Is(key, "seconds"))
      repetition.seconds = at.Number();
    else if (Is(key, "disturbed"))
      repetition.disturbed = at.Flag();
    else if (Is(key, "iterations"))
      ReadKeptOnlyWithAll(reading, iterations);
    else if (Is(key, "cpu_seconds"))
      ReadKeptOnlyWithAll(reading, repetition.cpu_seconds);
    else if (Is(key, "main_cpu_seconds"))
      ReadKeptOnlyWithAll(reading, repetition.main_cpu_seconds);
    else if (Is(key, "run_delay_seconds"))
      ReadKeptOnlyWithAll(reading, repetition.run_delay_seconds);
    else if (Is(key, "core_share"))
      ReadKeptOnlyWithAll(reading, repetition.core_share);
    else if (Is(key, "gpu"))
      repetition.gpu = ReadGpuSample(at);
    else if (Is(key, "block"))
      repetition.block = Block(at);
    else
      at.Skip();
  });
  repetition.iterations = iterations.value_or(0);
  if (repetition.seconds <= 0) throw Unusual{};
}

void ReadRepetitions(Reading& reading, Record& record) {
  auto& all = reading.repetitions;
  all.clear();
  reading.at.Array([&] { ReadRepetition(reading, all.emplace_back()); });
  record.repetitions.assign(std::make_move_iterator(all.begin()),
                            std::make_move_iterator(all.end()));
}

std::map<Level, double> ReadBytes(JsonCursor& at) {
  std::map<Level, double> bytes;
  at.Object([&](std::string_view key) {
    const auto level = LevelFromKey(key);
    if (!level) throw Unusual{};
    bytes[*level] = Count(at);
  });
  return bytes;
}

Work ReadWork(JsonCursor& at) {
  Work work;
  // Of a key that stands twice the last one counts.
  const auto counts = [&](auto& known, const auto& put) {
    known.clear();
    at.Object([&](std::string_view view) {
      const std::string key(view);
      put(key, Count(at));
    });
  };
  at.Object([&](std::string_view key) {
    if (key == "flops")
      counts(work.flops, [&](const std::string& pipe, double flops) {
        if (!IsPipeKey(pipe)) throw Unusual{};
        work.flops[pipe] = flops;
      });
    else if (key == "bytes")
      work.bytes = ReadBytes(at);
    else if (key == "parts")
      counts(work.parts, [&](const std::string& part, double flops) { work.parts[part] = flops; });
    else if (key == "launches")
      work.launches = at.Number();
    else
      at.Skip();
  });
  return work;
}

void ReadWorks(JsonCursor& at, Record& record) {
  at.Object([&](std::string_view key) {
    const auto from = ProvenanceFromKey(key);
    if (!from) throw Unusual{};
    record.work[*from] = ReadWork(at);
  });
}

Prediction ReadPrediction(JsonCursor& at) {
  Prediction prediction;
  at.Object([&](std::string_view key) {
    if (key == "seconds")
      prediction.seconds = at.Number();
    else if (key == "by")
      prediction.by.assign(at.Text());
    else if (key == "bytes")
      prediction.bytes = ReadBytes(at);
    else
      at.Skip();
  });
  if (prediction.seconds <= 0) throw Unusual{};
  return prediction;
}

struct TextMember {
  std::string_view key;
  std::string Record::*member;
  bool for_comparison = true;
};
constexpr TextMember kTexts[] = {{"name", &Record::name},
                                 {"reason", &Record::reason},
                                 {"algorithm", &Record::algorithm},
                                 {"cache", &Record::cache},
                                 {"verified", &Record::verified, false},
                                 {"repro", &Record::repro, false}};

bool ReadText(Reading& reading, std::string_view key, Record& record) {
  for (const auto& [text, member, for_comparison] : kTexts)
    if (text == key) {
      const auto value = reading.at.Text();
      if (for_comparison || reading.keep == Keep::kAll) (record.*member).assign(value);
      return true;
    }
  return false;
}

int ThreadsFrom(double threads) {
  if (threads > 1e6) throw Unusual{};
  return static_cast<int>(threads);
}

unsigned SeedFrom(double seed) {
  if (seed > 4294967295.0) throw Unusual{};
  return static_cast<unsigned>(seed);
}

void ReadMember(Reading& reading, std::string_view key, Record& record) {
  auto& at = reading.at;
  if (ReadText(reading, key, record)) return;
  if (key == "status") {
    const auto status = StatusFromKey(at.Text());
    if (!status) throw Unusual{};
    record.status = *status;
  } else if (key == "repetitions") {
    ReadRepetitions(reading, record);
  } else if (key == "work") {
    ReadWorks(at, record);
  } else if (key == "counting") {
    record.counting.clear();
    at.Array([&] { record.counting.emplace_back(at.Text()); });
  } else if (key == "prediction") {
    record.prediction = ReadPrediction(at);
  } else if (key == "threads") {
    record.threads = ThreadsFrom(Count(at));
  } else if (key == "seed") {
    record.seed = SeedFrom(Count(at));
  } else if (key == "evicted_bytes") {
    record.evicted_bytes = at.Number();
  } else if (key == "heuristic_over_best") {
    record.heuristic_over_best = at.Number();
  } else {
    at.Skip();
  }
}

// The facts, as RecordFromJson (record_json.h) takes them.
void ReadRecord(Reading& reading, Record& record) {
  bool named = false, repeated = false, worked = false;
  std::optional<std::string> device;
  reading.at.Object([&](std::string_view key) {
    named = named || key == "name";
    // Of a key that stands twice the last one counts; lists would become one.
    if ((key == "repetitions" && std::exchange(repeated, true)) ||
        (key == "work" && std::exchange(worked, true)))
      throw Unusual{};
    if (key == "device")
      device.emplace(reading.at.Text());
    else
      ReadMember(reading, key, record);
  });
  if (!named) throw Unusual{};
  SplitName(record);
  if (device && *device != record.device) PutOnDevice(record, *device);
}

// Growing moves what is there; so many records as this one's size and place in the file promise.
void MakeRoom(const Reading& reading, std::size_t begin, std::size_t size,
              std::vector<Record>& records) {
  if (records.size() < records.capacity()) return;
  const std::size_t each = std::max<std::size_t>(
      1, (reading.at.Position() - begin) / std::max<std::size_t>(1, records.size()));
  const std::size_t expected =
      records.size() + (size - std::min(size, reading.at.Position())) / each;
  // The first records may be no example: no more than 64 times as many as there are.
  records.reserve(
      std::clamp(expected + expected / 16, 2 * records.size() + 1, 64 * records.size() + 64));
}

void ReadRecords(Reading& reading, std::size_t size, std::vector<Record>& records) {
  const std::size_t begin = reading.at.Position();
  ReadLongArray(reading.at, [&] {
    MakeRoom(reading, begin, size, records);
    ReadRecord(reading, records.emplace_back());
  });
}

json ParseObject(std::string_view text) {
  auto value = json::parse(text);
  if (!value.is_object()) throw Unusual{};
  return value;
}

bool OfThisSchema(const json& context) {
  if (!context.contains("dlroof")) return true;
  const auto schema = Number(Member(context, "dlroof"), "schema");
  return schema && *schema <= kSchema;
}

void ReadTopMember(Reading& reading, const std::string& key, const std::string& where,
                   std::size_t size, RunFile& run) {
  auto& at = reading.at;
  if (key == "context") {
    run.context = ParseObject(at.Skip());
    if (!OfThisSchema(run.context)) throw Unusual{};
  } else if (key == "machines") {
    const auto machines = json::parse(at.Skip());
    if (!machines.is_array()) throw Unusual{};
    for (std::size_t i = 0; i < machines.size(); ++i)
      run.machines.push_back(
          MachineFromJson(machines[i], fmt::format("{}: machines[{}]", where, i)));
  } else if (key == "records") {
    ReadRecords(reading, size, run.records);
  } else if (at.Peek() == '[') {
    ReadLongArray(at, [&] { at.Skip(); });
  } else {
    at.Skip();
  }
}

}  // namespace

std::optional<RunFile> ReadLargeRunFile(std::istream& in, const std::string& where, Keep keep) {
  RunFile run;
  std::set<std::string> seen;
  try {
    in.seekg(0, std::ios::end);
    const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg()));
    in.seekg(0);
    JsonCursor at(in, std::min(size + 1, kWindow));
    Reading reading{at, keep, {}};
    at.Object([&](std::string_view view) {
      const std::string key(view);
      if (!seen.insert(key).second) throw Unusual{};
      at.Refill();
      ReadTopMember(reading, key, where, size, run);
    });
    at.End();
  } catch (const Unusual&) {
    return std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
  if (seen.count("records") == 0) return std::nullopt;
  return run;
}

}  // namespace dlroof
