#include "baselines/scale/measured_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "counters/base/error.h"
#include "reporters/text/csv.h"

namespace dlroof {
namespace {

constexpr double kMostNodesMeasured = 1e6;

constexpr std::array<std::string_view, 3> kScaleColumns = {"nodes", "samples_per_second", "label"};

}  // namespace

std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where) {
  const auto rows = ReadCsv(text, where);
  if (rows.size() < 2)
    throw BadInput("{}:1: expected a header and a row for each measurement", where);
  const auto columns = CsvColumns(rows.front(), kScaleColumns, 2, where);
  const auto label = columns[2];
  std::vector<MeasuredScale> found;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    RequireFields(rows[i], rows.front(), where);
    const auto& nodes_field = rows[i][*columns[0]];
    const auto nodes = CsvNumber(nodes_field, where).value_or(0);
    if (nodes < 1 || nodes > kMostNodesMeasured || nodes != std::floor(nodes))
      throw BadInput("{}: '{}': expected a number of nodes", PlaceOf(nodes_field, where),
                     nodes_field.text);
    const auto& samples_field = rows[i][*columns[1]];
    const auto samples = CsvNumber(samples_field, where).value_or(0);
    if (!(samples > 0))
      throw BadInput("{}: '{}': expected samples per second above 0", PlaceOf(samples_field, where),
                     samples_field.text);
    found.push_back(
        {static_cast<int>(nodes), samples, label ? rows[i][*label].text : std::string()});
  }
  return found;
}

const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes) {
  const auto found = std::ranges::find(rows, nodes, &ScaleRow::nodes);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace dlroof
