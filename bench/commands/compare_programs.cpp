#include "bench/commands/compare_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "baselines/programs/write_pair.h"
#include "counters/base/error.h"
#include "reporters/record/run_file.h"

namespace dlroof {
namespace {

ComparedProgram ReadProgram(const std::string& path) {
  return ComparedProgramOf(path, PlaceRun(ReadRunFile(path, std::cerr)));
}

}  // namespace

std::vector<std::string> ProgramFormats() {
  std::vector<std::string> formats;
  for (const auto& writer : ProgramPairWriters()) formats.emplace_back(writer.format);
  return formats;
}

void ComparePrograms(const std::string& a, const std::string& b, const std::string& format,
                     std::ostream& out) {
  const auto& writers = ProgramPairWriters();
  const auto writer = std::ranges::find(writers, format, &ProgramPairWriter::format);
  if (writer == writers.end())
    throw BadInput("--format={}: expected {} with --across-programs", format,
                   fmt::join(ProgramFormats(), ", "));
  const auto program_a = ReadProgram(a), program_b = ReadProgram(b);
  writer->write({program_a, program_b, PairPrograms(program_a, program_b)}, out);
  out << std::flush;
}

}  // namespace dlroof
