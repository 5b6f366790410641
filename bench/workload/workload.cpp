#include "bench/workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "counters/base/keys.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::workload {
namespace {

constexpr int kMaxThreads = 4096;

constexpr KeyRow<CacheState> kCacheStates[] = {{CacheState::kWarm, "warm"},
                                               {CacheState::kCold, "cold"},
                                               {CacheState::kColdWeights, "cold-weights"}};

std::string Listed(const OptionRows& rows) {
  std::string text;
  for (const auto& row : rows) text += fmt::format(" {}", fmt::join(row, "|"));
  return text.empty() ? "" : " (" + text.substr(1) + ")";
}

// Returns e.g. 2 for "threads2", and nullopt for other options. Throws BadInput for a bad number.
std::optional<int> ThreadsOf(std::string_view option, int column) {
  constexpr std::string_view kPrefix = "threads";
  if (!option.starts_with(kPrefix)) return std::nullopt;
  TextCursor cursor(option, column - 1);
  cursor.Expect(kPrefix);
  const auto threads = cursor.Integer(1, "a number of threads");
  if (!cursor.AtEnd() || threads > kMaxThreads)
    throw BadInput({.column = column}, "expected threads1 to threads{}, got '{}'", kMaxThreads,
                   option);
  return static_cast<int>(threads);
}

// Removes threadsN, cold and cold-weights from the name's options, and stores them in `common`.
// Throws BadInput if one of them is left, in another place than at the end.
BenchmarkName WithoutCommonOptions(BenchmarkName name, Workload& common) {
  const auto last = [&] { return ColumnOfPart(name, 5 + static_cast<int>(name.options.size())); };
  for (const auto state : {CacheState::kCold, CacheState::kColdWeights})
    if (!name.options.empty() && name.options.back() == Key(state)) {
      common.cache = state;
      name.options.pop_back();
      break;
    }
  if (!name.options.empty()) common.threads = ThreadsOf(name.options.back(), last());
  if (common.threads) name.options.pop_back();
  for (const auto& option : name.options)
    if (option.starts_with("threads") ||
        ValueIn(kCacheStates, option).value_or(CacheState::kWarm) != CacheState::kWarm)
      RefuseOption(name, option, "stands at the end of a name: threadsN, then cold[-weights]");
  return name;
}

template <class Row>
std::vector<Row>& Registry() {
  static std::vector<Row> rows;
  return rows;
}

Backend* FindBackend(std::string_view op, std::string_view device, std::string_view library) {
  for (Backend& backend : Registry<Backend>())
    if (backend.op == op && backend.device == device && backend.library == library) return &backend;
  return nullptr;
}

// Why the backends of a device cannot use their library (SetMissingReason), by device.
std::map<std::string, Reason>& MissingReasons() {
  static std::map<std::string, Reason> reasons;
  return reasons;
}

std::string MissingReason(const Backend& backend) {
  if (const auto* known = FindValue(MissingReasons(), backend.device)) return known->text;
  return fmt::format("this build of dlroof was made without {}",
                     backend.needs.value_or(backend.library));
}

std::map<std::string, Op, std::less<>>& OpRegistry() {
  static std::map<std::string, Op, std::less<>> ops;
  return ops;
}

std::string Known() {
  std::set<std::string> names;
  for (const auto& backend : AllBackends())
    names.insert(fmt::format("{}/{}/{}", backend.op, backend.device, backend.library));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string DifferenceText(const Verification& found) {
  if (found.tolerance == 0) return "the result is wrong " + found.how;
  return fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                     found.max_error, found.tolerance, found.how);
}

std::string NameOf(const Workload& workload) {
  return workload.other_name.value_or(ToText(workload.name));
}

bool RegisterBackend(Backend backend) {
  Backend* const known = FindBackend(backend.op, backend.device, backend.library);
  if (known == nullptr) {
    Registry<Backend>().push_back(std::move(backend));
    return true;
  }
  if (!known->read) known->read = std::move(backend.read);
  if (!known->needs) known->needs = std::move(backend.needs);
  if (!known->prepare) known->prepare = std::move(backend.prepare);
  return true;
}

const std::vector<Backend>& AllBackends() { return Registry<Backend>(); }

bool RegisterLibrary(Library library) {
  Registry<Library>().push_back(std::move(library));
  return true;
}

const std::vector<Library>& AllLibraries() { return Registry<Library>(); }

void SetMissingReason(const std::string& device, const Reason& reason) {
  MissingReasons()[device] = reason;
}

int ColumnOfPart(const BenchmarkName& name, int index) {
  const auto text = ToText(name);
  const auto part = logs::SplitText(text, '/').at(static_cast<size_t>(index));
  return static_cast<int>(part.data() - text.data()) + 1;
}

std::string_view Key(CacheState state) { return KeyIn(kCacheStates, state); }

void CheckOptions(const BenchmarkName& name, const OptionRows& rows) {
  size_t next = 0;
  for (size_t i = 0; i < name.options.size(); ++i) {
    const auto& option = name.options[i];
    const auto holds = [&](const auto& row) { return std::ranges::count(row, option) > 0; };
    const int column = ColumnOfPart(name, 6 + static_cast<int>(i));
    const auto row = std::ranges::find_if(rows, holds);
    if (row == rows.end())
      throw BadInput({.column = column}, "{}/{}/{} has no option '{}'{}", name.op, name.device,
                     name.library, option, Listed(rows));
    if (static_cast<size_t>(row - rows.begin()) < next)
      throw BadInput({.column = column}, "'{}' cannot come after '{}'; the order is{}", option,
                     name.options[i - 1], Listed(rows));
    next = static_cast<size_t>(row - rows.begin()) + 1;
  }
}

bool HasOption(const BenchmarkName& name, std::string_view option) {
  return std::ranges::count(name.options, option) > 0;
}

void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view reason) {
  const auto at = std::ranges::find(name.options, option);
  if (at == name.options.end()) return;
  throw BadInput({.column = ColumnOfPart(name, 6 + static_cast<int>(at - name.options.begin()))},
                 "'{}' {}", option, reason);
}

const std::vector<std::string_view>& FpmathOptions() {
  static const std::vector<std::string_view> options = {"fpmath-bf16", "fpmath-f16", "fpmath-tf32",
                                                        "fpmath-any"};
  return options;
}

std::optional<std::string> FpmathOf(const BenchmarkName& name) {
  for (const auto option : FpmathOptions())
    if (HasOption(name, option)) return std::string(option.substr(option.find('-') + 1));
  return std::nullopt;
}

Workload MakeWorkload(const std::string& text) {
  const BenchmarkName name = ParseBenchmarkName(text);
  Workload common;
  const BenchmarkName own = WithoutCommonOptions(name, common);
  const Backend* const backend = FindBackend(name.op, name.device, name.library);
  if (backend == nullptr)
    throw BadInput({.column = 1}, "no benchmark {}/{}/{}; known are {}", name.op, name.device,
                   name.library, Known());
  Workload workload = backend->read(own);
  if (backend->prepare)
    workload.prepare = [prepare = backend->prepare, own](const RunSettings& settings) {
      return prepare(own, settings);
    };
  else
    workload.prepare = [reason = MissingReason(*backend)](const RunSettings&) -> PreparedCall {
      throw Unsupported(reason);
    };
  workload.name = name;
  workload.threads = common.threads;
  workload.cache = common.cache;
  if (workload.cache != CacheState::kWarm) workload.repro.reset();  // benchdnn's caches are warm
  return workload;
}

std::optional<BadInput> InvalidReason(const std::string& name) {
  try {
    MakeWorkload(name);
  } catch (const BadInput& error) {
    return error;
  }
  return std::nullopt;
}

std::optional<BenchmarkName> WithOption(const BenchmarkName& name, const std::string& option) {
  for (size_t at = 0; at <= name.options.size(); ++at) {
    auto changed = name;
    changed.options.insert(changed.options.begin() + static_cast<std::ptrdiff_t>(at), option);
    if (!InvalidReason(ToText(changed))) return changed;
  }
  return std::nullopt;
}

bool RegisterOp(Op op) {
  auto words = op.words;
  words.named_flops = op.named_flops;
  roofline::RegisterOpWords(op.name, std::move(words));
  return OpRegistry().emplace(op.name, std::move(op)).second;
}

std::vector<const Op*> AllOps() {
  return VectorOf<const Op*>(OpRegistry(), [](const auto& row) { return &row.second; });
}

const Op* FindOp(std::string_view name) { return FindValue(OpRegistry(), name); }

bool TextCursor::Accept(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void TextCursor::Expect(std::string_view word) {
  if (!Accept(word)) Refuse(fmt::format("'{}'", word));
}

int64_t TextCursor::Integer(int64_t least, std::string_view what) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const auto rest = text_.substr(at_);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const auto length = static_cast<size_t>(end - rest.data());
  if (error != std::errc() || value < least || value > kMax || rest[0] == '-' ||
      (rest[0] == '0' && length > 1))
    Refuse(fmt::format("{}, an integer from {} to {}", what, least, kMax));
  at_ += length;
  return value;
}

void TextCursor::Sizes(std::initializer_list<Size> sizes) {
  for (const auto& [letter, value] : sizes) {
    Expect(letter);
    value = Integer(1, fmt::format("the size {}", letter));
  }
}

void TextCursor::Refuse(std::string_view expected) const {
  const auto got = AtEnd() ? std::string("the end") : fmt::format("'{}'", text_[at_]);
  throw BadInput({.column = column_offset_ + static_cast<int>(at_) + 1}, "expected {}, got {}",
                 expected, got);
}

int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    const int64_t before = count;
    if (__builtin_mul_overflow(before, size, &count))
      throw BadInput("{} overflows 64 bits ({} x {})", what, before, size);
  }
  return count;
}

void CheckSum(std::initializer_list<int64_t> counts, std::string_view what) {
  int64_t sum = 0;
  for (const int64_t count : counts)
    if (__builtin_add_overflow(sum, count, &sum)) throw BadInput("{} overflows 64 bits", what);
}

namespace {

constexpr int kParts = 6;

void CheckCharacters(const std::string& text) {
  const auto is_wrong = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 &&
           std::string_view("/_.:+-").find(c) == std::string_view::npos;
  };
  if (const auto at = std::ranges::find_if(text, is_wrong); at != text.end())
    throw BadInput({.column = static_cast<int>(at - text.begin()) + 1},
                   "a benchmark name has only letters, digits and / _ . : + -");
}

}  // namespace

std::string ToText(const BenchmarkName& name) {
  std::string text = fmt::format("{}/{}/{}/{}/{}/{}", name.op, name.device, name.library,
                                 name.direction, name.type, name.problem);
  for (const auto& option : name.options) text += '/' + option;
  return text;
}

BenchmarkName ParseBenchmarkName(const std::string& text) {
  CheckCharacters(text);
  std::vector<std::string> parts;
  for (const auto part : logs::SplitText(text, '/')) {
    if (part.empty())
      throw BadInput({.column = static_cast<int>(part.data() - text.data()) + 1},
                     "empty part of a benchmark name");
    parts.emplace_back(part);
  }
  if (parts.size() < kParts)
    throw BadInput({.column = static_cast<int>(text.size()) + 1},
                   "expected op/device/library/direction/type/problem, got {} part{}", parts.size(),
                   parts.size() == 1 ? "" : "s");
  return NameOfParts(parts);
}

BenchmarkName NameOfParts(const std::vector<std::string>& parts) {
  const std::vector<std::string> options(parts.begin() + kParts, parts.end());
  return {parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], options};
}

namespace {

BenchmarkName ReadValidName(const std::string& name) {
  if (const auto reason = InvalidReason(name)) throw BadInput("{}: {}", name, reason->what());
  return ParseBenchmarkName(name);
}

const roofline::SweepWord& WordOf(const BenchmarkName& name, const std::string& parameter) {
  const auto& words = FindOp(name.op)->words.sweep;
  const auto found = std::ranges::find(words, parameter, &roofline::SweepWord::name);
  if (found != words.end()) return *found;
  const auto names = VectorOf<std::string>(words, &roofline::SweepWord::name);
  throw BadInput("--sweep={}: {} has no such parameter; it has {}", parameter, name.op,
                 fmt::join(names, ", "));
}

}  // namespace

std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value) {
  auto parsed = ReadValidName(name);
  const auto& word = WordOf(parsed, parameter);
  std::optional<Reason> first;
  for (const auto& problem : roofline::WithValue(parsed.problem, word, std::to_string(value))) {
    parsed.problem = problem;
    const auto reason = InvalidReason(ToText(parsed));
    if (!reason) return ToText(parsed);
    if (!first) first = Reason{fmt::format("{}: {}", ToText(parsed), reason->what())};
  }
  throw BadInput("{} {}: {}", parameter, value, first ? first->text : "");
}

std::int64_t SizeOf(const std::string& name, const std::string& parameter) {
  const auto parsed = ReadValidName(name);
  const auto& word = WordOf(parsed, parameter);
  const auto parts = roofline::ProblemParts(parsed.problem);
  const auto found = std::ranges::find(parts, word.key, &roofline::ProblemPart::key);
  return found == parts.end() ? 1 : std::stoll(found->value);
}

std::string WithThreads(const std::string& name, int threads) {
  auto parsed = ReadValidName(name);
  if (parsed.device != "cpu")
    throw BadInput("{}: only benchmarks on the CPU have a number of threads to sweep", name);
  for (const auto& option : parsed.options)
    if (option.starts_with("threads"))
      throw BadInput("{}: the name already fixes the number of threads; remove {}", name, option);
  auto place = parsed.options.end();
  if (!parsed.options.empty() && parsed.options.back().starts_with(Key(CacheState::kCold))) --place;
  parsed.options.insert(place, fmt::format("threads{}", threads));
  return ToText(parsed);
}

}  // namespace dlroof::workload
