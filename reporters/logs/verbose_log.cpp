#include "reporters/logs/verbose_log.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "counters/base/numbers.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::logs {
namespace {

constexpr char kEscape = '\x1b';  // begins a terminal's colour sequence

// Returns why a line of an execution has no time, or "" if it has one.
std::string_view WithoutTime(std::string_view fields, std::optional<double> milliseconds) {
  if (milliseconds && RangeOf("seconds").Contains(*milliseconds * 1e-3)) return "";
  if (milliseconds && *milliseconds < 1)
    return "a time of 0: its queue has no profiling, or it took less than the clock's resolution";
  if (milliseconds) return "a time of more than a day";
  const auto last = fields.substr(fields.rfind(',') + 1);
  const auto number = text::PlainNumber(last);
  if (number && *number < 0) return "a negative time";
  const bool digits = last.find_first_not_of("0123456789.e+") == last.npos;
  if (number || (!last.empty() && (digits || text::IsNoValue(last))))
    return "a time that is no number of ms";
  return "no time at its end: cut, or mixed with other output";
}

constexpr std::string_view kMark = "DLROOF_MARK,";

// Returns the member for a template's field, or null. The last 3 rows are a partition's fields.
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
      {"logical_tensors", &text.tensors},
      {"partition_kind", &text.auxiliary},
      {"op_names", &text.problem}};
  for (const auto& [known, member] : rows)
    if (known == name) return member;
  return nullptr;
}

class Reader {
 public:
  VerboseLog Read(std::string_view text) {
    std::string plain, unwrapped;  // known_ has views into these
    if (text.find(kEscape) != text.npos) text = plain = text::WithoutEscapes(text);
    if (auto joined = Unwrapped(text)) text = unwrapped = *std::move(joined);
    while (!text.empty()) {
      ++log_.lines.all;
      ReadLine(text::TakeLine(text));
    }
    SetApart(log_);
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

  // Counts and refuses a line into which oneDNN printed another line.
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
    if (line.fields.find("template:") == std::string_view::npos)
      return ReadFacts(line.fields, log_);
    const auto names = TemplateOf(line);
    if (!names) return;
    template_ = *names;
    known_.clear();
  }

  // Reads an execution. Looks its text up without the time, since programs repeat few primitives.
  void ReadExecution(const VerboseLine& line) {
    ++log_.lines.executed;
    if (line.fields.find(',') == std::string_view::npos)
      return Refuse("fewer fields than the template has");
    const auto parts = PartsOf(line.fields, template_);
    auto known = known_.find(parts.before);
    if (known == known_.end()) {
      auto primitive = ReadPrimitive(parts.fields);
      if (!primitive) return;
      if (parts.milliseconds)
        known = known_.emplace(parts.before, IndexOf(std::move(*primitive))).first;
    }
    if (const auto reason = WithoutTime(line.fields, parts.milliseconds); !reason.empty())
      return Refuse(reason);
    ++log_.lines.used;
    Add(known->second, *parts.milliseconds * 1e-3, SecondsOf(line));
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

  // Reads the rest of a kProcessLine: the id of a process and, at first, those of its ancestors.
  void ReadProcess(std::string_view text) {
    std::vector<std::int64_t> ids;
    for (const auto field : SplitText(text, ',')) {
      if (!AreDigits(field) || field.size() > kMaxDigits) return;
      ids.push_back(static_cast<std::int64_t>(NumberFromZero(field).value_or(0)));
    }
    process_ = ProcessOf(ids.front());
    if (ids.size() > 1) log_.processes[process_].ancestors.assign(ids.begin() + 1, ids.end());
  }

  // Returns whether a partition's primitives have lines of their own: see VerboseLog.
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
    // Versions before 3.7 have no implementation, those from 3.13 a field that no template names.
    if (SplitText(line.fields, ',').size() < names.size()) std::erase(names, "implementation");
    if (line.fields.find(",scratchpad:") != std::string_view::npos)
      names.insert(names.end() - 3, "");
    const auto [fields, before, milliseconds] = PartsOf(line.fields, names);
    const bool other = fields.size() + 1 != names.size();
    const auto reason = other ? "other fields than the template of a partition has"
                              : WithoutTime(line.fields, milliseconds);
    if (reason.empty() && HasOwnLines(line, *milliseconds * 1e-3)) {
      ++log_.lines.graph;
      after_partition_ = log_.executions.size();
      return;
    }
    ++log_.lines.executed;
    if (!reason.empty()) return Refuse(reason);
    PrimitiveText partition{.kind = "partition", .prop = "undef"};
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (auto* member = MemberOf(names[i], partition))
        *member = text::Printable(Trimmed(fields[i]));
    ++log_.lines.used;
    Add(IndexOf(std::move(partition)), *milliseconds * 1e-3, SecondsOf(line));
    after_partition_ = log_.executions.size();
  }

  static std::optional<double> SecondsOf(const VerboseLine& line) {
    if (!line.stamp_milliseconds) return std::nullopt;
    return *line.stamp_milliseconds * 1e-3;
  }

  // Returns the primitive with these fields (all but the time). If they do not match the template,
  // refuses the line and returns nullopt.
  std::optional<PrimitiveText> ReadPrimitive(const std::vector<std::string_view>& fields) {
    const std::size_t expected = template_.size() - 1;
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
    if (primitive.kind.empty()) {
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
    const auto parts = PartsOf(line.fields, template_);
    if (!parts.milliseconds || parts.fields.size() + 1 != template_.size())
      return Refuse("no time at the end of a creation");
    log_.creations.push_back({log_.executions.size(), *parts.milliseconds * 1e-3,
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

  static constexpr std::size_t kMaxDigits = 10;  // of a process's id

  VerboseLog log_;
  std::uint32_t process_ = 0;  // index of the process of the following lines
  VerboseTemplate template_ = {
      "engine",     "primitive", "implementation", "prop_kind", "memory_descriptors",
      "attributes", "auxiliary", "problem_desc",   "exec_time"};  // unless the log prints one
  std::size_t after_partition_ = 0;  // index of the first execution after the last partition
  std::unordered_map<std::string_view, std::uint32_t> known_;  // LineParts::before -> primitive
  std::map<PrimitiveText, std::uint32_t> indices_;
};

}  // namespace

bool IsUkernel(const PrimitiveText& text) {
  return text.kind == "brgemm" || text.kind == "transform";
}

VerboseLog ReadVerboseLog(std::string_view text) { return Reader().Read(text); }

}  // namespace dlroof::logs
