#include "baselines/cluster/versus_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

constexpr std::array<std::string_view, 2> kPasses = {"inference", "training"};

// One call of a layer.
struct LayerCall {
  record::Timing timing;
  Energies energies;
};

// The fastest timed record of each operator, for one type and library.
class TimesOf {
 public:
  TimesOf(const VersusCluster& cluster, std::string type, std::string library,
          const IsImplementationOption& is_implementation_option, const Prices* prices) {
    for (std::size_t i = 0; i < cluster.run.file.records.size(); ++i) {
      const auto& record = cluster.run.file.records[i];
      const auto& timing = cluster.run.places[i].timing;
      if (record.status != record::Status::kOk || !timing || record.type != type ||
          record.library != library)
        continue;
      auto& best = times_[{record.op, record.problem, record.direction,
                           WithoutImplementationOptions(record.options, is_implementation_option)}];
      if (!best || timing->median < best->timing.median)
        best = {*timing, EnergiesOf(cluster.run.file, record, *timing, cluster.devices, prices)};
    }
  }

  std::optional<LayerCall> Of(const VersusLayer& layer, const std::string& direction) const {
    const auto found = times_.find({layer.op, layer.problem, direction, layer.options});
    return found == times_.end() ? std::nullopt : found->second;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::vector<std::string>>;
  std::map<Key, std::optional<LayerCall>> times_;
};

// A sum of times; the half-widths of their intervals are added in quadrature (MOVER).
class TimeSum {
 public:
  EnergySum energies;

  void Add(const LayerCall& call, double count) {
    const auto& timing = call.timing;
    energies.Add(call.energies, count);
    sum_.median += count * timing.median;
    sum_.noisy = sum_.noisy || timing.noisy;
    sum_.clean = any_ ? std::min(sum_.clean, timing.clean) : timing.clean;
    any_ = true;
    known_ = known_ && timing.ci95.has_value();
    if (!timing.ci95) return;
    below_ = std::hypot(below_, count * (timing.median - timing.ci95->first));
    above_ = std::hypot(above_, count * (timing.ci95->second - timing.median));
  }
  std::optional<record::Timing> Total() const {
    if (!any_) return std::nullopt;
    record::Timing total = sum_;
    if (known_ && below_ < total.median)
      total.ci95 = {total.median - below_, total.median + above_};
    return total;
  }

 private:
  record::Timing sum_;
  bool any_ = false, known_ = true;
  double below_ = 0, above_ = 0;  // [s]
};

// Returns the layer's calls in a pass ("inference", "training"), if all of them were timed. The two
// gradients may be one call ("bwd") or two.
std::optional<std::vector<LayerCall>> PassCalls(const TimesOf& times, const VersusLayer& layer,
                                                std::string_view pass) {
  std::vector<LayerCall> all;
  const auto add = [&](const std::string& direction) {
    const auto call = times.Of(layer, direction);
    if (call) all.push_back(*call);
    return call.has_value();
  };
  if (pass == "inference")
    return add("fwd_inference") || add("fwd") ? std::optional(all) : std::nullopt;
  if (!add("fwd") && !add("fwd_training")) return std::nullopt;
  const bool data = layer.directions.contains("bwd_data");
  const bool weights = layer.directions.contains("bwd_weights");
  const bool both = layer.directions.contains("bwd") || (data && weights);
  const auto forward = all;
  if ((!data && !both) || add("bwd_data"))
    if ((!weights && !both) || add("bwd_weights")) return all;
  all = forward;
  return both && add("bwd") ? std::optional(all) : std::nullopt;
}

VersusModel CompareModel(const Model& model, std::string_view pass, const TimesOf& in_a,
                         const TimesOf& in_b) {
  VersusModel row{
      .model = model.name, .pass = std::string(pass), .type = "", .library_a = "", .library_b = ""};
  TimeSum sum_a, sum_b;
  for (const auto& layer : model.layers) {
    row.layers += layer.count;
    const auto a = PassCalls(in_a, layer, pass), b = PassCalls(in_b, layer, pass);
    if (a) row.in_a += layer.count;
    if (b) row.in_b += layer.count;
    if (!a || !b) {
      row.missing.push_back(layer.problem);
      continue;
    }
    row.in_both += layer.count;
    for (const auto& call : *a) sum_a.Add(call, layer.count);
    for (const auto& call : *b) sum_b.Add(call, layer.count);
  }
  row.a = sum_a.Total();
  row.b = sum_b.Total();
  row.energies_a = sum_a.energies.Total();
  row.energies_b = sum_b.energies.Total();
  row.energy_ratios = EnergyRatios(row.energies_a, row.energies_b);
  return row;
}

void SetNodes(const VersusCluster& a, const VersusCluster& b, VersusModel& row) {
  if (!row.a || !row.b) return;
  const double devices = static_cast<double>(b.devices) / a.devices;
  row.nodes_of_a = devices * row.a->median / row.b->median;
  row.nodes_ci95 = RatioInterval(row.a->median, row.a->ci95, row.b->median, row.b->ci95);
  if (!row.nodes_ci95) return;
  row.nodes_ci95->first *= devices;
  row.nodes_ci95->second *= devices;
}

std::set<std::string> Libraries(const VersusCluster& cluster, const std::string& type) {
  std::set<std::string> libraries;
  for (std::size_t i = 0; i < cluster.run.file.records.size(); ++i)
    if (cluster.run.file.records[i].type == type && cluster.run.places[i].timing)
      libraries.insert(cluster.run.file.records[i].library);
  return libraries;
}

std::vector<std::string> Types(const VersusCluster& cluster) {
  std::vector<std::string> types;
  for (const auto& record : cluster.run.file.records)
    if (std::ranges::find(types, record.type) == types.end()) types.push_back(record.type);
  return types;
}

bool HasPass(const Model& model, std::string_view pass) {
  if (pass == "inference") return true;
  return std::ranges::any_of(model.layers, [](const VersusLayer& layer) {
    return std::ranges::any_of(layer.directions, [](const std::string& direction) {
      return direction.starts_with("bwd");
    });
  });
}

// Adds the rows of one model and data type.
void AddRows(const VersusCluster& a, const VersusCluster& b, const Model& model,
             const std::string& type, const IsImplementationOption& is_implementation_option,
             const Prices* prices, std::vector<VersusModel>& rows) {
  for (const auto& library_a : Libraries(a, type))
    for (const auto& library_b : Libraries(b, type)) {
      const TimesOf in_a(a, type, library_a, is_implementation_option, prices);
      const TimesOf in_b(b, type, library_b, is_implementation_option, prices);
      for (const auto pass : kPasses) {
        auto row = CompareModel(model, pass, in_a, in_b);
        if (row.in_both == 0 || !HasPass(model, pass)) continue;
        std::tie(row.type, row.library_a, row.library_b) = std::tie(type, library_a, library_b);
        SetNodes(a, b, row);
        rows.push_back(std::move(row));
      }
    }
}

std::vector<std::pair<std::string, double>> LayerNames(const nlohmann::json& suite) {
  std::vector<std::pair<std::string, double>> names;
  const auto& layers = record::Member(suite, "layers");
  if (!layers.is_array()) return names;
  for (const auto& layer : layers) {
    const auto& count = record::Member(layer, "count");
    names.emplace_back(record::Text(layer, "name"), count.is_number() ? count.get<double>() : 1);
  }
  return names;
}

std::string TimeText(const record::Timing& timing) {
  return fmt::format("{}{}", roofline::MarkOf(timing.noisy), text::WithPrefix(timing.median, "s"));
}

std::string ShareText(const VersusSide& side) {
  if (!side.share) return "";
  const auto& [share, at_most] = *side.share;
  return fmt::format("{}{}{:.{}f}{}", roofline::AtMostMark(at_most),
                     roofline::MarkOf(side.timing.noisy), 100 * share, share < 0.0995 ? 2 : 1,
                     side.specified ? " (specified)" : "");
}

std::string IntervalText(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 ? fmt::format("{} to {}", text::ThreeDigits(ci95->first),
                            text::ThreeDigits(ci95->second))
              : "";
}

std::string NodesText(const VersusRow& row) {
  return fmt::format("{}{}", roofline::MarkOf(row.noisy), text::ThreeDigits(row.nodes_of_a));
}

std::string CostText(const std::optional<double>& cost) {
  return cost ? text::ThreeDigits(*cost) : "";
}

std::string JoulesText(const Energies& energies, EnergyClass kind) {
  const auto found = energies.find(kind);
  if (found == energies.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.noisy),
                     text::WithPrefix(found->second.joules, "J"));
}

std::string RatioText(const std::map<EnergyClass, EnergyRatio>& ratios, EnergyClass kind) {
  const auto found = ratios.find(kind);
  if (found == ratios.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.noisy),
                     text::ThreeDigits(found->second.a_over_b));
}

// Returns the energy classes that occur in at least one row.
std::vector<EnergyClass> ClassesOf(const VersusReport& report) {
  std::vector<EnergyClass> classes;
  for (const auto kind : kEnergyClasses)
    if (std::ranges::any_of(report.versus.rows, [&](const VersusRow& row) {
          return row.a.energies.contains(kind) || row.b.energies.contains(kind);
        }))
      classes.push_back(kind);
  return classes;
}

void AddEnergyHead(const VersusReport& report, std::vector<std::string>& head) {
  for (const auto kind : ClassesOf(report)) {
    const auto mark = kind == EnergyClass::kMeasured ? "" : fmt::format(" ({})", Key(kind));
    head.insert(head.end(), {fmt::format("A energy{}", mark), fmt::format("B energy{}", mark),
                             fmt::format("A/B energy{}", mark)});
  }
}

void AddEnergyCells(const VersusReport& report, const Energies& a, const Energies& b,
                    const std::map<EnergyClass, EnergyRatio>& ratios,
                    std::vector<std::string>& line) {
  for (const auto kind : ClassesOf(report))
    line.insert(line.end(), {JoulesText(a, kind), JoulesText(b, kind), RatioText(ratios, kind)});
}

// Returns what a cluster's energies include: "powercap: packages and DRAM; no fans".
std::string CoversText(const VersusReport& report, const VersusCluster& cluster,
                       const VersusSide VersusRow::*side) {
  std::set<std::string> covers;
  for (const auto& row : report.versus.rows)
    if (const auto& energy = cluster.run.file.records[(row.*side).record].energy)
      covers.insert(fmt::format("{}: {}", energy->from, energy->covers));
  return covers.empty() ? "not measured" : fmt::format("{}", fmt::join(covers, " or "));
}

// Returns the names of the logs of a cluster's power meters: "watts.csv".
std::string MetersText(const VersusReport& report, const VersusCluster& cluster,
                       const VersusSide VersusRow::*side) {
  std::set<std::string> logs;
  for (const auto& row : report.versus.rows)
    if (const auto& metered = cluster.run.file.records[(row.*side).record].metered)
      logs.insert(metered->from);
  return logs.empty() ? "not metered" : fmt::format("{}", fmt::join(logs, " or "));
}

void AddEnergyNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto classes = ClassesOf(report);
  if (std::ranges::count(classes, EnergyClass::kMeasured) > 0)
    notes.push_back(fmt::format("energy: of one call, by counters. A: {}. B: {}",
                                CoversText(report, *report.a, &VersusRow::a),
                                CoversText(report, *report.b, &VersusRow::b)));
  if (std::ranges::count(classes, EnergyClass::kMetered) > 0)
    notes.push_back(fmt::format(
        "energy (metered): of one call, by node meters: all power of the node there, idle parts "
        "too. "
        "Both sides' meters may cover different things (power supply, fans). A: {}. B: {}",
        MetersText(report, *report.a, &VersusRow::a),
        MetersText(report, *report.b, &VersusRow::b)));
  if (std::ranges::count(classes, EnergyClass::kAssumed) > 0)
    notes.emplace_back(
        "energy (assumed): the watts of a node under load in the file of prices, times the call's "
        "seconds; not measured, and never compared with a measurement");
}

bool HasCosts(const VersusReport& report) { return !report.versus.currency.empty(); }

bool HasSeveralDevices(const VersusReport& report) {
  return report.a->devices > 1 || report.b->devices > 1;
}

std::string DeviceText(const VersusCluster& cluster) {
  return fmt::format("{} {}{}", cluster.devices, cluster.devices == 1 ? "device" : "devices",
                     cluster.devices > 1     ? " (its rate is that many times one device's)"
                     : cluster.devices_known ? ""
                                             : " (number assumed)");
}

void AddPriceNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto& versus = report.versus;
  if (versus.currency.empty()) {
    notes.emplace_back("no prices were specified (--prices): no costs");
    return;
  }
  notes.push_back(fmt::format("cost: {} for 1e15 FLOP of this operator. A: {}. B: {}",
                              versus.currency, versus.price_a, versus.price_b));
}

// Returns the positions of `some` in `kinds`, from 1.
std::string NumbersText(const std::vector<std::string>& some,
                        const std::vector<std::string>& kinds) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto& one : some)
    numbers.push_back(1 + std::distance(kinds.begin(), std::ranges::find(kinds, one)));
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, ","));
}

// Returns the number of rows that are bound by overhead on the cluster `side`.
std::size_t BoundByOverhead(const VersusReport& report, const VersusSide VersusRow::*side) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.versus.rows, [&](const VersusRow& row) { return (row.*side).bound_by_overhead; }));
}

void AddOverheadNotes(const VersusReport& report, std::vector<std::string>& notes) {
  for (const auto& [name, side] : {std::pair("A", &VersusRow::a), {"B", &VersusRow::b}})
    if (const auto count = BoundByOverhead(report, side))
      notes.push_back(fmt::format(
          "{} rows of {} are bound by overhead: their times are those of launching calls, and say "
          "little about the device",
          count, name));
}

std::string LibrariesOf(const VersusReport& report, const VersusRow& row) {
  return fmt::format("{} | {}", report.a->run.file.records[row.a.record].library,
                     report.b->run.file.records[row.b.record].library);
}

// Returns the libraries if all operators have the same two: a note names them, not each row.
std::optional<std::string> CommonLibraries(const VersusReport& report) {
  const auto& rows = report.versus.rows;
  if (rows.empty()) return std::nullopt;
  const auto first = LibrariesOf(report, rows.front());
  const bool same = std::ranges::all_of(
      rows, [&](const VersusRow& row) { return LibrariesOf(report, row) == first; });
  return same ? std::optional(first) : std::nullopt;
}

}  // namespace

std::vector<std::string> WithoutImplementationOptions(
    const std::vector<std::string>& options,
    const IsImplementationOption& is_implementation_option) {
  std::vector<std::string> others;
  for (const auto& option : options)
    if (!is_implementation_option || !is_implementation_option(option)) others.push_back(option);
  return others;
}

Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsImplementationOption& is_implementation_option) {
  Model model{.name = suite, .layers = {}};
  using Key = std::tuple<std::string, std::string, std::vector<std::string>>;
  std::map<Key, std::size_t> index_of;
  for (const auto& [name, count] : names) {
    record::Record record{.name = name};
    record::SplitName(record);
    if (record.problem.empty()) continue;
    const auto options = WithoutImplementationOptions(record.options, is_implementation_option);
    const auto [found, added] =
        index_of.try_emplace({record.op, record.problem, options}, model.layers.size());
    if (added)
      model.layers.push_back({.op = record.op,
                              .problem = record.problem,
                              .options = options,
                              .directions = {},
                              .count = count});
    auto& layer = model.layers[found->second];
    layer.directions.insert(record.direction);
    layer.count = std::max(layer.count, count);
  }
  return model;
}

std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option) {
  std::vector<Model> models;
  for (const auto* cluster : {&a, &b}) {
    const auto& suites =
        record::Member(record::Member(cluster->run.file.context, "dlroof"), "suites");
    if (!suites.is_array()) continue;
    for (const auto& suite : suites) {
      const auto name = record::Text(suite, "name");
      const bool known =
          std::ranges::any_of(models, [&](const Model& model) { return model.name == name; });
      auto model = ModelFromNames(name, LayerNames(suite), is_implementation_option);
      if (!known && !model.layers.empty()) models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const IsImplementationOption& is_implementation_option,
                                          const Prices* prices) {
  std::vector<VersusModel> rows;
  const auto types_b = Types(b);
  for (const auto& model : models) {
    const auto before = rows.size();
    for (const auto& type : Types(a))
      if (std::ranges::find(types_b, type) != types_b.end())
        AddRows(a, b, model, type, is_implementation_option, prices, rows);
    if (rows.size() > before) continue;
    VersusModel none{.model = model.name, .pass = "", .type = "", .library_a = "", .library_b = ""};
    for (const auto& layer : model.layers) none.layers += layer.count;
    rows.push_back(std::move(none));
  }
  return rows;
}

std::string MachinesText(const VersusCluster& cluster) {
  std::vector<std::string> texts;
  for (const auto& machine : cluster.run.file.machines) {
    auto text = machine.name;
    if (machine.device == "cpu" && !machine.by_threads.empty())
      text += fmt::format(" ({} threads)", machine.by_threads.rbegin()->first);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.empty() ? "unknown machine" : fmt::format("{}", fmt::join(texts, " + "));
}

formats::Cells OperatorCells(const VersusReport& report) {
  const bool several = HasSeveralDevices(report), costs = HasCosts(report);
  const bool libraries = !CommonLibraries(report);
  std::vector<std::string> head = {"operator", "A", "B"};
  if (several) head.insert(head.end(), {"A calls/s node", "B calls/s node"});
  head.insert(head.end(),
              {"A % roof", "B % roof", "A bound", "B bound", "nodes of A for one of B", "95 %"});
  if (costs) head.insert(head.end(), {"A cost", "B cost"});
  AddEnergyHead(report, head);
  if (libraries) head.emplace_back("libraries");
  head.emplace_back("differs");
  const auto kinds = DifferenceKinds(report.versus);
  formats::Cells cells = {head};
  for (const auto& row : report.versus.rows) {
    std::vector<std::string> line = {row.key, TimeText(row.a.timing), TimeText(row.b.timing)};
    if (several)
      line.insert(line.end(), {text::ThreeDigits(row.a.node_calls_per_second),
                               text::ThreeDigits(row.b.node_calls_per_second)});
    line.insert(line.end(), {ShareText(row.a), ShareText(row.b), row.a.bound, row.b.bound,
                             NodesText(row), IntervalText(row.nodes_ci95)});
    if (costs) line.insert(line.end(), {CostText(row.a.cost), CostText(row.b.cost)});
    AddEnergyCells(report, row.a.energies, row.b.energies, row.energy_ratios, line);
    if (libraries) line.push_back(LibrariesOf(report, row));
    line.push_back(NumbersText(row.differences, kinds));
    cells.push_back(std::move(line));
  }
  return cells;
}

formats::Cells ModelCells(const VersusReport& report) {
  std::vector<std::string> head = {
      "model", "pass", "type", "layers", "A", "B", "nodes of A for one of B", "95 %", "libraries"};
  AddEnergyHead(report, head);
  formats::Cells cells = {head};
  for (const auto& model : report.models) {
    const bool both = model.a && model.b;
    cells.push_back({model.model, model.pass, model.type,
                     fmt::format("{:.0f} of {:.0f}", model.in_both, model.layers),
                     both ? TimeText(*model.a) : "", both ? TimeText(*model.b) : "",
                     model.nodes_of_a
                         ? fmt::format("{}{}", roofline::MarkOf(model.a->noisy || model.b->noisy),
                                       text::ThreeDigits(*model.nodes_of_a))
                         : "",
                     IntervalText(model.nodes_ci95),
                     both ? fmt::format("{} | {}", model.library_a, model.library_b) : ""});
    AddEnergyCells(report, model.energies_a, model.energies_b, model.energy_ratios, cells.back());
  }
  return cells;
}

std::vector<std::string> VersusNotes(const VersusReport& report) {
  const auto& versus = report.versus;
  std::vector<std::string> notes = {
      fmt::format("A: {} ({}), a node has {}", MachinesText(*report.a), report.a->where,
                  DeviceText(*report.a)),
      fmt::format("B: {} ({}), a node has {}", MachinesText(*report.b), report.b->where,
                  DeviceText(*report.b)),
      fmt::format("{} operators are on both sides; {} with a time are only on A's, {} only on B's",
                  versus.operators, versus.only_a, versus.only_b)};
  if (const auto libraries = CommonLibraries(report))
    notes.push_back(fmt::format("libraries (A | B): {}", *libraries));
  AddPriceNotes(report, notes);
  AddEnergyNotes(report, notes);
  AddOverheadNotes(report, notes);
  const bool specified = std::ranges::any_of(
      versus.rows, [](const VersusRow& row) { return row.a.specified || row.b.specified; });
  if (specified)
    notes.emplace_back("(specified): the roof is from a data sheet or a paper, not measured");
  const bool noisy = std::ranges::any_of(versus.rows, &VersusRow::noisy);
  if (noisy) notes.emplace_back(roofline::kNoisyMeaning);
  const bool absent =
      std::ranges::any_of(versus.rows, [](const VersusRow& row) { return !row.nodes_ci95; });
  if (absent)
    notes.emplace_back("without 95 %: one of the two times has no interval (too few repetitions)");
  for (const auto& model : report.models)
    if (!model.missing.empty())
      notes.push_back(fmt::format("{} {}: {} problem{} of the model not on both sides, such as {}",
                                  model.model, model.pass, model.missing.size(),
                                  model.missing.size() == 1 ? "" : "s", model.missing.front()));
  return notes;
}

std::vector<std::string> DifferenceKinds(const Versus& versus) {
  std::vector<std::string> kinds;
  for (const auto& row : versus.rows)
    for (const auto& difference : row.differences)
      if (std::ranges::find(kinds, difference) == kinds.end()) kinds.push_back(difference);
  return kinds;
}

}  // namespace dlroof::cluster
