#include "counters/energy/energy_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"

namespace dlroof::energy {

std::string ReadKernelFile(const std::filesystem::path& path, int& error) {
  std::array<char, 127> text{};
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto got = file.get() < 0 ? -1 : read(file.get(), text.data(), text.size());
  error = got < 0 ? errno : 0;
  std::string_view line(text.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  return std::string(line);
}

namespace {

// Returns 12 for the prefix "cpu" and the name "cpu12". Returns nullopt for names of another form.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs) {
  std::map<int, std::vector<int>> packages;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(sysfs / "devices/system/cpu", none)) {
    const auto cpu = NumberBehind("cpu", entry.path().filename().string());
    std::ifstream file(entry.path() / "topology/physical_package_id");
    if (int package = 0; cpu && file >> package) packages[package].push_back(*cpu);
  }
  return packages;
}

bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place) {
  const auto found = packages.find(package);
  if (found == packages.end())
    throw BadInput(
        "the CPUs of package {} are unknown ({}), so other programs may share its counter", package,
        (place.sysfs / "devices/system/cpu").string());
  const auto& cpus = found->second;
  const auto usable = static_cast<std::size_t>(std::ranges::count_if(
      cpus, [&](int cpu) { return std::ranges::binary_search(place.allowed_cpus, cpu); }));
  if (usable != 0 && usable != cpus.size())
    throw BadInput(
        "this process may use only {} of the {} CPUs of package {}, but the counter covers all of "
        "them: give the process whole packages",
        usable, cpus.size(), package);
  return usable != 0;
}

std::filesystem::path SysfsRoot() {
  const char* root = std::getenv("DLROOF_SYSFS");
  return root == nullptr || *root == '\0' ? "/sys" : root;
}

std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second) {
  std::istringstream in{std::string(stat.substr(0, stat.find('\n')))};
  std::string cpu;
  // Fields (proc(5)): user nice system idle iowait irq softirq; user and nice include guests.
  std::array<double, 7> ticks{};
  in >> cpu;
  for (double& count : ticks) in >> count;
  if (!in || cpu != "cpu") return std::nullopt;
  const auto [user, nice, system, idle, iowait, irq, softirq] = ticks;
  return (user + nice + system + irq + softirq) / ticks_per_second;
}

std::optional<double> CpuSecondsOfOthers() {
  const auto busy =
      BusySeconds(ReadFileIfAny("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
  timespec ours{};
  if (!busy || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ours) != 0) return std::nullopt;
  return *busy - static_cast<double>(ours.tv_sec) - 1e-9 * static_cast<double>(ours.tv_nsec);
}

}  // namespace dlroof::energy
