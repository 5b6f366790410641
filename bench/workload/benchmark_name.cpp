#include "bench/workload/benchmark_name.h"

#include <fmt/format.h>

#include <cctype>

#include "counters/base/error.h"
#include "reporters/verbose/verbose_line.h"

namespace dlroof::workload {
namespace {

constexpr int kParts = 6;

void CheckCharacters(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isalnum(c) != 0 || std::string_view("/_.:+-").find(text[i]) != std::string_view::npos)
      continue;
    throw BadInput({.column = static_cast<int>(i) + 1},
                   "a benchmark name has only letters, digits and / _ . : + -");
  }
}

}  // namespace

std::string ToText(const BenchmarkName& name) {
  std::string text = fmt::format("{}/{}/{}/{}/{}/{}", name.op, name.device, name.library,
                                 name.direction, name.type, name.problem);
  for (const auto& option : name.options) text += '/' + option;
  return text;
}

BenchmarkName ParseBenchmarkName(const std::string& text) {
  CheckCharacters(text);
  std::vector<std::string> parts;
  for (const auto part : verbose::SplitText(text, '/')) {
    if (part.empty())
      throw BadInput({.column = static_cast<int>(part.data() - text.data()) + 1},
                     "empty part of a benchmark name");
    parts.emplace_back(part);
  }
  if (parts.size() < kParts)
    throw BadInput({.column = static_cast<int>(text.size()) + 1},
                   "expected op/device/library/direction/type/problem, got {} part{}", parts.size(),
                   parts.size() == 1 ? "" : "s");
  return {parts[0],
          parts[1],
          parts[2],
          parts[3],
          parts[4],
          parts[5],
          {parts.begin() + kParts, parts.end()}};
}

}  // namespace dlroof::workload
