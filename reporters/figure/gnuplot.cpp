#include "reporters/figure/gnuplot.h"

#include <cstring>
#include <iostream>

#include "counters/base/error.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

// gnuplot echoes the line, points at the place, then says what is wrong.
std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "no message";
  const auto start = text.find_last_of('\n', end);
  return text.substr(start + 1, end - start);
}

bool IsHarmless(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         byte >= 0x80 || std::strchr(" _.,:;/+-=()%<>|~*^#", c) != nullptr;
}

}  // namespace

std::string GnuplotText(std::string_view text) {
  std::string harmless = "'";
  for (const char c : text::Printable(text)) harmless += c != '\0' && IsHarmless(c) ? c : '_';
  return harmless + "'";
}

std::string RunGnuplot(const std::string& script) {
  if (!IsInPath("gnuplot"))
    throw BadInput("gnuplot is not installed, so there is no figure (apt-get install gnuplot-nox)");
  // Without the user's settings files, so that a file gives the same picture everywhere.
  auto ran = RunChild({"gnuplot", "--default-settings", "-"}, {}, script);
  if (ran.exit_code != 0 || ran.out.empty())
    throw BadInput("gnuplot failed: {}", LastLine(ran.err));
  return std::move(ran.out);
}

std::string PageFigure(const std::function<std::string()>& script, std::string& why) {
  try {
    return RunGnuplot(script());
  } catch (const BadInput& refusal) {
    why = refusal.what();
    std::cerr << "the page has no figure: " << why << '\n';
    return "";
  }
}

}  // namespace dlroof::figure
