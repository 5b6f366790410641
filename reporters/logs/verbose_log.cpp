#include "reporters/logs/verbose_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "reporters/text/names.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::logs {
namespace {

constexpr std::string_view kMarkerEnd = "_verbose,";
constexpr std::array<std::string_view, 2> kMarkers = {"onednn", "dnnl"};
constexpr double kMaxNumber = 1e15;

// Removes the text up to the next comma, and the comma. Returns the text.
std::string_view TakeField(std::string_view& rest) {
  const auto comma = std::min(rest.find(','), rest.size());
  const auto field = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return field;
}

std::string_view PeekField(std::string_view rest) { return rest.substr(0, rest.find(',')); }

bool AreDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsVersion(std::string_view field) {
  return field.starts_with('v') && AreDigits(field.substr(1));
}

// Returns the number of two fields that a decimal comma separates, or nullopt.
std::optional<double> WithDecimalComma(std::string_view whole, std::string_view fraction) {
  if (!AreDigits(whole) || !AreDigits(fraction.substr(0, fraction.find('e')))) return std::nullopt;
  return NumberFromZero(std::string(whole) + '.' + std::string(fraction));
}

// The time at the end of a line.
struct EndTime {
  std::string_view before;  // the fields before it, without the comma
  double milliseconds = 0;  // [ms]
};
// Returns the time of a line that should have `expected` fields with it. A program that calls
// setlocale may print a decimal comma, so that the time takes two fields: "...,2,98804" is 2.98804.
std::optional<EndTime> TakeEndTime(std::string_view fields, std::size_t expected) {
  const auto last = fields.rfind(',');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const auto tail = fields.substr(last + 1);
  if (static_cast<std::size_t>(std::ranges::count(fields, ',')) == expected) {
    const auto comma = fields.rfind(',', last - 1);
    if (comma != std::string_view::npos)
      if (const auto joined = WithDecimalComma(fields.substr(comma + 1, last - comma - 1), tail))
        return EndTime{fields.substr(0, comma), *joined};
  }
  const auto number = NumberFromZero(tail);
  if (!number) return std::nullopt;
  return EndTime{fields.substr(0, last), *number};
}

// Returns the template for logs that do not print one.
VerboseTemplate DefaultTemplate() {
  return {"engine",     "primitive", "implementation", "prop_kind", "memory_descriptors",
          "attributes", "auxiliary", "problem_desc",   "exec_time"};
}

// oneDNN 2.7 prints the stamp of a gemm_api as 1.79537e+12, which has too few digits for a time.
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

constexpr char kEscape = '\x1b';             // begins a colour of a terminal
constexpr double kLeastMilliseconds = 1e-9;  // [ms] less is no time
constexpr std::string_view kNoTime =
    "a time of 0: its queue has no profiling, or it took less than the clock's resolution";

// Returns why a line of an execution has no time.
std::string_view WithoutTime(std::string_view fields) {
  const auto last = fields.substr(fields.rfind(',') + 1);
  const auto number = text::PlainNumber(last);
  if (number && *number < 0) return "a negative time";
  if (number || (!last.empty() && text::IsNoValue(last))) return "a time that is no number of ms";
  return "no time at its end: cut, or mixed with other output";
}

constexpr std::string_view kMark = "DLROOF_MARK,";
constexpr std::size_t kSearched = std::size_t{1} << 20;  // [byte]

// Returns the member of PrimitiveText for a field of a template, or null.
std::string* MemberOf(std::string_view name, PrimitiveText& text) {
  const std::pair<std::string_view, std::string*> rows[] = {
      {"engine", &text.engine},
      {"primitive", &text.kind},
      {"implementation", &text.implementation},
      {"prop_kind", &text.prop},
      {"memory_descriptors", &text.tensors},
      {"attributes", &text.attributes},
      {"auxiliary", &text.auxiliary},
      {"problem_desc", &text.problem},
      // Of a partition.
      {"logical_tensors", &text.tensors},
      {"partition_kind", &text.auxiliary},
      {"op_names", &text.problem}};
  for (const auto& [known, member] : rows)
    if (known == name) return member;
  return nullptr;
}

std::string_view Trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// Returns the line without what others put behind it: padding of a terminal, and the rest of the
// JSON in which docker and journald store lines ("...,0.5\n","stream":"stdout"}).
std::string_view OfOneDnn(std::string_view line, std::size_t marker) {
  line.remove_prefix(marker);
  return Trimmed(line.substr(0, line.find_first_of("\"\\")));
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool IsMarked(std::string_view line) { return FindMarker(line) != line.npos; }

// Returns whether the line of an execution ends with its time, or that of a template with its name.
bool IsComplete(std::string_view line) {
  const auto last = Trimmed(line.substr(line.rfind(',') + 1));
  return last == "exec_time" || NumberFromZero(last).has_value();
}

// Returns the text with lines that a terminal wrapped joined again, each followed by empty lines so
// that the others keep their numbers; or nullopt if none is wrapped. A wrapped line has the length
// of the longest line of an execution, and its rest follows without a marker. As evidence, one such
// line without a time must get one: programs print lines of their own after a long line.
std::optional<std::string> Unwrapped(std::string_view text) {
  auto lines = SplitText(text, '\n');
  std::size_t width = 0;
  for (auto& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > width && IsMarked(line) && Has(line, ",exec,")) width = line.size();
  }
  // Some terminals pad lines with blanks to their width.
  const auto full = [&](std::string_view line) {
    return line.size() == width && !line.ends_with("  ");
  };
  const auto is_rest = [](std::string_view line) {
    return !line.empty() && !line.starts_with("DLROOF_") && !IsMarked(line);
  };
  bool evidence = false;
  std::string joined;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line(lines[i]);
    std::size_t parts = 0;
    if (full(lines[i]) && IsMarked(lines[i]))
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

class Reader {
 public:
  VerboseLog Read(std::string_view text) {
    std::string plain, unwrapped;  // known_ has views into these
    if (text.find(kEscape) != text.npos) text = plain = text::WithoutEscapes(text);
    if (auto joined = Unwrapped(text)) text = unwrapped = *std::move(joined);
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      auto line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++log_.lines.all;
      ReadLine(line);
    }
    SetApart();
    return std::move(log_);
  }

 private:
  void ReadLine(std::string_view line) {
    auto at = FindMarker(line);
    if (at == std::string_view::npos) {
      if (line.starts_with(kProcessLine)) return ReadProcess(line.substr(kProcessLine.size()));
      ReadMark(line);
      return;
    }
    ++log_.lines.verbose;
    for (auto next = FindMarker(line, at + 1); next != std::string_view::npos;
         at = next, next = FindMarker(line, at + 1))
      ReadCut(line.substr(at, next - at));
    ReadVerbose(OfOneDnn(line, at));
  }

  // Counts a line into which oneDNN printed another line.
  void ReadCut(std::string_view text) {
    const auto line = ParseLine(text);
    if (line.kind == VerboseKind::kExecuted || line.kind == VerboseKind::kPartition)
      ++log_.lines.executed;
    Refuse("another line of oneDNN begins before its end");
  }

  void ReadVerbose(std::string_view text) {
    const auto line = ParseLine(text);
    switch (line.kind) {
      case VerboseKind::kInformation:
        return ReadInformation(line);
      case VerboseKind::kExecuted:
        return ReadExecution(line);
      case VerboseKind::kCreated:
        return ReadCreation(line);
      case VerboseKind::kPartition:
        return ReadPartition(line);
      case VerboseKind::kNested:
        ++log_.lines.created;
        break;
      case VerboseKind::kDispatch:
        ++log_.lines.dispatch;
        break;
      case VerboseKind::kGraph:
        ++log_.lines.graph;
        break;
      case VerboseKind::kOther:
        Refuse("neither the execution nor the creation of a primitive");
    }
  }

  void ReadInformation(const VerboseLine& line) {
    ++log_.lines.information;
    const auto fields = line.fields;
    if (fields.find("template:") != std::string_view::npos) {
      const auto names = TemplateOf(line);
      if (!names) return;
      template_ = *names;
      known_.clear();
    } else if (const auto at = fields.find("isa:"); fields.starts_with("cpu,isa:")) {
      log_.isa_words = text::Printable(fields.substr(at + 4));
    } else if (fields.starts_with("cpu,runtime:")) {
      ReadRuntime(fields);
    } else if (const auto version = fields.find(" v"); log_.version.empty() &&
                                                       version != std::string_view::npos &&
                                                       !fields.starts_with("cpu")) {
      log_.version =
          text::Printable(fields.substr(version + 1, fields.find(' ', version + 1) - version - 1));
    }
  }

  void ReadRuntime(std::string_view fields) {
    for (const auto field : SplitText(fields, ',')) {
      if (field.starts_with("runtime:")) log_.runtime = text::Printable(field.substr(8));
      const auto threads =
          field.starts_with("nthr:") ? NumberFromZero(field.substr(5)) : std::nullopt;
      if (threads && *threads >= 1 && *threads <= 1e6) log_.threads = static_cast<int>(*threads);
    }
  }

  // Looks up the text without its time first, since a program repeats a few primitives.
  void ReadExecution(const VerboseLine& line) {
    ++log_.lines.executed;
    const auto comma = line.fields.rfind(',');
    if (comma == std::string_view::npos) return Refuse("fewer fields than the template has");
    if (template_.empty()) template_ = DefaultTemplate();
    const auto end = TakeEndTime(line.fields, FieldsOf(line.fields));
    const auto text = end ? end->before : line.fields.substr(0, comma);
    auto known = known_.find(text);
    if (known == known_.end()) {
      auto primitive = ReadPrimitive(text);
      if (!primitive) return;
      if (end) known = known_.emplace(text, IndexOf(std::move(*primitive))).first;
    }
    if (!end) return Refuse(WithoutTime(line.fields));
    if (end->milliseconds < kLeastMilliseconds) return Refuse(kNoTime);
    ++log_.lines.used;
    Add(known->second, end->milliseconds * 1e-3, SecondsOf(line));
  }

  void Add(std::uint32_t primitive, double seconds, std::optional<double> start) {
    if (log_.processes.empty()) process_ = ProcessOf(0);
    log_.executions.push_back({primitive, seconds, start, process_});
  }

  std::uint32_t ProcessOf(std::int64_t id) {
    const auto found = std::ranges::find(log_.processes, id, &LogProcess::id);
    const auto index = static_cast<std::uint32_t>(found - log_.processes.begin());
    if (found == log_.processes.end()) log_.processes.push_back({.id = id});
    return index;
  }

  // Reads a process's number and, before its first line, those of its ancestors.
  void ReadProcess(std::string_view text) {
    std::vector<std::int64_t> ids;
    for (const auto field : SplitText(text, ',')) {
      if (!AreDigits(field) || field.size() > kMaxDigits) return;
      ids.push_back(static_cast<std::int64_t>(NumberFromZero(field).value_or(0)));
    }
    process_ = ProcessOf(ids.front());
    if (ids.size() > 1) log_.processes[process_].ancestors.assign(ids.begin() + 1, ids.end());
  }

  bool HasAncestor(const LogProcess& process) const {
    return std::ranges::any_of(process.ancestors, [&](std::int64_t ancestor) {
      return std::ranges::count(log_.processes, ancestor, &LogProcess::id) > 0;
    });
  }

  // Finds the main process, and makes the calls of others primitives of their own.
  void SetApart() {
    const auto count = log_.processes.size();
    if (count < 2) return;
    std::vector<double> seconds(count);
    for (const auto& execution : log_.executions) seconds[execution.process] += execution.seconds;
    std::optional<std::uint32_t> main;
    for (std::uint32_t i = 0; i < count; ++i)
      if (seconds[i] > 0 && !HasAncestor(log_.processes[i]) &&
          (!main || seconds[i] > seconds[*main]))
        main = i;
    log_.main_process = main.value_or(0);
    std::vector<std::uint32_t> used(log_.primitives.size());  // 1: by the main process, 2: others
    for (const auto& execution : log_.executions)
      used[execution.primitive] |= execution.process == log_.main_process ? 1 : 2;
    std::vector<std::uint32_t> apart(log_.primitives.size());
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      apart[i] = i;
      if ((used[i] & 2) == 0) continue;
      auto text = log_.primitives[i];
      text.others.emplace_back(kProcessField, "other");
      if (used[i] == 2) {
        log_.primitives[i] = std::move(text);
      } else {
        apart[i] = static_cast<std::uint32_t>(log_.primitives.size());
        log_.primitives.push_back(std::move(text));
      }
    }
    for (auto& execution : log_.executions)
      if (execution.process != log_.main_process) execution.primitive = apart[execution.primitive];
  }

  // Returns the number of fields that a line of a primitive should have. oneDNN 2.7 leaves out the
  // empty auxiliary field of a gemm_api, so that the problem comes after the attributes.
  std::size_t FieldsOf(std::string_view fields) const {
    const auto parts = SplitText(fields, ',');
    const std::size_t expected = template_.size();
    const bool short_gemm = std::ranges::count(parts, "gemm_api") == 1 &&
                            template_[expected - 2] == "problem_desc" && parts.size() > 2 &&
                            parts.size() + 1 >= expected && parts.size() <= expected &&
                            parts[expected - 3].find(':') != std::string_view::npos;
    return short_gemm ? expected - 1 : expected;
  }

  // Whether a partition's primitives have lines of their own: see VerboseLog.
  bool HasOwnLines(const VerboseLine& line, double seconds) const {
    constexpr double kRounding = 1.02, kMaxOwn = 0.5;  // [1] of the partition's time
    const auto start = SecondsOf(line);
    double sum = 0;
    for (std::size_t i = log_.executions.size(); i > after_partition_; --i) {
      const auto& execution = log_.executions[i - 1];
      const bool before = start && execution.start_seconds && *execution.start_seconds < *start;
      if (before || sum + execution.seconds > seconds * kRounding) break;
      sum += execution.seconds;
    }
    return sum >= seconds * kMaxOwn && sum > 0;
  }

  void ReadPartition(const VerboseLine& line) {
    VerboseTemplate names = {"engine",       "partition_id",    "partition_kind", "op_names",
                             "data_formats", "logical_tensors", "fpmath_mode",    "implementation",
                             "backend",      "exec_time"};
    // Versions before 3.7 have no implementation.
    if (SplitText(line.fields, ',').size() < names.size()) std::erase(names, "implementation");
    const auto end = TakeEndTime(line.fields, names.size());
    const auto fields = SplitText(end ? end->before : line.fields, ',');
    if (!end || fields.size() + 1 != names.size()) {
      ++log_.lines.executed;
      return Refuse("no time at the end of a partition, or other fields than the template has");
    }
    if (end->milliseconds < kLeastMilliseconds) {
      ++log_.lines.executed;
      return Refuse(kNoTime);
    }
    if (HasOwnLines(line, end->milliseconds * 1e-3)) {
      ++log_.lines.graph;
      after_partition_ = log_.executions.size();
      return;
    }
    PrimitiveText partition{.kind = "partition", .prop = "undef"};
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (auto* member = MemberOf(names[i], partition))
        *member = text::Printable(Trimmed(fields[i]));
    ++log_.lines.executed;
    ++log_.lines.used;
    Add(IndexOf(std::move(partition)), end->milliseconds * 1e-3, SecondsOf(line));
    after_partition_ = log_.executions.size();
  }

  static std::optional<double> SecondsOf(const VerboseLine& line) {
    if (!line.stamp_milliseconds) return std::nullopt;
    return *line.stamp_milliseconds * 1e-3;
  }

  // `text` has all fields but the last one, the time. Rejects the line and returns nullopt if the
  // fields do not match the template.
  std::optional<PrimitiveText> ReadPrimitive(std::string_view text) {
    auto fields = SplitText(text, ',');
    const std::size_t expected = template_.size() - 1;
    const auto kind_at = std::ranges::find(template_, "primitive") - template_.begin();
    // oneDNN 2.7 leaves out the empty auxiliary field of a gemm_api.
    if (fields.size() + 1 == expected && std::ranges::count(fields, "gemm_api") == 1 &&
        template_[expected - 1] == "problem_desc")
      fields.insert(fields.end() - 1, std::string_view());
    if (fields.size() != expected) {
      Refuse(fields.size() < expected
                 ? "fewer fields than the template has"
                 : "more fields than the template has: mixed with other output");
      return std::nullopt;
    }
    PrimitiveText primitive;
    for (std::size_t i = 0; i < expected; ++i) {
      const auto field = Trimmed(fields[i]);
      if (std::string* member = MemberOf(template_[i], primitive))
        *member = text::Printable(field);
      else
        primitive.others.emplace_back(text::Printable(template_[i]), text::Printable(field));
    }
    if (fields[static_cast<std::size_t>(kind_at)].empty()) {
      Refuse("no name of a primitive");
      return std::nullopt;
    }
    return primitive;
  }

  std::uint32_t IndexOf(PrimitiveText primitive) {
    const auto [found, added] = indices_.try_emplace(
        std::move(primitive), static_cast<std::uint32_t>(log_.primitives.size()));
    if (added) log_.primitives.push_back(found->first);
    return found->second;
  }

  void ReadCreation(const VerboseLine& line) {
    ++log_.lines.created;
    if (template_.empty()) template_ = DefaultTemplate();
    const auto expected = FieldsOf(line.fields);
    const auto end = TakeEndTime(line.fields, expected);
    if (!end || SplitText(end->before, ',').size() + 1 != expected)
      return Refuse("no time at the end of a creation");
    log_.creations.push_back({log_.executions.size(), end->milliseconds * 1e-3,
                              line.operation.find("hit") != std::string_view::npos, SecondsOf(line),
                              process_});
  }

  void ReadMark(std::string_view line) {
    if (!line.starts_with(kMark)) return;
    const auto fields = SplitText(line.substr(kMark.size()), ',');
    if (fields.size() != 3 || (fields[0] != "begin" && fields[0] != "end")) return;
    const auto step = NumberFromZero(fields[1]);
    const auto milliseconds = NumberFromZero(fields[2]);
    if (!step || !milliseconds) return;
    log_.marks.push_back({log_.executions.size(), fields[0] == "begin",
                          static_cast<std::int64_t>(*step), *milliseconds * 1e-3});
  }

  void Refuse(std::string_view reason) {
    auto& refused = log_.lines.refused;
    auto found = std::ranges::find(refused, reason, &RefusedLines::reason);
    if (found == refused.end()) {
      found = refused.emplace(found);
      found->reason = reason;
      found->first_line = log_.lines.all;
    }
    ++found->count;
  }

  static constexpr std::size_t kMaxDigits = 10;  // of the number of a process

  VerboseLog log_;
  std::uint32_t process_ = 0;        // index of the process of the following lines
  VerboseTemplate template_;         // set by a template line or by the first execution
  std::size_t after_partition_ = 0;  // index of the first execution after the last partition
  std::unordered_map<std::string_view, std::uint32_t> known_;  // text of this template -> primitive
  std::map<PrimitiveText, std::uint32_t> indices_;
};

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

VerboseLine ParseLine(std::string_view text) {
  VerboseLine line;
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

bool IsUkernel(const PrimitiveText& text) {
  return text.kind == "brgemm" || text.kind == "transform";
}

VerboseLog ReadVerboseLog(std::string_view text) { return Reader().Read(text); }

std::optional<std::string> IsaOf(std::string_view words) {
  const auto has = [&](std::string_view word) {
    return words.find(word) != std::string_view::npos;
  };
  const auto amx = words.find("AMX");
  if (amx != std::string_view::npos)
    return words.find(" float16", amx) != std::string_view::npos ? "avx512_core_amx_fp16"
                                                                 : "avx512_core_amx";
  // Since oneDNN 3.5 "Intel AVX 10.1" and "Intel AVX10.2", which contain AVX512-FP16.
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

bool HasVerboseLine(std::string_view text) {
  return FindMarker(text.substr(0, kSearched)) != std::string_view::npos;
}

}  // namespace dlroof::logs
