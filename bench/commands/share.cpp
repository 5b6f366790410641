#include "bench/commands/share.h"

#include <fmt/format.h>

#include <sstream>

#include "counters/base/error.h"

namespace dlroof {

std::optional<double> ParseShare(const std::string& flag, const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::istringstream in(text);
  double value = 0;
  std::string rest;
  const bool number = static_cast<bool>(in >> value);
  in >> rest;
  if (rest == "%") value /= 100;
  if (!number || !(rest.empty() || rest == "%") || !(value >= 0 && value <= 1))
    throw BadInput(
        fmt::format("{}={}: expected a share such as 5% or 0.05, from 0 to 1", flag, text));
  return value;
}

}  // namespace dlroof
