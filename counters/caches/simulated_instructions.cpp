#include "counters/caches/simulated_instructions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "counters/base/files.h"
#include "counters/base/folders.h"
#include "counters/base/process.h"
#include "counters/caches/callgrind.h"

namespace dlroof::caches {
namespace {

namespace fs = std::filesystem;

// dlroof_bench itself, or the one beside a program that is not.
std::string Program() {
  const auto self = fs::read_symlink("/proc/self/exe");
  for (const auto& candidate :
       {self, self.parent_path() / "dlroof_bench", self.parent_path() / "../dlroof_bench"})
    if (candidate.filename() == "dlroof_bench" && access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
  throw std::runtime_error("there is no dlroof_bench beside " + self.string());
}

// Returns the program's last line. Valgrind's own lines begin with "==".
std::string LastLine(const std::string& text) {
  std::istringstream lines(text);
  std::string last, line;
  while (std::getline(lines, line))
    if (!line.empty() && !line.starts_with("==")) last = line;
  return last.empty() ? "it said nothing" : last;
}

}  // namespace

SimulatedRun RunSimulated(const std::string& name, unsigned seed,
                          const SimulationCommand& command) {
  const TemporaryFolder folder;
  const auto file = folder / "counts";
  const auto ran = RunChild(command(file, {Program(), "--dlroof_simulated_call=" + name,
                                           fmt::format("--dlroof_seed={}", seed)}),
                            {{"OMP_NUM_THREADS", "1"}});
  if (ran.exit_code != 0)
    throw std::runtime_error(
        fmt::format("the simulated program ended with {}: {}", ran.exit_code, LastLine(ran.err)));
  // The mark's counts are the first part; what follows it is the rest of the program.
  auto said = nlohmann::json::parse(ran.out, nullptr, false);
  if (!said.is_object()) throw std::runtime_error("the simulated program said: " + ran.out);
  return {ReadFileIfAny(file + ".1"), std::move(said)};
}

CountedInstructions SimulateInstructions(const std::string& name, unsigned seed,
                                         const std::string& algorithm, const std::string& isa) {
  if (!IsInPath("valgrind")) return {std::nullopt, "valgrind is not installed"};
  try {
    const auto run = RunSimulated(name, seed, CallgrindWithoutCaches);
    const std::string its_algorithm = run.said.value("algorithm", ""),
                      its_isa = run.said.value("isa", "");
    if (its_algorithm != algorithm || its_isa != isa)
      return {std::nullopt, fmt::format("under valgrind the library chooses {} ({}), not {} ({})",
                                        its_algorithm, its_isa, algorithm, isa)};
    return {InstructionCount{.all = CallgrindInstructions(run.counts),
                             .from = Provenance::kSimulated,
                             .how = "callgrind"},
            ""};
  } catch (const std::exception& error) {  // an interrupt, or a program that valgrind cannot run
    return {std::nullopt, fmt::format("valgrind: {}", error.what())};
  }
}

}  // namespace dlroof::caches
