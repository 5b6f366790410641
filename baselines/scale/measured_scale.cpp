#include "baselines/scale/measured_scale.h"

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"
#include "reporters/text/csv.h"

namespace dlroof {
namespace {

constexpr double kMostNodesMeasured = 1e6;

struct Columns {
  std::optional<std::size_t> nodes, samples, label;
};

Columns ColumnsOf(const CsvRow& header, const std::string& where) {
  Columns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    auto* column = header[i].text == "nodes"                ? &columns.nodes
                   : header[i].text == "samples_per_second" ? &columns.samples
                   : header[i].text == "label"              ? &columns.label
                                                            : nullptr;
    if (column == nullptr || *column)
      throw BadInput(
          "{}: '{}': expected the columns nodes, samples_per_second and label, each once",
          PlaceOf(header[i], where), header[i].text);
    *column = i;
  }
  if (!columns.nodes || !columns.samples)
    throw BadInput("{}: expected the columns nodes and samples_per_second",
                   PlaceOf(header.front(), where));
  return columns;
}

}  // namespace

std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where) {
  const auto rows = ReadCsv(text, where);
  if (rows.size() < 2)
    throw BadInput("{}:1: expected a header and a row for each measurement", where);
  const auto columns = ColumnsOf(rows.front(), where);
  std::vector<MeasuredScale> found;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    RequireFields(rows[i], rows.front(), where);
    const auto& nodes_field = rows[i][*columns.nodes];
    const auto nodes = CsvNumber(nodes_field, where).value_or(0);
    if (nodes < 1 || nodes > kMostNodesMeasured || nodes != std::floor(nodes))
      throw BadInput("{}: '{}': expected a number of nodes", PlaceOf(nodes_field, where),
                     nodes_field.text);
    const auto& samples_field = rows[i][*columns.samples];
    const auto samples = CsvNumber(samples_field, where).value_or(0);
    if (!(samples > 0))
      throw BadInput("{}: '{}': expected samples per second above 0", PlaceOf(samples_field, where),
                     samples_field.text);
    found.push_back({static_cast<int>(nodes), samples,
                     columns.label ? rows[i][*columns.label].text : std::string()});
  }
  return found;
}

const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes) {
  const auto found = std::ranges::find(rows, nodes, &ScaleRow::nodes);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace dlroof
