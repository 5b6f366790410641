// The cells of the tables that show two programs: the same in the terminal and in Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "baselines/formats/page_text.h"
#include "baselines/programs/write_pair.h"

namespace dlroof {

// Where a step's time goes, side beside side.
Cells TotalsCells(const ProgramPairReport& report);
Cells KindCells(const ProgramPairReport& report);
// At most `most` rows of problems on both sides. A row's last cell has the numbers of its
// differences, from 1, which are added to `differences`, each once.
Cells ProblemCells(const ProgramPairReport& report, std::size_t most,
                   std::vector<std::string>& differences);
// At most `most` problems of one side alone.
Cells AloneCells(const std::vector<ProblemRow>& rows, bool of_a, std::size_t most);
// Sentences: the two programs, what differs between them, and how much of their time is matched.
std::vector<std::string> PairNotes(const ProgramPairReport& report);

}  // namespace dlroof
