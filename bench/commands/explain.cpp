// dlroof explain: breaks the time of benchmarks down into components.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/tune.h"
#include "bench/workload/workload.h"
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

// [s] Default of --seconds: limit per benchmark for the breakdown, and for --try.
constexpr double kExplainSeconds = 25, kTrySeconds = 30;

struct ExplainFlags {
  std::vector<std::string> what, outputs;
  std::optional<std::string> bench, machine;
  bool thorough = false;
  std::optional<double> seconds;  // [s] limit per benchmark
  bool try_proposal = false;
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
  if (const auto advice = roofline::BreakdownAdvice(breakdown))
    bar.notes.push_back(fmt::format("{}{}", roofline::MarkOf(placed.timing->noisy), *advice));
  document.Add(std::move(bar));
  return document;
}

// Returns settings that may be faster than the benchmark's own: on a GPU other options of its name,
// on a CPU what the largest component of its time suggests. Empty if there are none.
std::vector<tune::Proposal> ProposalsFor(const record::Record& record,
                                         const roofline::Placed& placed) {
  if (record.status == record::Status::kUnsupported || workload::FindOp(record.op) == nullptr)
    return {};
  if (record.device == "gpu") return tune::GpuProposals(workload::ParseBenchmarkName(record.name));
  if (!placed.breakdown || !record.parallel) return {};
  const auto proposal = tune::ProposalOf(*placed.breakdown, record.parallel->threads);
  return proposal ? std::vector{*proposal} : std::vector<tune::Proposal>();
}

// Writes a sentence about the proposals. With --try measures them and writes what they gain.
void WriteProposals(const ExplainFlags& flags, const record::Record& record,
                    const roofline::Placed& placed, std::ostream& out) {
  const auto proposals = ProposalsFor(record, placed);
  std::vector<std::string> sentences;
  if (proposals.empty()) {
    // On a GPU, dlroof tune varies only the options of the name.
    const bool more = record.device == "cpu" && !workload::InvalidReason(record.name);
    if (flags.try_proposal)
      sentences = {fmt::format(
          "nothing to try: no option of the name is known to reduce its largest component{}",
          more ? "; dlroof tune NAME tries the library's settings" : "")};
  } else if (!flags.try_proposal) {
    std::vector<std::string> texts;
    for (const auto& proposal : proposals) texts.push_back(proposal.text);
    sentences = {fmt::format("untried: {} (explain NAME --try)", fmt::join(texts, ", "))};
  } else if (const auto name = workload::ParseBenchmarkName(record.name); record.device == "gpu") {
    sentences = tune::TryOnGpu(proposals, {supervise::BenchProgram(flags.bench), name});
  } else {
    sentences = {tune::TryProposal(proposals.front(), {supervise::BenchProgram(flags.bench), name},
                                   flags.seconds.value_or(kTrySeconds))};
  }
  for (const auto& sentence : sentences) out << "  " << text::Printable(sentence) << '\n';
  out << '\n';
}

constexpr std::string_view kLeftOut =
    "Near and far tensors were not measured for every benchmark; --thorough has no limit.\n";

int ExplainAll(const ExplainFlags& flags) {
  const figure::Outputs<roofline::PlacedRun> writers({{"json", RunJson}}, figure::BreakdownScript);
  writers.Check(flags.outputs, flags.what);
  auto outputs = flags.outputs;
  const bool file =
      flags.what.size() == 1 && std::filesystem::exists(InputPath(flags.what.front()));
  if (file && flags.try_proposal)
    throw BadInput("explain: --try measures: expected benchmark names, not a run file");
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
    WriteProposals(flags, record, run.places[i], std::cout);
    if (StoppedByInterrupt()) return InterruptCode();
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
                 "[s] limit for each benchmark (default 25), and for its --try (default 30)"),
           {"--try", &flags->try_proposal,
            "measure the setting that the largest component suggests, interleaved with the "
            "default; on a GPU the other options of the name: best, padded, another layout, "
            "persistent algorithms"},
           BenchOption(flags->bench)},
      .run = [flags] { return ExplainAll(*flags); }};
}

[[maybe_unused]] const bool explain_registered = RegisterCommand(MakeExplain);

}  // namespace
}  // namespace dlroof::commands
