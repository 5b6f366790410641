// The files that a page is made of.
#pragma once

#include <vector>

#include "counters/base/embedded.h"

namespace dlroof::page {

EmbeddedFile PageHtml();  // with {{NAME}} for each piece
EmbeddedFile PageStyle();
std::vector<EmbeddedFile> PageScripts();  // our own, in running order
EmbeddedFile PlotlyScript();              // empty text: the program was built without plotly.js

// Returns scripts in running order: format.js makes the object that the others fill, and main.js
// draws with all of them. The others keep their order.
std::vector<EmbeddedFile> InRunningOrder(std::vector<EmbeddedFile> scripts);

}  // namespace dlroof::page
