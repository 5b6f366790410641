#include "reporters/document/document.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <sstream>

#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::document {
namespace {

using nlohmann::json;

constexpr int kTenths = 1000;      // [1] 100 % in units of 0.1 %
constexpr int kBarColumns = 40;    // [columns] length of a bar in a terminal
constexpr int kStripColumns = 60;  // [columns] length of a strip in a terminal
constexpr int kMinSentence = 24;   // [columns] minimum width of sentences in the last column

bool IsEmpty(const Sentences& block) { return block.texts.empty(); }
bool IsEmpty(const List& block) { return block.items.empty(); }
bool IsEmpty(const Table& block) {
  return block.rows.empty() && block.last.empty() && block.notes.empty();
}
bool IsTime(double seconds) { return seconds > 0 && std::isfinite(seconds); }
bool IsEmpty(const Bar& block) { return !IsTime(block.Seconds()); }
bool IsEmpty(const Strip& block) { return block.rows.empty() || !IsTime(block.seconds); }

std::vector<std::string> SharesOfParts(const Bar& bar) {
  const auto seconds = VectorOf<double>(bar.parts, [](const auto& part) { return part.seconds; });
  return VectorOf<std::string>(Tenths(seconds),
                               [&](const int tenths) { return TenthsText(tenths); });
}

void WriteBlock(const Sentences& block, int, std::ostream& out) {
  const auto count = block.texts.size();
  const auto shown = block.first == 0 ? count : std::min(block.first, count);
  for (std::size_t i = 0; i < shown; ++i) out << text::Printable(block.texts[i]) << '\n';
  if (shown < count) fmt::print(out, "and {} more (--verbose)\n", count - shown);
}

void WriteBlock(const List& block, int, std::ostream& out) {
  if (!block.title.empty()) out << text::Printable(block.title) << '\n';
  int number = 0;
  for (const auto& item : block.items) {
    if (block.numbered) fmt::print(out, "{:>3}", ++number);
    fmt::print(out, "  {}\n", text::Printable(item.text));
    for (const auto& detail : item.details) fmt::print(out, "    {}\n", text::Printable(detail));
  }
}

// Writes sentences, wrapped at `width` with a hanging indent.
void WriteNotes(const std::vector<std::string>& notes, int width, std::ostream& out) {
  for (const auto& note : notes) {
    std::istringstream words(text::Printable(note));
    std::string line = " ";
    for (std::string word; std::getline(words, word, ' '); line += ' ' + word) {
      const int with_word = text::TextWidth(line) + 1 + text::TextWidth(word);
      if (width <= 0 || with_word <= width || text::TextWidth(line) <= 3) continue;
      out << line << '\n';
      line = "   ";
    }
    out << line << '\n';
  }
}

std::size_t FirstRows(const Table& table) {
  return table.first == 0 ? table.rows.size() : std::min(table.first, table.rows.size());
}

using Texts = std::vector<std::vector<std::string>>;  // rows of cells

// Removes droppable columns, and cuts sentences, until the rows fit into `width` [columns].
void Fit(const Table& table, int width, Texts& rows) {
  auto widths = text::ColumnWidths(rows);
  const std::size_t flexible = table.last_is_sentence ? widths.size() - 1 : 0;
  // Long benchmark names need no width here: WriteAligned puts them on lines of their own.
  const int least = table.last_is_sentence ? std::min(widths[flexible], kMinSentence) : 0;
  const auto available = [&] {
    int left = width;
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > 0) left -= (i == flexible ? 0 : widths[i]) + (i == 0 ? 0 : text::kColumnGap);
    return left;
  };
  if (width > 0) {
    for (const auto column : table.droppable)
      if (available() < least) widths[column] = 0;
    if (table.last_is_sentence)
      widths.back() = std::min(widths.back(), std::max(available(), kMinSentence));
  }
  for (auto& row : rows) {
    if (table.last_is_sentence) {
      row.back() = text::ShortenEnd(row.back(), widths.back());
      const int blanks = widths.back() - text::TextWidth(row.back());
      row.back().append(static_cast<std::size_t>(std::max(0, blanks)), ' ');
    }
    for (std::size_t i = widths.size(); i-- > 1;)
      if (widths[i] == 0) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Writes a table. Moves the texts out of its rows, because two copies of 10^6 rows are too large.
void WriteBlock(Table& block, int width, std::ostream& out) {
  if (!block.title.empty()) out << text::Printable(block.title) << '\n';
  Texts texts = {block.columns};
  texts.reserve(FirstRows(block) + 2);
  const auto add = [&](Table::Row& row) {
    auto& cells = texts.emplace_back();
    cells.reserve(row.size());
    for (const auto& cell : std::exchange(row, {})) cells.push_back(text::Printable(cell.text));
  };
  for (std::size_t i = 0; i < FirstRows(block); ++i) add(block.rows[i]);
  if (FirstRows(block) < block.rows.size() && !block.rest.empty()) add(block.rest);
  for (auto& row : block.last) add(row);
  if (!block.droppable.empty() || block.last_is_sentence) Fit(block, width, texts);
  if (texts.size() > 1) text::WriteAligned(texts, block.last_is_sentence ? 0 : width, out);
  WriteNotes(block.notes, width, out);
}

// Returns kBarColumns columns with a bar from `begin` to `end` [1] of them, at least a column wide.
std::string BarText(double begin, double end) {
  const int from = std::min(kBarColumns - 1, static_cast<int>(std::lround(begin * kBarColumns)));
  const int to = std::max(from + 1, static_cast<int>(std::lround(end * kBarColumns)));
  return fmt::format("{:{}}{:#<{}}{:{}}", "", from, "", to - from, "",
                     std::max(0, kBarColumns - to));
}

void WriteBlock(const Bar& block, int width, std::ostream& out) {
  const double total = block.Seconds();
  const auto shares = SharesOfParts(block);
  const bool ranges =
      std::ranges::any_of(block.parts, [](const Part& part) { return !part.range.empty(); });
  out << text::Printable(block.title) << '\n';
  if (!block.about.empty()) fmt::print(out, "  {}\n", text::Printable(block.about));
  double sum = 0;
  for (std::size_t i = 0; i < block.parts.size(); ++i) {
    const auto& part = block.parts[i];
    fmt::print(out, "  |{}| {:>9} {:>7}{}  {}\n",
               BarText(sum / total, (sum + part.seconds) / total),
               text::WithPrefix(part.seconds, "s"), shares[i],
               ranges ? fmt::format("{:>9}", part.range) : "", text::Printable(part.label));
    sum += part.seconds;
  }
  WriteNotes(block.notes, width, out);
}

// Returns for each column of a strip the busy time [s] of zero-FLOP kernels, or of all others.
std::vector<double> BusyColumns(const Strip::Row& row, double seconds, bool zero_flop) {
  std::vector<double> busy(kStripColumns, 0);
  const double column = seconds / kStripColumns;
  for (const auto& interval : row.intervals) {
    if ((interval.kind == PartKind::kZeroFlop) != zero_flop) continue;
    const double begin = std::clamp(interval.begin, 0.0, seconds);
    const double end = std::clamp(interval.end, begin, seconds);
    const auto first = static_cast<std::size_t>(begin / column);
    for (std::size_t i = first; i < busy.size() && static_cast<double>(i) * column < end; ++i) {
      const double from = static_cast<double>(i) * column;
      busy[i] +=
          interval.busy * std::max(0.0, std::min(end, from + column) - std::max(begin, from));
    }
  }
  return busy;
}

// Returns a character per column that shows how busy it is, and if mostly with zero-FLOP kernels.
std::string StripText(const Strip::Row& row, double seconds) {
  const auto zero_flop = BusyColumns(row, seconds, true), others = BusyColumns(row, seconds, false);
  const double column = seconds / kStripColumns;
  std::string text;
  for (std::size_t i = 0; i < others.size(); ++i)
    text += others[i] >= 0.75 * column                                ? '#'
            : others[i] >= 0.25 * column && others[i] >= zero_flop[i] ? '+'
            : zero_flop[i] >= 0.25 * column                           ? 'c'
            : others[i] + zero_flop[i] > 0.01 * column                ? '-'
                                                                      : '.';
  return text;
}

void WriteBlock(const Strip& block, int, std::ostream& out) {
  int width = 0;
  for (const auto& row : block.rows)
    width = std::max(width, text::TextWidth(text::Printable(row.name)));
  fmt::print(out, "{} (# busy, + a quarter of the time or more, - less, c copies, . idle)\n",
             text::Printable(block.title));
  for (const auto& row : block.rows) {
    const auto name = text::Printable(row.name);
    fmt::print(out, "  {}{} |{}|\n", name,
               std::string(static_cast<std::size_t>(width - text::TextWidth(name)), ' '),
               StripText(row, block.seconds));
  }
}

json BlockJson(const Sentences& block) {
  return {{block.kind == Sentences::Kind::kAdvice ? "advice" : "sentences", block.texts}};
}

json BlockJson(const List& block) {
  json items = json::array();
  for (const auto& item : block.items)
    items.push_back({{"text", item.text}, {"details", item.details}});
  return {{"list",
           {{"title", block.title}, {"numbered", block.numbered}, {"items", std::move(items)}}}};
}

json RowJson(const Table::Row& row) {
  json cells = json::array();
  for (const auto& cell : row)
    cells.push_back(cell.whole ? json{{"text", cell.text}, {"whole", *cell.whole}}
                               : json(cell.text));
  return cells;
}

json BlockJson(const Table& block) {
  json table = {{"columns", block.columns}, {"rows", json::array()}};
  if (!block.title.empty()) table["title"] = block.title;
  for (const auto& row : block.rows) table["rows"].push_back(RowJson(row));
  if (FirstRows(block) < block.rows.size()) {
    table["first"] = block.first;
    if (!block.rest.empty()) table["rest"] = RowJson(block.rest);
  }
  for (const auto& row : block.last) table["last"].push_back(RowJson(row));
  if (!block.notes.empty()) table["notes"] = block.notes;
  return {{"table", std::move(table)}};
}

json BlockJson(const Bar& block) {
  const auto shares = SharesOfParts(block);
  json parts = json::array();
  for (std::size_t i = 0; i < block.parts.size(); ++i)
    parts.push_back({{"kind", Key(block.parts[i].kind)},
                     {"label", block.parts[i].label},
                     {"seconds", text::Rounded(block.parts[i].seconds)},
                     {"time", text::WithPrefix(block.parts[i].seconds, "s")},
                     {"share", shares[i]}});
  json bar = {{"title", block.title}, {"parts", std::move(parts)}};
  if (!block.about.empty()) bar["about"] = block.about;
  if (!block.notes.empty()) bar["notes"] = block.notes;
  return {{"bar", std::move(bar)}};
}

json BlockJson(const Strip& block) {
  json rows = json::array();
  for (const auto& row : block.rows) {
    json intervals = json::array();
    for (const auto& interval : row.intervals)
      intervals.push_back({text::Rounded(interval.begin), text::Rounded(interval.end),
                           Key(interval.kind), interval.label, text::Rounded(interval.busy)});
    rows.push_back({{"name", row.name}, {"intervals", std::move(intervals)}});
  }
  return {{"strip",
           {{"title", block.title},
            {"seconds", text::Rounded(block.seconds)},
            {"rows", std::move(rows)}}}};
}

}  // namespace

std::string_view Key(PartKind kind) {
  constexpr KeyRow<PartKind> kKinds[] = {{PartKind::kRoof, "roof"},
                                         {PartKind::kAboveRoof, "above_roof"},
                                         {PartKind::kZeroFlop, "zero_flop"},
                                         {PartKind::kOther, "other"},
                                         {PartKind::kIdle, "idle"}};
  return KeyIn(kKinds, kind);
}

double Bar::Seconds() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const Part& part) { return sum + part.seconds; });
}

void Document::Add(Block block) {
  if (std::visit([](const auto& content) { return IsEmpty(content); }, block)) return;
  blocks.push_back(std::move(block));
}

void Document::Add(Document document) {
  for (auto& block : document.blocks) Add(std::move(block));
}

void Table::DropEmptyColumns() {
  for (std::size_t i = columns.size(); i-- > 1;) {
    if (std::ranges::any_of(rows, [&](const Row& row) { return !row[i].text.empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
    std::erase(droppable, i);
    for (auto& column : droppable) column -= column > i ? 1 : 0;
    last_is_sentence = last_is_sentence && i < columns.size();
  }
  for (auto& row : rows) row.shrink_to_fit();
}

std::string AndMore(const std::string& name, std::size_t count) {
  return count > 1 ? fmt::format("{} and {} more", name, count - 1) : name;
}

std::vector<int> Tenths(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<int> tenths(values.size());
  if (!(sum > 0) || std::isinf(sum) ||
      std::ranges::any_of(values, [](double value) { return value < 0; }))
    return tenths;
  std::vector<double> remainders;
  int missing = kTenths;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = values[i] / sum * kTenths;
    tenths[i] = static_cast<int>(std::floor(exact));
    remainders.push_back(exact - tenths[i]);
    missing -= tenths[i];
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](auto i) { return remainders[i]; });
  for (std::size_t i = 0; i < order.size() && missing > 0; ++i, --missing) ++tenths[order[i]];
  return tenths;
}

std::string TenthsText(int tenths) { return fmt::format("{}.{} %", tenths / 10, tenths % 10); }

void Write(Document document, int width, std::ostream& out) {
  const Block* before = nullptr;
  for (auto& block : document.blocks) {
    const bool both = before != nullptr && std::holds_alternative<Sentences>(block) &&
                      std::holds_alternative<Sentences>(*before);
    if (before != nullptr && !both) out << '\n';
    std::visit([&](auto& content) { WriteBlock(content, width, out); }, block);
    before = &block;
  }
}

void Print(Document document, bool any_width) {
  const int width = text::TerminalColumns();
  const int columns = any_width ? 0 : width;
  if (width == 0 || text::LocaleHasUtf8()) return Write(std::move(document), columns, std::cout);
  std::ostringstream out;
  Write(std::move(document), columns, out);
  std::cout << text::InAscii(out.str());
}

json ToJson(const Document& document) {
  json blocks = json::array();
  for (const auto& block : document.blocks)
    blocks.push_back(std::visit([](const auto& content) { return BlockJson(content); }, block));
  return blocks;
}

}  // namespace dlroof::document
