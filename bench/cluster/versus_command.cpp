// dlroof cluster versus: the same operators on two clusters, a GPU's beside a CPU's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/versus/versus.h"
#include "baselines/versus/versus_models.h"
#include "baselines/versus/write_versus.h"
#include "bench/cluster/cluster_models.h"
#include "bench/cluster/commands.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/versus_figure.h"
#include "reporters/record/joined_run.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr std::array kVersusOutputs = {".html", ".md", ".csv", ".json", ".svg", ".pdf", ".png"};

struct VersusFlags {
  std::string a, b;  // files, with commas
  std::string prices;
  std::vector<std::string> suites;
  std::vector<int> devices;  // of a node: A's, B's
  std::vector<std::string> outputs;
  std::string types = "same";
};

// `devices`: what the user says; 0: nothing.
cluster::VersusCluster ReadCluster(const std::string& paths, int devices, const cluster::Prices* prices) {
  std::vector<std::pair<std::string, record::RunFile>> files;
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ',');)
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  if (files.empty()) throw BadInput("cluster versus: expected a run file, not ''");
  auto joined = files.size() == 1 ? std::move(files.front().second) : record::JoinedRun(std::move(files));
  auto known = devices > 0 ? std::optional(devices) : DevicesPerNode(joined);
  if (!known && prices != nullptr && !joined.machines.empty())
    if (const auto* price = cluster::PriceOf(*prices, joined.machines.front())) known = price->devices;
  return {.where = paths,
          .run = roofline::PlaceRun(std::move(joined)),
          .devices = known.value_or(1),
          .devices_known = known.has_value()};
}

figure::VersusFigure FigureOf(const cluster::VersusReport& report) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& row : report.versus.rows) pairs.emplace_back(row.a.record, row.b.record);
  return figure::MakeVersusFigure(report.a->run, report.b->run, pairs);
}

std::string PageOf(const cluster::VersusReport& report) {
  std::string why;
  const auto figure = figure::PageFigure([&] { return figure::VersusScript(FigureOf(report), "svg"); }, why);
  std::ostringstream page;
  cluster::WriteVersusPage(report, figure, why, page);
  return page.str();
}

void WriteVersusOutput(const cluster::VersusReport& report, const std::string& path) {
  const auto write = [&](const auto& writer) {
    std::ostringstream out;
    writer(report, out);
    WriteFile(path, out.str());
  };
  if (path.ends_with(".html"))
    WriteFile(path, PageOf(report));
  else if (path.ends_with(".md"))
    write(cluster::WriteVersusMarkdown);
  else if (path.ends_with(".csv"))
    write(cluster::WriteVersusCsv);
  else if (path.ends_with(".json"))
    WriteFile(path, cluster::VersusJson(report).dump(1) + '\n');
  else
    figure::WriteVersusFigure(FigureOf(report), path);
  std::cerr << "wrote " << path << '\n';
}

void CheckVersusFlags(const VersusFlags& flags) {
  for (const auto& path : flags.outputs)
    if (!std::ranges::any_of(kVersusOutputs, [&](const char* end) { return path.ends_with(end); }))
      throw BadInput("-o {}: unknown extension, expected one of {}", path,
                     fmt::join(kVersusOutputs, ", "));
  if (flags.devices.size() == 1)
    throw BadInput("--devices: expected two numbers, A's and B's, such as 1,8");
}

void RunVersus(const VersusFlags& flags) {
  CheckVersusFlags(flags);
  std::optional<cluster::Prices> prices;
  if (!flags.prices.empty()) prices = cluster::ReadPrices(flags.prices);
  const auto* given = prices ? &*prices : nullptr;
  const auto devices = [&](std::size_t side) {
    return flags.devices.empty() ? 0 : flags.devices[side];
  };
  const auto a = ReadCluster(flags.a, devices(0), given);
  const auto b = ReadCluster(flags.b, devices(1), given);
  cluster::VersusReport report{.a = &a, .b = &b};
  report.versus = cluster::MakeVersus(
      a, b, {.prices = given, .is_manner = IsMannerOption, .best_type = flags.types == "best"});
  report.models = cluster::MakeVersusModels(a, b, ModelsOfSuites(flags.suites, a, b), IsMannerOption, given);
  cluster::WriteVersusTable(report, text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteVersusOutput(report, path);
}

}  // namespace

void AddClusterVersus(CLI::App& cluster) {
  auto flags = std::make_shared<VersusFlags>();
  auto* command = cluster.add_subcommand(
      "versus",
      "the same operators on two clusters: times, % of roof, how many nodes of A equal one of B, "
      "costs");
  command->add_option("A", flags->a, "run file, or several of one machine with commas")->required();
  command->add_option("B", flags->b, "run file, or several of one machine with commas")->required();
  command->add_option("--prices", flags->prices,
                      "file of prices: {\"currency\": \"USD\", \"kinds\": [{\"match\": {\"name\": "
                      "\"AMD EPYC\"}, \"per_node_hour\": 1.2}]} (no default)");
  command
      ->add_option("--suite", flags->suites,
                   "also sum up the layers of this model (default: those that the runs name)")
      ->allow_extra_args(false);
  command
      ->add_option("--devices", flags->devices,
                   "devices of a node of A and of B, such as 1,8 (default: as the files say, or 1)")
      ->delimiter(',')
      ->expected(1, 2)
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--types", flags->types,
                   "same: pairs have one type; best: each side has its fastest record of an "
                   "operator, of any type (same)")
      ->check(CLI::IsMember({"same", "best"}));
  command
      ->add_option("-o,--output", flags->outputs,
                   "also write x.html (page), x.md, x.csv, x.json, or x.svg, x.pdf, x.png (both "
                   "rooflines)")
      ->allow_extra_args(false);
  command->callback([flags] { RunVersus(*flags); });
}

}  // namespace dlroof::cluster_run
