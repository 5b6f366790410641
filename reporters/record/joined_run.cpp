#include "reporters/record/joined_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

void AddMachine(machine::Machine machine, const std::string& path, RunFile& whole) {
  const auto known = std::ranges::find(whole.machines, machine.device, &machine::Machine::device);
  if (known == whole.machines.end()) {
    whole.machines.push_back(std::move(machine));
    return;
  }
  if (known->fingerprint != machine.fingerprint)
    throw BadInput("{}: its ceilings are those of another machine ({}, the files before have {})",
                   text::Printable(path), text::Printable(machine.name), text::Printable(known->name));
  known->by_threads.merge(machine.by_threads);
}

constexpr char kBeforeLabel = '@';

// Characters that tell the parts of a name apart become '-'.
std::string LabelFor(const std::string& path, std::set<std::string>& taken) {
  std::string stem = std::filesystem::path(path).stem().string();
  for (char& c : stem)
    if (c == '/' || c == kBeforeLabel || c == ' ') c = '-';
  auto label = stem.empty() ? "run" : stem;
  for (int i = 2; !taken.insert(label).second; ++i) label = fmt::format("{}.{}", stem, i);
  return label;
}

void AddLabel(const std::string& label, Record& record) {
  if (record.library.empty()) {
    record.name += kBeforeLabel + label;
    record.library = kBeforeLabel + label;
    return;
  }
  // op/device/library/...
  const auto device = record.name.find('/');
  const auto library = record.name.find('/', device + 1) + 1;
  const auto end = std::min(record.name.find('/', library), record.name.size());
  record.name.insert(end, kBeforeLabel + label);
  record.library += kBeforeLabel + label;
}

}  // namespace

RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files) {
  std::set<std::string> taken;
  nlohmann::json paths = nlohmann::json::array();
  for (auto& [path, file] : files) {
    const auto label = LabelFor(path, taken);
    paths.push_back(path);
    for (auto& record : file.records) AddLabel(label, record);
  }
  auto whole = JoinedRun(std::move(files));
  auto& ours = whole.context["dlroof"];
  if (ours.is_object()) ours.erase("program");
  ours["files"] = std::move(paths);
  return whole;
}

std::string_view LabelOf(const Record& record) {
  const std::string_view library = record.library;
  const auto at = library.find(kBeforeLabel);
  return at == std::string_view::npos ? "" : library.substr(at + 1);
}

RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files) {
  RunFile whole;
  std::set<std::pair<std::string, int>> seen;
  bool first = true;
  for (auto& [path, file] : files) {
    if (first) whole.context = std::move(file.context);
    first = false;
    for (auto& machine : file.machines) AddMachine(std::move(machine), path, whole);
    for (auto& record : file.records)
      if (seen.emplace(record.name, record.threads).second)
        whole.records.push_back(std::move(record));
  }
  return whole;
}

}  // namespace dlroof::record
