#include "baselines/cluster/versus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/record/run_context.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

using SampleTime = std::optional<double> record::GpuSample::*;

// Unless a repetition lacks `field`, replaces all repetitions' seconds by it, sets record.timed,
// and marks noisy repetitions again, unless repetitions are nodes (`is_node`).
void Replace(SampleTime field, const char* timed, bool is_node, record::Record& record) {
  const auto has = [&](const record::Repetition& repetition) {
    return repetition.gpu && (*repetition.gpu).*field;
  };
  if (record.repetitions.empty() || !std::ranges::all_of(record.repetitions, has)) return;
  record.timed = timed;
  for (auto& repetition : record.repetitions) repetition.seconds = *((*repetition.gpu).*field);
  if (is_node) return;
  if (timed != record::timed::kCall) {  // the device's time does not include the host
    for (auto& repetition : record.repetitions)
      repetition.noisy = record::IsThrottled(*repetition.gpu);
    return;
  }
  for (auto& repetition : record.repetitions) {
    auto sample = *repetition.gpu;
    sample.call_seconds.reset();  // so that MarkNoisy judges the repetition as timed calls
    repetition.gpu = std::make_shared<const record::GpuSample>(sample);
  }
  record::MarkNoisy(record.repetitions);
}

PriceKind ReadKind(const JsonReader& kind) {
  kind.RefuseOtherKeys({"match", "devices", "per_node_hour", "watts"});
  const auto match = kind.Object("match");
  match.RefuseOtherKeys({"name", "fingerprint"});
  PriceKind price;
  price.name = match.TextOr("name", "");
  price.fingerprint = match.TextOr("fingerprint", "");
  if (price.name.empty() && price.fingerprint.empty())
    kind.Refuse("match", "'name' or 'fingerprint'");
  if (kind.Has("devices")) {
    const double devices = kind.NumberIn("devices", 1, 1024);
    if (devices != std::floor(devices)) kind.Refuse("devices", "a whole number");
    price.devices = static_cast<int>(devices);
  }
  price.per_node_hour = kind.NumberIn("per_node_hour", 1e-6, 1e9);  // in any currency
  const auto& watts = RangeOf("_watts");
  if (kind.Has("watts")) price.watts = kind.NumberIn("watts", watts.least, watts.most);
  return price;
}

Quantity Times(double factor, Quantity quantity) {
  quantity.value *= factor;
  if (quantity.ci95)
    quantity.ci95 = {factor * quantity.ci95->first, factor * quantity.ci95->second};
  return quantity;
}

// If A's and B's FLOPs of a problem differ by a larger share [1], their counting rules differ.
constexpr double kSameFlops = 0.01;

// Returns VersusRow::key with this type, or "" for a record whose name has no problem.
std::string KeyOfType(const record::Record& record, const std::string& type,
                      const IsImplementationOption& is_implementation_option) {
  if (record.problem.empty()) return "";
  auto key = fmt::format("{}/{}/{}/{}", record.op, record.direction, type, record.problem);
  for (const auto& option : WithoutImplementationOptions(record.options, is_implementation_option))
    key += '/' + option;
  return key;
}

// Returns the record's FLOPs from the most trusted provenance that has them, and the provenance's
// key; nullopt and "unknown" if none has them.
std::pair<std::optional<double>, std::string_view> BestFlops(const record::Record& record) {
  for (const auto from : AllProvenances())
    if (const auto flops = CountedFlops(record, from)) return {flops, Key(from)};
  return {std::nullopt, "unknown"};
}

VersusSide SideOf(const VersusCluster& cluster, std::size_t index, const Prices* prices) {
  const auto& placed = cluster.run.places[index];
  VersusSide side{CallOf(cluster, index, prices), index};
  side.node_calls_per_second = cluster.devices * (1 / side.seconds.value);
  side.fallback = IsFallback(placed);
  side.counted_flops = BestFlops(cluster.run.file.records[index]).first;
  auto time = placed.placement.time;
  if (!time) return side;
  side.specified = std::exchange(time->specified, false);  // so that BoundText does not repeat it
  side.bound = roofline::BoundText(*time);
  side.bound_by_overhead = time->bound == roofline::Bound::kOverhead;
  side.share = roofline::RoofShareOf(placed.placement);
  return side;
}

bool Differ(double x, double y) { return std::abs(x - y) > kSameFlops * std::max(x, y); }

// Returns the FLOPs of one call on both clusters (VersusRow::flops), or nullopt if they differ.
std::optional<double> SharedFlops(const record::Record& a, const record::Record& b) {
  const auto in_a = CountedFlops(a, Provenance::kModelled);
  const auto in_b = CountedFlops(b, Provenance::kModelled);
  if (in_a && in_b && Differ(*in_a, *in_b)) return std::nullopt;
  if (in_a || in_b) return in_a ? in_a : in_b;
  const auto best_a = BestFlops(a).first, best_b = BestFlops(b).first;
  if (best_a && best_b && !Differ(*best_a, *best_b)) return best_a;
  return std::nullopt;
}

std::string RoofsText(const VersusSide& side) {
  if (side.bound.empty()) return "";
  return side.specified ? "given" : "measured";
}

// Returns e.g. "1 of 2 CPUs" if the call used fewer threads than its machine has CPUs, else "".
std::string PartOfCpus(const VersusCluster& cluster, const record::Record& record) {
  const auto* machine = record::MachineFor(cluster.run.file, record);
  if (machine == nullptr || record.device != "cpu" || !record.threads) return "";
  const auto cpus = machine->facts.find("allowed_cpus");
  if (cpus == machine->facts.end() || cpus->second == std::to_string(*record.threads)) return "";
  return fmt::format("{} of {} CPUs", *record.threads, cpus->second);
}

std::vector<std::string> Differences(const VersusCluster& cluster_a, const VersusSide& side_a,
                                     const VersusCluster& cluster_b, const VersusSide& side_b,
                                     CallTime times) {
  const auto& a = cluster_a.run.file.records[side_a.record];
  const auto& b = cluster_b.run.file.records[side_b.record];
  std::vector<std::string> differences;
  const auto add = [&](const char* what, const std::string& of_a, const std::string& of_b,
                       const char* unknown = "unknown") {
    if (of_a != of_b)
      differences.push_back(fmt::format("{}: {} | {}", what, of_a.empty() ? unknown : of_a,
                                        of_b.empty() ? unknown : of_b));
  };
  const auto options = [](const record::Record& record) {
    return record.options.empty() ? std::string("none")
                                  : fmt::format("{}", fmt::join(record.options, "/"));
  };
  const auto timed = [](const record::Record& record) {
    return record.device == "gpu" ? TimedText(record) : "calls back to back";
  };
  add("type", a.type, b.type);
  add("library", a.library, b.library);
  if (a.library == b.library) {  // they always differ between libraries
    add("algorithm", record::AlgorithmText(a), record::AlgorithmText(b));
    add("options", options(a), options(b));
  }
  add("cache", a.cache.value_or(""), b.cache.value_or(""));
  if (!IsTimed(times, a) || !IsTimed(times, b)) add("times", timed(a), timed(b));
  add("roofs", RoofsText(side_a), RoofsText(side_b));
  add("a node counts as", PartOfCpus(cluster_a, a), PartOfCpus(cluster_b, b), "a whole node");
  if (side_a.counted_flops && side_b.counted_flops &&
      Differ(*side_a.counted_flops, *side_b.counted_flops))
    differences.push_back(fmt::format("FLOPs, by more than {:g} %: {} | {}", 100 * kSameFlops,
                                      BestFlops(a).second, BestFlops(b).second));
  return differences;
}

VersusRow RowOf(const VersusCluster& a, std::size_t in_a, const VersusCluster& b, std::size_t in_b,
                const VersusOptions& options) {
  const auto& record_a = a.run.file.records[in_a];
  const auto& record_b = b.run.file.records[in_b];
  const auto types =
      record_a.type == record_b.type ? record_a.type : record_a.type + '|' + record_b.type;
  VersusRow row{.key = KeyOfType(record_a, types, options.is_implementation_option),
                .type = options.best_type ? "best" : ComparedType(record_a),
                .a = SideOf(a, in_a, options.prices),
                .b = SideOf(b, in_b, options.prices)};
  row.energy_ratio = EnergyRatio(row.a.energy, row.b.energy);
  row.flops = SharedFlops(record_a, record_b);
  row.nodes_of_a = NodesOfA(a, row.a.seconds, b, row.b.seconds);
  row.nodes_of_a.value = row.b.node_calls_per_second / row.a.node_calls_per_second;
  for (auto* side : {&row.a, &row.b})
    if (const auto flops = row.flops ? row.flops : side->counted_flops;
        side->call_cost && flops && *flops > 0)
      side->cost = *side->call_cost / *flops * 1e15;
  row.differences = Differences(a, row.a, b, row.b, options.times);
  return row;
}

std::string PriceText(const Prices& prices, const VersusCluster& cluster) {
  std::vector<std::string> texts;
  for (const auto& machine : cluster.run.file.machines) {
    const auto* price = PriceOf(prices, machine);
    auto text = price != nullptr ? fmt::format("{:g} {} per node and hour", price->per_node_hour,
                                               prices.currency)
                                 : fmt::format("no price for '{}'", machine.name);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.empty() ? "no price: the file describes no machine"
                       : fmt::format("{}", fmt::join(texts, "; "));
}

// Returns the price of all machines of a cluster, or null if one has no price or prices differ.
const PriceKind* FirstPrice(const Prices& prices, const VersusCluster& cluster) {
  const PriceKind* first = nullptr;
  for (const auto& machine : cluster.run.file.machines) {
    const auto* price = PriceOf(prices, machine);
    if (price == nullptr || (first != nullptr && price != first)) return nullptr;
    first = price;
  }
  return first;
}

}  // namespace

void UseTimes(CallTime wanted, record::RunFile& run) {
  const bool nodes = record::Member(record::Member(run.context, "dlroof"), "cluster").is_number();
  for (auto& record : run.records) {
    if (IsTimed(wanted, record)) continue;
    if (wanted == CallTime::kLatency)
      Replace(&record::GpuSample::call_seconds, record::timed::kCall, nodes, record);
    else
      Replace(&record::GpuSample::throughput_seconds, record::timed::kThroughput, nodes, record);
  }
}

bool IsTimed(CallTime wanted, const record::Record& record) {
  if (record.device != "gpu") return true;
  if (wanted == CallTime::kLatency) return record.timed == record::timed::kCall;
  return record::IsDeviceTime(record);
}

std::string TimedText(const record::Record& record) {
  if (record.device != "gpu") return "";
  if (record.timed == record::timed::kGraph) return "calls in a CUDA graph";
  if (record.timed == record::timed::kDevice) return "queued calls";
  if (record.timed == record::timed::kThroughput) return "calls back to back";
  if (record.timed == record::timed::kKernels) return "sum of kernels";
  if (record.timed == record::timed::kCall) return "a call with its launch";
  return "kind of time unknown";
}

Prices ParsePrices(const std::string& text, const std::string& where) {
  const auto parsed = HandwrittenJson(text, where);
  const JsonReader file(parsed, where);
  file.RefuseOtherKeys({"currency", "kinds"});
  if (file.Array("kinds").empty()) file.Refuse("kinds", "an array with at least one object");
  return {file.NonEmptyText("currency"), file.ItemsOf("kinds", ReadKind)};
}

Prices ReadPrices(const std::string& path) {
  return ParsePrices(ReadFile(path, "a file of prices"), path);
}

const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine) {
  return FindIf(prices.kinds, [&](const PriceKind& kind) {
    return machine.name.find(kind.name) != std::string::npos &&
           (kind.fingerprint.empty() || kind.fingerprint == machine.fingerprint);
  });
}

std::optional<double> CountedFlops(const record::Record& record, Provenance from) {
  const auto* work = FindValue(record.work, from);
  return work == nullptr ? std::nullopt : TotalFlops(*work);
}

std::vector<std::string> WithoutImplementationOptions(
    std::vector<std::string> options, const IsImplementationOption& is_implementation_option) {
  if (is_implementation_option) std::erase_if(options, is_implementation_option);
  return options;
}

std::string ComparedType(const record::Record& record) {
  return record.device == "gpu" && record.type == "tf32" ? "f32" : record.type;
}

std::map<std::string, std::size_t> FastestByKey(
    const roofline::PlacedRun& run,
    const std::function<std::string(const record::Record&)>& key_of) {
  std::map<std::string, std::size_t> fastest;
  const auto rank = [&](std::size_t i) {
    return std::pair(run.file.records[i].verified.empty(), run.places[i].timing->median);
  };
  for (std::size_t i = 0; i < run.file.records.size(); ++i) {
    const auto& record = run.file.records[i];
    if (record.status != record::Status::kOk || !run.places[i].timing) continue;
    const auto key = key_of(record);
    if (key.empty()) continue;
    const auto [found, added] = fastest.try_emplace(key, i);
    if (!added && rank(i) < rank(found->second)) found->second = i;
  }
  return fastest;
}

bool IsFallback(const roofline::Placed& placed) {
  const auto& time = placed.placement.time;
  const auto share = roofline::RoofShareOf(placed.placement);
  return time && time->bound != roofline::Bound::kOverhead && share &&
         share->value < kFallbackShare;
}

Versus MakeVersus(const VersusCluster& a, const VersusCluster& b, const VersusOptions& options) {
  record::CheckConventions(a.where, a.run.file, b.where, b.run.file, false);
  const auto key_of = [&](const record::Record& record) {
    return KeyOfType(record, options.best_type ? "best" : ComparedType(record),
                     options.is_implementation_option);
  };
  const auto in_a = FastestByKey(a.run, key_of), in_b = FastestByKey(b.run, key_of);
  Versus versus{.times = options.times};
  for (const auto& [key, i] : in_a)
    if (const auto found = in_b.find(key); found != in_b.end())
      versus.rows.push_back(RowOf(a, i, b, found->second, options));
    else
      ++versus.only_a[a.run.file.records[i].type];
  for (const auto& [key, i] : in_b)
    if (!in_a.contains(key)) ++versus.only_b[b.run.file.records[i].type];
  if (versus.rows.empty()) {
    const auto operators = [](const auto& in) {
      return in.empty() ? std::string("none with a time")
                        : fmt::format("{} with a time, such as '{}'", in.size(), in.begin()->first);
    };
    throw BadInput("{} ({}) and {} ({}) have no operator in common", a.where, operators(in_a),
                   b.where, operators(in_b));
  }
  const bool alike = std::ranges::all_of(versus.rows, [&](const VersusRow& row) {
    return record::CountFlopsAlike(a.run.file.context, b.run.file.context,
                                   a.run.file.records[row.a.record].op);
  });
  if (!alike) record::CheckConventions(a.where, a.run.file, b.where, b.run.file);
  std::ranges::sort(versus.rows, {}, [](const VersusRow& row) { return row.a.record; });
  versus.totals = TotalsOf(a, b, versus.rows);
  if (options.prices != nullptr) {
    versus.currency = options.prices->currency;
    versus.price_a = PriceText(*options.prices, a);
    versus.price_b = PriceText(*options.prices, b);
    const auto *of_a = FirstPrice(*options.prices, a), *of_b = FirstPrice(*options.prices, b);
    if (of_a != nullptr && of_b != nullptr) {
      versus.price_ratio = of_b->per_node_hour / of_a->per_node_hour;
      if (of_a->watts && of_b->watts) versus.watts_ratio = *of_b->watts / *of_a->watts;
    }
  }
  return versus;
}

VersusCall CallOf(const VersusCluster& cluster, std::size_t index, const Prices* prices) {
  const auto& record = cluster.run.file.records[index];
  VersusCall call{.seconds = QuantityOf(*cluster.run.places[index].timing)};
  if (const auto& energy = record.energy)
    call.energy = {energy->joules, energy->ci95, energy::HasOthersEnergy(*energy)};
  const auto* machine = prices == nullptr ? nullptr : record::MachineFor(cluster.run.file, record);
  const auto* price = machine == nullptr ? nullptr : PriceOf(*prices, *machine);
  if (price == nullptr) return call;
  const int devices = price->devices.value_or(cluster.devices);
  call.call_cost = price->per_node_hour / 3600 / devices * call.seconds.value;
  return call;
}

std::optional<Quantity> EnergyRatio(const std::optional<Quantity>& a,
                                    const std::optional<Quantity>& b) {
  return a && b ? std::optional(RatioOf(*a, *b)) : std::nullopt;
}

Quantity RatioOf(const Quantity& x, const Quantity& y) {
  Quantity ratio{.value = x.value / y.value, .noisy = x.noisy || y.noisy};
  if (!x.ci95 || !y.ci95) return ratio;
  const double below =
      std::hypot(std::log(x.value / x.ci95->first), std::log(y.ci95->second / y.value));
  const double above =
      std::hypot(std::log(x.ci95->second / x.value), std::log(y.value / y.ci95->first));
  const double middle = std::log(ratio.value);
  ratio.ci95 = {std::exp(middle - below), std::exp(middle + above)};
  return ratio;
}

Quantity QuantityOf(const record::Timing& timing) {
  return {timing.median, timing.ci95, timing.noisy};
}

Quantity NodesOfA(const VersusCluster& a, const Quantity& a_seconds, const VersusCluster& b,
                  const Quantity& b_seconds) {
  const double devices = static_cast<double>(b.devices) / a.devices;
  auto nodes = Times(devices, RatioOf(a_seconds, b_seconds));
  nodes.value = devices * a_seconds.value / b_seconds.value;
  return nodes;
}

void QuantitySum::Add(const Quantity& quantity, double count) {
  ++added_;
  sum_.value += count * quantity.value;
  sum_.noisy = sum_.noisy || quantity.noisy;
  interval_ = interval_ && quantity.ci95;
  if (!quantity.ci95) return;
  below_ = std::hypot(below_, count * (quantity.value - quantity.ci95->first));
  above_ = std::hypot(above_, count * (quantity.ci95->second - quantity.value));
}

std::optional<Quantity> QuantitySum::Total() const {
  if (added_ == 0) return std::nullopt;
  auto total = sum_;
  if (interval_ && below_ < total.value) total.ci95 = {total.value - below_, total.value + above_};
  return total;
}

}  // namespace dlroof::cluster
