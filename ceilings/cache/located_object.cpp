#include "ceilings/cache/located_object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/base/error.h"

namespace dlroof {

LocatedObject::LocatedObject(const LocatedJson& file, const nlohmann::json& object,
                             LocatedJson::Path path, const std::vector<std::string>& known)
    : file_(file), object_(object), path_(std::move(path)) {
  if (!object_.is_object()) throw BadInput("{}: expected an object", Where());
  for (const auto& item : object_.items())
    if (std::ranges::find(known, item.key()) == known.end())
      throw BadInput("{}: unknown key '{}', expected {}", Where(item.key()), item.key(),
                     fmt::join(known, ", "));
}

std::string LocatedObject::Text(const std::string& key) const {
  const auto& value = Needed(key);
  if (!value.is_string() || value.get<std::string>().empty())
    throw BadInput("{}: '{}': expected a text that is not empty", Where(key), key);
  return value.get<std::string>();
}

double LocatedObject::Number(const std::string& key, double least, double most) const {
  const auto& value = Needed(key);
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number > 0 && number >= least && number <= most) return number;
  const auto from = least > 0 ? fmt::format("from {:g}", least) : std::string("above 0");
  const bool limited = most < std::numeric_limits<double>::infinity();
  throw BadInput("{}: '{}': expected a number {}{}", Where(key), key, from,
                 limited ? fmt::format(", at most {:g}", most) : "");
}

const nlohmann::json& LocatedObject::Needed(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) throw BadInput("{}: expected '{}'", Where(), key);
  return *found;
}

LocatedJson::Path LocatedObject::PathOf(const std::string& key) const {
  auto path = path_;
  path.push_back(key);
  return path;
}

std::string LocatedObject::Where(const std::string& key) const {
  if (!key.empty() && Has(key)) return file_.Where(PathOf(key));
  if (object_.is_object() && !object_.empty())
    return file_.Where(PathOf(object_.items().begin().key()));
  return file_.Where(path_);
}

}  // namespace dlroof
