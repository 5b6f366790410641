#include "reporters/figure/ledger_figure.h"

#include <fmt/format.h>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

constexpr int kWidth = 900, kRowHeight = 22, kMargins = 70;  // [px]

int ColourOf(PartKind kind) {
  if (kind == PartKind::kRoof) return 0x2c7a4b;
  return kind == PartKind::kUnexplained ? 0x9aa5b1 : 0xc2571a;
}

// Rows from the top: a benchmark's name, then its parts.
struct Rows {
  std::string bars;    // "begin end row colour", shares in percent
  std::string labels;  // gnuplot commands
  int count = 0;
};

void AddLabel(const std::string& text, double x, const char* how, Rows& rows) {
  rows.labels +=
      fmt::format("set label {} at {},{} {} noenhanced\n", GnuplotText(text), x, rows.count, how);
}

void AddLedger(const Record& record, const Placed& placed, Rows& rows) {
  const auto& ledger = *placed.ledger;
  AddLabel(fmt::format("{}  {}{}", record.name, MarkOf(placed.timing->disturbed),
                       WithPrefix(ledger.seconds, "s")),
           0, "left font ',11'", rows);
  ++rows.count;
  double before = 0;
  for (const auto& part : ledger.parts) {
    const double share = 100 * part.seconds / ledger.seconds;
    rows.bars +=
        fmt::format("{} {} {} '{}'\n", before, before + share, rows.count, ColourOf(part.kind));
    const auto text = fmt::format("{} {:.1f} %  {} ({})", WithPrefix(part.seconds, "s"), share,
                                  Words(part.kind), Key(part.from));
    const bool right_half = before + share > 55;
    AddLabel(text, right_half ? before - 1 : before + share + 1,
             right_half ? "right font ',9'" : "left font ',9'", rows);
    before += share;
    ++rows.count;
  }
  ++rows.count;
}

}  // namespace

std::string LedgerScript(const PlacedRun& run, const std::string& extension) {
  Rows rows;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (run.places[i].ledger && run.places[i].timing)
      AddLedger(run.file.records[i], run.places[i], rows);
  if (rows.count == 0)
    throw BadInput("figure: no benchmark has a ledger (dlroof explain, or --dlroof_explain)");
  return SetTerminal(extension, kWidth, kMargins + kRowHeight * rows.count) +
         fmt::format(
             "set xrange [0:100]\nset yrange [{}:-1]\nunset ytics\nset border 1\n"
             "set tics nomirror font ',10'\nset xlabel 'share of the measured time [%]'\n"
             "set grid xtics lc rgb '#dfe4ea' lt 1\nunset key\nset style fill solid 1.0\n"
             "$bars << END\n{}END\n{}"
             "rgb(colour) = int('0x'.colour[2:7])\n"
             "plot $bars using 1:3:1:2:($3-0.4):($3+0.4):(rgb(strcol(4))) with boxxyerror "
             "lc rgb variable notitle\n",
             rows.count - 1, rows.bars, rows.labels);
}

void WriteLedgerFigure(const PlacedRun& run, const std::string& path) {
  WriteFile(path, RunGnuplot(LedgerScript(run, FigureExtension(path))));
}

}  // namespace dlroof
