#include "counters/energy/perf_power.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "counters/base/error.h"
#include "counters/energy/kernel_file.h"

namespace dlroof {
namespace {

// Throws BadInput where the file cannot be read.
std::string ReadLine(const std::filesystem::path& path) {
  int error = 0;
  auto text = ReadKernelFile(path, error);
  if (error != 0 || text.empty()) throw BadInput("{}: cannot be read", path.string());
  return text;
}

// Throws BadInput for text that is not a number and nothing else.
template <class Number, class... Format>
Number NumberOf(const std::filesystem::path& path, std::string_view text, Format... format) {
  Number number{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, format...);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadInput("{}: '{}' is not a number", path.string(), text);
  return number;
}

PowerEvent ReadEvent(const std::filesystem::path& folder, const std::string& name) {
  constexpr std::string_view kConfig = "event=0x";
  const auto path = folder / name;
  const auto text = ReadLine(path);
  if (!text.starts_with(kConfig))
    throw BadInput("{}: '{}' is not event=0x and a number", path.string(), text);
  const auto scale = folder / (name + ".scale"), unit = folder / (name + ".unit");
  if (const auto found = ReadLine(unit); found != "Joules")
    throw BadInput("{}: '{}' is not Joules", unit.string(), found);
  return {name, NumberOf<std::uint64_t>(path, std::string_view(text).substr(kConfig.size()), 16),
          NumberOf<double>(scale, ReadLine(scale))};
}

}  // namespace

PowerUnit ReadPowerUnit(const std::filesystem::path& sysfs) {
  const auto folder = sysfs / "bus/event_source/devices/power";
  std::error_code none;
  if (!std::filesystem::exists(folder, none))
    throw BadInput(
        "{} is not there: the kernel has no driver for this CPU's energy (intel-rapl-perf), or "
        "this is a virtual machine, to which its host must pass the counters",
        folder.string());
  PowerUnit unit;
  unit.type = NumberOf<std::uint32_t>(folder / "type", ReadLine(folder / "type"));
  unit.cpus = CpuList(ReadLine(folder / "cpumask"));
  for (const char* name : {"energy-pkg", "energy-ram", "energy-psys"})
    if (std::filesystem::exists(folder / "events" / name, none))
      unit.events.push_back(ReadEvent(folder / "events", name));
  return unit;
}

}  // namespace dlroof
