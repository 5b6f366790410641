#include "reporters/verbose/verbose_line.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dlroof::verbose {
namespace {

constexpr std::string_view kMarkerEnd = "_verbose,";
constexpr std::array<std::string_view, 3> kMarkers = {"onednn", "mkldnn", "dnnl"};
constexpr double kMostNumber = 1e15;

// Takes the text up to the next comma, and the comma.
std::string_view TakeField(std::string_view& rest) {
  const auto comma = std::min(rest.find(','), rest.size());
  const auto field = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return field;
}

std::string_view PeekField(std::string_view rest) { return rest.substr(0, rest.find(',')); }

bool IsVersion(std::string_view field) {
  return field.size() > 1 && field[0] == 'v' &&
         std::all_of(field.begin() + 1, field.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// oneDNN 2.7 prints the stamp of a gemm_api as 1.79537e+12: too few digits for a time.
void TakeStamp(std::string_view& rest, VerboseLine& line) {
  const auto field = PeekField(rest);
  if (field.empty() || field[0] < '0' || field[0] > '9') return;
  const auto number = NumberFromZero(field);
  if (!number) return;
  if (field.find('e') == std::string_view::npos) line.stamp_milliseconds = number;
  TakeField(rest);
}

VerboseKind KindOf(std::string_view component, std::string_view operation) {
  if (operation == "info" || operation == "error" || operation == "warn")
    return VerboseKind::kInformation;
  if (component == "graph") return VerboseKind::kGraph;
  if (component != "primitive") return VerboseKind::kOther;
  if (operation == "exec") return VerboseKind::kExecuted;
  if (operation == "create:check" || operation == "create:dispatch") return VerboseKind::kDispatch;
  if (operation.starts_with("create")) return VerboseKind::kCreated;
  return VerboseKind::kOther;
}

}  // namespace

std::size_t FindMarker(std::string_view line, std::size_t from) {
  for (auto at = line.find(kMarkerEnd, from); at != std::string_view::npos;
       at = line.find(kMarkerEnd, at + 1)) {
    const auto before = line.substr(from, at - from);
    for (const auto marker : kMarkers)
      if (before.ends_with(marker)) return at - marker.size();
  }
  return std::string_view::npos;
}

VerboseLine TakeApart(std::string_view text) {
  VerboseLine line;
  line.first_generation = text.starts_with("mkldnn");
  TakeField(text);
  if (IsVersion(PeekField(text))) TakeField(text);
  TakeStamp(text, line);
  std::string_view component = "primitive";
  for (const std::string_view known : {"primitive", "graph", "common", "ukernel"})
    if (PeekField(text) == known) {
      component = known;
      TakeField(text);
      break;
    }
  line.operation = TakeField(text);
  line.fields = text;
  line.kind = KindOf(component, line.operation);
  return line;
}

VerboseTemplate UsualTemplate(bool first_generation) {
  if (first_generation)
    return {"primitive", "implementation", "prop_kind", "memory_descriptors",
            "auxiliary", "problem_desc",   "exec_time"};
  return {"engine",     "primitive", "implementation", "prop_kind", "memory_descriptors",
          "attributes", "auxiliary", "problem_desc",   "exec_time"};
}

std::optional<VerboseTemplate> TemplateOf(const VerboseLine& line) {
  constexpr std::string_view kWord = "template:";
  const auto at = line.fields.find(kWord);
  if (line.operation != "info" || at == std::string_view::npos) return std::nullopt;
  VerboseTemplate names;
  for (const auto name : SplitText(line.fields.substr(at + kWord.size()), ','))
    if (name != "timestamp" && name != "operation") names.emplace_back(name);
  const auto has = [&](std::string_view name) { return std::ranges::count(names, name) == 1; };
  if (!has("primitive") || names.back() != "exec_time" || !has("exec_time")) return std::nullopt;
  return names;
}

std::optional<double> NumberFromZero(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !(number >= 0) || number > kMostNumber)
    return std::nullopt;
  return number;
}

std::vector<std::string_view> SplitText(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace dlroof::verbose
