// The subcommands of dlroof. Each adds itself to the program and runs when it was given; the result
// is the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace dlroof {

void AddMachineCommand(CLI::App& program, int& exit_code);
void AddReportCommand(CLI::App& program, int& exit_code);
void AddDoctorCommand(CLI::App& program, int& exit_code);

}  // namespace dlroof
