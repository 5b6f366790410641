// An object of a JSON file that people write by hand, and the place of each of its members.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ceilings/cache/located_json.h"

namespace dlroof {

// All functions throw BadInput with FILE:LINE:COLUMN.
class LocatedObject {
 public:
  // Throws BadInput where it is no object, or has a key that is none of `known`.
  LocatedObject(const LocatedJson& file, const nlohmann::json& object, LocatedJson::Path path,
                const std::vector<std::string>& known);

  bool Has(const std::string& key) const { return object_.contains(key); }
  // A text that is not empty.
  std::string Text(const std::string& key) const;
  // Returns a number above 0, from `least` to `most`.
  double Number(const std::string& key, double least = 0,
                double most = std::numeric_limits<double>::infinity()) const;
  const nlohmann::json& Needed(const std::string& key) const;
  LocatedJson::Path PathOf(const std::string& key) const;
  // Returns the place of a member; of the object's first one where it is not there or empty.
  std::string Where(const std::string& key = "") const;

 private:
  const LocatedJson& file_;
  const nlohmann::json& object_;
  LocatedJson::Path path_;
};

}  // namespace dlroof
