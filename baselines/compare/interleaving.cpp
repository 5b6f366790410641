#include "baselines/compare/interleaving.h"

#include "counters/base/json_reader.h"

namespace dlroof::compare {
namespace {

std::optional<Interleaving> Read(const record::RunFile& file) {
  const JsonReader context(file.context, "context");
  if (!context.Has("dlroof")) return std::nullopt;
  const JsonReader own = context.Object("dlroof");
  if (!own.Has("interleaved")) return std::nullopt;
  const JsonReader at = own.Object("interleaved");
  Interleaving found{at.Text("id"), at.Number("min_effect")};
  if (found.min_effect < 0) at.Refuse("min_effect", "a share of at least 0");
  return found;
}

}  // namespace

nlohmann::json ToJson(const Interleaving& interleaving) {
  return {{"id", interleaving.id}, {"min_effect", interleaving.min_effect}};
}

std::optional<Interleaving> InterleavingOf(const record::RunFile& base, const record::RunFile& fresh) {
  const auto base_says = Read(base);
  auto fresh_says = Read(fresh);
  if (!base_says || !fresh_says || base_says->id != fresh_says->id) return std::nullopt;
  return fresh_says;
}

}  // namespace dlroof::compare
