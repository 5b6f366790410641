#include "baselines/compare/stored_run.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <sstream>

#include "baselines/compare/paired_record.h"
#include "counters/base/error.h"
#include "reporters/record/context.h"

namespace dlroof::compare {
namespace {

namespace fs = std::filesystem;

bool SharesMachine(const record::RunFile& a, const record::RunFile& b) {
  for (const auto& one : a.machines)
    for (const auto& other : b.machines)
      if (one.fingerprint == other.fingerprint) return true;
  return false;
}

void CheckMapped(const std::vector<NamedRun>& runs, const NameMap& names, const fs::path& folder) {
  NameMap left = names;
  for (const auto& run : runs)
    for (const auto& [base_name, fresh_name] : NamesIn(run, names)) left.erase(base_name);
  if (!left.empty())
    throw BadInput(
        "{}: no stored run of this machine has the benchmark '{}', which the name map asks for",
        folder.string(), left.begin()->first);
}

// [s] east of UTC of "Z", "+01:00", "-0530" or "+01"; 0 where there is no zone.
double OffsetOf(const char* zone) {
  char sign = '+';
  int hours = 0, minutes = 0;
  if (std::sscanf(zone, " %c%2d:%2d", &sign, &hours, &minutes) == 2)
    std::sscanf(zone, " %*c%*2d%2d", &minutes);
  return (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
}

}  // namespace

std::vector<fs::path> JsonFiles(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw BadInput("{}: not a folder, expected stored run files in it", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::optional<NamedRun> ReadIfRun(const fs::path& path) {
  try {
    std::ostringstream cut;  // a stored file that was cut off is no baseline
    NamedRun run{path.string(), record::ReadRunFile(path.string(), cut)};
    if (cut.str().empty()) return run;
  } catch (const BadInput&) {
    // A study's table, a machine: not every stored file is a run.
  }
  return std::nullopt;
}

std::vector<NamedRun> FindBaselines(const fs::path& folder, const NamedRun& fresh,
                                    const NameMap& names, std::ostream& warnings) {
  if (fresh.file.machines.empty())
    throw BadInput(fresh.where + ": names no machine, so no baseline can be found for it");
  const auto files = JsonFiles(folder);
  std::vector<NamedRun> fitting;
  for (const auto& path : files) {
    std::error_code none;
    if (fs::equivalent(path, fresh.where, none)) continue;
    auto run = ReadIfRun(path);
    if (!run || !SharesMachine(run->file, fresh.file)) continue;
    try {
      CheckComparable(*run, fresh, PairRecords(*run, fresh, NamesIn(*run, names)), false);
      fitting.push_back(std::move(*run));
    } catch (const BadInput& error) {
      warnings << "passed over: " << error.what() << '\n';
    }
  }
  if (fitting.empty())
    throw BadInput(
        "{}: none of {} JSON files is a run of this machine ({}) that can be compared with {}",
        folder.string(), files.size(), fresh.file.machines.front().fingerprint, fresh.where);
  std::ranges::stable_sort(
      fitting, [](const auto& a, const auto& b) { return Moment(a.file) < Moment(b.file); });
  CheckMapped(fitting, names, folder);
  return fitting;
}

double Moment(const record::RunFile& file) {
  const auto date = record::Text(file.context, "date");
  tm parts = {};
  char between = ' ';
  int end = 0;
  const int read =
      std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &between, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  if (read < 7 || (between != 'T' && between != ' ')) return 0;
  auto zone = static_cast<std::size_t>(end);
  if (zone < date.size() && (date[zone] == '.' || date[zone] == ','))
    zone = std::min(date.find_first_not_of("0123456789", zone + 1), date.size());
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) - OffsetOf(date.c_str() + zone);
}

}  // namespace dlroof::compare
