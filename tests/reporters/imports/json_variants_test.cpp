// Variants (variants.h) of the JSON files of ERT, nvbench and the profilers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "counters/base/files.h"
#include "tests/reporters/imports/variants.h"
#include "tests/test_data.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;
using Keys = std::set<std::string>;

// What may be edited in the files of a tool.
struct JsonFormat {
  Keys numbers;  // members with measured values, also as texts
  Keys names;    // members that are names of records, or without which nothing tells of a part
  Keys lists;    // arrays whose order tells nothing
  bool parts;    // an element less is a part less, not another measurement
  std::function<void(json&, Variant&, Random&)> special;  // edits of this tool only
};

// A member of the document, or an element of one of its arrays.
struct Place {
  json* parent = nullptr;
  std::string key;  // of the nearest object
  std::size_t index = 0;

  json& value() const { return parent->is_object() ? parent->at(key) : parent->at(index); }
};

void Collect(json& at, const std::string& key, const Keys& names, std::vector<Place>& places) {
  if (at.is_object()) {
    for (auto& [name, value] : at.items()) {
      if (names.contains(name)) continue;
      places.push_back({&at, name});
      Collect(value, name, names, places);
    }
  } else if (at.is_array()) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      places.push_back({&at, key, i});
      Collect(at[i], key, names, places);
    }
  }
}

// Makes one change, of which there are eight.
class Editor {
 public:
  Editor(const JsonFormat& format, Variant& variant, Random& random)
      : format_(format), variant_(variant), random_(random) {}

  void Edit(json& file) {
    Collect(file, "", format_.names, places_);
    switch (Below(random_, 8)) {
      case 0:
        return WriteInLocale();
      case 1:
        return Break();
      case 2:
        if (const auto list = AnyList()) std::ranges::shuffle(Elements(*list), random_);
        return;
      case 3:
        if (const auto list = AnyList()) Duplicate(Elements(*list));
        return;
      case 4:
        return Drop();
      case 5:
        if (const auto list = format_.parts ? AnyList() : std::nullopt)
          DropElement(Elements(*list));
        return;
      default:
        if (format_.special) format_.special(file, variant_, random_);
    }
  }

 private:
  template <class Is>
  std::optional<Place> AnyPlace(Is is) {
    std::vector<Place> found;
    std::ranges::copy_if(places_, std::back_inserter(found), is);
    return found.empty() ? std::nullopt : std::optional(found[Below(random_, found.size())]);
  }

  std::optional<Place> AnyList() {
    return AnyPlace([&](const Place& place) {
      return place.parent->is_object() && format_.lists.contains(place.key) &&
             place.value().is_array() && place.value().size() > 1;
    });
  }
  static json::array_t& Elements(const Place& list) {
    return list.value().get_ref<json::array_t&>();
  }

  bool IsMeasured(const Place& place) const {
    const json& value = place.value();
    return format_.numbers.contains(place.key) &&
           (value.is_number() ||
            (value.is_string() && text::PlainNumber(value.get<std::string>())));
  }
  std::optional<Place> AnyNumber() {
    return AnyPlace([&](const Place& place) { return IsMeasured(place); });
  }

  // Writes one number or all as texts with a decimal comma, groups of digits, or as they are.
  void WriteInLocale() {
    static const Style styles[] = {{',', ',', "", true},  {',', '.', ",", true},
                                   {',', ',', ".", true}, {',', '.', "'", true},
                                   {',', '.', "", true},  {',', ',', "\xC2\xA0", true}};
    const auto& style = styles[Below(random_, std::size(styles))];
    std::vector<Place> written;
    if (random_() % 2 != 0)
      std::ranges::copy_if(places_, std::back_inserter(written),
                           [&](const Place& place) { return IsMeasured(place); });
    else if (const auto place = AnyNumber())
      written.push_back(*place);
    for (const auto& place : written) {
      json& value = place.value();
      value = Rewritten(value.is_string() ? value.get<std::string>() : value.dump(), style);
    }
  }

  // Replaces a number by what tools write for none.
  void Break() {
    const json nothing[] = {nullptr, "nan", "-nan", "inf", "-", "", "n/a", true, json::object()};
    const auto place = AnyNumber();
    if (!place) return;
    place->value() = nothing[Below(random_, std::size(nothing))];
    variant_.loses = true;
  }

  void Duplicate(json::array_t& list) {
    const json copy = list[Below(random_, list.size())];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(Below(random_, list.size())), copy);
  }

  void Drop() {
    const auto place = AnyPlace([](const Place& member) { return member.parent->is_object(); });
    if (!place) return;
    place->parent->erase(place->key);
    variant_.loses = true;
  }

  void DropElement(json::array_t& list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(Below(random_, list.size())));
    variant_.loses = true;
  }

  const JsonFormat& format_;
  Variant& variant_;
  Random& random_;
  std::vector<Place> places_;
};

// Changes a JSON file as often as not twice, and then its bytes.
Variant JsonVariant(const json& original, const JsonFormat& format, Random& random) {
  Variant variant;
  json file = original;
  const auto edits = 1 + Below(random, 2);
  for (std::size_t i = 0; i < edits; ++i) Editor(format, variant, random).Edit(file);
  variant.text = file.dump(random() % 2 == 0 ? -1 : 1);
  ChangeBytes(variant, random);
  return variant;
}

json FileOf(const char* name) { return json::parse(ReadFile(fakes::TestData(name), "a sample")); }

void TryJson(const std::string& name, const json& file, const JsonFormat& format,
             const std::function<Outcome(const std::string&)>& read) {
  Try({name, file.dump(1), read, [&](Random& random) { return JsonVariant(file, format, random); }},
      500);
}

Outcome ReadErt(const std::string& text) {
  const auto imported = ImportErt(text::WithoutByteOrder(text), "variant");
  auto outcome = OutcomeOf(imported);
  const auto add = [&](const std::string& name, const machine::Ceiling& ceiling) {
    outcome.numbers[name] = {ceiling.per_second};
    outcome.numbers[name + " threads"] = {static_cast<double>(ceiling.threads)};
  };
  for (const auto& [threads, set] : imported.machine->by_threads) {
    outcome.numbers["threads"].push_back(threads);
    for (const auto& [pipe, ceiling] : set.flops) add(pipe, ceiling);
    for (const auto& [level, ceiling] : set.bytes)
      add(fmt::to_string(static_cast<int>(level)), ceiling);
  }
  return outcome;
}

TEST(Variants, Ert) {
  const JsonFormat format = {.numbers = {"data", "MPI_PROCS", "OPENMP_THREADS"},
                             .lists = {"data"},
                             .parts = true,
                             .special = {}};
  for (const char* name : {"import_ert.json", "import_ert_edison.json"})
    TryJson(name, FileOf(name), format, ReadErt);
}

// Writes values as numbers instead of texts, or another version.
void ChangeVersionOfNvbench(json& file, Variant& /*variant*/, Random& random) {
  if (random() % 2 == 0) {
    file["meta"]["version"]["json"] = {{"string", "1.7.3"}};
    return;
  }
  for (auto& benchmark : file["benchmarks"])
    for (auto& state : benchmark["states"])
      for (auto& summary : state["summaries"])
        for (auto& item : summary["data"])
          if (item.contains("value") && item["value"].is_string())
            if (const auto number = text::PlainNumber(item["value"].get<std::string>()))
              item["value"] = *number;
}

const JsonFormat& Nvbench() {
  static const JsonFormat format = {
      .numbers = {"value"},
      .names = {"axis_values", "devices", "device", "meta"},
      .lists = {"benchmarks", "states", "summaries", "data"},
      .parts = true,
      .special = [](json& file, Variant& variant, Random& random) {
        try {
          ChangeVersionOfNvbench(file, variant, random);
        } catch (const json::exception&) {  // an edit before has removed a part
          variant.skip = true;
        }
      }};
  return format;
}

TEST(Variants, Nvbench) {
  for (const char* name : {"import_nvbench.json", "import_nvbench_gpus.json"})
    TryJson(name, FileOf(name), Nvbench(), Importing<ImportNvbench>);
}

// Sums over all calls of one operator, since names have sizes.
Outcome ReadTraceText(const std::string& text) {
  const auto imported = ImportTrace(text::WithoutByteOrder(text), "variant");
  Outcome outcome{.remarks = {imported.remarks.begin(), imported.remarks.end()}};
  const auto add = [&](const std::string& name, double value) {
    auto& sum = outcome.numbers[name];
    sum.resize(1);
    sum[0] += value;
  };
  for (const auto& record : imported.records) {
    const auto name = record.name.substr(0, record.name.find(' '));
    add(name + " s", record.repetitions.at(0).seconds);
    const auto& work = record.work.at(Provenance::kModelled);
    add(name + " calls", work.launches.value_or(0));
    for (const auto& [pipe, flops] : work.flops) add(std::string(kWork) + name + pipe, flops);
    for (const auto& [level, bytes] : work.bytes) add(std::string(kWork) + name, bytes);
  }
  return outcome;
}

// Writes the events as other versions and tools do.
void ChangeTrace(json& file, Variant& variant, Random& random) {
  if (!file.is_object() || !file.contains("traceEvents") || !file["traceEvents"].is_array()) return;
  json& events = file["traceEvents"];
  switch (Below(random, 4)) {
    case 0:
      file["displayTimeUnit"] = random() % 2 == 0 ? "ns" : "ms";
      return;
    case 1: {
      json bare = events;
      file = std::move(bare);
      return;
    }
    case 2:
      for (json& event : events)
        if (event.is_object() && event.contains("args") && event["args"].is_object() &&
            event["args"].contains("Input Dims")) {
          event["args"]["Input dims"] = event["args"]["Input Dims"];
          event["args"].erase("Input Dims");
        }
      return;
    default: {  // a begin and an end instead of one event
      if (events.empty()) return;
      json& event = events[Below(random, events.size())];
      if (!event.is_object() || event.value("ph", json()) != "X") return;
      event["ph"] = "B";
      event.erase("dur");
      variant.loses = true;
    }
  }
}

const JsonFormat& Traces() {
  static const JsonFormat format = {.numbers = {"ts", "dur"},
                                    .names = {"name", "Input Dims", "Input dims", "args", "id"},
                                    .lists = {"traceEvents"},
                                    .parts = false,
                                    .special = ChangeTrace};
  return format;
}

// The first events of a real file: conv2d, add_ and batch_norm with the operators within them.
json KinetoSample() {
  json file = FileOf("import_kineto.json");
  json few = json::array();
  for (const json& event : file["traceEvents"])
    if (event.value("ph", "") == "X" && few.size() < 14) few.push_back(event);
  for (json& event : few) event["args"].erase("Input Strides");
  return {{"schemaVersion", 1}, {"traceEvents", few}};
}

TEST(Variants, Kineto) { TryJson("Kineto", KinetoSample(), Traces(), ReadTraceText); }

TEST(Variants, KinetoUpTo111) {
  json file = FileOf("import_kineto_2021.json");
  TryJson("Kineto of 2021, kernels", file, Traces(), ReadTraceText);
  std::erase_if(file["traceEvents"].get_ref<json::array_t&>(),
                [](const json& event) { return event.value("cat", "") == "Kernel"; });
  TryJson("Kineto of 2021, operators", file, Traces(), ReadTraceText);
}

TEST(Variants, TensorFlow) {
  TryJson("TensorFlow", FileOf("import_tensorflow.json"), Traces(), ReadTraceText);
}

}  // namespace
}  // namespace dlroof::imports
