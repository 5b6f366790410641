// Reader of the sentences in run files of schema 1, which later ones have as members.
#pragma once

#include <string_view>

#include "reporters/record/record.h"

namespace dlroof {

// Adds a sentence of "counting": "PROVENANCE: HOW; 2 kernel launches: NAME, 3 x NAME; ..." or text.
void AddSentence(std::string_view sentence, Record& record);
// Moves the ISA out of an `algorithm` of "ALGORITHM; isa ISA".
void TakeIsa(Record& record);
// Reads "ALGORITHM; verified: HOW; counted: SENTENCE | SENTENCE; repro: LINE", where each part may
// be missing. A plain Google Benchmark label is all ALGORITHM.
void ReadSentences(std::string_view label, Record& record);

}  // namespace dlroof
