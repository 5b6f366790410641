// dlroof cluster versus: compares two clusters.

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/cluster/versus.h"
#include "bench/cluster_run/commands.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "reporters/figure/outputs.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

struct VersusFlags {
  std::string a, b;  // run files separated by commas
  std::optional<std::string> prices;
  std::vector<std::string> suites;
  std::vector<int> devices;  // number of devices per node: A's, B's
  std::vector<std::string> outputs;
  std::string types = "same";
  bool latency = false;

  cluster::CallTime times() const {
    return latency ? cluster::CallTime::kLatency : cluster::CallTime::kThroughput;
  }
};

// Returns whether an option in a benchmark's name selects how the library computes (layout,
// algorithm, threads), not what it computes.
bool IsMannerOption(std::string_view option) {
  if (option == "best" || option.starts_with("engine") || option.starts_with("threads"))
    return true;
  return std::ranges::any_of(workload::AllOps(), [&](const workload::Op* op) {
    return std::ranges::any_of(op->variants, [&](const workload::OpVariants& variants) {
      return std::ranges::find(variants.options, option) != variants.options.end();
    });
  });
}

// Returns the models of `suites` or, without suites, of the runs' contexts. Throws as SelectSuites.
std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites,
                                           const cluster::VersusCluster& a,
                                           const cluster::VersusCluster& b) {
  if (suites.empty()) return cluster::ModelsIn(a, b, IsMannerOption);
  std::vector<cluster::Model> models;
  for (const auto& suite : suites::SelectSuites(suites, {.cpu = true, .gpu = true}, "--suite")) {
    roofline::Suite named{suite.name, {}};
    for (const auto& layer : suite.layers)
      named.layers.push_back({layer.name, static_cast<double>(layer.count)});
    models.push_back(cluster::ModelOf(named, IsMannerOption));
  }
  return models;
}

std::optional<int> DevicesPerNode(const record::RunFile& file) {
  const auto& count = record::Member(record::Member(file.context, "dlroof"), "devices_per_node");
  if (count.is_number_integer() && count.get<int>() >= 1) return count.get<int>();
  return std::nullopt;
}

std::vector<std::string> PathsIn(const std::string& list) {
  std::vector<std::string> paths;
  std::istringstream in(list);
  for (std::string path; std::getline(in, path, ',');) paths.push_back(path);
  return paths;
}

// Reads the run files of one cluster. `devices` is the user's number of devices per node.
cluster::VersusCluster ReadCluster(const std::string& paths, std::optional<int> devices,
                                   const cluster::Prices* prices, cluster::CallTime times) {
  std::vector<std::pair<std::string, record::RunFile>> files;
  for (const auto& path : PathsIn(paths))
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  if (files.empty()) throw BadInput("cluster versus: expected a run file, not ''");
  auto joined =
      files.size() == 1 ? std::move(files.front().second) : record::JoinedRun(std::move(files));
  cluster::UseTimes(times, joined);
  auto known = devices ? devices : DevicesPerNode(joined);
  const auto node_times = cluster::EstimatesIn(joined.context);
  if (prices != nullptr && !joined.machines.empty())
    if (const auto* price = cluster::PriceOf(*prices, joined.machines.front())) {
      if (devices && price->devices && devices != price->devices)
        throw BadInput("--devices: {} devices in a node of '{}', but the file of prices says {}",
                       *devices, price->name, *price->devices);
      if (!known) known = price->devices;
    }
  return {.where = paths,
          .run = roofline::PlaceRun(std::move(joined)),
          .devices = known.value_or(1),
          .devices_known = known.has_value(),
          .node_times = node_times};
}

figure::VersusFigure FigureOf(const cluster::VersusReport& report) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& row : report.versus.rows) pairs.emplace_back(row.a.record, row.b.record);
  auto figure = figure::MakeVersusFigure(report.a->run, report.b->run, pairs);
  figure.name_a = cluster::MachinesText(*report.a);  // with the numbers of nodes
  figure.name_b = cluster::MachinesText(*report.b);
  return figure;
}

std::string VersusScript(const cluster::VersusReport& report, const std::string& extension) {
  return figure::VersusScript(FigureOf(report), extension);
}

std::string VersusPage(const cluster::VersusReport& report, const std::string&) {
  const auto [svg, why_none] = figure::DrawForPage([&] { return VersusScript(report, "svg"); });
  std::ostringstream page;
  document::WriteHtml(cluster::VersusDocument(report), cluster::VersusTitle(report), svg, why_none,
                      page);
  return page.str();
}

std::string VersusText(const cluster::VersusReport& report, const std::string& extension) {
  std::ostringstream text;
  if (extension == "md")
    document::WriteMarkdown(cluster::VersusDocument(report), text);
  else
    text << JsonText(cluster::VersusJson(report), 1) << '\n';
  return text.str();
}

int RunVersus(const VersusFlags& flags) {
  const figure::Outputs<cluster::VersusReport> outputs(
      {{"html", VersusPage}, {"md", VersusText}, {"json", VersusText}}, VersusScript);
  auto inputs = PathsIn(flags.a + ',' + flags.b);
  if (flags.prices) inputs.push_back(*flags.prices);
  outputs.Check(flags.outputs, inputs);
  if (!flags.devices.empty() && flags.devices.size() != 2)
    throw BadInput("--devices: expected two numbers, for A and B, such as 1,8");
  std::optional<cluster::Prices> prices;
  if (flags.prices) prices = cluster::ReadPrices(*flags.prices);
  const auto* specified = prices ? &*prices : nullptr;
  const auto devices = [&](std::size_t side) {
    return flags.devices.empty() ? std::nullopt : std::optional(flags.devices[side]);
  };
  const auto a = ReadCluster(flags.a, devices(0), specified, flags.times());
  const auto b = ReadCluster(flags.b, devices(1), specified, flags.times());
  const cluster::VersusOptions options{.prices = specified,
                                       .is_implementation_option = IsMannerOption,
                                       .best_type = flags.types == "best",
                                       .times = flags.times()};
  const cluster::VersusReport report{
      &a, &b, cluster::MakeVersus(a, b, options),
      cluster::MakeVersusModels(a, b, ModelsOfSuites(flags.suites, a, b), options)};
  document::Write(cluster::VersusDocument(report), text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  outputs.Write(flags.outputs, report);
  return 0;
}

}  // namespace

runner::Command MakeClusterVersus() {
  auto flags = std::make_shared<VersusFlags>();
  return {
      .name = "versus",
      .about =
          "compare the same operators on two clusters: times, % of roof, the number of nodes of A "
          "that equal one of B, costs",
      .options =
          {runner::Ruled("A", {.type = runner::kFile, .required = true}, &flags->a,
                         "run file, or several of one machine separated by commas"),
           runner::Ruled("B", {.type = runner::kFile, .required = true}, &flags->b,
                         "run file, or several of one machine separated by commas"),
           runner::Ruled(
               "--prices", {.type = runner::kFile}, &flags->prices,
               "file of prices: {\"currency\": \"USD\", \"kinds\": [{\"match\": {\"name\": \"AMD "
               "EPYC\"}, \"per_node_hour\": 1.2}]} (no default)"),
           runner::Ruled(
               "--suite", {.type = runner::kSuite, .one_each = true}, &flags->suites,
               "also sum up the layers of this model (default: the models that the runs name)"),
           runner::Ruled(
               "--devices", {.limits = runner::Range{1, 1024}, .one_each = true, .comma = true},
               &flags->devices,
               "devices of a node of A and of B, such as 1,8 (default: from the files, or 1)"),
           runner::Ruled("--types", {.choices = {"same", "best"}}, &flags->types,
                         "same (default): pair records of the same data type; best: pair the "
                         "fastest records of "
                         "an operator, of any type"),
           {"--latency", &flags->latency,
            "compare single calls: on a GPU that is idle, with their launch (default: calls that "
            "follow each other, on a GPU by the device's time of queued calls)"},
           runner::Ruled("-o,--output", {.type = runner::kFile, .one_each = true}, &flags->outputs,
                         "also write x.html (page), x.md, x.json, or x.svg, x.pdf, x.png (both "
                         "rooflines)")},
      .run = [flags] { return RunVersus(*flags); }};
}

}  // namespace dlroof::cluster_run
