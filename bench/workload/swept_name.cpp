#include "bench/workload/swept_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/workload/op.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "reporters/roofline/op_words.h"

namespace dlroof::workload {
namespace {

// Returns why no benchmark has this name; empty where one has.
std::string Refusal(const std::string& name) {
  try {
    MakeWorkload(name);
  } catch (const BadInput& error) {
    return fmt::format("{}: {}", name, error.what());
  }
  return {};
}

void CheckName(const std::string& name) {
  if (const auto refusal = Refusal(name); !refusal.empty()) throw BadInput(refusal);
}

const roofline::SweepWord& WordOf(const BenchmarkName& name, const std::string& parameter) {
  const auto& words = FindOp(name.op)->words.sweep;
  const auto found = std::ranges::find(words, parameter, &roofline::SweepWord::name);
  if (found != words.end()) return *found;
  std::vector<std::string> names(words.size());
  std::ranges::transform(words, names.begin(), &roofline::SweepWord::name);
  throw BadInput("--sweep={}: {} has no such parameter; there are {}", parameter, name.op,
                 fmt::join(names, ", "));
}

}  // namespace

std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value) {
  CheckName(name);
  auto parsed = ParseBenchmarkName(name);
  const auto& word = WordOf(parsed, parameter);
  std::string refusal;
  for (const auto& problem : roofline::WithValue(parsed.problem, word, std::to_string(value))) {
    parsed.problem = problem;
    const auto why = Refusal(ToText(parsed));
    if (why.empty()) return ToText(parsed);
    if (refusal.empty()) refusal = why;
  }
  throw BadInput("{} {}: {}", parameter, value, refusal);
}

std::int64_t SizeOf(const std::string& name, const std::string& parameter) {
  CheckName(name);
  const auto parsed = ParseBenchmarkName(name);
  const auto& word = WordOf(parsed, parameter);
  const auto parts = roofline::ProblemParts(parsed.problem);
  const auto found = std::ranges::find(parts, word.key, &roofline::ProblemPart::key);
  return found == parts.end() ? 1 : std::stoll(found->value);
}

std::string WithThreads(const std::string& name, int threads) {
  CheckName(name);
  auto parsed = ParseBenchmarkName(name);
  if (parsed.device != "cpu")
    throw BadInput("{}: a {} has no threads to sweep", name, parsed.device);
  for (const auto& option : parsed.options)
    if (option.starts_with("threads"))
      throw BadInput("{}: it names its number of threads; leave {} out", name, option);
  auto place = parsed.options.end();
  if (!parsed.options.empty() && parsed.options.back().starts_with(Key(CacheState::kCold))) --place;
  parsed.options.insert(place, fmt::format("threads{}", threads));
  return ToText(parsed);
}

}  // namespace dlroof::workload
