// The subcommands of `dlroof cluster`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dlroof {

// Each adds a subcommand to `cluster`. When it was given it runs and sets the exit code.
void AddClusterScript(CLI::App& cluster, int& exit_code);
void AddClusterNode(CLI::App& cluster, int& exit_code);
void AddClusterGather(CLI::App& cluster, int& exit_code);
void AddClusterReport(CLI::App& cluster, int& exit_code);
void AddClusterVersus(CLI::App& cluster, int& exit_code);
void AddClusterScale(CLI::App& cluster, int& exit_code);

}  // namespace dlroof
