#include "counters/perf/pmu_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dlroof::perf {
namespace {

using nlohmann::json;

std::uint64_t Number(const json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

PmuEvent EventFrom(const std::string& name, const json& from) {
  const auto event = Number(from.at("event"));
  // AMD's event number has 12 bits, in config:0-7,32-35; Intel's has 8 bits.
  return {name, from.value("pmu", "cpu"),
          (event & 0xff) | Number(from.at("umask")) << 8 | (event >> 8) << 32};
}

PmuQuantity QuantityFrom(const json& from, const PmuTable& table, const std::string& where) {
  PmuQuantity quantity;
  if (from.contains("flops")) {
    quantity.pipe = from.at("flops").get<std::string>();
    if (!IsPipeKey(quantity.pipe))
      throw std::logic_error(fmt::format("{}: unknown pipe '{}'", where, quantity.pipe));
  } else {
    quantity.level = LevelFromKey(from.at("bytes").get<std::string>());
    if (!quantity.level)
      throw std::logic_error(fmt::format("{}: unknown level {}", where, from.at("bytes").dump()));
  }
  quantity.any_type = from.value("alone", false);
  quantity.terms = from.at("terms").get<std::map<std::string, double>>();
  for (const auto& [event, factor] : quantity.terms)
    if (table.events.count(event) == 0)
      throw std::logic_error(fmt::format("{}: unknown event '{}'", where, event));
  return quantity;
}

bool IsFor(const json& table, const cpu::Cpu& cpu) {
  if (table.at("vendor") != cpu.vendor) return false;
  const auto families = table.at("families").get<std::vector<unsigned>>();
  if (std::ranges::count(families, cpu.family) == 0) return false;
  if (table.contains("models")) {
    const auto models = table.at("models").get<std::vector<unsigned>>();
    return std::ranges::count(models, cpu.model) > 0;
  }
  const auto from = table.value("models_from", json::object());
  return cpu.model >= from.value(std::to_string(cpu.family), 0U);
}

PmuTable TableFrom(const json& from, const std::string& where) {
  PmuTable table;
  table.name = from.at("name").get<std::string>();
  table.source = from.at("source").get<std::string>();
  if (table.source.empty()) throw std::logic_error(where + ": 'source' is empty");
  table.slots = from.at("slots").get<int>();
  for (const auto& [name, event] : from.at("events").items())
    table.events[name] = EventFrom(name, event);
  for (const auto& quantity : from.at("quantities"))
    table.quantities.push_back(QuantityFrom(quantity, table, where));
  return table;
}

}  // namespace

bool IsDeviceOf(std::string_view pmu, std::string_view device) {
  if (!device.starts_with(pmu)) return false;
  const auto rest = device.substr(pmu.size());
  return rest.empty() || (rest.size() > 1 && rest.front() == '_' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

std::string PmuQuantity::Name() const { return level ? std::string(Key(*level)) : pipe; }

PmuTable PmuTableFromText(std::string_view text, const std::string& where) {
  try {
    return TableFrom(json::parse(text), where);
  } catch (const json::exception& error) {
    throw std::logic_error(fmt::format("{}: {}", where, error.what()));
  }
}

std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu) {
  for (const auto& file : BuiltInPmuTables())
    if (IsFor(json::parse(file.text), cpu))
      return PmuTableFromText(file.text, std::string(file.name));
  return std::nullopt;
}

}  // namespace dlroof::perf
