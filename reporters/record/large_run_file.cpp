#include "reporters/record/large_run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "reporters/record/context.h"
#include "reporters/record/json_cursor.h"
#include "reporters/record/json_joints.h"

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
    at.Refill();  // for what stands between two
  });
}

// One file being read. Of objects that are alike the joints are remembered, each kind apart.
struct Reading {
  // Records have few keys that nobody here reads; of a file that has more, the rest is read slowly.
  static constexpr std::size_t kMostSkipped = 32;

  JsonCursor& at;
  Keep keep;
  std::size_t usual_repetitions = 0;  // of a record
  std::string device = {};            // of the record at hand
  bool named = false, placed = false, repeated = false, worked = false;
  JsonJoints record = {}, repetition = {}, works = {}, work = {}, flops = {}, bytes = {},
             parts = {};
  // By key, of values that nobody here reads.
  std::vector<std::pair<std::string, std::unique_ptr<JsonJoints>>> skipped = {};
};

void ReadKeptOnlyWithAll(Reading& reading, std::optional<double>& value) {
  if (reading.keep == Keep::kAll)
    value = reading.at.Number();
  else
    reading.at.SkipNumber();
}

using ReadOfRepetition = void (*)(Reading&, Repetition&);

template <std::optional<double> Repetition::*member>
void ReadClock(Reading& reading, Repetition& repetition) {
  ReadKeptOnlyWithAll(reading, repetition.*member);
}

constexpr std::pair<std::string_view, ReadOfRepetition> kOfRepetition[] = {
    {"seconds", [](Reading& reading, Repetition& to) { to.seconds = reading.at.Number(); }},
    {"disturbed", [](Reading& reading, Repetition& to) { to.disturbed = reading.at.Flag(); }},
    {"iterations",
     [](Reading& reading, Repetition& to) {
       std::optional<double> iterations;
       ReadKeptOnlyWithAll(reading, iterations);
       to.iterations = iterations.value_or(0);
     }},
    {"cpu_seconds", ReadClock<&Repetition::cpu_seconds>},
    {"main_cpu_seconds", ReadClock<&Repetition::main_cpu_seconds>},
    {"run_delay_seconds", ReadClock<&Repetition::run_delay_seconds>},
    {"core_share", ReadClock<&Repetition::core_share>},
    {"gpu", [](Reading& reading, Repetition& to) { to.gpu = ReadGpuSample(reading.at); }},
    {"block", [](Reading& reading, Repetition& to) { to.block = Block(reading.at); }}};

// The place of the joint's key in a table, or the table's size.
template <class Row, std::size_t size>
std::size_t PlaceOf(JsonJoint& joint, const Row (&table)[size]) {
  if (joint.meaning < 0) {
    const auto* found = std::find_if(std::begin(table), std::end(table),
                                     [&](const Row& row) { return row.first == joint.key; });
    joint.meaning = static_cast<int>(found - std::begin(table));
  }
  return static_cast<std::size_t>(joint.meaning);
}

void ReadRepetition(Reading& reading, Repetition& repetition) {
  reading.at.Object(reading.repetition, [&](JsonJoint& joint) {
    const auto place = PlaceOf(joint, kOfRepetition);
    if (place < std::size(kOfRepetition))
      kOfRepetition[place].second(reading, repetition);
    else
      reading.at.Skip();
  });
  if (repetition.seconds <= 0) throw Unusual{};
}

void ReadRepetitions(Reading& reading, Record& record) {
  // Of a key that stands twice the last one counts; lists would become one.
  if (std::exchange(reading.repeated, true)) throw Unusual{};
  // Most have as many as the one before.
  auto& all = record.repetitions;
  all.reserve(reading.usual_repetitions);
  reading.at.Array([&] { ReadRepetition(reading, all.emplace_back()); });
  if (all.size() < all.capacity()) all.shrink_to_fit();
  reading.usual_repetitions = std::min<std::size_t>(all.size(), 1000);
}

std::map<Level, double> ReadBytes(JsonCursor& at, JsonJoints& joints) {
  std::map<Level, double> bytes;
  at.Object(joints, [&](const JsonJoint& joint) {
    const auto level = LevelFromKey(joint.key);
    if (!level) throw Unusual{};
    bytes[*level] = Count(at);
  });
  return bytes;
}

// Of a key that stands twice the last one counts. `is_key` is asked once of each joint.
template <class IsKey>
void ReadCounts(JsonCursor& at, JsonJoints& joints, std::map<std::string, double>& counts,
                const IsKey& is_key) {
  counts.clear();
  at.Object(joints, [&](JsonJoint& joint) {
    if (joint.meaning < 0 && !is_key(joint.key)) throw Unusual{};
    joint.meaning = 1;
    std::string key(joint.key);  // its view holds until the value is read
    counts.insert_or_assign(std::move(key), Count(at));
  });
}

using ReadOfWork = void (*)(Reading&, Work&);
constexpr std::pair<std::string_view, ReadOfWork> kOfWork[] = {
    {"flops",
     [](Reading& reading, Work& work) {
       ReadCounts(reading.at, reading.flops, work.flops,
                  [](std::string_view key) { return IsPipeKey(std::string(key)); });
     }},
    {"bytes",
     [](Reading& reading, Work& work) { work.bytes = ReadBytes(reading.at, reading.bytes); }},
    {"parts",
     [](Reading& reading, Work& work) {
       ReadCounts(reading.at, reading.parts, work.parts, [](std::string_view) { return true; });
     }},
    {"launches", [](Reading& reading, Work& work) { work.launches = reading.at.Number(); }}};

Work ReadWork(Reading& reading) {
  Work work;
  reading.at.Object(reading.work, [&](JsonJoint& joint) {
    const auto place = PlaceOf(joint, kOfWork);
    if (place < std::size(kOfWork))
      kOfWork[place].second(reading, work);
    else
      reading.at.Skip();
  });
  return work;
}

void ReadWorks(Reading& reading, Record& record) {
  if (std::exchange(reading.worked, true)) throw Unusual{};
  reading.at.Object(reading.works, [&](const JsonJoint& joint) {
    const auto from = ProvenanceFromKey(joint.key);
    if (!from) throw Unusual{};
    record.work[*from] = ReadWork(reading);
  });
}

Prediction ReadPrediction(Reading& reading) {
  auto& at = reading.at;
  Prediction prediction;
  at.Object([&](std::string_view key) {
    if (key == "seconds")
      prediction.seconds = at.Number();
    else if (key == "by")
      prediction.by.assign(at.Text());
    else if (key == "bytes")
      prediction.bytes = ReadBytes(at, reading.bytes);
    else
      at.Skip();
  });
  if (prediction.seconds <= 0) throw Unusual{};
  return prediction;
}

int ThreadsFrom(double threads) {
  if (threads > 1e6) throw Unusual{};
  return static_cast<int>(threads);
}

unsigned SeedFrom(double seed) {
  if (seed > 4294967295.0) throw Unusual{};
  return static_cast<unsigned>(seed);
}

template <std::string Record::*member, bool for_comparison = true>
void ReadText(Reading& reading, Record& record) {
  const auto text = reading.at.Text();
  if (for_comparison || reading.keep == Keep::kAll) (record.*member).assign(text);
}

void ReadName(Reading& reading, Record& record) {
  reading.named = true;
  record.name.assign(reading.at.Text());
}

void ReadDevice(Reading& reading, Record&) {
  reading.placed = true;
  reading.device.assign(reading.at.Text());
}

void ReadStatus(Reading& reading, Record& record) {
  const auto status = StatusFromKey(reading.at.Text());
  if (!status) throw Unusual{};
  record.status = *status;
}

void ReadCounting(Reading& reading, Record& record) {
  record.counting.clear();
  reading.at.Array([&] { record.counting.emplace_back(reading.at.Text()); });
}

using ReadOfRecord = void (*)(Reading&, Record&);
constexpr std::pair<std::string_view, ReadOfRecord> kOfRecord[] = {
    {"name", ReadName},
    {"device", ReadDevice},
    {"status", ReadStatus},
    {"reason", ReadText<&Record::reason>},
    {"algorithm", ReadText<&Record::algorithm>},
    {"cache", ReadText<&Record::cache>},
    {"verified", ReadText<&Record::verified, false>},
    {"repro", ReadText<&Record::repro, false>},
    {"repetitions", ReadRepetitions},
    {"work", ReadWorks},
    {"counting", ReadCounting},
    {"prediction", [](Reading& from, Record& to) { to.prediction = ReadPrediction(from); }},
    {"threads", [](Reading& from, Record& to) { to.threads = ThreadsFrom(Count(from.at)); }},
    {"seed", [](Reading& from, Record& to) { to.seed = SeedFrom(Count(from.at)); }},
    {"evicted_bytes", [](Reading& from, Record& to) { to.evicted_bytes = from.at.Number(); }},
    {"heuristic_over_best",
     [](Reading& from, Record& to) { to.heuristic_over_best = from.at.Number(); }}};

// Steps over the value of a key that nobody here reads.
void SkipMember(Reading& reading, JsonJoint& joint) {
  constexpr auto kFirst = static_cast<int>(std::size(kOfRecord));
  auto& skipped = reading.skipped;
  if (joint.meaning == kFirst) {
    auto found = std::find_if(skipped.begin(), skipped.end(),
                              [&](const auto& row) { return row.first == joint.key; });
    if (found == skipped.end()) {
      if (skipped.size() == Reading::kMostSkipped) {
        reading.at.Skip();
        return;
      }
      found = skipped.emplace(skipped.end(), joint.key, std::make_unique<JsonJoints>());
    }
    joint.meaning = kFirst + 1 + static_cast<int>(found - skipped.begin());
  }
  reading.at.Skip(*skipped[static_cast<std::size_t>(joint.meaning - kFirst - 1)].second);
}

// The facts, as RecordFromJson (record_json.h) takes them.
void ReadRecord(Reading& reading, Record& record) {
  reading.named = reading.placed = reading.repeated = reading.worked = false;
  reading.at.Object(reading.record, [&](JsonJoint& joint) {
    const auto place = PlaceOf(joint, kOfRecord);
    if (place < std::size(kOfRecord))
      kOfRecord[place].second(reading, record);
    else
      SkipMember(reading, joint);
  });
  if (!reading.named) throw Unusual{};
  SplitName(record);
  if (reading.placed && reading.device != record.device) PutOnDevice(record, reading.device);
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
    auto& record = records.emplace_back();
    bool begun = false;
    reading.at.Whole([&] {
      if (std::exchange(begun, true)) record = Record();
      ReadRecord(reading, record);
    });
  });
}

json ParseObject(std::string_view text) {
  auto value = json::parse(text);
  if (!value.is_object()) throw Unusual{};
  return value;
}

bool OfThisSchema(const json& context) {
  if (!context.contains("dlroof")) return true;
  const auto& schema = Member(Member(context, "dlroof"), "schema");
  return schema.is_number() && schema.get<double>() <= kSchema;
}

void ReadTopMember(Reading& reading, const std::string& key, const std::string& where,
                   std::size_t size, RunFile& run) {
  auto& at = reading.at;
  if (key == "context") {
    at.Whole([&] { run.context = ParseObject(at.Skip()); });
    if (!OfThisSchema(run.context)) throw Unusual{};
  } else if (key == "machines") {
    json machines;
    at.Whole([&] { machines = json::parse(at.Skip()); });
    if (!machines.is_array()) throw Unusual{};
    for (std::size_t i = 0; i < machines.size(); ++i)
      run.machines.push_back(
          MachineFromJson(machines[i], fmt::format("{}: machines[{}]", where, i)));
  } else if (key == "records") {
    ReadRecords(reading, size, run.records);
  } else if (at.Peek() == '[') {
    ReadLongArray(at, [&] { at.Whole([&] { at.Skip(); }); });
  } else {
    at.Whole([&] { at.Skip(); });
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
    Reading reading{at, keep};
    at.Object([&](std::string_view view) {
      const std::string key(view);
      if (!seen.insert(key).second) throw Unusual{};
      at.Refill();
      ReadTopMember(reading, key, where, size, run);
      at.Refill();
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
