// Documents on standard output.
#pragma once

#include "reporters/document/document.h"

namespace dlroof::document {

// Writes the blocks to standard output, as wide as the terminal there or, with `any_width`, without
// limit; in ASCII if the terminal's locale has no UTF-8.
void Print(const Document& document, bool any_width = false);

}  // namespace dlroof::document
