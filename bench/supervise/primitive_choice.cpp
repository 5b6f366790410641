#include <fmt/format.h>

#include <map>

#include "bench/supervise/supervised_program.h"
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

// Returns the choice as texts: "implementation" -> "jit:avx2", "layout of wei" -> "f32 AcdB8a2b".
std::map<std::string, std::string> TextsOf(const json& choice) {
  std::map<std::string, std::string> texts = {
      {"implementation", choice.value("implementation", "")}};
  const auto layouts = choice.value("layouts", json::object());
  for (const auto& [tensor, layout] : layouts.items())
    texts["layout of " + tensor] = layout.get<std::string>();
  return texts;
}

}  // namespace

const std::map<std::string, std::string> kLogOfCreations = {{"ONEDNN_VERBOSE", "profile_create"}};

std::optional<json> ChoiceIn(std::string_view log) {
  const auto read = logs::ReadVerboseLog(AsExecutions(log));
  const logs::PrimitiveText* last = nullptr;
  for (const auto& execution : read.executions) {
    const auto& primitive = read.primitives.at(execution.primitive);
    if (primitive.kind == "reorder") continue;
    if (last == nullptr || primitive.kind == last->kind) last = &primitive;
  }
  if (last == nullptr) return std::nullopt;
  json choice = {{"implementation", last->implementation}, {"layouts", json::object()}};
  for (const auto& tensor : logs::ReadPrimitive(*last).tensors)
    if (tensor.type != "undef") choice["layouts"].emplace(tensor.role, LayoutOf(tensor));
  return choice;
}

std::vector<std::string> ChangesBetween(const json& base, const json& contender) {
  auto before = TextsOf(base), now = TextsOf(contender);
  for (auto* texts : {&before, &now})
    for (const auto& [what, text] : texts == &before ? now : before)
      texts->try_emplace(what, "none");
  std::vector<std::string> changes;
  for (const auto& [what, text] : before)
    if (text != now.at(what))
      changes.push_back(fmt::format("{}: {} -> {}", what, text, now.at(what)));
  return changes;
}

}  // namespace dlroof::supervise
