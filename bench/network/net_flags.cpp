#include "bench/network/net_flags.h"

#include <CLI/CLI.hpp>

#include "bench/command_line/description.h"

namespace dlroof::network {

void AddNetFlags(CLI::App& program, NetFlags& flags) {
  program.add_option("-o,--output", flags.output, "file for rank 0 to write")
      ->type_name(command_line::kFile)
      ->capture_default_str();
  program
      .add_option("--deadline", flags.deadline, "[s] end the job without a file after this time")
      ->capture_default_str()
      ->check(CLI::Range(1, 86400));
  program.add_option("--max-bytes", flags.rules.most_bytes, "largest message, a multiple of 4")
      ->capture_default_str()
      ->check(CLI::Range(1024, 1 << 30));
  program
      .add_option("--repetitions", flags.rules.repetitions,
                  "number of repetitions for each size and direction")
      ->capture_default_str()
      ->check(CLI::Range(3, 1000));
  program
      .add_option("--max-seconds", flags.rules.most_seconds,
                  "[s] time limit for each size and direction")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  program
      .add_option("--all-pairs", flags.rules.all_pairs,
                  "number of ranks up to which every pair is measured, one after the other; with "
                  "more ranks, random pairings of all ranks are measured")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
}

}  // namespace dlroof::network
