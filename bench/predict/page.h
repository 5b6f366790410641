// Answer of `dlroof model` as an HTML page.
#pragma once

#include <string>

#include "bench/predict/report.h"

namespace dlroof {

// One file without scripts, for light and dark screens, phones and paper: the figure where there
// are designs or a sweep and gnuplot is installed, then every table, then the GPU's figures with
// their sources.
std::string ModelPage(const ModelReport& report);

}  // namespace dlroof
