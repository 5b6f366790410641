// The command lines of dlroof and dlroof_bench, and how shells complete them.
#pragma once

#include "bench/command_line/completion.h"

namespace dlroof::commands {

// Describes all programs. `dlroof` has all its commands.
command_line::Completed DescribePrograms(CLI::App& dlroof);

}  // namespace dlroof::commands
