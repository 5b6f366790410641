// A report as a sequence of blocks: sentences, lists, tables, a bar that splits a time, and strips
// of busy intervals. Each command's report ends in one; a terminal, Markdown and pages show the
// same blocks with the same texts, so that no number differs between them. Pure.
#pragma once

#include <concepts>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dlroof::document {

// Sentences of one kind, each on its own line. Advice is what the reader may do.
struct Sentences {
  enum class Kind { kFacts, kAdvice };
  Kind kind = Kind::kFacts;
  std::vector<std::string> texts;
  std::size_t first = 0;  // sentences of a terminal, which counts the others; 0 means all
};

// Items below a title, each with details on lines of their own.
struct List {
  struct Item {
    std::string text;
    std::vector<std::string> details = {};
  };
  std::string title;
  std::vector<Item> items;
  bool numbered = false;  // from 1, so that cells of a table can refer to them
};

struct Cell {
  Cell() = default;
  template <std::convertible_to<std::string> Text>
  Cell(Text&& shown, std::string unabbreviated = {})  // NOLINT: a cell is a text
      : text(std::forward<Text>(shown)), whole(std::move(unabbreviated)) {}

  std::string text;
  std::string whole;  // the text that `text` abbreviates; "" if it abbreviates nothing
};

// A table whose first column is left-aligned; the others are right-aligned. All rows have as many
// cells as there are `columns`.
struct Table {
  using Row = std::vector<Cell>;
  std::string title = {};
  std::vector<std::string> columns;  // headings
  std::vector<Row> rows = {};
  // Rows of a terminal; the page first shows as many, and the others on request. 0 means all.
  std::size_t first = 0;
  Row rest = {};                        // summary of the rows behind `first`, while they are hidden
  std::vector<Row> last = {};           // rows that are always shown, at the end
  std::vector<std::string> notes = {};  // sentences below it
  // Columns that a narrow terminal leaves out, the first one first.
  std::vector<std::size_t> droppable = {};
  // The last column has sentences: it is left-aligned, and a narrow terminal cuts them at their
  // end, since the start of a reason says most.
  bool last_is_sentence = false;

  // Leaves out columns, but for the first one, without any text in `rows`.
  void DropEmptyColumns();
};

enum class PartKind { kRoof, kAboveRoof, kZeroFlop, kOther, kIdle };
std::string_view Key(PartKind kind);

struct Part {
  PartKind kind = PartKind::kOther;
  std::string label;
  double seconds = 0;      // [s] >= 0
  std::string range = {};  // "24..31", confidence interval of the share [%]; empty if unknown
};

// A time that is split into parts, which add up to it.
struct Bar {
  std::string title;
  std::vector<Part> parts;
  std::vector<std::string> notes = {};  // sentences below it
  std::string about = {};               // sentence below the title; may be empty
  double Seconds() const;               // [s] sum of the parts
};

// Busy intervals of rows (streams, threads) over time.
struct Strip {
  struct Interval {
    double begin = 0, end = 0;  // [s] from the start of the strip
    PartKind kind = PartKind::kOther;
    std::string label = {};
    double busy = 1;  // [1] share of the interval
  };
  struct Row {
    std::string name;
    std::vector<Interval> intervals;  // those of one kind are disjoint
  };
  std::string title;
  double seconds = 0;  // [s] length of the strip, > 0
  std::vector<Row> rows;
};

using Block = std::variant<Sentences, List, Table, Bar, Strip>;

struct Document {
  std::vector<Block> blocks;
  // Adds a block. Leaves out one without content or with a time that is not positive and finite.
  void Add(Block block);
  void Add(Document document);
  void Say(std::string fact) { Add(Sentences{.texts = {std::move(fact)}}); }
  void Advise(std::string advice) { Add(Sentences{Sentences::Kind::kAdvice, {std::move(advice)}}); }
};

// Returns shares [0.1 %] that add up to exactly 1000: the largest remainders are rounded up. Values
// are >= 0; returns zeros if their sum is 0 or not finite, or if one is negative.
std::vector<int> Tenths(const std::vector<double>& values);
std::string TenthsText(int tenths);  // 664 -> "66.4 %"

// Writes the blocks as text, with an empty line between two of them that are not both sentences.
// `width` [columns] of the terminal; 0 means no limit. Control characters of names are replaced
// (text::Printable).
void Write(const Document& document, int width, std::ostream& out);

// Writes Markdown without bars and strips; lines of lists have about 120 columns.
void WriteMarkdown(const Document& document, std::ostream& out);

// An SVG, or the reason why there is none.
struct Figure {
  std::string svg, missing_reason;
};
// Writes a self-contained page without scripts, bars and strips: the figure, sentences and lists,
// then tables, since the beginning of a page is seen first.
void WriteHtml(const Document& document, const std::string& title, const Figure& figure,
               std::ostream& out);

// Returns the blocks for an interactive page: [{"sentences": [...]}, {"table": ...}, {"bar": ...},
// ...]. Numbers of tables and bars are the texts that Write() writes.
nlohmann::json ToJson(const Document& document);

}  // namespace dlroof::document
