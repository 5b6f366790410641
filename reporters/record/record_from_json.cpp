#include "reporters/record/record_from_json.h"

#include <fmt/format.h>

#include "reporters/record/json_object.h"
#include "reporters/record/schema1.h"

namespace dlroof {
namespace {

constexpr double kMostLaunches = 1e9;

Repetition RepetitionFromJson(const JsonObject& at) {
  Repetition repetition;
  repetition.seconds = at.Number("seconds");
  if (repetition.seconds <= 0) at.Refuse("seconds", "a positive time");
  repetition.iterations = at.OptionalNumber("iterations").value_or(0);
  repetition.disturbed = at.FlagOr("disturbed");
  repetition.cpu_seconds = at.OptionalNumber("cpu_seconds");
  repetition.main_cpu_seconds = at.OptionalNumber("main_cpu_seconds");
  repetition.run_delay_seconds = at.OptionalNumber("run_delay_seconds");
  repetition.core_share = at.OptionalNumber("core_share");
  if (at.Has("gpu")) {
    const JsonObject gpu = at.Object("gpu");
    GpuSample& sample = repetition.gpu.emplace();
    for (const auto& [key, member] : GpuSampleFields()) sample.*member = gpu.OptionalNumber(key);
  }
  if (const auto block = at.OptionalNumber("block")) {
    if (*block < 0 || *block > 1e6) at.Refuse("block", "the number of a block");
    repetition.block = static_cast<int>(*block);
  }
  return repetition;
}

// Calls put(object, name, count) for each member of the object `key`, where there is one.
template <class Put>
void ReadCounts(const JsonObject& at, const char* key, const Put& put) {
  if (!at.Has(key)) return;
  const JsonObject object = at.Object(key);
  for (const auto member : object.members()) {
    const std::string name(member.key);
    const double value = object.Number(name.c_str());
    if (value < 0) object.Refuse(name, "a count of at least 0");
    put(object, name, value);
  }
}

std::map<Level, double> BytesFromJson(const JsonObject& at) {
  std::map<Level, double> bytes;
  ReadCounts(at, "bytes", [&](const JsonObject& in, const std::string& key, double value) {
    const auto level = LevelFromKey(key);
    if (!level) throw BadInput(in.where() + ": '" + key + "' is not a memory level");
    bytes[*level] = value;
  });
  return bytes;
}

Work WorkFromJson(const JsonObject& at) {
  Work work;
  ReadCounts(at, "flops", [&](const JsonObject& in, const std::string& key, double value) {
    if (!IsPipeKey(key)) throw BadInput(in.where() + ": '" + key + "' is not a pipe");
    work.flops[key] = value;
  });
  work.bytes = BytesFromJson(at);
  ReadCounts(at, "parts", [&](const JsonObject&, const std::string& key, double value) {
    work.parts[key] = value;
  });
  work.launches = at.OptionalNumber("launches");
  return work;
}

Prediction PredictionFromJson(const JsonObject& at) {
  Prediction prediction;
  prediction.seconds = at.Number("seconds");
  if (prediction.seconds <= 0) at.Refuse("seconds", "a positive time");
  prediction.bytes = BytesFromJson(at);
  prediction.by = at.TextOr("by", "");
  return prediction;
}

void ReadRepetitionsAndWork(const JsonObject& at, Record& record) {
  record.repetitions.reserve(at.SizeOf("repetitions"));
  at.EachOf("repetitions", [&](simdjson::dom::element element, const JsonPlace& place) {
    record.repetitions.push_back(RepetitionFromJson({element, place}));
  });
  if (!at.Has("work")) return;
  const JsonObject works = at.Object("work");
  for (const auto member : works.members()) {
    const auto from = ProvenanceFromKey(member.key);
    if (!from)
      throw BadInput(works.where() + ": '" + std::string(member.key) + "' is not a provenance");
    record.work[*from] = WorkFromJson({member.value, works.PlaceOf(member.key)});
  }
}

CountingNote NoteFromJson(const JsonObject& at) {
  CountingNote note{.source = at.TextOr("source", ""), .text = at.Text("text")};
  if (!at.Has("provenance")) return note;
  note.provenance = ProvenanceFromKey(at.Text("provenance"));
  if (!note.provenance) at.Refuse("provenance", "measured, simulated or modelled");
  return note;
}

LaunchedKernel KernelFromJson(const JsonObject& at) {
  const auto count = [&](const char* key, int least) {
    const double value = at.Number(key);
    if (!(value >= least && value <= kMostLaunches))
      at.Refuse(key, fmt::format("a count of at least {}", least));
    return static_cast<int>(value);
  };
  LaunchedKernel kernel{at.Text("name"), count("launches", 1), at.OptionalNumber("seconds")};
  if (at.Has("blocks"))
    kernel.facts = {count("blocks", 1), count("threads", 1), count("registers", 0),
                    at.Number("shared_bytes"), at.OptionalNumber("waves")};
  return kernel;
}

}  // namespace

void ReadLabelFacts(const JsonObject& at, Record& record) {
  record.algorithm = at.TextOr("algorithm", "");
  record.isa = at.TextOr("isa", "");
  if (record.isa.empty()) TakeIsa(record);
  record.verified = at.TextOr("verified", "");
  record.repro = at.TextOr("repro", "");
  at.EachOf("counting", [&](simdjson::dom::element element, const JsonPlace& place) {
    std::string_view sentence;
    if (element.get(sentence) == simdjson::SUCCESS)
      AddSentence(sentence, record);
    else
      record.counting.push_back(NoteFromJson({element, place}));
  });
  at.EachOf("kernels", [&](simdjson::dom::element element, const JsonPlace& place) {
    record.kernels.push_back(KernelFromJson({element, place}));
  });
}

Record RecordFromJson(const JsonObject& at) {
  Record record;
  record.name = at.Text("name");
  SplitName(record);
  if (const auto device = at.TextOr("device", record.device); device != record.device)
    PutOnDevice(record, device);
  const auto status = StatusFromKey(at.TextOr("status", "ok"));
  if (!status) at.Refuse("status", "ok, unsupported, failed or wrong");
  record.status = *status;
  record.reason = at.TextOr("reason", "");
  ReadLabelFacts(at, record);
  record.evicted_bytes = at.OptionalNumber("evicted_bytes");
  record.heuristic_over_best = at.OptionalNumber("heuristic_over_best");
  const double threads = at.OptionalNumber("threads").value_or(0);
  if (threads < 0 || threads > 1e6) at.Refuse("threads", "a thread count");
  record.threads = static_cast<int>(threads);
  record.cache = at.TextOr("cache", "");
  if (const auto seed = at.OptionalNumber("seed")) {
    if (*seed < 0 || *seed > 4294967295.0) at.Refuse("seed", "an unsigned 32-bit number");
    record.seed = static_cast<unsigned>(*seed);
  }
  ReadRepetitionsAndWork(at, record);
  if (at.Has("prediction")) record.prediction = PredictionFromJson(at.Object("prediction"));
  return record;
}

Record RecordFromJson(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  simdjson::dom::element element;
  if (const auto error = parser.parse(text).get(element))
    throw BadInput(fmt::format("{}: not JSON: {}", where, simdjson::error_message(error)));
  return RecordFromJson(JsonObject(element, {nullptr, where}));
}

}  // namespace dlroof
