// A report as a sequence of blocks: sentences, lists, tables, bars that split a time into parts,
// and strips of busy intervals. All outputs (terminal, Markdown, pages) show the same texts of a
// report, so that its numbers cannot differ between them. Pure functions, except Print.
#pragma once

#include <concepts>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::document {

// Sentences, each on its own line: facts, or advice to the reader.
struct Sentences {
  enum class Kind { kFacts, kAdvice };
  Kind kind = Kind::kFacts;
  std::vector<std::string> texts;
  std::size_t first = 0;  // number of texts that a terminal shows, before "and N more"; 0: all
};

// A title and items, each with optional lines of details.
struct List {
  struct Item {
    std::string text;
    std::vector<std::string> details = {};
  };
  std::string title;
  std::vector<Item> items;
  bool numbered = false;  // numbers the items from 1, so that table cells can refer to them
};

struct Cell {
  Cell() = default;
  template <std::convertible_to<std::string> Text>
  Cell(Text&& shown, std::string unabbreviated = {})  // NOLINT: a cell is a text
      : text(std::forward<Text>(shown)) {
    if (!unabbreviated.empty()) whole = std::move(unabbreviated);
  }

  std::string text;
  record::Rare<std::string> whole;  // the full text; set if `text` is an abbreviation
};

// A table: first column left-aligned, the others right. Every row has as many cells as `columns`.
struct Table {
  using Row = std::vector<Cell>;
  std::string title = {};
  std::vector<std::string> columns;  // headings
  std::vector<Row> rows = {};
  // Number of rows that a terminal shows, and a page until the reader asks for all; 0: all.
  std::size_t first = 0;
  Row rest = {};                        // shown instead of the hidden rows: their summary, or empty
  std::vector<Row> last = {};           // further rows at the end, which are always shown
  std::vector<std::string> notes = {};  // sentences below the table
  // Indices of columns that a narrow terminal omits, in order of omission.
  std::vector<std::size_t> droppable = {};
  // The last column has sentences: left-aligned, and cut at their ends by a narrow terminal.
  bool last_is_sentence = false;

  // Removes columns that are empty in all `rows`, except the first column.
  void DropEmptyColumns();
};

enum class PartKind { kRoof, kAboveRoof, kZeroFlop, kOther, kIdle };
std::string_view Key(PartKind kind);

struct Part {
  PartKind kind = PartKind::kOther;
  std::string label;
  double seconds = 0;      // [s] >= 0
  std::string range = {};  // 95 % interval of the share [%], e.g. "24..31"; empty if unknown
};

// A time split into parts that add up to it.
struct Bar {
  std::string title;
  std::vector<Part> parts;
  std::vector<std::string> notes = {};  // sentences below the bar
  std::string about = {};               // sentence below the title; may be empty
  double Seconds() const;               // [s] sum of the parts
};

// Busy intervals over time, one row per stream or thread.
struct Strip {
  struct Interval {
    double begin = 0, end = 0;  // [s] since the start of the strip
    PartKind kind = PartKind::kOther;
    std::string label = {};
    double busy = 1;  // [1] busy share of the interval
  };
  struct Row {
    std::string name;
    std::vector<Interval> intervals;  // intervals of one kind do not overlap
  };
  std::string title;
  double seconds = 0;  // [s] length of the strip, > 0
  std::vector<Row> rows;
};

using Block = std::variant<Sentences, List, Table, Bar, Strip>;

struct Document {
  std::vector<Block> blocks;
  // Adds a block unless it is empty or has a time that is not positive and finite.
  void Add(Block block);
  void Add(Document document);
  void Say(std::string fact) { Add(Sentences{.texts = {std::move(fact)}}); }
  void Advise(std::string advice) { Add(Sentences{Sentences::Kind::kAdvice, {std::move(advice)}}); }
};

// Returns a text for `count` names of which `name` is the first, e.g. "NAME and 3 more" for four.
std::string AndMore(const std::string& name, std::size_t count);

// Returns the values' shares in units of 0.1 %, rounded so that their sum is exactly 1000 (largest
// remainder method). Returns zeros if the values' sum is 0 or not finite, or a value is negative.
std::vector<int> Tenths(const std::vector<double>& values);
std::string TenthsText(int tenths);  // e.g. 664 -> "66.4 %"

// Writes the blocks as text, separated by empty lines except between sentences. `width` is the
// terminal's [columns]; 0 means no limit. Replaces control characters (text::Printable).
void Write(Document document, int width, std::ostream& out);

// Writes Markdown; omits bars and strips. Lines of lists have about 120 columns.
void WriteMarkdown(const Document& document, std::ostream& out);

// Writes a self-contained page without scripts: the figure `svg` (if it is empty, `why_none`), then
// the blocks but bars and strips.
void WriteHtml(const Document& document, const std::string& title, const std::string& svg,
               const std::string& why_none, std::ostream& out);

// Returns the blocks for an interactive page, e.g. [{"sentences": [...]}, {"table": {...}}].
// Numbers in tables and bars are the same texts as in Write().
nlohmann::json ToJson(const Document& document);

// Writes the document to standard output, in the terminal's width unless `any_width`. Replaces
// characters such as "µ" by ASCII for a terminal whose locale is not UTF-8.
void Print(Document document, bool any_width = false);

// Escapes text for XML content and attributes. Characters that XML 1.0 (2.2) forbids (control
// characters except tab, newline, return; U+FFFE, U+FFFF) become "\u0001" and so on.
std::string XmlText(std::string_view text);

struct TestCase {
  std::string class_name, name;
  std::optional<double> seconds = {};  // [s]
  std::string_view element = {};       // "failure", "error" or "skipped"; empty if it passed
  std::string type = {}, message = {};
};
// Writes JUnit XML for CI servers, with `output` as <system-out>. Escapes all texts (XmlText).
void WriteJunit(const std::string& suite, const std::vector<TestCase>& cases,
                const std::string& output, std::ostream& out);

// Escapes text so that Markdown and HTML in it appear literally, also in a table cell.
std::string MarkdownText(const std::string& text);

// Returns a Markdown list item, `mark` ("-" or e.g. "12.") and `text`, in lines of up to 120 bytes.
std::string MarkdownItem(std::string_view mark, const std::string& text);

// Returns a self-contained SVG badge with selectable text: green if `good`, red if not, and grey if
// that is unknown (nullopt).
std::string BadgeSvg(std::string_view label, std::string_view text, std::optional<bool> good);

}  // namespace dlroof::document
