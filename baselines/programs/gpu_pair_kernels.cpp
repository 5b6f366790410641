#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "baselines/programs/gpu_pair.h"
#include "baselines/programs/gpu_pair_report.h"
#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

using document::Cell;
using document::Document;
using document::Table;

constexpr std::size_t kShownKernels = 12, kShownAlone = 8;  // rows in a terminal

// The short names of both programs' kernels: different names stay different.
std::map<std::string_view, std::string> NamesOf(const GpuPair& pair) {
  std::vector<std::string> whole;
  for (const auto* rows : {&pair.rows, &pair.only_a, &pair.only_b})
    for (const auto& row : *rows) whole.push_back(row.name);
  const auto shortened = text::ShortKernelNames(whole);
  std::map<std::string_view, std::string> names;
  std::size_t i = 0;
  for (const auto* rows : {&pair.rows, &pair.only_a, &pair.only_b})
    for (const auto& row : *rows) names[row.name] = shortened[i++];
  return names;
}
using Names = std::map<std::string_view, std::string>;

Cell NameCell(const KernelRow& row, const Names& names) {
  const auto& name = names.at(row.name);
  return {name, name == row.name ? "" : row.name};
}

bool AnyRoof(const std::vector<KernelRow>& rows) {
  return std::ranges::any_of(
      rows, [](const KernelRow& row) { return row.a.roof_share || row.b.roof_share; });
}

std::string NumbersOf(const std::vector<std::string>& texts, std::vector<std::string>& all) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto& text : texts) {
    auto found = std::ranges::find(all, text);
    if (found == all.end()) found = all.insert(all.end(), text);
    numbers.push_back(found - all.begin() + 1);
  }
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, " "));
}

Table::Row SumsRow(Cell name, const std::string& kind, const LaunchSum& a, const LaunchSum& b) {
  return {std::move(name),
          {kind},
          {LaunchesText(a.launches)},
          {TimeText(a.seconds)},
          {LaunchesText(b.launches)},
          {TimeText(b.seconds)},
          {RatioText(a.seconds, b.seconds)}};
}

// Adds a row per kernel of both programs, and their sum. A row's last cell has the numbers of its
// differences in the notes.
void AddBoth(const GpuPair& pair, const Names& names, bool all, Document& document) {
  const auto& rows = pair.rows;
  if (rows.empty()) return;
  const bool roofs = AnyRoof(rows);
  Table table{.columns = {"kernels in both", "kind", "A launches", "A time", "B launches", "B time",
                          "B/A"}};
  if (roofs) table.columns.insert(table.columns.end(), {"A % roof", "B % roof"});
  table.columns.emplace_back("differs");
  const auto shown = all ? rows.size() : std::min(rows.size(), kShownKernels);
  std::vector<std::string> differences;
  LaunchSum rest_a, rest_b;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    if (i >= shown) {
      rest_a.Add(row.a.sum);
      rest_b.Add(row.b.sum);
      continue;
    }
    auto cells = SumsRow(NameCell(row, names), std::string(Key(row.kind)), row.a.sum, row.b.sum);
    if (roofs)
      for (const auto* side : {&row.a, &row.b})
        cells.push_back({roofline::RoofShareText(side->roof_share, false)});
    cells.push_back({NumbersOf(row.differences, differences)});
    table.rows.push_back(std::move(cells));
  }
  if (shown < rows.size())
    table.last.push_back(
        SumsRow({fmt::format("{} more kernels", rows.size() - shown)}, "", rest_a, rest_b));
  table.last.push_back(SumsRow({"all of them"}, "", pair.a.matched, pair.b.matched));
  for (auto& row : table.last) row.resize(table.columns.size());
  for (std::size_t i = 0; i < differences.size(); ++i)
    table.notes.push_back(
        fmt::format("{}  {}{}", i + 1, differences[i], i == 0 ? "  (A | B)" : ""));
  document.Add(std::move(table));
}

std::string GridsText(const KernelSide& side) {
  auto text = SizeText(side.uses.front()->grid);
  if (side.uses.size() > 1) text += fmt::format(" +{}", side.uses.size() - 1);
  return text;
}

// Shares of the kernels' time of one program. They add up to 1000. [0.1 %]
struct Shares {
  std::vector<int> alone;  // by row of `only_a` or `only_b`
  int matched = 0;         // of all kernels in both programs
};

Shares SharesOf(const std::vector<KernelRow>& both, const std::vector<KernelRow>& alone,
                KernelSide KernelRow::*side) {
  std::vector<double> seconds;
  for (const auto* rows : {&both, &alone})
    for (const auto& row : *rows) seconds.push_back((row.*side).sum.seconds);
  const auto tenths = document::Tenths(seconds);
  const auto first = tenths.begin() + static_cast<std::ptrdiff_t>(both.size());
  return {{first, tenths.end()}, std::accumulate(tenths.begin(), first, 0)};
}

// Kernels of one program only.
struct Alone {
  const char* title;
  const std::vector<KernelRow>& rows;
  KernelSide KernelRow::*side;
  const std::vector<int>& tenths;  // by row
};

Table::Row AloneRow(Cell name, const LaunchSum& sum, int tenths, std::size_t columns) {
  Table::Row row = {std::move(name),
                    {},
                    {LaunchesText(sum.launches)},
                    {TimeText(sum.seconds)},
                    {document::TenthsText(tenths)}};
  row.resize(columns);
  return row;
}

// Adds a row per kernel of only one program, and their sum. Shares are of its kernels' time.
void AddAlone(const Alone& alone, const Names& names, bool all, Document& document) {
  const auto& rows = alone.rows;
  if (rows.empty()) return;
  const bool roofs = AnyRoof(rows);
  Table table{.columns = {alone.title, "kind", "launches", "time", "share", "grid"}};
  if (roofs) table.columns.emplace_back("% roof");
  const auto columns = table.columns.size();
  const auto shown = all ? rows.size() : std::min(rows.size(), kShownAlone);
  LaunchSum rest, sum;
  int rest_tenths = 0, sum_tenths = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& side = rows[i].*alone.side;
    sum.Add(side.sum);
    sum_tenths += alone.tenths[i];
    if (i >= shown) {
      rest.Add(side.sum);
      rest_tenths += alone.tenths[i];
      continue;
    }
    auto row = AloneRow(NameCell(rows[i], names), side.sum, alone.tenths[i], columns);
    row[1].text = Key(rows[i].kind);
    row[5].text = GridsText(side);
    if (roofs) row[6].text = roofline::RoofShareText(side.roof_share, false);
    table.rows.push_back(std::move(row));
  }
  if (shown < rows.size())
    table.last.push_back(AloneRow({fmt::format("{} more kernels", rows.size() - shown)}, rest,
                                  rest_tenths, columns));
  table.last.push_back(AloneRow({"all of them"}, sum, sum_tenths, columns));
  document.Add(std::move(table));
}

}  // namespace

void AddKernelTables(const GpuPair& pair, bool all, Document& document) {
  const auto names = NamesOf(pair);
  const auto a = SharesOf(pair.rows, pair.only_a, &KernelRow::a),
             b = SharesOf(pair.rows, pair.only_b, &KernelRow::b);
  document.Say(fmt::format(
      "names of kernels in both: {}, only in A: {}, only in B: {}; those in both take {} of A's "
      "kernel time and {} of B's",
      pair.rows.size(), pair.only_a.size(), pair.only_b.size(), document::TenthsText(a.matched),
      document::TenthsText(b.matched)));
  AddBoth(pair, names, all, document);
  AddAlone({"only in A", pair.only_a, &KernelRow::a, a.alone}, names, all, document);
  AddAlone({"only in B", pair.only_b, &KernelRow::b, b.alone}, names, all, document);
}

}  // namespace dlroof::programs
