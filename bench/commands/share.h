// A share of something, as flags spell it.
#pragma once

#include <optional>
#include <string>

namespace dlroof {

// "5%" or "0.05" -> 0.05; empty is absent. Throws BadInput, naming the flag: anything else, and
// what is not from 0 to 1.
std::optional<double> ParseShare(const std::string& flag, const std::string& text);

}  // namespace dlroof
