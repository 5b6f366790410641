#include "reporters/record/record_from_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "reporters/record/large_json.h"
#include "reporters/record/parts_json.h"

namespace dlroof::record {
namespace {

// The readings are in the order in which dlroof writes members.

void ReadSample(const JsonMember& member, Repetition& repetition) {
  const JsonObject at = member.Object();
  GpuSample sample;
  for (const auto& [key, field] : GpuSampleFields()) sample.*field = at.OptionalNumber(key);
  repetition.gpu = std::make_shared<GpuSample>(sample);
}

constexpr JsonReading<Repetition> kRepetition[] = {
    {"block",
     [](const auto& member, Repetition& repetition) {
       repetition.block = static_cast<int>(member.NumberIn(0, 1e6, "the number of a block"));
     }},
    {"clean_calls", ReadNumber<&Repetition::clean_calls>},
    {"core_share", ReadNumber<&Repetition::core_share>},
    {"cpu_seconds", ReadNumber<&Repetition::cpu_seconds>},
    {"disturbed",
     [](const auto& member, Repetition& repetition) { repetition.disturbed = member.Flag(); }},
    {"gpu", ReadSample},
    {"iterations", ReadNumber<&Repetition::iterations>},
    {"link_share", ReadNumber<&Repetition::link_share>},
    {"main_cpu_seconds", ReadNumber<&Repetition::main_cpu_seconds>},
    {"run_delay_seconds", ReadNumber<&Repetition::run_delay_seconds>},
    {"seconds", ReadNumber<&Repetition::seconds>}};

void ReadRepetitions(const JsonMember& member, Record& record) {
  record.repetitions.clear();
  record.repetitions.reserve(member.Size());
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    const JsonObject at(element, place);
    at.Read(kRepetition, record.repetitions.emplace_back());
    if (record.repetitions.back().seconds <= 0) at.Refuse("seconds", "a positive time");
  });
}

// Reads an object of counts by keys that `key_of` knows.
template <class Key, class KeyOf>
void ReadCounts(const JsonMember& member, const char* what, const KeyOf& key_of,
                std::map<Key, double>& counts) {
  counts.clear();
  const JsonObject object = member.Object();
  for (const auto [name, value] : object.members()) {
    const std::optional<Key> key = key_of(name);
    if (!key) throw BadInput("{}: '{}' is not a {}", object.where(), name, what);
    counts[*key] = JsonMember{object, name, value}.NumberIn(0, std::numeric_limits<double>::max(),
                                                            "a count of at least 0");
  }
}

template <class Out>
void ReadBytes(const JsonMember& member, Out& out) {
  ReadCounts(member, "memory level", LevelFromKey, out.bytes);
}

std::optional<std::string> PipeFromKey(std::string_view key) {
  return IsPipeKey(key) ? std::optional<std::string>(key) : std::nullopt;
}

constexpr JsonReading<Work> kWork[] = {
    {"bytes", ReadBytes<Work>},
    {"flops", [](const JsonMember& member,
                 Work& work) { ReadCounts(member, "pipe", PipeFromKey, work.flops); }},
    {"launches", ReadNumber<&Work::launches>},
    {"parts", [](const JsonMember& member, Work& work) {
       const auto any = [](std::string_view key) { return std::optional<std::string>(key); };
       ReadCounts(member, "part", any, work.parts);
     }}};

void ReadWork(const JsonMember& member, Record& record) {
  record.work.clear();
  const JsonObject works = member.Object();
  for (const auto [key, value] : works.members()) {
    const auto from = ProvenanceFromKey(key);
    if (!from) throw BadInput("{}: '{}' is not a provenance", works.where(), key);
    JsonMember{works, key, value}.Object().Read(kWork, record.work[*from]);
  }
}

constexpr JsonReading<Prediction> kPrediction[] = {{"by", ReadText<&Prediction::by>},
                                                   {"bytes", ReadBytes<Prediction>},
                                                   {"seconds", ReadNumber<&Prediction::seconds>}};

void ReadPrediction(const JsonMember& member, Record& record) {
  const JsonObject at = member.Object();
  at.Read(kPrediction, record.prediction.emplace());
  if (record.prediction->seconds <= 0) at.Refuse("seconds", "a positive time");
}

constexpr JsonReading<CountingNote> kNote[] = {
    {"provenance",
     [](const JsonMember& member, CountingNote& note) {
       note.provenance = ProvenanceFromKey(member.Text());
       if (!note.provenance) member.Refuse("measured, simulated or modelled");
     }},
    {"source", ReadText<&CountingNote::source>},
    {"text", ReadText<&CountingNote::text>}};

LaunchedKernel KernelFromJson(const JsonObject& at) {
  const auto count = [&](const char* key, int least) {
    const auto member = at.Find(key);
    if (!member) at.Refuse(key, "a number");
    const auto expected = fmt::format("a count of at least {}", least);
    return static_cast<int>(member->NumberIn(least, 1e9, expected.c_str()));
  };
  LaunchedKernel kernel{at.Text("name"), count("launches", 1), at.OptionalNumber("seconds"), {}};
  if (at.Find("blocks"))
    kernel.facts = {count("blocks", 1), count("threads", 1), count("registers", 0),
                    at.Number("shared_bytes"), at.OptionalNumber("waves")};
  return kernel;
}

void ReadCounting(const JsonMember& member, Record& record) {
  record.counting.clear();
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    std::string_view sentence;
    if (element.get(sentence) == simdjson::SUCCESS)
      AddSentence(sentence, record);
    else
      JsonObject(element, place).Read(kNote, record.counting.emplace_back());
  });
}

void ReadKernels(const JsonMember& member, Record& record) {
  record.kernels.clear();
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    record.kernels.push_back(KernelFromJson({element, place}));
  });
}

void ReadParallel(const JsonMember& member, Record& record) {
  record.parallel = ParallelFromJson(member.Object());
}

void ReadEnergy(const JsonMember& member, Record& record) {
  record.energy = EnergyFromJson(member.Object());
}

void ReadMeteredWindow(const JsonMember& member, Record& record) {
  record.metered_window = MeteredWindowFromJson(member.Object());
}

void ReadMetered(const JsonMember& member, Record& record) {
  record.metered = MeteredEnergyFromJson(member.Object());
}

constexpr JsonReading<Record> kLabelFacts[] = {{"algorithm", ReadText<&Record::algorithm>},
                                               {"counting", ReadCounting},
                                               {"energy", ReadEnergy},
                                               {"isa", ReadText<&Record::isa>},
                                               {"kernels", ReadKernels},
                                               {"metered", ReadMetered},
                                               {"metered_window", ReadMeteredWindow},
                                               {"parallel", ReadParallel},
                                               {"repro", ReadText<&Record::repro>},
                                               {"unwatched", ReadText<&Record::unwatched>},
                                               {"verified", ReadText<&Record::verified>}};

constexpr JsonReading<Record> kRecord[] = {
    {"cache", ReadText<&Record::cache>},
    {"device", ReadText<&Record::device>},
    {"evicted_bytes", ReadNumber<&Record::evicted_bytes>},
    {"heuristic_over_best", ReadNumber<&Record::heuristic_over_best>},
    {"name", ReadText<&Record::name>},
    {"prediction", ReadPrediction},
    {"reason", ReadText<&Record::reason>},
    {"repetitions", ReadRepetitions},
    {"seed",
     [](const JsonMember& member, Record& record) {
       record.seed =
           static_cast<unsigned>(member.NumberIn(0, 4294967295.0, "an unsigned 32-bit number"));
     }},
    {"status",
     [](const JsonMember& member, Record& record) {
       const auto status = StatusFromKey(member.Text());
       if (!status) member.Refuse("ok, unsupported, failed or wrong");
       record.status = *status;
     }},
    {"threads",
     [](const JsonMember& member, Record& record) {
       record.threads = static_cast<int>(member.NumberIn(0, 1e6, "a thread count"));
     }},
    {"work", ReadWork}};

// Cuts `text` at `mark`. Returns what is behind the mark, empty without it.
std::string_view CutAt(std::string_view mark, std::string_view& text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// Cuts the first of a list's names off. Template arguments have commas of their own.
std::string_view CutName(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size() && (depth > 0 || !names.substr(end).starts_with(", ")); ++end)
    depth += names[end] == '<' ? 1 : names[end] == '>' ? -1 : 0;
  const auto name = names.substr(0, end);
  names.remove_prefix(std::min(end + 2, names.size()));
  return name;
}

// Reads "NAME, 3 x NAME, 4 more"; the names of the last ones are not known.
void AddKernels(std::string_view names, std::vector<LaunchedKernel>& kernels) {
  while (!names.empty()) {
    std::string_view name = CutName(names);
    int count = 0;
    const auto* const end = std::from_chars(name.data(), name.data() + name.size(), count).ptr;
    const auto behind = name.substr(static_cast<std::size_t>(end - name.data()));
    if (behind == " more") continue;
    if (behind.starts_with(" x "))
      kernels.push_back({std::string(behind.substr(3)), count});
    else
      kernels.push_back({std::string(name)});
  }
}

}  // namespace

void ReadLabelFacts(const JsonObject& at, Record& record) {
  at.Read(kLabelFacts, record);
  if (record.isa.empty()) TakeIsa(record);
}

Record RecordFromJson(const JsonObject& at) {
  Record record;
  ReadLabelFacts(at, record);
  at.Read(kRecord, record);
  if (record.name.empty()) at.Text("name");
  const auto device = std::exchange(record.device, {});
  SplitName(record);
  if (!device.empty() && device != record.device) PutOnDevice(record, device);
  return record;
}

Record RecordFromJson(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  simdjson::dom::element element;
  if (const auto error = parser.parse(text).get(element))
    throw BadInput("{}: not JSON: {}", where, simdjson::error_message(error));
  return RecordFromJson(JsonObject(element, {nullptr, where}));
}

void AddSentence(std::string_view sentence, Record& record) {
  CountingNote& note = record.counting.emplace_back();
  note.text = sentence;
  const auto how = CutAt(": ", sentence);
  note.provenance = ProvenanceFromKey(sentence);
  if (note.provenance) note.text = how;
  std::string_view text = note.text;
  auto kernels = CutAt(" kernel launch", text);
  kernels = CutAt(": ", kernels);
  CutAt("; ", kernels);
  AddKernels(kernels, record.kernels);
}

void TakeIsa(Record& record) {
  constexpr std::string_view kMark = "; isa ";
  const auto mark = record.algorithm.rfind(kMark);
  if (mark == std::string::npos) return;
  record.isa = record.algorithm.substr(mark + kMark.size());
  record.algorithm.resize(mark);
}

void ReadSentences(std::string_view label, Record& record) {
  record.repro = CutAt("; repro: ", label);
  for (auto rest = CutAt("; counted: ", label); !rest.empty();) {
    auto sentence = rest;
    rest = CutAt(" | ", sentence);
    AddSentence(sentence, record);
  }
  record.verified = CutAt("; verified: ", label);
  record.algorithm = label;
  TakeIsa(record);
}

}  // namespace dlroof::record
