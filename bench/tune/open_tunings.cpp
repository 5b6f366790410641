#include "bench/tune/open_tunings.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "baselines/tune/tune.h"
#include "bench/tune/tuning_report.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

bool IsFinished(const tuning::TuningFile& file, const std::vector<std::string>& names) {
  return file.tunings.size() == names.size() &&
         std::ranges::none_of(file.tunings, [](const tuning::Tuning& tuning) {
           return tuning.state == tuning::TuningState::kUnfinished;
         });
}

}  // namespace

tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume) {
  tuning::TuningFile fresh{about, {}};
  if (!std::filesystem::exists(path)) return fresh;
  auto before = tuning::ReadTuningFile(path);
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

int VerifyAll(const std::string& path, tuning::TuningFile file,
              const std::function<tuning::MeasureBlock(const std::string& subject)>& trials,
              std::ostream& log, std::ostream& out) {
  int exit_code = 0;
  for (auto& tuning : file.tunings) {
    fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
    if (tuning.state != tuning::TuningState::kConfirmed) {
      fmt::print(out, "  nothing to verify: {}\n", tuning::Key(tuning.state));
      continue;
    }
    log << fmt::format("default against {}\n", tuning::Words(tuning.best));
    std::string why;
    tuning.verified = tuning::Verify(tuning, {trials(tuning.plan.subject)}, why);
    if (StoppedByInterrupt()) return kInterrupted;
    WriteFile(path, tuning::ToJson(file).dump(1) + "\n");
    const bool confirmed = tuning.verified && tuning.verified->confirmed;
    fmt::print(out, "  {}: {}: {}\n", tuning::Words(tuning.best),
               confirmed ? "confirmed again" : "not confirmed again",
               tuning.verified ? EffectText(*tuning.verified) : why);
    if (!confirmed) exit_code = kCannotSay;
  }
  return exit_code;
}

}  // namespace dlroof::tune
