// Runs gnuplot on a script and hands back what it drew.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dlroof::figure {

// Standard output of `gnuplot` fed with `script`, which must not set an output file. Throws
// BadInput when gnuplot is not installed (one sentence with the cure), and when it fails or draws
// nothing (with its first message).
std::string RunGnuplot(const std::string& script);

// RunGnuplot's SVG of what `script` returns. Empty, with the sentence in `why` and on standard
// error, where either throws BadInput: a page can do without.
std::string PageFigure(const std::function<std::string()>& script, std::string& why);

// The text as a gnuplot literal in single quotes, made of harmless characters: letters, digits, "
// _.,:;/+-=()%<>|~*^#" and valid UTF-8 beyond ASCII; every other one becomes "_". Neither quotes,
// backticks nor newlines get through, so text of a file can never become a command.
std::string GnuplotText(std::string_view text);

}  // namespace dlroof::figure
