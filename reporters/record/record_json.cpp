#include "reporters/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "reporters/record/large_json.h"

namespace dlroof::record {
namespace {

constexpr double kMaxJoules = std::numeric_limits<double>::max();
constexpr double kMaxDeviation = 1e6;                              // [1]
constexpr double kMinJoules = std::numeric_limits<double>::min();  // the smallest above 0

template <auto kField, class Out>
void ReadPositive(const JsonMember& member, Out& energy) {
  energy.*kField = member.NumberIn(kMinJoules, kMaxJoules, "a number above 0");
}

// Reads a text; an empty text leaves the field unset.
template <auto kField>
void ReadKnownText(const JsonMember& member, Record& record) {
  if (const auto text = member.Text(); !text.empty()) record.*kField = text;
}

template <auto kField>
void ReadJoulesByDomain(const JsonMember& member, energy::Energy& energy) {
  const JsonObject domains = member.Object();
  for (const auto [name, value] : domains.members())
    (energy.*kField)[std::string(name)] =
        JsonMember{domains, name, value}.NumberIn(kMinJoules, kMaxJoules, "joules above 0");
}

void ReadEnergyInterval(const JsonMember& member, energy::Energy& energy) {
  std::vector<double> ends;
  member.Each([&](simdjson::dom::element element, const JsonPlace&) {
    if (double number = 0; element.get(number) == simdjson::SUCCESS) ends.push_back(number);
  });
  if (member.Size() != 2 || ends.size() != 2 || !(ends[0] > 0 && ends[0] <= ends[1]))
    member.Refuse("two rising numbers above 0");
  energy.ci95 = {ends[0], ends[1]};
}

constexpr JsonReading<energy::Energy> kEnergy[] = {
    {"beside", ReadJoulesByDomain<&energy::Energy::beside>},
    {"calls", ReadPositive<&energy::Energy::calls>},
    {"ci95", ReadEnergyInterval},
    {"covers", ReadText<&energy::Energy::covers>},
    {"domains", ReadJoulesByDomain<&energy::Energy::domains>},
    {"from", ReadText<&energy::Energy::from>},
    {"joules", ReadPositive<&energy::Energy::joules>},
    {"others_cpus", ReadNumber<&energy::Energy::others_cpus>},
    {"seconds", ReadPositive<&energy::Energy::seconds>},
    {"window_seconds", ReadPositive<&energy::Energy::window_seconds>}};

nlohmann::json ToJson(const RegionPass& pass) {
  nlohmann::json object = {{"seconds", pass.seconds},
                           {"regions", pass.regions.regions},
                           {"region_seconds", pass.regions.seconds},
                           {"longest_seconds", pass.regions.longest_seconds},
                           {"busy_seconds", pass.regions.busy_seconds}};
  if (pass.run_delay_seconds) object["run_delay_seconds"] = *pass.run_delay_seconds;
  return object;
}

constexpr JsonReading<RegionSums> kSums[] = {
    {"busy_seconds", ReadNumber<&RegionSums::busy_seconds>},
    {"longest_seconds", ReadNumber<&RegionSums::longest_seconds>},
    {"region_seconds", ReadNumber<&RegionSums::seconds>},
    {"regions", ReadNumber<&RegionSums::regions>}};
constexpr JsonReading<RegionPass> kPass[] = {
    {"run_delay_seconds", ReadNumber<&RegionPass::run_delay_seconds>},
    {"seconds", ReadNumber<&RegionPass::seconds>}};
constexpr JsonReading<PartSeconds> kParts[] = {
    {"function_instructions", ReadNumber<&PartSeconds::function_instructions>},
    {"function_seconds", ReadNumber<&PartSeconds::functions>},
    {"product_instructions", ReadNumber<&PartSeconds::product_instructions>},
    {"product_seconds", ReadNumber<&PartSeconds::products>}};

void ReadFrom(const JsonMember& member, InstructionCount& count) {
  const auto from = ProvenanceFromKey(member.Text());
  if (!from) member.Refuse("measured, simulated or modelled");
  count.from = *from;
}

constexpr JsonReading<InstructionCount> kInstructions[] = {
    {"all", ReadNumber<&InstructionCount::all>},
    {"from", ReadFrom},
    {"how", ReadText<&InstructionCount::how>},
    {"per_second", ReadNumber<&InstructionCount::per_second>},
    {"smallest", ReadNumber<&InstructionCount::smallest>}};

RegionPass PassFromJson(const JsonObject& at) {
  RegionPass pass;
  at.Read(kPass, pass);
  at.Read(kSums, pass.regions);
  if (!(pass.seconds > 0)) at.Refuse("seconds", "a positive time");
  return pass;
}

void ReadPasses(const JsonMember& member, ParallelTime& time) {
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    time.passes.push_back(PassFromJson({element, place}));
  });
}

void ReadInstructions(const JsonMember& member, ParallelTime& time) {
  const auto at = member.Object();
  at.Read(kInstructions, time.instructions.emplace());
  if (!(time.instructions->all > 0)) at.Refuse("all", "a positive count");
}

constexpr JsonReading<ParallelTime> kParallel[] = {
    {"alone_seconds", ReadNumber<&ParallelTime::single_thread_seconds>},
    {"calls", ReadNumber<&ParallelTime::calls>},
    {"executed_over_useful", ReadNumber<&ParallelTime::executed_over_useful>},
    {"far_seconds", ReadNumber<&ParallelTime::far_seconds>},
    {"instructions", ReadInstructions},
    {"instructions_reason",
     [](const JsonMember& member, ParallelTime& time) {
       time.instructions_reason = Reason{std::string(member.Text())};
     }},
    {"near_seconds", ReadNumber<&ParallelTime::near_seconds>},
    {"passes", ReadPasses},
    {"smallest_seconds", ReadNumber<&ParallelTime::smallest_seconds>},
    {"source", ReadText<&ParallelTime::source>},
    {"threads", [](const JsonMember& member, ParallelTime& time) {
       time.threads = static_cast<int>(member.NumberIn(1, 1e6, "a thread count"));
     }}};

void AddKnown(const std::vector<std::pair<const char*, std::optional<double>>>& numbers,
              nlohmann::json& object) {
  for (const auto& [key, number] : numbers)
    if (number) object[key] = *number;
}

nlohmann::json ToJson(const InstructionCount& count) {
  nlohmann::json object = {{"all", count.all}, {"from", Key(count.from)}, {"how", count.how}};
  AddKnown({{"smallest", count.smallest}, {"per_second", count.per_second}}, object);
  return object;
}

// The tables follow the order in which dlroof writes members.

void ReadSample(const JsonMember& member, Repetition& repetition) {
  const JsonObject at = member.Object();
  GpuSample sample;
  for (const auto& [key, field] : GpuSampleFields()) sample.*field = at.OptionalNumber(key);
  repetition.gpu = std::make_shared<GpuSample>(sample);
}

constexpr JsonReading<AggregateTime> kAggregate[] = {
    {"deviation",
     [](const JsonMember& member, AggregateTime& aggregate) {
       aggregate.deviation = member.NumberIn(0, kMaxDeviation, "a share of at least 0");
     }},
    {"repetitions",
     [](const JsonMember& member, AggregateTime& aggregate) {
       aggregate.repetitions = static_cast<int>(member.NumberIn(1, 1e9, "a count"));
     }},
    {"statistic", ReadText<&AggregateTime::statistic>}};

void ReadAggregate(const JsonMember& member, Repetition& repetition) {
  AggregateTime aggregate;
  member.Object().Read(kAggregate, aggregate);
  repetition.aggregate = std::make_shared<AggregateTime>(std::move(aggregate));
}

constexpr JsonReading<Repetition> kRepetition[] = {
    {"aggregate", ReadAggregate},
    {"block",
     [](const auto& member, Repetition& repetition) {
       repetition.block = static_cast<int>(member.NumberIn(0, 1e6, "the number of a block"));
     }},
    {"clean_calls", ReadNumber<&Repetition::clean_calls>},
    {"core_share", ReadNumber<&Repetition::core_share>},
    {"cpu_seconds", ReadNumber<&Repetition::cpu_seconds>},
    {"disturbed",
     [](const auto& member, Repetition& repetition) { repetition.noisy = member.Flag(); }},
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

// Reads an object of counts. `key_of` returns nullopt for an unknown key.
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
    kernel.facts = {count("blocks", 1),         count("threads", 1),
                    count("registers", 0),      at.Number("shared_bytes"),
                    at.OptionalNumber("waves"), at.Find("cluster") ? count("cluster", 1) : 1};
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

constexpr JsonReading<WrongEngine> kWrongEngine[] = {
    {"algorithm", ReadText<&WrongEngine::algorithm>}, {"reason", ReadText<&WrongEngine::reason>}};

void ReadWrongEngines(const JsonMember& member, Record& record) {
  record.wrong_engines.clear();
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    JsonObject(element, place).Read(kWrongEngine, record.wrong_engines.emplace_back());
  });
}

void ReadUnwatchedReason(const JsonMember& member, Record& record) {
  record.unwatched_reason = Reason{std::string(member.Text())};
}

constexpr JsonReading<Record> kLabelFacts[] = {{"algorithm", ReadText<&Record::algorithm>},
                                               {"counting", ReadCounting},
                                               {"energy", ReadEnergy},
                                               {"isa", ReadText<&Record::isa>},
                                               {"kernels", ReadKernels},
                                               {"parallel", ReadParallel},
                                               {"repro", ReadKnownText<&Record::repro>},
                                               {"unwatched", ReadUnwatchedReason},
                                               {"verified", ReadText<&Record::verified>},
                                               {"wrong_engines", ReadWrongEngines}};

constexpr JsonReading<Record> kRecord[] = {
    {"cache", ReadKnownText<&Record::cache>},
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
       const int threads = static_cast<int>(member.NumberIn(0, 1e6, "a thread count"));
       record.threads = threads > 0 ? std::optional(threads) : std::nullopt;
     }},
    {"timed", ReadKnownText<&Record::timed>},
    {"work", ReadWork}};

// Cuts `text` off at `mark`. Returns the text after the mark, or an empty text if there is no mark.
std::string_view CutAt(std::string_view mark, std::string_view& text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// Removes the first name from a list "A<B, C>, D" and returns it.
std::string_view CutName(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size() && (depth > 0 || !names.substr(end).starts_with(", ")); ++end)
    depth += names[end] == '<' ? 1 : names[end] == '>' ? -1 : 0;
  const auto name = names.substr(0, end);
  names.remove_prefix(std::min(end + 2, names.size()));
  return name;
}

// Reads "NAME, 3 x NAME, 4 more"; the last kernels have no names.
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

// Schema 1: moves the ISA out of an `algorithm` "ALGORITHM; isa ISA".
void TakeIsa(Record& record) {
  constexpr std::string_view kMark = "; isa ";
  const auto mark = record.algorithm.rfind(kMark);
  if (mark == std::string::npos) return;
  record.isa = record.algorithm.substr(mark + kMark.size());
  record.algorithm.resize(mark);
}

}  // namespace

nlohmann::json ToJson(const energy::Energy& energy) {
  nlohmann::json object = {{"joules", energy.joules},
                           {"seconds", energy.seconds},
                           {"window_seconds", energy.window_seconds},
                           {"calls", energy.calls},
                           {"from", energy.from},
                           {"covers", energy.covers}};
  if (energy.ci95) object["ci95"] = {energy.ci95->first, energy.ci95->second};
  if (energy.others_cpus) object["others_cpus"] = *energy.others_cpus;
  if (!energy.domains.empty()) object["domains"] = energy.domains;
  if (!energy.beside.empty()) object["beside"] = energy.beside;
  return object;
}

energy::Energy EnergyFromJson(const JsonObject& at) {
  energy::Energy energy;
  at.Read(kEnergy, energy);
  for (const char* needed : {"joules", "seconds", "window_seconds", "calls"}) at.Number(needed);
  for (const char* needed : {"from", "covers"}) at.Text(needed);
  return energy;
}

nlohmann::json ToJson(const energy::IdlePower& idle) {
  return {{"idle_watts", idle.watts},
          {"idle_domains", idle.domains},
          {"idle_seconds", idle.seconds},
          {"from", idle.from},
          {"covers", idle.covers}};
}

nlohmann::json ToJson(const energy::IdlePowers& idle) {
  auto object = idle.cpu ? ToJson(*idle.cpu) : nlohmann::json::object();
  if (idle.gpu) object["gpu"] = ToJson(*idle.gpu);
  return object;
}

nlohmann::json ToJson(const ParallelTime& time) {
  auto object = ToJson(time.mean);
  object["threads"] = time.threads;
  object["calls"] = time.calls;
  object["source"] = time.source;
  AddKnown({{"function_seconds", time.parts.functions},
            {"product_seconds", time.parts.products},
            {"function_instructions", time.parts.function_instructions},
            {"product_instructions", time.parts.product_instructions},
            {"alone_seconds", time.single_thread_seconds},
            {"smallest_seconds", time.smallest_seconds},
            {"near_seconds", time.near_seconds},
            {"far_seconds", time.far_seconds},
            {"executed_over_useful", time.executed_over_useful}},
           object);
  if (time.instructions) object["instructions"] = ToJson(*time.instructions);
  if (time.instructions_reason) object["instructions_reason"] = time.instructions_reason->text;
  for (const auto& pass : time.passes) object["passes"].push_back(ToJson(pass));
  return object;
}

ParallelTime ParallelFromJson(const JsonObject& at) {
  ParallelTime time;
  at.Read(kParallel, time);
  at.Read(kParts, time.parts);
  time.mean = PassFromJson(at);
  return time;
}

void ReadLabelFacts(const JsonObject& at, Record& record) {
  at.Read(kLabelFacts, record);
  if (record.isa.empty()) TakeIsa(record);
}

Record RecordFromJson(const JsonObject& at) {
  Record record;
  ReadLabelFacts(at, record);
  at.Read(kRecord, record);
  if (!record.timed) record.timed = TimedBySamples(record.repetitions);
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

void ReadSentences(std::string_view label, Record& record) {
  if (const auto repro = CutAt("; repro: ", label); !repro.empty()) record.repro = repro;
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
