#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "baselines/settings/tuning.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/tune.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "reporters/document/document.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr int kNotConfirmed = 3;  // exit code

// Returns coordinates for an A/A test: environment variables that no program reads.
std::vector<settings::Coordinate> EqualCoordinates() {
  constexpr int kEqualChoices = 4, kEqualCoordinates = 3;
  std::vector<settings::Coordinate> all;
  for (int i = 1; i <= kEqualCoordinates; ++i) {
    settings::Coordinate coordinate{fmt::format("nothing {}", i), {}};
    for (int value = 1; value <= kEqualChoices; ++value)
      coordinate.choices.push_back(
          {{{fmt::format("DLROOF_NOTHING_{}", i), std::to_string(value)}}, "changes nothing"});
    all.push_back(std::move(coordinate));
  }
  return all;
}

// Adds a line per step. The length of its bar is its time relative to the default's. Marks times as
// estimates if the repetitions are mostly noisy.
void AddSteps(const settings::Tuning& tuning, document::List& list) {
  constexpr int kBarWidth = 30;
  double left = 1;
  const bool noisy = settings::CountRepetitions(tuning.blocks, "").AreMostlyNoisy();
  const auto add = [&](const std::string& text) -> document::List::Item& {
    const auto width = std::lround(std::clamp(left, 0.0, 1.0) * kBarWidth);
    return list.items.emplace_back(document::List::Item{fmt::format(
        "|{:{}}|  {:>9}  {}", std::string(static_cast<std::size_t>(width), '#'), kBarWidth,
        tuning.default_seconds ? fmt::format("{}{}", roofline::MarkOf(noisy),
                                             text::WithPrefix(*tuning.default_seconds * left, "s"))
                               : "",
        text)});
  };
  add("default");
  for (const auto& step : tuning.steps) {
    if (step.effect) left *= step.effect->ratio;
    auto& item =
        add(fmt::format("{}: {}{}", settings::SettingText(step.values),
                        step.effect ? settings::EffectText(*step.effect) : "not measured alone",
                        step.effect && !step.effect->confirmed ? ", not confirmed by itself" : ""));
    item.details = {step.reason};
  }
}

std::string NothingWon(const settings::Tuning& tuning) {
  const auto unmeasured = std::ranges::count_if(
      tuning.tried,
      [](const settings::TriedChoice& tried) { return !tried.failed && !tried.ratio; });
  if (unmeasured > 0)
    return fmt::format("no gain was found, but {} of {} choices have too few blocks for a verdict",
                       unmeasured, tuning.tried.size());
  if (tuning.budget_spent) return "no gain was found; the budget was spent before all was tried";
  return "nothing to win: no setting is faster than the default";
}

std::string Verdict(const settings::Tuning& tuning) {
  switch (tuning.state) {
    case settings::TuningState::kConfirmed:
      return fmt::format("best: {}, confirmed by {} blocks of new processes",
                         settings::EffectText(*tuning.total), tuning.total->blocks);
    case settings::TuningState::kNothingWon:
      return NothingWon(tuning);
    case settings::TuningState::kNotConfirmed:
      return fmt::format("no confirmed gain: {}", text::Printable(tuning.reason));
    case settings::TuningState::kUnsupported:
      return "not tuned: " + tuning.reason;
    case settings::TuningState::kFailed:
      return "not tuned: the default fails: " + tuning.reason;
    case settings::TuningState::kUnfinished:
      break;
  }
  return fmt::format("unfinished; so far {} seems best, but it is not confirmed yet",
                     settings::SettingText(tuning.best));
}

void AddTried(const settings::Tuning& tuning, document::List& list) {
  for (const auto& dropped : tuning.dropped) list.items.push_back({"not confirmed: " + dropped});
  for (const auto& tried : tuning.tried) {
    const auto reference = tried.reference
                               ? fmt::format(" with {}{}", tried.reference->empty() ? "the " : "",
                                             settings::SettingText(*tried.reference))
                               : "";
    list.items.push_back({fmt::format(
        "tried {}: {}{}",
        tried.values.empty() ? "to undo " + tried.coordinate : settings::SettingText(tried.values),
        tried.verdict,
        tried.ratio ? fmt::format(" (about {:.2f} of the time{}, {} block{})", *tried.ratio,
                                  reference, tried.blocks, tried.blocks == 1 ? "" : "s")
                    : "")});
  }
}

document::List::Item SettingsOf(const settings::Tuning& tuning, const std::string& program) {
  const auto tuned = UnderSetting(workload::ParseBenchmarkName(tuning.plan.subject), tuning.best);
  document::List::Item settings{"settings:"};
  for (const auto& [variable, value] : EnvironmentLines(tuned))
    settings.details.push_back(
        fmt::format("export {}={}", text::CommandLine({variable}), text::CommandLine({value})));
  settings.details.push_back(CommandLineOf(tuned, program));
  return settings;
}

}  // namespace

document::List ReportOf(const settings::Tuning& tuning, const std::string& program) {
  const bool confirmed = tuning.state == settings::TuningState::kConfirmed;
  document::List list{.title = tuning.plan.subject};
  if (confirmed) AddSteps(tuning, list);
  list.items.push_back({Verdict(tuning)});
  if (tuning.verified)
    list.items.push_back({"measured again: " + settings::EffectText(*tuning.verified)});
  AddTried(tuning, list);
  if (confirmed) list.items.push_back(SettingsOf(tuning, program));
  return list;
}

namespace {

settings::MeasureBlock TrialsOf(const TuneRequest& request, const std::string& name) {
  return BenchTrials({supervise::BenchProgram(request.bench), workload::ParseBenchmarkName(name),
                      request.timeout_seconds});
}

settings::TuningPlan PlanOf(const TuneRequest& request, const std::string& name) {
  settings::TuningPlan plan{.subject = name,
                            .budget_seconds = request.budget_seconds,
                            .min_effect = request.min_effect,
                            .seed = request.seed};
  plan.coordinates = request.compare_with_itself ? EqualCoordinates()
                                                 : SpaceOf(workload::ParseBenchmarkName(name),
                                                           ThisMachine(), request.space);
  return plan;
}

nlohmann::json AboutOf(const TuneRequest& request) {
  const auto program = supervise::BenchProgram(request.bench);
  return {{"command", "dlroof tune"},
          {"names", request.names},
          {"bench", program},
          {"build", supervise::BuildOf(program)},
          {"seed", request.seed},
          {"min_effect", request.min_effect},
          {"precision", request.space.precision},
          {"environment", request.space.environment},
          {"compare_with_itself", request.compare_with_itself}};
}

bool IsFinished(const settings::TuningFile& file, const std::vector<std::string>& names) {
  return file.tunings.size() == names.size() &&
         std::ranges::none_of(file.tunings, [](const settings::Tuning& tuning) {
           return tuning.state == settings::TuningState::kUnfinished;
         });
}

// Returns the tunings to continue: those of PATH.part if a tuning was interrupted, else of PATH.
settings::TuningFile OpenTunings(const PartFile& output, const std::string& finished,
                                 const nlohmann::json& about, bool resume,
                                 const SpaceRequest& space) {
  settings::TuningFile file{about, {}};
  const auto path = output.IsEmpty() ? finished : output.part();
  if (!std::filesystem::exists(path)) return file;
  auto before = settings::ReadTuningFile(path);
  if (!resume) {
    const JsonReader then(before.about, path + ": about");
    if (then.Has("names") && IsFinished(before, then.Texts("names"))) return file;
    throw BadInput("{}: an unfinished tuning; continue it with --resume, or remove this file",
                   path);
  }
  for (const auto& [key, value] : file.about.items())
    if (before.about.value(key, nlohmann::json()) != value)
      throw BadInput("{}: its tuning had another {}: {}; now {}", path, key,
                     JsonText(before.about.value(key, nlohmann::json())), JsonText(value));
  // Checks all settings that a resumed tuning may measure: those of its plan and of its blocks.
  for (const auto& tuning : before.tunings) {
    for (const auto& coordinate : tuning.plan.coordinates)
      for (const auto& choice : coordinate.choices) CheckVariables(choice.values, space, path);
    for (const auto& block : tuning.blocks)
      for (const auto& setting : block.settings) CheckVariables(setting, space, path);
  }
  return before;
}

bool OnGpu(const std::string& name) { return workload::ParseBenchmarkName(name).device == "gpu"; }

class Tunings {
 public:
  Tunings(const TuneRequest& request, std::ostream& log, std::ostream& out)
      : request_(request),
        log_(log),
        out_(out),
        output_(request.output),
        file_(OpenTunings(output_, request.output, AboutOf(request), request.resume,
                          request.space)) {}

  int Run() {
    const auto groups = Groups();
    double left = 0;
    for (const auto& group : groups) left += group.seconds;
    if (left > 0)
      log_ << fmt::format("the benchmarks on the GPU take about {}\n",
                          supervise::LeftText({left}, 1));
    for (const auto& [begin, end, seconds] : groups) {
      if (StoppedByInterrupt()) return Interrupted();
      log_ << fmt::format("[{}/{}] {}", begin + 1, request_.names.size(), request_.names[begin]);
      if (end - begin > 1) log_ << fmt::format(" and {} more", end - begin - 1);
      log_ << (seconds > 0 ? fmt::format("; about {} left\n", supervise::LeftText({left}, 1))
                           : "\n");
      if (OnGpu(request_.names[begin]))
        TuneTogether(begin, end);
      else
        TuneOne(begin);
      if (StoppedByInterrupt()) return Interrupted();
      for (auto i = begin; i < end; ++i) Show(file_.tunings[i]);
      left -= seconds;
    }
    output_.Replace();
    const auto failed = [](const auto& tuning) {
      return tuning.state == settings::TuningState::kFailed;
    };
    return std::ranges::any_of(file_.tunings, failed) ? 1 : 0;
  }

 private:
  // Returns the groups in the order of the names. Names of GPU benchmarks come last.
  std::vector<TunedGroup> Groups() const {
    std::vector<TunedGroup> groups;
    std::size_t i = 0;
    for (; i < request_.names.size() && !OnGpu(request_.names[i]); ++i)
      groups.push_back({i, i + 1});
    std::vector<std::size_t> settings;
    for (auto gpu = i; gpu < request_.names.size(); ++gpu) {
      settings.push_back(1);
      for (const auto& coordinate : PlanOf(request_, request_.names[gpu]).coordinates)
        settings.back() += coordinate.choices.size();
    }
    const auto on_gpu = GroupsOnGpu(i, settings);
    groups.insert(groups.end(), on_gpu.begin(), on_gpu.end());
    return groups;
  }

  void Show(const settings::Tuning& tuning) const {
    document::Write({{ReportOf(tuning, supervise::BenchProgram(request_.bench))}}, 0, out_);
    out_ << '\n' << std::flush;
  }

  // Adds benchmark `i` to the file if it is new. Returns whether to tune it: it is new or
  // unfinished, or its budget was spent and is larger now.
  bool Begin(std::size_t i) {
    if (i == file_.tunings.size()) {
      file_.tunings.push_back({.plan = PlanOf(request_, request_.names[i])});
      return true;
    }
    auto& before = file_.tunings[i];
    const bool more = before.budget_spent && request_.budget_seconds > before.plan.budget_seconds;
    if (before.state != settings::TuningState::kUnfinished && !more) return false;
    before.plan.budget_seconds = request_.budget_seconds;
    return true;
  }

  void TuneOne(std::size_t i) {
    if (!Begin(i)) return;
    const auto save = [&](const settings::Tuning& tuning) {
      file_.tunings[i] = tuning;
      Write();
    };
    const auto say = [&](const std::string& sentence) {
      log_ << text::Printable(sentence) << '\n';
    };
    const auto before = file_.tunings[i];
    settings::Tune(before.plan, before.blocks, {TrialsOf(request_, request_.names[i]), save, say});
  }

  // Measures the next block of each benchmark by MeasureOnGpu, until no tuning has a next block.
  void TuneTogether(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> unfinished;
    for (auto i = begin; i < end; ++i)
      if (Begin(i)) unfinished.push_back(i);
    while (!StoppedByInterrupt()) {
      std::map<std::size_t, settings::TrialBlock> blocks;
      for (const auto i : unfinished) {
        auto& tuning = file_.tunings[i];
        const auto ask = [&](const settings::TrialBlock& next, std::uint64_t) {
          blocks[i] = next;
          return false;
        };
        tuning = settings::Tune(tuning.plan, tuning.blocks, {ask});
      }
      Write();
      if (blocks.empty()) return;
      std::vector<GpuBlock> measured;
      for (auto& [i, block] : blocks)
        measured.push_back({workload::ParseBenchmarkName(request_.names[i]), &block});
      if (!MeasureOnGpu(supervise::BenchProgram(request_.bench), request_.timeout_seconds,
                        measured))
        return;
      for (auto& [i, block] : blocks) file_.tunings[i].blocks.push_back(std::move(block));
    }
  }

  void Write() { output_.Write(JsonText(settings::ToJson(file_), 1) + "\n"); }

  int Interrupted() {
    if (!file_.tunings.empty() && file_.tunings.back().state == settings::TuningState::kUnfinished)
      Show(file_.tunings.back());
    log_ << fmt::format("interrupted; run the same command with --resume to continue from {}\n",
                        output_.part());
    return InterruptCode();
  }

  const TuneRequest& request_;
  std::ostream& log_;
  std::ostream& out_;
  PartFile output_;
  settings::TuningFile file_;
};

}  // namespace

int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out) {
  for (const auto& name : request.names)
    if (const auto reason = workload::InvalidReason(name))
      throw BadInput("tune: {}: {}", name, reason->what());
  auto ordered = request;
  std::ranges::stable_partition(ordered.names, [](const auto& name) { return !OnGpu(name); });
  return Tunings(ordered, log, out).Run();
}

int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out) {
  const PartFile only(path);
  auto file = settings::ReadTuningFile(path);
  for (const auto& tuning : file.tunings) CheckVariables(tuning.best, request.space, path);
  int exit_code = 0;
  for (auto& tuning : file.tunings) {
    fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
    if (!tuning.total) {
      fmt::print(out, "  nothing to verify: {}\n", settings::Key(tuning.state));
      continue;
    }
    log << fmt::format("default against {}\n", text::Printable(settings::SettingText(tuning.best)));
    std::optional<Reason> reason;
    tuning.verified = settings::Verify(tuning, {TrialsOf(request, tuning.plan.subject)}, reason);
    if (StoppedByInterrupt()) return InterruptCode();
    WriteFile(path, JsonText(settings::ToJson(file), 1) + "\n");
    const bool confirmed = tuning.verified && tuning.verified->confirmed;
    fmt::print(
        out, "  {}: {}: {}\n", text::Printable(settings::SettingText(tuning.best)),
        confirmed ? "confirmed again" : "not confirmed again",
        tuning.verified ? settings::EffectText(*tuning.verified) : reason.value_or(Reason{}).text);
    if (!confirmed) exit_code = kNotConfirmed;
  }
  return exit_code;
}

void ShowTunings(const std::string& path, std::ostream& out) {
  document::Document document;
  for (const auto& tuning : settings::ReadTuningFile(path).tunings)
    document.Add(ReportOf(tuning, supervise::BenchProgram()));
  document::Write(document, 0, out);
}

}  // namespace dlroof::tune
