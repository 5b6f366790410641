// JSON that people write by hand: every member knows its line and column.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlroof {

class LocatedJson {
 public:
  // A member's keys, from the outermost to its own; "[1]" is the second item of an array.
  using Path = std::vector<std::string>;

  // Throws BadInput in one sentence with FILE:LINE:COLUMN: no JSON, a number that no double holds,
  // a key that its object has already.
  LocatedJson(std::string text, std::string file);

  const nlohmann::json& value() const { return value_; }
  // Returns "FILE:LINE:COLUMN" of the member's key; "FILE" alone for an unknown path.
  std::string Where(const Path& path) const;

 private:
  nlohmann::json Parsed();
  void Note(const std::string& key, std::size_t end, Path& path);
  std::string At(std::size_t offset) const;
  std::string WordAt(std::size_t offset) const;

  std::string text_, file_;
  std::map<Path, std::size_t> offsets_;  // [byte] of the keys
  nlohmann::json value_;
};

}  // namespace dlroof
