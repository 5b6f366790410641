#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/formats/write_comparison.h"

namespace dlroof::formats {
namespace {

using nlohmann::json;

template <class T>
void PutIfKnown(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

json ToJson(const compare::Change& change) {
  json object = {{"kind", compare::Key(change.kind)}, {"text", change.text}};
  if (change.level) object["level"] = Key(*change.level);
  PutIfKnown(object, "ratio", change.ratio);
  return object;
}

json ToJson(const std::vector<compare::Residual>& residuals) {
  json object = json::object();
  for (const auto& residual : residuals)
    object[residual.of] = {{"base", residual.base},
                           {"new", residual.fresh},
                           {"moved", residual.moved},
                           {"worse", residual.worse}};
  return object;
}

json ToJson(const compare::Comparison& row) {
  json object = {{"name", row.name()}, {"verdict", statistics::Key(row.verdict)}};
  if (row.base != nullptr && row.base->name != row.name()) object["base_name"] = row.base->name;
  if (row.stored != nullptr) object["base_file"] = row.stored->where;
  if (!row.reason.empty()) object["reason"] = row.reason;
  if (row.judgement) {
    object["ratio"] = row.judgement->ratio;
    object["ci95"] = {row.judgement->ci95.first, row.judgement->ci95.second};
    object["p_value"] = row.judgement->p_value;
    object["adjusted_p_value"] = row.judgement->adjusted_p;
    if (row.judgement->with_all) object["moved_with_all"] = true;
  }
  PutIfKnown(object, "cliffs_delta", row.cliffs_delta);
  PutIfKnown(object, "base_seconds", row.base_seconds);
  PutIfKnown(object, "new_seconds", row.fresh_seconds);
  PutIfKnown(object, "base_fraction", row.base_fraction);
  PutIfKnown(object, "new_fraction", row.fresh_fraction);
  if (row.given_roof) object["given_roof"] = true;
  if (row.newly_failed) object["newly_failed"] = true;
  for (const auto& change : row.changes) object["changes"].push_back(ToJson(change));
  if (!row.residuals.empty()) object["residuals"] = ToJson(row.residuals);
  if (const auto why = row.Why(); !why.empty()) object["why"] = why;
  for (const auto& alert : row.alerts)
    object["alerts"].push_back({{"on", compare::Key(alert.on)}, {"text", alert.text}});
  return object;
}

json Header(const compare::CompareResult& result, const ComparedFiles& files) {
  json head = {{"base", files.base},
               {"new", files.fresh},
               {"judged_by", result.across_machines ? "fraction" : "seconds"},
               {"min_effect", result.min_effect},
               {"min_effect_from", result.min_effect_from},
               {"run_noise", result.noise.deviation},
               {"run_drift", result.noise.drift},
               {"run_noise_from", result.noise.from},
               {"false_discovery_rate", statistics::kFalseDiscoveryRate},
               {"exit_code", result.exit_code},
               {"differs", result.context},
               {"summary", json::object()}};
  for (const statistics::Verdict verdict : statistics::AllVerdicts()) {
    const auto found = result.count.find(verdict);
    head["summary"][std::string(statistics::Key(verdict))] = found == result.count.end() ? 0 : found->second;
  }
  if (result.again)
    head["measured_again"] = {{"file", result.again->where},
                              {"taken_back", result.again->taken_back},
                              {"unknown", result.again->unknown}};
  for (const auto& [of, mean] : result.residuals)
    head["mean_residuals"][of] = {
        {"base", mean.base}, {"new", mean.fresh}, {"benchmarks", mean.benchmarks}};
  if (result.common)
    head["moved_together"] = {{"ratio", std::exp(result.common->log_ratio)},
                              {"same_way", result.common->same_way},
                              {"benchmarks", result.common->benchmarks},
                              {"text", statistics::Describe(*result.common)}};
  for (const auto& part : result.parts)
    head["stored"].push_back(Header(part, {part.base, files.fresh}));
  return head;
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

// Row by row: as one object, 100,000 of them would take most of the memory and time.
void WriteJson(const compare::CompareResult& result, const ComparedFiles& files, std::ostream& out) {
  auto head = Header(result, files).dump(1, ' ', false, json::error_handler_t::replace);
  head.resize(head.rfind('\n'));
  out << head << ",\n \"benchmarks\": [";
  const char* before = "\n  ";
  for (const auto& row : result.rows) {
    out << before << Dump(ToJson(row));
    before = ",\n  ";
  }
  out << "\n ]\n}\n";
}

}  // namespace dlroof::formats
