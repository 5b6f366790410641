// The flag --balance of commands that place records.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dlroof {

inline void AddBalanceOption(CLI::App& command, std::string& balance) {
  command
      .add_option("--balance", balance,
                  "judge FLOPs by the ceiling of the pipe that executes them, or all of them by "
                  "the best matrix ceiling, as the time-based roofline paper does: pipe or tensor")
      ->check(CLI::IsMember({"pipe", "tensor"}));
}

}  // namespace dlroof
