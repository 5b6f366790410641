#include "baselines/versus/prices.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ceilings/cache/located_object.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;

constexpr double kHoursOfYear = 8760;  // [h] 365 days

// Sets the price and how it came about.
void ReadPrice(const machine_file::LocatedObject& kind, const std::string& currency, PriceKind& price) {
  if (kind.Has("per_node_hour") == kind.Has("capital"))
    throw BadInput("{}: expected one of 'per_node_hour' and 'capital'", kind.Where());
  if (kind.Has("watts")) price.watts = kind.Number("watts");
  if (kind.Has("per_node_hour")) {
    for (const char* key : {"years", "utilisation", "pue", "per_kwh"})
      if (kind.Has(key))
        throw BadInput("{}: '{}' belongs to 'capital', not to 'per_node_hour'", kind.Where(key),
                       key);
    price.per_node_hour = kind.Number("per_node_hour");
    price.how = fmt::format("{:g} {} per node and hour", price.per_node_hour, currency);
    return;
  }
  const double capital = kind.Number("capital"), years = kind.Number("years"),
               utilisation = kind.Number("utilisation", 0, 1);
  price.per_node_hour = capital / (years * kHoursOfYear * utilisation);
  price.how = fmt::format("{:g} {} over {:g} years at {:g} % use", capital, currency, years,
                          100 * utilisation);
  if (!kind.Has("watts") && !kind.Has("pue") && !kind.Has("per_kwh")) return;
  const double watts = kind.Number("watts"), pue = kind.Number("pue", 1),
               per_kwh = kind.Number("per_kwh");
  price.per_node_hour += watts / 1000 * pue * per_kwh;
  price.how += fmt::format(" and {:g} W x {:g} at {:g} {}/kWh", watts, pue, per_kwh, currency);
}

PriceKind ReadKind(const machine_file::LocatedJson& file, const json& object, const machine_file::LocatedJson::Path& path,
                   const std::string& currency) {
  const machine_file::LocatedObject kind(file, object, path,
                           {"match", "devices", "per_node_hour", "capital", "years", "utilisation",
                            "watts", "pue", "per_kwh"});
  const machine_file::LocatedObject match(file, kind.Needed("match"), kind.PathOf("match"),
                            {"name", "fingerprint"});
  PriceKind price;
  if (match.Has("name")) price.name = match.Text("name");
  if (match.Has("fingerprint")) price.fingerprint = match.Text("fingerprint");
  if (price.name.empty() && price.fingerprint.empty())
    throw BadInput("{}: 'match': expected 'name' or 'fingerprint'", kind.Where("match"));
  if (kind.Has("devices")) {
    const double devices = kind.Number("devices", 1, 1024);
    if (devices != std::floor(devices))
      throw BadInput("{}: 'devices': expected a whole number", kind.Where("devices"));
    price.devices = static_cast<int>(devices);
  }
  ReadPrice(kind, currency, price);
  return price;
}

}  // namespace

Prices ParsePrices(const std::string& text, const std::string& where) {
  const machine_file::LocatedJson file(text, where);
  if (!file.value().is_object())
    throw BadInput(BadInput::Place{where, 1}, "expected an object with 'currency' and 'kinds'");
  if (!file.value().contains("currency"))
    throw BadInput(BadInput::Place{where, 1},
                   "expected 'currency', such as \"currency\": \"USD\": a price without one says "
                   "nothing");
  const machine_file::LocatedObject whole(file, file.value(), {}, {"currency", "kinds"});
  Prices prices{.currency = whole.Text("currency"), .kinds = {}};
  const auto& kinds = whole.Needed("kinds");
  if (!kinds.is_array() || kinds.empty())
    throw BadInput("{}: 'kinds': expected an array with at least one object", whole.Where("kinds"));
  for (std::size_t i = 0; i < kinds.size(); ++i)
    prices.kinds.push_back(
        ReadKind(file, kinds[i], {"kinds", fmt::format("[{}]", i)}, prices.currency));
  return prices;
}

Prices ReadPrices(const std::string& path) {
  return ParsePrices(ReadFile(path, "a file of prices"), path);
}

const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine) {
  for (const auto& kind : prices.kinds) {
    const bool name = kind.name.empty() || machine.name.find(kind.name) != std::string::npos;
    const bool fingerprint = kind.fingerprint.empty() || kind.fingerprint == machine.fingerprint;
    if (name && fingerprint) return &kind;
  }
  return nullptr;
}

}  // namespace dlroof::cluster
