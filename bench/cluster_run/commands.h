// The subcommands of `dlroof cluster`.
#pragma once

#include <CLI/CLI.hpp>

namespace dlroof::cluster_run {

// Each function adds a subcommand to `cluster`. The subcommand runs if the command line names it,
// and sets `exit_code` if its exit code is not 0.
void AddClusterScript(CLI::App& cluster);
void AddClusterNode(CLI::App& cluster, int& exit_code);
void AddClusterGather(CLI::App& cluster, int& exit_code);
void AddClusterReport(CLI::App& cluster, int& exit_code);
void AddClusterVersus(CLI::App& cluster);

}  // namespace dlroof::cluster_run
