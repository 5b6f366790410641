// dlroof explain: breaks the time of benchmarks down into components.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/parallel_time.h"
#include "counters/base/process.h"
#include "reporters/document/document.h"
#include "reporters/document/tables.h"
#include "reporters/figure/outputs.h"
#include "reporters/roofline/breakdown.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

constexpr double kExplainSeconds = 25;  // [s] default of --seconds

struct ExplainFlags {
  std::vector<std::string> what, outputs;
  std::optional<std::string> bench, machine;
  bool thorough = false;
  std::optional<double> seconds;  // [s] limit per benchmark
};

std::string RunJson(const roofline::PlacedRun& run, const std::string&) {
  return JsonText(roofline::ToStoredJson(run.file)) + '\n';
}

// Measures the benchmarks. dlroof_bench writes the run file to the first path *.json in `outputs`,
// where an interrupt leaves what was measured. Removes this path from `outputs`.
std::optional<record::RunFile> Measure(const ExplainFlags& flags,
                                       std::vector<std::string>& outputs) {
  std::optional<std::string> whole;
  const auto json = std::ranges::find_if(
      outputs, [](const std::string& path) { return path.ends_with(".json"); });
  if (json != outputs.end()) {
    whole = *json;
    outputs.erase(json);
  }
  return supervise::MeasureExplained(
      {.command = "explain",
       .names = flags.what,
       .bench = flags.bench,
       .machine = flags.machine,
       .output = whole,
       .arguments = flags.thorough
                        ? std::vector<std::string>()
                        : std::vector{fmt::format("--dlroof_explain_seconds={:g}",
                                                  flags.seconds.value_or(kExplainSeconds))}},
      std::cerr);
}

Reason MissingBreakdownReason(const record::Record& record) {
  if (record.parallel) return {"the record has no time, or no roofs"};
  if (record.device == "gpu") return {"its kernels were not traced, or it has no roofs"};
  if (record.cache && record.cache != "warm")
    return {
        fmt::format("only warm calls are profiled, and this one is {}: explain its name without it",
                    *record.cache)};
  if (record.unwatched_reason)
    return {"its parallel regions were not profiled: " + record.unwatched_reason->text};
  return {"its parallel regions were not profiled (measure it with --dlroof_explain)"};
}

document::Document ExplanationOf(const record::Record& record, const roofline::Placed& placed) {
  document::Document document;
  document::List missing{.title = record.name};
  if (record.status != record::Status::kOk)
    missing.items = {{fmt::format("{}: {}", record::Key(record.status), record.reason)}};
  else if (!placed.breakdown)
    missing.items = {{"no breakdown: " + MissingBreakdownReason(record).text}};
  document.Add(std::move(missing));
  if (!placed.breakdown) return document;
  const auto& breakdown = *placed.breakdown;
  auto bar = document::BarOf(breakdown);
  bar.title = record.name;
  bar.about = fmt::format("{}{}", roofline::MarkOf(placed.timing->noisy),
                          text::WithPrefix(breakdown.seconds, "s"));
  const auto note = [&](const record::Rare<std::string>& sentence) {
    if (sentence) bar.notes.push_back(*sentence);
  };
  if (record.parallel) {
    bar.about += fmt::format(" on {} threads, by {} profiled calls", record.parallel->threads,
                             record.parallel->calls);
    note(roofline::InstructionSentence(*record.parallel));
  }
  for (const auto& remark : placed.placement.above_roof_remarks) note(remark);
  note(placed.placement.flop_count);
  if (record.parallel && placed.timing->noisy && breakdown.noise_seconds == 0)
    bar.notes.emplace_back(
        "no advice: the time is an estimate, and too few profiled calls tell the noise of its "
        "parts; more --seconds, or a quiet machine, may");
  else if (const auto advice = roofline::BreakdownAdvice(breakdown))
    bar.notes.push_back(fmt::format("{}{}", roofline::MarkOf(placed.timing->noisy), *advice));
  document.Add(std::move(bar));
  return document;
}

constexpr std::string_view kLeftOut =
    "Near and far tensors were not measured for every benchmark; --thorough has no limit.\n";

int ExplainAll(const ExplainFlags& flags) {
  const figure::Outputs<roofline::PlacedRun> writers({{"json", RunJson}}, figure::BreakdownScript);
  writers.Check(flags.outputs, flags.what);
  auto outputs = flags.outputs;
  const bool file =
      flags.what.size() == 1 && std::filesystem::exists(InputPath(flags.what.front()));
  auto found = file ? std::optional(record::ReadRunFile(flags.what.front(), std::cerr))
                    : Measure(flags, outputs);
  if (!found) return InterruptCode();
  if (programs::IsProgram(*found))
    throw BadInput(
        "explain: {} is a profile of a program, which has no breakdowns: explain one of "
        "its benchmarks by its name",
        flags.what.front());
  const auto run = roofline::PlaceRun(std::move(*found));
  int exit_code = 0;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& record = run.file.records[i];
    document::Print(ExplanationOf(record, run.places[i]));
    std::cout << '\n';
    if (record.status == record::Status::kFailed || record.status == record::Status::kWrong)
      exit_code = 1;
  }
  const bool left_out = std::ranges::any_of(run.file.records, [](const record::Record& record) {
    return record.parallel && !record.parallel->near_seconds;
  });
  if (!file && !flags.thorough && left_out) std::cerr << kLeftOut;
  writers.Write(outputs, run);
  return exit_code;
}

Command MakeExplain() {
  auto flags = std::make_shared<ExplainFlags>();
  return {
      .name = "explain",
      .about =
          "break the time of benchmarks down: the roof's own time, functions, parallel regions, "
          "waiting",
      .options =
          {Ruled("NAME", {.type = runner::kBenchmark, .required = true}, &flags->what,
                 "names of benchmarks to measure now, or a run file made with --dlroof_explain"),
           Ruled("-o,--output", {.type = kFile, .one_each = true}, &flags->outputs,
                 "write the run file (.json), or waterfall charts (.svg, .pdf, .png)"),
           MeasuredMachineOption(flags->machine),
           {"--thorough", &flags->thorough, "measure without a limit for each benchmark"},
           Ruled("--seconds", {.limits = AboveZero{}, .excludes = {"--thorough"}}, &flags->seconds,
                 "[s] limit for each benchmark (default 25)"),
           BenchOption(flags->bench)},
      .run = [flags] { return ExplainAll(*flags); }};
}

[[maybe_unused]] const bool explain_registered = RegisterCommand(MakeExplain);

}  // namespace
}  // namespace dlroof::commands
