// --replay of the commands that read a program's log.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dlroof {

inline void AddReplayOptions(CLI::App& command, int& count, std::string& bench) {
  command
      .add_option("--replay", count,
                  "a program: measure so many of its primitives alone, those with most time that "
                  "dlroof has a benchmark of; how much slower is each in the program?")
      ->check(CLI::PositiveNumber);
  command.add_option("--bench", bench, "what measures them (dlroof_bench beside this)");
}

}  // namespace dlroof
