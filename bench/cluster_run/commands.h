// The subcommands of `dlroof cluster`.
#pragma once

#include <CLI/CLI.hpp>

namespace dlroof::cluster_run {

// Each adds a subcommand to `cluster`, which runs if the command line names it, and sets the exit
// code unless it is 0.
void AddClusterScript(CLI::App& cluster);
void AddClusterNode(CLI::App& cluster, int& exit_code);
void AddClusterGather(CLI::App& cluster, int& exit_code);
void AddClusterReport(CLI::App& cluster);
void AddClusterVersus(CLI::App& cluster);
void AddClusterScale(CLI::App& cluster);

}  // namespace dlroof::cluster_run
