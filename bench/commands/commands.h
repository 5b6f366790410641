// The subcommands of dlroof. Each adds itself to the program and runs when it was given; the result
// is the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace dlroof {

// What `run` returns, of a command whose exit code 1 says that something is slower: what nobody
// foresaw is thrown as BadInput, with the command's name and its reason.
int VerdictOf(const char* command, const std::function<int()>& run);

void AddMachineCommand(CLI::App& program, int& exit_code);
void AddReportCommand(CLI::App& program, int& exit_code);
void AddCompareCommand(CLI::App& program, int& exit_code);
void AddDashboardCommand(CLI::App& program, int& exit_code);
void AddHistoryCommand(CLI::App& program, int& exit_code);
void AddExportCommand(CLI::App& program, int& exit_code);
void AddRunCommand(CLI::App& program, int& exit_code);
void AddModelCommand(CLI::App& program, int& exit_code);
void AddCountersCommand(CLI::App& program, int& exit_code);
void AddImportCommand(CLI::App& program, int& exit_code);
void AddDoctorCommand(CLI::App& program, int& exit_code);

}  // namespace dlroof
