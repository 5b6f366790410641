// A report as a sequence of blocks: sentences, tables, a bar that splits a time, and strips of busy
// intervals. A terminal and a page show the same blocks with the same texts, so that no number
// differs between them. Pure.
#pragma once

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
};

struct Cell {
  std::string text;
  std::string whole = {};  // the text that `text` abbreviates; "" if it abbreviates nothing
};

// A table whose first column is left-aligned; the others are right-aligned. All rows have as many
// cells as there are `columns`.
struct Table {
  using Row = std::vector<Cell>;
  std::vector<std::string> columns;  // headings
  std::vector<Row> rows;
  // Rows of a terminal; the page first shows as many, and the others on request. 0 means all.
  std::size_t first = 0;
  Row rest = {};                        // summary of the rows behind `first`, while they are hidden
  std::vector<Row> last = {};           // rows that are always shown, at the end
  std::vector<std::string> notes = {};  // sentences below it
};

enum class PartKind { kRoof, kAboveRoof, kZeroFlop, kOther, kIdle };
std::string_view Key(PartKind kind);

struct Part {
  PartKind kind = PartKind::kOther;
  std::string label;
  double seconds = 0;  // [s] >= 0
};

// A time that is split into parts, which add up to it.
struct Bar {
  std::string title;
  std::vector<Part> parts;
  std::vector<std::string> notes = {};  // sentences below it
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

using Block = std::variant<Sentences, Table, Bar, Strip>;

struct Document {
  std::vector<Block> blocks;
  // Adds a block. Leaves out one without content or with a time that is not positive and finite.
  void Add(Block block);
  void Say(std::string fact) { Add(Sentences{.texts = {std::move(fact)}}); }
  void Advise(std::string advice) { Add(Sentences{Sentences::Kind::kAdvice, {std::move(advice)}}); }
};

// Returns shares [0.1 %] that add up to exactly 1000: the largest remainders are rounded up. Values
// are >= 0; returns zeros if their sum is 0 or not finite, or if one is negative.
std::vector<int> Tenths(const std::vector<double>& values);
std::string TenthsText(int tenths);  // 664 -> "66.4 %"

// Writes the blocks as text, with an empty line before and after a table, a bar or a strip. `width`
// [columns] of the terminal; 0 means no limit. Control characters of names are replaced
// (text::Printable).
void Write(const Document& document, int width, std::ostream& out);

// Returns the blocks for a page: [{"sentences": [...]}, {"table": ...}, {"bar": ...}, ...]. Numbers
// of tables and bars are the texts that Write() writes.
nlohmann::json ToJson(const Document& document);

}  // namespace dlroof::document
