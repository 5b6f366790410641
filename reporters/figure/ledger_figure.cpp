#include "reporters/figure/ledger_figure.h"

#include <fmt/format.h>

#include <map>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"
#include "reporters/text/units.h"

namespace dlroof::figure {
namespace {

constexpr int kWidth = 900, kRowHeight = 22, kMargins = 70;  // [px]

// Rows from the top: a benchmark's name, then its parts. Bars by colour: "begin end row", shares in
// percent.
struct Rows {
  std::map<std::string, std::string> bars;
  std::string labels;  // gnuplot commands
  int count = 0;
};

const char* ColourOf(breakdown::PartKind kind) {
  if (kind == breakdown::PartKind::kRoof) return "#2c7a4b";
  return kind == breakdown::PartKind::kUnexplained ? "#9aa5b1" : "#c2571a";
}

void AddLabel(const std::string& text, double x, const char* how, Rows& rows) {
  rows.labels += fmt::format("set label {} at {},{} {} front noenhanced\n", GnuplotText(text), x,
                             rows.count, how);
}

// Beside its bar where there is room, else on it.
void AddPart(const breakdown::LedgerPart& part, double begin, double end, Rows& rows) {
  constexpr double kRoom = 45;  // [%]
  rows.bars[ColourOf(part.kind)] += fmt::format("{} {} {}\n", begin, end, rows.count);
  const auto text = fmt::format("{} {:.1f} %  {} ({})", text::WithPrefix(part.seconds, "s"), end - begin,
                                breakdown::Words(part.kind), Key(part.from));
  if (100 - end >= kRoom) return AddLabel(text, end + 1, "left font ',9'", rows);
  if (begin >= kRoom) return AddLabel(text, begin - 1, "right font ',9'", rows);
  AddLabel(text, begin + 1, "left font ',9' tc rgb 'white'", rows);
}

void AddLedger(const record::Record& record, const roofline::Placed& placed, Rows& rows) {
  const auto& ledger = *placed.ledger;
  AddLabel(fmt::format("{}  {}{}", record.name, roofline::MarkOf(placed.timing->disturbed),
                       text::WithPrefix(ledger.seconds, "s")),
           0, "left font ',11'", rows);
  ++rows.count;
  double before = 0;
  for (const auto& part : ledger.parts) {
    const double after = before + 100 * part.seconds / ledger.seconds;
    AddPart(part, before, after, rows);
    before = after;
    ++rows.count;
  }
  ++rows.count;
}

}  // namespace

std::string LedgerScript(const roofline::PlacedRun& run, const std::string& extension) {
  Rows rows;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (run.places[i].ledger && run.places[i].timing)
      AddLedger(run.file.records[i], run.places[i], rows);
  if (rows.count == 0)
    throw BadInput("figure: no benchmark has a ledger (dlroof explain, or --dlroof_explain)");
  std::string blocks;
  std::vector<std::string> elements;
  for (const auto& [colour, bars] : rows.bars) {
    const auto name = fmt::format("$bars{}", elements.size());
    blocks += fmt::format("{} << END\n{}END\n", name, bars);
    elements.push_back(fmt::format(
        "{} using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror lc rgb '{}' notitle", name, colour));
  }
  return SetTerminal(extension, kWidth, kMargins + kRowHeight * rows.count) +
         fmt::format(
             "set xrange [0:100]\nset yrange [{}:-1]\nset border 1\n"
             "set tics nomirror font ',10'\nunset ytics\n"
             "set xlabel 'share of the measured time [%]'\n"
             "set grid xtics lc rgb '#dfe4ea' lt 1\nunset key\nset style fill solid 1.0\n"
             "{}{}plot {}\n",
             rows.count - 1, blocks, rows.labels, fmt::join(elements, ", \\\n  "));
}

void WriteLedgerFigure(const roofline::PlacedRun& run, const std::string& path) {
  WriteFile(path, RunGnuplot(LedgerScript(run, FigureExtension(path))));
}

}  // namespace dlroof::figure
