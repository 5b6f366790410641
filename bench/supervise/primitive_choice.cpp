#include "bench/supervise/primitive_choice.h"

#include <fmt/format.h>

#include <set>

#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

// Returns the log's lines of created primitives as lines of executed ones, which have the same
// fields, and its templates of those fields.
std::string AsExecutions(std::string_view log) {
  std::string lines;
  for (const auto text : logs::SplitText(log, '\n')) {
    const auto at = logs::FindMarker(text);
    if (at == std::string_view::npos) continue;
    const auto line = logs::ParseLine(text.substr(at));
    if (line.kind == logs::VerboseKind::kCreated)
      lines += fmt::format("onednn_verbose,exec,{}\n", line.fields);
    else if (logs::TemplateOf(line))
      lines += fmt::format("{}\n", text.substr(at));
  }
  return lines;
}

std::string LayoutOf(const logs::Tensor& tensor) {
  return tensor.tag.empty() ? tensor.type : fmt::format("{} {}", tensor.type, tensor.tag);
}

std::string TextOr(const std::map<std::string, std::string>& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "none" : found->second;
}

}  // namespace

const std::map<std::string, std::string> kLogOfCreations = {{"ONEDNN_VERBOSE", "profile_create"}};

std::optional<PrimitiveChoice> ChoiceIn(std::string_view log) {
  const auto read = logs::ReadVerboseLog(AsExecutions(log));
  const logs::PrimitiveText* last = nullptr;
  for (const auto& execution : read.executions) {
    const auto& primitive = read.primitives.at(execution.primitive);
    if (primitive.kind == "reorder") continue;
    if (last == nullptr || primitive.kind == last->kind) last = &primitive;
  }
  if (last == nullptr) return std::nullopt;
  PrimitiveChoice choice{.implementation = last->implementation, .layouts = {}};
  for (const auto& tensor : logs::ReadPrimitive(*last).tensors)
    if (tensor.type != "undef") choice.layouts.emplace(tensor.role, LayoutOf(tensor));
  return choice;
}

json ToJson(const PrimitiveChoice& choice) {
  return {{"implementation", choice.implementation}, {"layouts", choice.layouts}};
}

PrimitiveChoice ChoiceFrom(const json& json) {
  return {json.value("implementation", ""),
          json.value("layouts", std::map<std::string, std::string>())};
}

std::vector<std::string> ChangesBetween(const PrimitiveChoice& base,
                                        const PrimitiveChoice& contender) {
  std::vector<std::string> changes;
  if (base.implementation != contender.implementation)
    changes.push_back(
        fmt::format("implementation: {} -> {}", base.implementation, contender.implementation));
  std::set<std::string> tensors;
  for (const auto& [tensor, layout] : base.layouts) tensors.insert(tensor);
  for (const auto& [tensor, layout] : contender.layouts) tensors.insert(tensor);
  for (const auto& tensor : tensors) {
    const auto before = TextOr(base.layouts, tensor), now = TextOr(contender.layouts, tensor);
    if (before != now)
      changes.push_back(fmt::format("layout of {}: {} -> {}", tensor, before, now));
  }
  return changes;
}

}  // namespace dlroof::supervise
