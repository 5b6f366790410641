// Documents on standard output.
#pragma once

#include "reporters/document/document.h"

namespace dlroof::document {

// Writes the document to standard output, as wide as the terminal (`any_width`: without limit), in
// ASCII if the locale has no UTF-8.
void Print(const Document& document, bool any_width = false);

}  // namespace dlroof::document
