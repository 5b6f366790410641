#include "counters/instructions/executable_maps.h"

#include <charconv>

namespace dlroof {
namespace {

// Moves past a number in hexadecimal digits and the character behind it.
bool ReadHex(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

// "7f10-7f20 r-xp 00000000 00:00 0    NAME": the sixth field, or nothing.
std::string_view NameIn(std::string_view rest) {
  for (int field = 0; field < 4; ++field) {
    const auto space = rest.find(' ');
    if (space == std::string_view::npos) return {};
    rest.remove_prefix(space + 1);
  }
  const auto begin = rest.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

}  // namespace

std::vector<AddressRange> GeneratedCode(std::string_view maps) {
  std::vector<AddressRange> ranges;
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    auto line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    AddressRange range;
    if (!ReadHex(line, range.begin) || !ReadHex(line, range.end)) continue;
    if (line.size() < 4 || line[2] != 'x') continue;
    const auto name = NameIn(line);
    if (name.empty() || name.starts_with("/memfd:")) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace dlroof
