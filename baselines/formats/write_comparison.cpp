#include "baselines/formats/write_comparison.h"

#include "reporters/text/text.h"

namespace dlroof {

const std::vector<ComparisonWriter>& ComparisonWriters() {
  static const std::vector<ComparisonWriter> table = {
      {"table", [](const CompareResult& result, const ComparedFiles& files,
                   std::ostream& out) { WriteTable(result, files, TerminalColumns(), out); }},
      {"markdown", WriteMarkdown},
      {"json", WriteJson},
      {"junit", WriteJunit},
      {"sarif", WriteSarif}};
  return table;
}

}  // namespace dlroof
