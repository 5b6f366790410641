#include "counters/cupti/ncu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dlroof::cupti {
namespace {

struct Refusal {
  std::string_view words;  // of ncu's
  std::string_view sentence;
};

// The first that fits. Words of Nsight Compute's documentation and of reports of its users.
constexpr Refusal kRefusals[] = {
    {"ERR_NVGPUCTRPERM",
     "the driver gives hardware counters to administrators alone: run as root or with "
     "CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN), or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0 (/etc/modprobe.d, then a reboot)"},
    {"driver resource was unavailable",
     "another profiler or monitor (DCGM) holds the counters: end it, or for DCGM: dcgmi profile "
     "--pause, and --resume afterwards"},
    {"LibraryNotLoaded",
     "ncu could not load its library into the program: a sandbox (gVisor) hides the counters, so "
     "use a machine without one"},
    {"Failed to find metric",
     "ncu does not know a metric of this chip: name the chip that the GPU has (--chip; dlroof "
     "counters lists them), or install a newer Nsight Compute"},
    {"Cuda driver is not compatible",
     "ncu and the driver do not fit together: update the driver, or install the Nsight Compute of "
     "its CUDA release"},
    {"is not supported on",
     "ncu does not profile this GPU: use one of compute capability 7.5 or newer"},
    {"not supported for this device",
     "ncu does not profile this GPU: use one of compute capability 7.5 or newer"},
    {"MIG", "this part of a divided GPU (MIG) has no counters: use a GPU that is not divided"},
    {"out of memory",
     "ncu found too little memory to save what kernels write: profile a smaller problem, or fewer "
     "launches (--launches)"},
    {"lock file", "another user's ncu left its lock file: set TMPDIR to a folder of your own"},
    {"No kernels were profiled",
     "no kernel fits: the program launched none on this GPU, or --kernel and --skip left none"},
};

std::string FirstError(std::string_view said) {
  const auto at = said.find("==ERROR==");
  if (at == std::string_view::npos) return "";
  auto line = said.substr(at + 9);
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return std::string(line);
}

}  // namespace

std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip) {
  std::vector<std::string> names;
  for (const auto& set : table.sets) {
    if (set.free || set.alone) continue;
    for (const auto* metric : MetricsOf(table, set, chip)) names.push_back(metric->name);
  }
  return names;
}

std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command) {
  std::vector<std::string> words = {choice.program, "--csv"};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back(flag);
    words.push_back(value);
  };
  add("--page", "raw");
  add("--print-units", "base");
  add("--target-processes", "all");
  add("--cache-control", "none");
  add("--clock-control", "none");
  add("--metrics", fmt::format("{}", fmt::join(metrics, ",")));
  add("--log-file", choice.table);
  if (!choice.kernels.empty()) add("--kernel-name", "regex:" + choice.kernels);
  if (choice.skip > 0) add("--launch-skip", fmt::format("{}", choice.skip));
  if (choice.launches) add("--launch-count", fmt::format("{}", *choice.launches));
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string WhyNoNcuTable(std::string_view said, int exit_code) {
  for (const auto& [words, sentence] : kRefusals)
    if (said.find(words) != std::string_view::npos) return std::string(sentence);
  if (const auto error = FirstError(said); !error.empty())
    return fmt::format("ncu refused: {}", error);
  return fmt::format(
      "ncu ended with exit code {} and profiled no kernel: see whether the program runs without it",
      exit_code);
}

}  // namespace dlroof::cupti
