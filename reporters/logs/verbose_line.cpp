// Parses lines of oneDNN's verbose mode, and facts about the library: version, instruction set,
// threads, processes (verbose_log.h).
#include <algorithm>
#include <array>

#include "counters/base/numbers.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::logs {
namespace {

constexpr std::string_view kMarkerEnd = "_verbose,";
constexpr std::array<std::string_view, 2> kMarkers = {"onednn", "dnnl"};
constexpr double kMaxNumber = 1e15;
constexpr std::size_t kSearched = std::size_t{1} << 20;  // [byte]

// Removes the first field and its comma. Returns the field.
std::string_view TakeField(std::string_view& rest) {
  const auto comma = std::min(rest.find(','), rest.size());
  const auto field = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return field;
}

std::string_view PeekField(std::string_view rest) { return rest.substr(0, rest.find(',')); }

// Returns the number in two fields that a decimal comma separated ("2", "98804"), or nullopt.
std::optional<double> WithDecimalComma(std::string_view whole, std::string_view fraction) {
  if (!AreDigits(whole) || !AreDigits(fraction.substr(0, fraction.find('e')))) return std::nullopt;
  return NumberFromZero(std::string(whole) + '.' + std::string(fraction));
}

// Removes the time stamp, if there is one. Stores it in `line` unless it has too few digits, e.g.
// 1.79537e+12 (gemm_api of oneDNN 2.7).
void TakeStamp(std::string_view& rest, VerboseLine& line) {
  const auto field = PeekField(rest);
  if (field.empty() || field[0] < '0' || field[0] > '9') return;
  auto number = NumberFromZero(field);
  if (!number) return;
  const bool exact = field.find('e') == std::string_view::npos;
  TakeField(rest);
  if (const auto joined = WithDecimalComma(field, PeekField(rest))) {
    number = joined;
    if (TakeField(rest).find('e') != std::string_view::npos) return;
  }
  if (exact) line.stamp_milliseconds = number;
}

VerboseKind KindOf(std::string_view component, std::string_view operation) {
  if (operation == "info" || operation == "error" || operation == "warn" || operation == "warning")
    return VerboseKind::kInformation;
  if (component == "graph")
    return operation == "exec" ? VerboseKind::kPartition : VerboseKind::kGraph;
  if (component != "primitive" && component != "ukernel") return VerboseKind::kOther;
  if (operation == "exec") return VerboseKind::kExecuted;
  if (component == "ukernel") return VerboseKind::kOther;
  if (operation == "create:check" || operation == "create:dispatch" || operation == "create:start")
    return VerboseKind::kDispatch;
  if (operation.starts_with("create_nested") || operation.starts_with("create:nested"))
    return VerboseKind::kNested;
  if (operation.starts_with("create")) return VerboseKind::kCreated;
  return VerboseKind::kOther;
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Returns whether the line of an execution ends with its time, or a template with "exec_time".
bool IsComplete(std::string_view line) {
  const auto last = Trimmed(line.substr(line.rfind(',') + 1));
  return last == "exec_time" || NumberFromZero(last).has_value();
}

void ReadRuntime(std::string_view fields, VerboseLog& log) {
  for (const auto field : SplitText(fields, ',')) {
    if (field.starts_with("runtime:")) log.runtime = text::Printable(field.substr(8));
    const auto threads =
        field.starts_with("nthr:") ? NumberFromZero(field.substr(5)) : std::nullopt;
    if (threads && RangeOf("threads").Contains(*threads)) log.threads = static_cast<int>(*threads);
  }
}

}  // namespace

bool AreDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view Trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

std::string_view OfOneDnn(std::string_view line, std::size_t marker) {
  line.remove_prefix(marker);
  return Trimmed(line.substr(0, line.find_first_of("\"\\")));
}

std::optional<std::string> Unwrapped(std::string_view text) {
  auto lines = SplitText(text, '\n');
  std::size_t width = 0;
  for (auto& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > width && FindMarker(line) != line.npos && Has(line, ",exec,"))
      width = line.size();
  }
  // Some terminals pad lines with blanks to their width.
  const auto full = [&](std::string_view line) {
    return line.size() == width && !line.ends_with("  ");
  };
  const auto is_rest = [](std::string_view line) {
    return !line.empty() && !line.starts_with("DLROOF_") && FindMarker(line) == line.npos;
  };
  bool evidence = false;
  std::string joined;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line(lines[i]);
    std::size_t parts = 0;
    if (full(lines[i]) && FindMarker(lines[i]) != line.npos)
      while (full(lines[i + parts]) && i + parts + 1 < lines.size() &&
             is_rest(lines[i + parts + 1]))
        line += lines[i + ++parts];
    const bool executed = Has(line, ",exec,") || Has(line, ",template:");
    evidence = evidence || (parts > 0 && executed && !IsComplete(lines[i]) && IsComplete(line));
    i += parts;
    joined += line;
    joined.append(i + 1 < lines.size() ? parts + 1 : 0, '\n');
  }
  return evidence ? std::optional(std::move(joined)) : std::nullopt;
}

LineParts PartsOf(std::string_view fields, const VerboseTemplate& names) {
  const std::size_t expected = names.size();
  LineParts parts{.fields = SplitText(fields, ',')};
  auto& all = parts.fields;
  // oneDNN 2.7 omits the empty auxiliary field before the problem for a gemm_api.
  if (names[expected - 2] == "problem_desc" && std::ranges::count(all, "gemm_api") == 1 &&
      all.size() > 2 && all.size() + 1 >= expected && all.size() <= expected &&
      all[expected - 3].find(':') != std::string_view::npos)
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(expected - 3), std::string_view());
  // A program that calls setlocale may print a decimal comma: "...,2,98804" is 2.98804.
  if (all.size() == expected + 1)
    parts.milliseconds = WithDecimalComma(all[expected - 1], all[expected]);
  if (parts.milliseconds)
    all.pop_back();
  else
    parts.milliseconds = NumberFromZero(all.back());
  const auto time = static_cast<std::size_t>(all.back().data() - fields.data());
  parts.before = fields.substr(0, std::max<std::size_t>(time, 1) - 1);
  all.pop_back();
  return parts;
}

std::size_t FindMarker(std::string_view line, std::size_t from) {
  for (auto at = line.find(kMarkerEnd, from); at != std::string_view::npos;
       at = line.find(kMarkerEnd, at + 1)) {
    const auto before = line.substr(from, at - from);
    for (const auto marker : kMarkers)
      if (before.ends_with(marker)) return at - marker.size();
  }
  return std::string_view::npos;
}

VerboseLine ParseLine(std::string_view text) {
  VerboseLine line;
  TakeField(text);
  if (text.starts_with('v') && AreDigits(PeekField(text).substr(1))) TakeField(text);
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
  const auto number = text::PlainNumber(text);
  if (!number || *number < 0 || *number > kMaxNumber) return std::nullopt;
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

bool HasVerboseLine(std::string_view text) {
  return FindMarker(text.substr(0, kSearched)) != std::string_view::npos;
}

void ReadFacts(std::string_view fields, VerboseLog& log) {
  const auto isa = fields.find("isa:"), version = fields.find(" v");
  if (fields.starts_with("cpu,isa:")) {
    log.isa_words = text::Printable(fields.substr(isa + 4));
  } else if (fields.starts_with("cpu,runtime:")) {
    ReadRuntime(fields, log);
  } else if (log.version.empty() && version != std::string_view::npos &&
             !fields.starts_with("cpu")) {
    log.version =
        text::Printable(fields.substr(version + 1, fields.find(' ', version + 1) - version - 1));
  }
}

std::optional<std::string> IsaOf(std::string_view words) {
  const auto has = [&](std::string_view word) {
    return words.find(word) != std::string_view::npos;
  };
  const auto amx = words.find("AMX");
  if (amx != std::string_view::npos)
    return words.find(" float16", amx) != std::string_view::npos ? "avx512_core_amx_fp16"
                                                                 : "avx512_core_amx";
  // oneDNN 3.5 and later print "Intel AVX 10.1" or "Intel AVX10.2"; both contain AVX512-FP16.
  if (has("AVX 10") || has("AVX10")) return "avx512_core_fp16";
  if (has("AVX-512")) {
    if (has("with float16")) return "avx512_core_fp16";
    if (has("bfloat16")) return "avx512_core_bf16";
    return has("DL Boost") ? "avx512_core_vnni" : "avx512_core";
  }
  if (has("AVX2")) {
    if (has("float16")) return "avx2_vnni_2";
    return has("DL Boost") ? "avx2_vnni" : "avx2";
  }
  if (has("AVX")) return "avx";
  if (has("SSE4.1")) return "sse41";
  return std::nullopt;
}

void SetApart(VerboseLog& log) {
  const auto count = log.processes.size();
  if (count < 2) return;
  std::vector<double> seconds(count);
  for (const auto& execution : log.executions) seconds[execution.process] += execution.seconds;
  const auto is_in_log = [&](std::int64_t process) {
    return std::ranges::count(log.processes, process, &LogProcess::id) > 0;
  };
  std::optional<std::uint32_t> main;
  for (std::uint32_t i = 0; i < count; ++i)
    if (seconds[i] > 0 && std::ranges::none_of(log.processes[i].ancestors, is_in_log) &&
        (!main || seconds[i] > seconds[*main]))
      main = i;
  log.main_process = main.value_or(0);
  std::vector<std::uint32_t> used(log.primitives.size());  // bit 1: main process, bit 2: others
  for (const auto& execution : log.executions)
    used[execution.primitive] |= execution.process == log.main_process ? 1 : 2;
  std::vector<std::uint32_t> apart(log.primitives.size());
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    apart[i] = i;
    if ((used[i] & 2) == 0) continue;
    auto text = log.primitives[i];
    text.others.emplace_back(kProcessField, "other");
    if (used[i] == 2) {
      log.primitives[i] = std::move(text);
    } else {
      apart[i] = static_cast<std::uint32_t>(log.primitives.size());
      log.primitives.push_back(std::move(text));
    }
  }
  for (auto& execution : log.executions)
    if (execution.process != log.main_process) execution.primitive = apart[execution.primitive];
}

}  // namespace dlroof::logs
