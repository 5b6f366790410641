#include "reporters/figure/colours.h"

#include <fmt/format.h>

#include <array>

namespace dlroof {

std::string_view SeriesColour(std::size_t index) {
  constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#b5468f",
                                                        "#8a6d00", "#4b4fc4", "#6b7280"};
  return kColours[index % kColours.size()];
}

std::string Shade(std::string_view colour, bool pale) {
  if (!pale) return std::string(colour);
  std::string mixed = "#";
  for (std::size_t at = 1; at + 1 < colour.size(); at += 2)
    mixed +=
        fmt::format("{:02x}", 170 + std::stoi(std::string(colour.substr(at, 2)), nullptr, 16) / 3);
  return mixed;
}

}  // namespace dlroof
