#include "baselines/formats/badge.h"

#include <fmt/format.h>

#include "baselines/formats/page_text.h"
#include "reporters/text/text.h"

namespace dlroof::formats {
namespace {

// In 11 px sans-serif; `textLength` makes the text fit whatever the font.
double WidthOf(std::string_view text) { return 6.5 * text::TextWidth(text) + 10; }

const char* Colour(BadgeMood mood) {
  if (mood == BadgeMood::kGood) return "#1a7f4b";
  return mood == BadgeMood::kBad ? "#b3261e" : "#5b6675";
}

}  // namespace

std::string BadgeSvg(std::string_view label, std::string_view text, BadgeMood mood) {
  const double left = WidthOf(label), right = WidthOf(text);
  const auto word = [](double begin, double width, const std::string& escaped) {
    return fmt::format("<text x=\"{}\" y=\"14\" textLength=\"{}\">{}</text>", begin + width / 2,
                       width - 10, escaped);
  };
  const auto label_text = XmlText(text::Printable(label)), value_text = XmlText(text::Printable(text));
  return fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {text}"><title>{label}: {text}</title><clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="{left}" height="20" fill="#30363d"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{first}{second}</g></svg>
)svg",
      fmt::arg("width", left + right), fmt::arg("left", left), fmt::arg("right", right),
      fmt::arg("label", label_text), fmt::arg("text", value_text), fmt::arg("colour", Colour(mood)),
      fmt::arg("first", word(0, left, label_text)),
      fmt::arg("second", word(left, right, value_text)));
}

std::string BadgeSvg(const compare::CompareResult& result) {
  const auto count = [&](statistics::Verdict verdict) {
    const auto found = result.count.find(verdict);
    return found == result.count.end() ? 0 : found->second;
  };
  constexpr const char* kLabel = "performance";
  if (result.exit_code == 3) return BadgeSvg(kLabel, "cannot say", BadgeMood::kUnknown);
  if (result.exit_code != 0) {
    const int slower = count(statistics::Verdict::kSlower);
    int failed = 0;
    for (const auto& row : result.rows) failed += row.newly_failed ? 1 : 0;
    std::string text;
    const auto add = [&](int number, const char* what) {
      if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, what);
    };
    add(slower, "slower");
    add(failed, "failed");
    add(result.alerts, result.alerts == 1 ? "alert" : "alerts");
    return BadgeSvg(kLabel, text, BadgeMood::kBad);
  }
  const int faster = count(statistics::Verdict::kFaster);
  return BadgeSvg(kLabel, faster > 0 ? fmt::format("{} faster", faster) : "no regression",
                  BadgeMood::kGood);
}

}  // namespace dlroof::formats
