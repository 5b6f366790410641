// Colours of a figure's series.
#pragma once

#include <string>
#include <string_view>

namespace dlroof {

// Okabe and Ito's colours without yellow, told apart with any colour vision; they begin anew after
// the seventh.
std::string_view SeriesColour(std::size_t index);

// Returns "#0072b2", or for a pale mark a third of it on white.
std::string Shade(std::string_view colour, bool pale);

}  // namespace dlroof
