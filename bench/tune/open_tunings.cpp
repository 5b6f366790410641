#include "bench/tune/open_tunings.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {
namespace {

bool IsFinished(const TuningFile& file, const std::vector<std::string>& names) {
  return file.tunings.size() == names.size() &&
         std::ranges::none_of(file.tunings, [](const Tuning& tuning) {
           return tuning.state == TuningState::kUnfinished;
         });
}

}  // namespace

TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume) {
  TuningFile fresh{about, {}};
  if (!std::filesystem::exists(path)) return fresh;
  auto before = ReadTuningFile(path);
  if (!resume) {
    if (IsFinished(before, before.about.value("names", std::vector<std::string>()))) return fresh;
    throw BadInput("{}: an unfinished tuning; go on with --resume, or remove this file", path);
  }
  for (const auto& [key, value] : fresh.about.items())
    if (before.about.value(key, nlohmann::json()) != value)
      throw BadInput("{}: its tuning had another {}: {}; now {}", path, key,
                     before.about.value(key, nlohmann::json()).dump(), value.dump());
  return before;
}

}  // namespace dlroof
