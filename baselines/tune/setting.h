// Settings of a program, and the choices among which a tuning looks. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dlroof::tuning {

// Knob -> value: "OMP_WAIT_POLICY" -> "active". A knob that is absent has its default, so the empty
// setting is the program as it is.
using Setting = std::map<std::string, std::string>;

// Returns "OMP_WAIT_POLICY=active, threads=1", or "default". A knob without a value (an argument)
// has no "=".
std::string Words(const Setting& setting);

struct Choice {
  Setting values;      // of its coordinate's knobs; those that it leaves out have their defaults
  std::string reason;  // why it may be faster, for people

  bool operator==(const Choice&) const = default;
};

// Knobs that are chosen together, because the best value of one depends on the others.
struct Coordinate {
  std::string name;             // "threads"
  std::string reason;           // why it is tried when it is, for people; may be empty
  std::vector<Choice> choices;  // beside the default, all different

  bool operator==(const Coordinate&) const = default;
};

// Returns the setting with the coordinate's knobs as `values` has them, and the others as they are.
Setting With(Setting setting, const Coordinate& coordinate, const Setting& values);
// Returns the part of the setting that the coordinate decides.
Setting PartOf(const Setting& setting, const Coordinate& coordinate);

// Returns all combinations of two coordinates, but for the default of both.
Coordinate Crossed(const Coordinate& one, const Coordinate& other);

}  // namespace dlroof::tuning
