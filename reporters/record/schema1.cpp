#include "reporters/record/schema1.h"

#include <algorithm>
#include <charconv>

namespace dlroof {
namespace {

// Cuts `text` at `mark`. Returns what is behind the mark, empty without it.
std::string_view CutAt(std::string_view mark, std::string_view& text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// Cuts the first of a list's names off. Template arguments have commas of their own.
std::string_view CutName(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size() && (depth > 0 || !names.substr(end).starts_with(", ")); ++end)
    depth += names[end] == '<' ? 1 : names[end] == '>' ? -1 : 0;
  const auto name = names.substr(0, end);
  names.remove_prefix(std::min(end + 2, names.size()));
  return name;
}

// Reads "NAME, 3 x NAME, 4 more"; the names of the last ones are not known.
void AddKernels(std::string_view names, std::vector<LaunchedKernel>& kernels) {
  while (!names.empty()) {
    std::string_view name = CutName(names);
    int count = 0;
    const auto* const end = std::from_chars(name.data(), name.data() + name.size(), count).ptr;
    const auto behind = name.substr(static_cast<std::size_t>(end - name.data()));
    if (behind == " more") continue;
    if (behind.starts_with(" x "))
      kernels.push_back({std::string(behind.substr(3)), count});
    else
      kernels.push_back({std::string(name)});
  }
}

}  // namespace

void AddSentence(std::string_view sentence, Record& record) {
  CountingNote& note = record.counting.emplace_back();
  note.text = sentence;
  const auto how = CutAt(": ", sentence);
  note.provenance = ProvenanceFromKey(sentence);
  if (note.provenance) note.text = how;
  std::string_view text = note.text;
  auto kernels = CutAt(" kernel launch", text);
  kernels = CutAt(": ", kernels);
  CutAt("; ", kernels);
  AddKernels(kernels, record.kernels);
}

void TakeIsa(Record& record) {
  constexpr std::string_view kMark = "; isa ";
  const auto mark = record.algorithm.rfind(kMark);
  if (mark == std::string::npos) return;
  record.isa = record.algorithm.substr(mark + kMark.size());
  record.algorithm.resize(mark);
}

void ReadSentences(std::string_view label, Record& record) {
  record.repro = CutAt("; repro: ", label);
  for (auto rest = CutAt("; counted: ", label); !rest.empty();) {
    auto sentence = rest;
    rest = CutAt(" | ", sentence);
    AddSentence(sentence, record);
  }
  record.verified = CutAt("; verified: ", label);
  record.algorithm = label;
  TakeIsa(record);
}

}  // namespace dlroof
