#include "baselines/versus/prices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ceilings/cache/located_json.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr double kHoursOfYear = 8760;  // [h] 365 days
constexpr double kNoMost = std::numeric_limits<double>::infinity();

// An object of the file and the path that leads to it.
class PriceObject {
 public:
  // Throws BadInput where it is no object, or has a key that is none of `known`.
  PriceObject(const LocatedJson& file, const json& object, LocatedJson::Path path,
              const std::vector<std::string>& known)
      : file_(file), object_(object), path_(std::move(path)) {
    if (!object_.is_object()) throw BadInput("{}: expected an object", Where());
    for (const auto& item : object_.items())
      if (std::ranges::find(known, item.key()) == known.end())
        throw BadInput("{}: unknown key '{}', expected {}", Where(item.key()), item.key(),
                       fmt::join(known, ", "));
  }

  bool Has(const std::string& key) const { return object_.contains(key); }

  std::string Text(const std::string& key) const {
    const auto& value = Needed(key);
    if (!value.is_string() || value.get<std::string>().empty())
      throw BadInput("{}: '{}': expected a text that is not empty", Where(key), key);
    return value.get<std::string>();
  }
  // Returns a number above 0, from `least` to `most`.
  double Number(const std::string& key, double least = 0, double most = kNoMost) const {
    const auto& value = Needed(key);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number > 0 && number >= least && number <= most) return number;
    const auto from = least > 0 ? fmt::format("from {:g}", least) : std::string("above 0");
    throw BadInput("{}: '{}': expected a number {}{}", Where(key), key, from,
                   most < kNoMost ? fmt::format(", at most {:g}", most) : "");
  }
  const json& Needed(const std::string& key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw BadInput("{}: expected '{}'", Where(), key);
    return *found;
  }
  LocatedJson::Path PathOf(const std::string& key) const {
    auto path = path_;
    path.push_back(key);
    return path;
  }
  // Returns the place of a member; of the object's first one where it is not there or empty.
  std::string Where(const std::string& key = "") const {
    if (!key.empty() && Has(key)) return file_.Where(PathOf(key));
    if (object_.is_object() && !object_.empty())
      return file_.Where(PathOf(object_.items().begin().key()));
    return file_.Where(path_);
  }

 private:
  const LocatedJson& file_;
  const json& object_;
  LocatedJson::Path path_;
};

// Sets the price and how it came about.
void ReadPrice(const PriceObject& kind, const std::string& currency, PriceKind& price) {
  if (kind.Has("per_node_hour") == kind.Has("capital"))
    throw BadInput("{}: expected one of 'per_node_hour' and 'capital'", kind.Where());
  if (kind.Has("per_node_hour")) {
    for (const char* key : {"years", "utilisation", "watts", "pue", "per_kwh"})
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

PriceKind ReadKind(const LocatedJson& file, const json& object, const LocatedJson::Path& path,
                   const std::string& currency) {
  const PriceObject kind(file, object, path,
                         {"match", "devices", "per_node_hour", "capital", "years", "utilisation",
                          "watts", "pue", "per_kwh"});
  const PriceObject match(file, kind.Needed("match"), kind.PathOf("match"),
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
  const LocatedJson file(text, where);
  if (!file.value().is_object())
    throw BadInput(BadInput::Place{where, 1}, "expected an object with 'currency' and 'kinds'");
  if (!file.value().contains("currency"))
    throw BadInput(BadInput::Place{where, 1},
                   "expected 'currency', such as \"currency\": \"USD\": a price without one says "
                   "nothing");
  const PriceObject whole(file, file.value(), {}, {"currency", "kinds"});
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

const PriceKind* PriceOf(const Prices& prices, const Machine& machine) {
  for (const auto& kind : prices.kinds) {
    const bool name = kind.name.empty() || machine.name.find(kind.name) != std::string::npos;
    const bool fingerprint = kind.fingerprint.empty() || kind.fingerprint == machine.fingerprint;
    if (name && fingerprint) return &kind;
  }
  return nullptr;
}

}  // namespace dlroof
