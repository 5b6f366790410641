#include "bench/library_rules/vector_blocking.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlroof::library_rules {

VectorUnit VectorUnitOf(std::string_view implementation, std::string_view isa) {
  const bool named = implementation.find(':') != std::string_view::npos;
  const std::string_view said = named ? implementation : isa;
  if (said.find("avx512") != std::string_view::npos) return {16, 32};
  if (said.find("avx") != std::string_view::npos) return {8, 16};
  return {4, 16};
}

int64_t MostRows(const VectorUnit& unit, int64_t columns) {
  return std::max<int64_t>(1, (unit.registers - columns - 1) / columns);
}

int64_t RowBlock(const VectorUnit& unit, int64_t columns, int64_t rows) {
  return RowBlock(columns, rows, MostRows(unit, columns));
}

int64_t RowBlock(int64_t columns, int64_t rows, int64_t most) {
  int64_t best = 1;
  double best_worth = 0;
  for (int64_t block = most; block >= 1; --block) {
    const int64_t blocks = (rows + block - 1) / block;
    const auto padded = static_cast<double>(blocks * block);
    const auto reuse = static_cast<double>(columns * block) / static_cast<double>(columns + block);
    const double worth = static_cast<double>(rows) / padded * reuse;
    if (worth > best_worth * 1.0001) best = block, best_worth = worth;
  }
  return std::min(best, rows);
}

std::string WhyNoLoopsOf(int major, int minor) {
  if (major == 3 && minor == 2) return "";
  return fmt::format("the loops of oneDNN {}.{} are not modelled, only those of 3.2", major, minor);
}

}  // namespace dlroof::library_rules
