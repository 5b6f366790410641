// Base units to text with an SI prefix: the one place where a report scales a number.
#pragma once

#include <string>
#include <string_view>

namespace dlroof::text {

// Three significant digits and a prefix: (1.6e11, "FLOP/s") -> "160 GFLOP/s", (4.2e-6, "s") ->
// "4.20 µs", (0, "s") -> "0 s". From p (1e-12) to E (1e18), beyond them in powers of ten.
std::string WithPrefix(double value, std::string_view unit);

// "1.300": as fmt's "{:.3f}" of the same digits, at most 80 of them.
std::string FixedText(double value, int digits);

// Three significant digits without an exponent from 1e-4 to 1e6: 57.468 -> "57.5".
std::string ThreeDigits(double value);

}  // namespace dlroof::text
