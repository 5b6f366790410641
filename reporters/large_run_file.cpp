#include "reporters/large_run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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

Repetition ReadRepetition(JsonCursor& at) {
  Repetition repetition;
  at.Object([&](std::string_view key) {
    if (key == "seconds")
      repetition.seconds = at.Number();
    else if (key == "iterations")
      repetition.iterations = at.Number();
    else if (key == "disturbed")
      repetition.disturbed = at.Flag();
    else if (key == "cpu_seconds")
      repetition.cpu_seconds = at.Number();
    else if (key == "main_cpu_seconds")
      repetition.main_cpu_seconds = at.Number();
    else if (key == "run_delay_seconds")
      repetition.run_delay_seconds = at.Number();
    else if (key == "gpu")
      repetition.gpu = ReadGpuSample(at);
    else if (key == "block")
      repetition.block = Block(at);
    else
      at.Skip();
  });
  if (repetition.seconds <= 0) throw Unusual{};
  return repetition;
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

constexpr std::pair<std::string_view, std::string Record::*> kTexts[] = {
    {"name", &Record::name},         {"reason", &Record::reason}, {"algorithm", &Record::algorithm},
    {"verified", &Record::verified}, {"repro", &Record::repro},   {"cache", &Record::cache}};

bool ReadText(JsonCursor& at, std::string_view key, Record& record) {
  for (const auto& [text, member] : kTexts)
    if (text == key) {
      (record.*member).assign(at.Text());
      return true;
    }
  return false;
}

void ReadMember(JsonCursor& at, std::string_view key, Record& record) {
  if (ReadText(at, key, record)) return;
  if (key == "status") {
    const auto status = StatusFromKey(at.Text());
    if (!status) throw Unusual{};
    record.status = *status;
  } else if (key == "repetitions") {
    at.Array([&] { record.repetitions.push_back(ReadRepetition(at)); });
  } else if (key == "work") {
    ReadWorks(at, record);
  } else if (key == "prediction") {
    record.prediction = ReadPrediction(at);
  } else if (key == "threads") {
    const double threads = Count(at);
    if (threads > 1e6) throw Unusual{};
    record.threads = static_cast<int>(threads);
  } else if (key == "seed") {
    const double seed = Count(at);
    if (seed > 4294967295.0) throw Unusual{};
    record.seed = static_cast<unsigned>(seed);
  } else if (key == "evicted_bytes") {
    record.evicted_bytes = at.Number();
  } else if (key == "heuristic_over_best") {
    record.heuristic_over_best = at.Number();
  } else {
    at.Skip();
  }
}

// The facts, as RecordFromJson (record_json.h) takes them.
Record ReadRecord(JsonCursor& at) {
  Record record;
  bool named = false;
  std::optional<std::string> device;
  std::set<std::string, std::less<>> lists;
  at.Object([&](std::string_view key) {
    named = named || key == "name";
    // Of a key that stands twice the last one counts; lists would become one.
    if ((key == "repetitions" || key == "work") && !lists.emplace(key).second) throw Unusual{};
    if (key == "device")
      device.emplace(at.Text());
    else
      ReadMember(at, key, record);
  });
  if (!named) throw Unusual{};
  record.repetitions.shrink_to_fit();
  SplitName(record);
  if (device && *device != record.device) PutOnDevice(record, *device);
  return record;
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

// Element by element: the whole may be larger than the window.
template <class Element>
void ReadLongArray(JsonCursor& at, const Element& element) {
  at.Array([&] {
    at.Refill();
    element();
  });
}

void ReadTopMember(JsonCursor& at, const std::string& key, const std::string& where, RunFile& run) {
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
    ReadLongArray(at, [&] { run.records.push_back(ReadRecord(at)); });
  } else if (at.Peek() == '[') {
    ReadLongArray(at, [&] { at.Skip(); });
  } else {
    at.Skip();
  }
}

}  // namespace

std::optional<RunFile> ReadLargeRunFile(std::istream& in, const std::string& where) {
  RunFile run;
  std::set<std::string> seen;
  try {
    in.seekg(0, std::ios::end);
    const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg()));
    in.seekg(0);
    JsonCursor at(in, std::min(size + 1, kWindow));
    at.Object([&](std::string_view view) {
      const std::string key(view);
      if (!seen.insert(key).second) throw Unusual{};
      at.Refill();
      ReadTopMember(at, key, where, run);
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
