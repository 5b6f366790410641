#include "reporters/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "reporters/text/text.h"

namespace dlroof::record {

// Lists of the members of JSON objects: the list of a type's members serves both reading
// (large_json.h) and writing. Unset and empty values are not written.

// The members of T. Specialize it as an array of JsonField<T> in alphabetical order of the keys.
template <class T>
constexpr auto kFieldsOf = std::array<JsonField<T>, 0>();

template <class T>
void ReadFields(const JsonObject& at, T& out) {
  at.Read(kFieldsOf<T>, out);
}
template <class T>
void WriteFields(const T& value, nlohmann::json& object) {
  for (const auto& field : kFieldsOf<T>) field.write(value, field.key, object);
}

template <class T>
inline constexpr bool kIsOptional = requires(T value) {
  value.has_value();
};

// Reads an object of numbers into `numbers`. `key_of` converts the name of a number; if it returns
// nullopt, throws BadInput (the name "is not a `what`"). Drops numbers outside the range that
// belongs to the object's key.
template <class Key, class KeyOf>
void ReadNumbers(const JsonMember& member, const char* what, const KeyOf& key_of,
                 std::map<Key, double>& numbers) {
  numbers.clear();
  const JsonObject object = member.Object();
  const auto& range = member.range != nullptr ? *member.range : RangeOf(member.key);
  for (const auto [name, value] : object.members()) {
    const std::optional<Key> key = key_of(name);
    if (!key) throw BadInput("{}: '{}' is not a {}", object.where(), name, what);
    if (const auto number = JsonMember{object, name, value, &range}.NumberOrDrop())
      numbers[*key] = *number;
  }
}
inline void ReadValue(const JsonMember& member, std::map<Level, double>& numbers) {
  ReadNumbers(member, "memory level", LevelFromKey, numbers);
}
inline void ReadValue(const JsonMember& member, std::map<std::string, double>& numbers) {
  const auto any = [](std::string_view key) { return std::optional<std::string>(key); };
  ReadNumbers(member, "text", any, numbers);
}
inline void ReadValue(const JsonMember& member, std::string& text) { text = member.Text(); }
inline void ReadValue(const JsonMember& member, Reason& reason) { reason.text = member.Text(); }
inline void ReadValue(const JsonMember& member, Provenance& from) {
  const auto known = ProvenanceFromKey(member.Text());
  if (!known) member.Refuse("measured, simulated or modelled");
  from = *known;
}
inline void ReadValue(const JsonMember& member, std::pair<double, double>& interval) {
  std::vector<double> ends;
  member.Each([&](simdjson::dom::element element, const JsonPlace&) {
    if (double number = 0; element.get(number) == simdjson::SUCCESS && kAnyNumber.Contains(number))
      ends.push_back(number);
  });
  if (member.Size() != 2 || ends.size() != 2 || !(ends[0] > 0 && ends[0] <= ends[1]))
    member.Refuse("two rising numbers above 0");
  interval = {ends[0], ends[1]};
}
template <class T>
void ReadValue(const JsonMember& member, std::vector<T>& values) {
  values.clear();
  values.reserve(member.Size());
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    ReadFields(JsonObject(element, place), values.emplace_back());
  });
}
template <class T>
void ReadValue(const JsonMember& member, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = member.Flag();
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = static_cast<T>(member.Number());
  } else {
    ReadFields(member.Object(), value);
  }
}
// Reads an optional value. It stays unset for an empty text and for a number outside its range.
template <template <class> class Optional, class T>
requires kIsOptional<Optional<T>>
void ReadValue(const JsonMember& member, Optional<T>& value) {
  T read{};
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto number = member.NumberOrDrop();
    if (!number) return;
    read = static_cast<T>(*number);
  } else {
    ReadValue(member, read);
  }
  if constexpr (std::is_same_v<T, std::string>)
    if (read.empty()) return;
  value = std::move(read);
}

template <class T>
bool IsUnset(const T& value) {
  if constexpr (kIsOptional<T> || std::is_same_v<T, bool>)
    return !value;
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else
    return false;
}

template <class T>
nlohmann::json JsonOf(const T& value) {
  if constexpr (kIsOptional<T>) {
    return JsonOf(*value);
  } else if constexpr (std::is_same_v<T, Reason>) {
    return value.text;
  } else if constexpr (requires { Key(value); }) {
    return Key(value);
  } else if constexpr (requires { Key(value.begin()->first); }) {
    auto object = nlohmann::json::object();
    for (const auto& [key, number] : value) object[std::string(Key(key))] = JsonOf(number);
    return object;
  } else if constexpr (std::is_constructible_v<nlohmann::json, T>) {
    return value;
  } else if constexpr (requires { value.front(); }) {
    auto array = nlohmann::json::array();
    for (const auto& each : value) array.push_back(JsonOf(each));
    return array;
  } else {
    auto object = nlohmann::json::object();
    WriteFields(value, object);
    return object;
  }
}

template <class Out, class T>
Out OwnerOf(T Out::*);

// Returns the JsonField of the member kField or, with kInner, of kField's member kInner. `needed`
// is what a message says to expect if the member is missing; null if it may be missing.
template <auto kField, auto... kInner>
constexpr auto Field(std::string_view key, const char* needed = nullptr) {
  using Out = decltype(OwnerOf(kField));
  return JsonField<Out>{
      key,
      [](const JsonMember& member, Out& out) { ReadValue(member, ((out.*kField).*....*kInner)); },
      [](const Out& out, std::string_view name, nlohmann::json& object) {
        const auto& value = ((out.*kField).*....*kInner);
        if (!IsUnset(value)) object[std::string(name)] = JsonOf(value);
      },
      needed, key.empty() ? nullptr : &RangeOf(key)};
}

namespace {

using nlohmann::json;

constexpr const char *kText = "a text", *kTime = "seconds of a call";

}  // namespace

template <>
constexpr auto kFieldsOf<energy::Energy> =
    std::array{Field<&energy::Energy::beside>("beside"),
               Field<&energy::Energy::calls>("calls", "a number above 0"),
               Field<&energy::Energy::ci95>("ci95"),
               Field<&energy::Energy::covers>("covers", kText),
               Field<&energy::Energy::domains>("domains"),
               Field<&energy::Energy::from>("from", kText),
               Field<&energy::Energy::joules>("joules", "a number above 0"),
               Field<&energy::Energy::others_cpus>("others_cpus"),
               Field<&energy::Energy::seconds>("seconds", "a number above 0"),
               Field<&energy::Energy::window_seconds>("window_seconds", "a number above 0")};

template <>
constexpr auto kFieldsOf<RegionPass> =
    std::array{Field<&RegionPass::regions, &RegionSums::busy_seconds>("busy_seconds"),
               Field<&RegionPass::regions, &RegionSums::longest_seconds>("longest_seconds"),
               Field<&RegionPass::regions, &RegionSums::seconds>("region_seconds"),
               Field<&RegionPass::regions, &RegionSums::regions>("regions"),
               Field<&RegionPass::run_delay_seconds>("run_delay_seconds"),
               Field<&RegionPass::seconds>("seconds", kTime)};

template <>
constexpr auto kFieldsOf<InstructionCount> =
    std::array{Field<&InstructionCount::all>("all", "a positive count"),
               Field<&InstructionCount::from>("from"), Field<&InstructionCount::how>("how"),
               Field<&InstructionCount::per_second>("per_second"),
               Field<&InstructionCount::smallest>("smallest")};

template <>
constexpr auto kFieldsOf<ParallelTime> = std::array{
    Field<&ParallelTime::single_thread_seconds>("alone_seconds"),
    Field<&ParallelTime::calls>("calls"),
    Field<&ParallelTime::executed_over_useful>("executed_over_useful"),
    Field<&ParallelTime::far_seconds>("far_seconds"),
    Field<&ParallelTime::parts, &PartSeconds::function_instructions>("function_instructions"),
    Field<&ParallelTime::parts, &PartSeconds::functions>("function_seconds"),
    Field<&ParallelTime::instructions>("instructions"),
    Field<&ParallelTime::instructions_reason>("instructions_reason"),
    Field<&ParallelTime::near_seconds>("near_seconds"), Field<&ParallelTime::passes>("passes"),
    Field<&ParallelTime::parts, &PartSeconds::product_instructions>("product_instructions"),
    Field<&ParallelTime::parts, &PartSeconds::products>("product_seconds"),
    // The members of `mean` are members of the same JSON object.
    JsonField<ParallelTime>{
        "seconds", [](const auto& member, ParallelTime& time) { ReadFields(member.at, time.mean); },
        [](const ParallelTime& time, std::string_view, json& object) {
          WriteFields(time.mean, object);
        },
        kTime},
    Field<&ParallelTime::smallest_seconds>("smallest_seconds"),
    Field<&ParallelTime::source>("source"), Field<&ParallelTime::threads>("threads")};

template <>
constexpr auto kFieldsOf<AggregateTime> =
    std::array{Field<&AggregateTime::deviation>("deviation"),
               Field<&AggregateTime::repetitions>("repetitions"),
               Field<&AggregateTime::statistic>("statistic")};

template <>
constexpr auto kFieldsOf<Repetition> = std::array{
    Field<&Repetition::aggregate>("aggregate"),
    Field<&Repetition::block>("block"),
    Field<&Repetition::clean_calls>("clean_calls"),
    Field<&Repetition::core_share>("core_share"),
    Field<&Repetition::cpu_seconds>("cpu_seconds"),
    Field<&Repetition::noisy>("disturbed"),
    JsonField<Repetition>{"gpu",
                          [](const JsonMember& member, Repetition& repetition) {
                            const JsonObject at = member.Object();
                            GpuSample sample;
                            for (const auto& [key, field] : GpuSampleFields())
                              sample.*field = at.OptionalNumber(key);
                            repetition.gpu = std::make_shared<GpuSample>(sample);
                          },
                          [](const Repetition& repetition, std::string_view, json& object) {
                            if (repetition.gpu) object["gpu"] = ToJson(*repetition.gpu);
                          }},
    JsonField<Repetition>{"iterations", Field<&Repetition::iterations>("").read,
                          [](const Repetition& repetition, std::string_view, json& object) {
                            object["iterations"] = text::WholeOrReal(repetition.iterations);
                          }},
    Field<&Repetition::link_share>("link_share"),
    Field<&Repetition::main_cpu_seconds>("main_cpu_seconds"),
    Field<&Repetition::run_delay_seconds>("run_delay_seconds"),
    Field<&Repetition::seconds>("seconds", kTime)};

template <>
constexpr auto kFieldsOf<Work> = std::array{
    Field<&Work::bytes>("bytes"),
    JsonField<Work>{"flops",
                    [](const JsonMember& member, Work& work) {
                      const auto pipe = [](std::string_view key) {
                        return IsPipeKey(key) ? std::optional<std::string>(key) : std::nullopt;
                      };
                      ReadNumbers(member, "pipe", pipe, work.flops);
                    },
                    Field<&Work::flops>("").write},
    Field<&Work::launches>("launches"), Field<&Work::parts>("parts"),
    Field<&Work::written>("written_bytes")};

template <>
constexpr auto kFieldsOf<Prediction> =
    std::array{Field<&Prediction::by>("by"), Field<&Prediction::bytes>("bytes"),
               Field<&Prediction::seconds>("seconds", kTime)};

template <>
constexpr auto kFieldsOf<CountingNote> =
    std::array{Field<&CountingNote::provenance>("provenance"),
               Field<&CountingNote::source>("source"), Field<&CountingNote::text>("text")};

template <>
constexpr auto kFieldsOf<KernelFacts> =
    std::array{Field<&KernelFacts::blocks>("blocks"),
               JsonField<KernelFacts>{"cluster", Field<&KernelFacts::cluster>("").read,
                                      [](const KernelFacts& facts, std::string_view, json& object) {
                                        if (facts.cluster > 1) object["cluster"] = facts.cluster;
                                      }},
               Field<&KernelFacts::registers>("registers", "a count"),
               Field<&KernelFacts::shared_bytes>("shared_bytes", "a number"),
               Field<&KernelFacts::threads>("threads", "a count"),
               Field<&KernelFacts::waves>("waves")};

template <>
constexpr auto kFieldsOf<LaunchedKernel> = std::array{
    // `facts` has no JSON object of its own: its members are beside "name" and "launches". The
    // field "blocks" reads and writes all of them; without it there are no facts.
    JsonField<LaunchedKernel>{"blocks",
                              [](const JsonMember& member, LaunchedKernel& kernel) {
                                ReadFields(member.at, kernel.facts.emplace());
                                if (kernel.facts->blocks < 1) member.Refuse("a count above 0");
                              },
                              [](const LaunchedKernel& kernel, std::string_view, json& object) {
                                if (kernel.facts) WriteFields(*kernel.facts, object);
                              }},
    JsonField<LaunchedKernel>{"launches",
                              [](const JsonMember& member, LaunchedKernel& kernel) {
                                ReadValue(member, kernel.launches);
                                if (kernel.launches < 1) member.Refuse("a count above 0");
                              },
                              Field<&LaunchedKernel::launches>("").write, "a count"},
    Field<&LaunchedKernel::name>("name", kText), Field<&LaunchedKernel::seconds>("seconds")};

template <>
constexpr auto kFieldsOf<WrongEngine> =
    std::array{Field<&WrongEngine::algorithm>("algorithm"), Field<&WrongEngine::reason>("reason")};

namespace {

// Reads the notes of "counting", which are sentences in schema 1.
void ReadCounting(const JsonMember& member, Record& record) {
  record.counting.clear();
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    std::string_view sentence;
    if (element.get(sentence) == simdjson::SUCCESS)
      AddSentence(sentence, record);
    else
      ReadFields(JsonObject(element, place), record.counting.emplace_back());
  });
}

void ReadWork(const JsonMember& member, Record& record) {
  record.work.clear();
  const JsonObject works = member.Object();
  for (const auto [key, value] : works.members()) {
    const auto from = ProvenanceFromKey(key);
    if (!from) throw BadInput("{}: '{}' is not a provenance", works.where(), key);
    ReadValue({works, key, value}, record.work[*from]);
  }
}

// Reads the energy. Drops its interval if the energy is not within the interval.
void ReadEnergy(const JsonMember& member, Record& record) {
  ReadValue(member, record.energy);
  const double joules = record.energy->joules;
  auto& ci95 = record.energy->ci95;
  if (!ci95 || (ci95->first <= joules && joules <= ci95->second)) return;
  member.Drop(joules, "joules within 'ci95'");
  ci95.reset();
}

// Reports a median that is not within the repetitions' times, but does not store it (TimeOf does).
// The median may be below all of them if one is noisy, because it may count without its waits.
void CheckMedian(const JsonMember& member, Record& record) {
  if (!member.value.is_object() || record.repetitions.empty()) return;
  constexpr double kRounding = 0.01;
  const auto median = member.Object().OptionalNumber("median");
  const auto [least, most] =
      std::ranges::minmax_element(record.repetitions, {}, &Repetition::seconds);
  const bool noisy = std::ranges::any_of(record.repetitions, &Repetition::noisy);
  if (median && (*median > (1 + kRounding) * most->seconds ||
                 (!noisy && *median < (1 - kRounding) * least->seconds)))
    member.Drop(*median, "a median within the repetitions");
}

// Drops the measured number of launches if it is below the sum of launches of `kernels`.
void CheckLaunches(const JsonObject& at, Record& record) {
  const auto work = record.work.find(Provenance::kMeasured);
  if (work == record.work.end() || !work->second.launches) return;
  double launches = 0;
  for (const auto& kernel : record.kernels) launches += kernel.launches;
  if (launches <= *work->second.launches) return;
  at.Find("work")->Drop(*work->second.launches,
                        fmt::format("at least the {:g} launches of 'kernels'", launches));
  work->second.launches.reset();
}

// Drops FLOPs and bytes whose rate would exceed kLargestNumber per second.
void CheckRates(const JsonObject& at, Record& record) {
  if (record.repetitions.empty()) return;
  const double least = std::ranges::min(record.repetitions, {}, &Repetition::seconds).seconds;
  const auto check = [&](auto& counts) {
    std::erase_if(counts, [&](const auto& count) {
      const bool drop = count.second > kLargestNumber * least;
      if (drop)
        at.Find("work")->Drop(count.second, fmt::format("a rate up to {:g} per second in {:g} s",
                                                        kLargestNumber, least));
      return drop;
    });
  };
  for (auto& [from, work] : record.work) {
    check(work.flops);
    check(work.bytes);
  }
}

// A member that is written but not read, because SplitName derives it from the record's name.
template <auto kField>
constexpr auto Derived(std::string_view key) {
  return JsonField<Record>{key, [](const JsonMember&, Record&) {},
                           [](const Record& record, std::string_view name, json& object) {
                             const auto& value = record.*kField;
                             if (!value.empty()) object[std::string(name)] = value;
                           }};
}

constexpr auto kLabelFields =
    std::array{Field<&Record::algorithm>("algorithm"),
               JsonField<Record>{"counting", ReadCounting, Field<&Record::counting>("").write},
               JsonField<Record>{"energy", ReadEnergy, Field<&Record::energy>("").write},
               Field<&Record::isa>("isa"),
               Field<&Record::kernels>("kernels"),
               Field<&Record::parallel>("parallel"),
               Field<&Record::repro>("repro"),
               Field<&Record::unwatched_reason>("unwatched"),
               Field<&Record::verified>("verified"),
               Field<&Record::wrong_engines>("wrong_engines")};

constexpr auto kRecordFields = std::array{
    Field<&Record::cache>("cache"),
    Field<&Record::device>("device"),
    Derived<&Record::direction>("direction"),
    Field<&Record::evicted_bytes>("evicted_bytes"),
    Field<&Record::heuristic_over_best>("heuristic_over_best"),
    Derived<&Record::library>("library"),
    Field<&Record::name>("name"),
    Derived<&Record::op>("op"),
    Derived<&Record::options>("options"),
    Field<&Record::prediction>("prediction"),
    Derived<&Record::problem>("problem"),
    Field<&Record::reason>("reason"),
    JsonField<Record>{"repetitions", Field<&Record::repetitions>("").read,
                      [](const Record&, std::string_view, json&) {}},  // by ToJson(Repetition)
    JsonField<Record>{"seconds", CheckMedian, [](const Record&, std::string_view, json&) {}},
    Field<&Record::seed>("seed"),
    JsonField<Record>{"status",
                      [](const JsonMember& member, Record& record) {
                        const auto status = StatusFromKey(member.Text());
                        if (!status) member.Refuse("ok, unsupported, failed or wrong");
                        record.status = *status;
                      },
                      Field<&Record::status>("").write},
    Field<&Record::threads>("threads"),
    Field<&Record::timed>("timed"),
    Derived<&Record::type>("type"),
    JsonField<Record>{"work", ReadWork, Field<&Record::work>("").write}};

}  // namespace

json ToJson(const GpuSample& sample) {
  json object = json::object();
  for (const auto& [key, field] : GpuSampleFields())
    if (const auto& value = sample.*field) object[key] = *value;
  return object;
}

json ToJson(const Repetition& repetition) { return JsonOf(repetition); }

json LabelFacts(const Record& record) {
  auto facts = json::object();
  for (const auto& field : kLabelFields) field.write(record, field.key, facts);
  return facts;
}

json ToJson(const Record& record) {
  auto object = LabelFacts(record);
  for (const auto& field : kRecordFields) field.write(record, field.key, object);
  return object;
}

void ReadLabelFacts(const JsonObject& at, Record& record) {
  at.Read(kLabelFields, record);
  if (record.isa.empty()) TakeIsa(record);
}

Record RecordFromJson(const JsonObject& at) {
  Record record;
  ReadLabelFacts(at, record);
  at.Read(kRecordFields, record);
  CheckLaunches(at, record);
  CheckRates(at, record);
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

}  // namespace dlroof::record
