// What oneDNN chose for a benchmark: the implementation and the memory layouts of its primitive,
// from the library's own log of the primitives that a process created. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::supervise {

// The environment with which oneDNN writes that log to standard output: one line for each primitive
// that it creates, none for the calls that are timed.
extern const std::map<std::string, std::string> kLogOfCreations;

struct PrimitiveChoice {
  std::string implementation;                  // "brgconv:avx2"
  std::map<std::string, std::string> layouts;  // by tensor: "wei" -> "f32 AcdB8a2b"

  bool operator==(const PrimitiveChoice&) const = default;
};

// Returns the choice for the benchmark's primitive in the log of its process: the last one of the
// kind that was created first, reorders left out. (A backward LSTM creates its forward primitive
// first; what --dlroof_explain times is created later.) Nothing if the log has no primitive.
std::optional<PrimitiveChoice> ChoiceIn(std::string_view log);

nlohmann::json ToJson(const PrimitiveChoice& choice);
PrimitiveChoice ChoiceFrom(const nlohmann::json& json);

// Returns what changed, one text each: "implementation: jit:avx2 -> brgconv:avx2", "layout of src:
// f32 aBcd8b -> f32 acdb".
std::vector<std::string> ChangesBetween(const PrimitiveChoice& base,
                                        const PrimitiveChoice& contender);

}  // namespace dlroof::supervise
