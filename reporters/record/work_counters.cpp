#include "reporters/record/work_counters.h"

#include <fmt/format.h>

namespace dlroof {
namespace {

constexpr std::string_view kGpuPrefix = "dlroof/gpu/";
constexpr std::string_view kVerifiedMark = "; verified: ";
constexpr std::string_view kCountedMark = "; counted: ";
constexpr std::string_view kSentenceMark = " | ";
constexpr std::string_view kReproMark = "; repro: ";

void ReadOne(std::string_view quantity, double value, Work& work) {
  const auto slash = quantity.find('/');
  const auto kind = quantity.substr(0, slash);
  if (slash == std::string_view::npos) {
    if (kind == "launches") work.launches = value;
    return;
  }
  const auto key = quantity.substr(slash + 1);
  if (kind == "flops" && IsPipeKey(key)) work.flops[std::string(key)] = value;
  if (kind == "parts") work.parts[std::string(key)] = value;
  if (kind == "bytes")
    if (const auto level = LevelFromKey(key)) work.bytes[*level] = value;
}

std::vector<std::string> Sentences(std::string_view text) {
  std::vector<std::string> sentences;
  for (;;) {
    const auto end = text.find(kSentenceMark);
    sentences.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return sentences;
    text.remove_prefix(end + kSentenceMark.size());
  }
}

}  // namespace

std::map<std::string, double> ToCounters(Provenance from, const Work& work) {
  std::map<std::string, double> counters;
  for (const auto& [pipe, flops] : work.flops)
    counters[fmt::format("{}/flops/{}", Key(from), pipe)] = flops;
  for (const auto& [level, bytes] : work.bytes)
    counters[fmt::format("{}/bytes/{}", Key(from), Key(level))] = bytes;
  for (const auto& [part, flops] : work.parts)
    counters[fmt::format("{}/parts/{}", Key(from), part)] = flops;
  if (work.launches) counters[fmt::format("{}/launches", Key(from))] = *work.launches;
  return counters;
}

std::map<Provenance, Work> WorkFromCounters(const std::map<std::string, double>& counters) {
  std::map<Provenance, Work> works;
  for (const auto& [key, value] : counters) {
    const std::string_view text = key;
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) continue;
    const auto from = ProvenanceFromKey(text.substr(0, slash));
    if (!from) continue;
    Work read = works[*from];
    ReadOne(text.substr(slash + 1), value, read);
    works[*from] = read;
  }
  std::erase_if(works, [](const auto& item) { return item.second == Work{}; });
  return works;
}

std::map<std::string, double> ToCounters(const GpuSample& sample) {
  std::map<std::string, double> counters;
  for (const auto& [key, member] : GpuSampleFields())
    if (const auto& value = sample.*member) counters[fmt::format("{}{}", kGpuPrefix, key)] = *value;
  return counters;
}

std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters) {
  std::optional<GpuSample> sample;
  for (const auto& [key, member] : GpuSampleFields()) {
    const auto found = counters.find(fmt::format("{}{}", kGpuPrefix, key));
    if (found == counters.end()) continue;
    if (!sample) sample.emplace();
    *sample.*member = found->second;
  }
  return sample;
}

std::string ToLabel(const std::string& algorithm, const std::string& isa,
                    const std::string& verified, const std::string& repro,
                    const std::vector<std::string>& counting) {
  std::string label = algorithm;
  if (!isa.empty()) label += "; isa " + isa;
  if (!verified.empty()) label += std::string(kVerifiedMark) + verified;
  if (!counting.empty())
    label += fmt::format("{}{}", kCountedMark, fmt::join(counting, kSentenceMark));
  if (!repro.empty()) label += std::string(kReproMark) + repro;
  return label;
}

void ReadLabel(const std::string& label, Record& record) {
  const auto repro = label.find(kReproMark);
  if (repro != std::string::npos) record.repro = label.substr(repro + kReproMark.size());
  auto rest = label.substr(0, repro);
  if (const auto counted = rest.find(kCountedMark); counted != std::string::npos) {
    record.counting = Sentences(std::string_view(rest).substr(counted + kCountedMark.size()));
    rest.resize(counted);
  }
  const auto mark = rest.find(kVerifiedMark);
  record.algorithm = rest.substr(0, mark);
  if (mark != std::string::npos) record.verified = rest.substr(mark + kVerifiedMark.size());
}

}  // namespace dlroof
