// dlroof model: predicts memory traffic and time of convolutions on a GPU, which need not be
// present, and on GPUs with changed parameters.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "bench/commands/commands.h"
#include "bench/conv2d/case.h"
#include "bench/model/study.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "reporters/figure/outputs.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::commands {
namespace {

struct ModelFlags {
  std::optional<std::string> gpu, machine, problem, run_file, sweep;
  std::string direction = "fwd", type = "f32", format = "table";
  std::vector<std::string> suites, scales, outputs;
  std::optional<int64_t> batch;  // replaces the problem's batch size
  bool nhwc = false;
};

model::LayerChoice ChoiceOf(const ModelFlags& flags) {
  model::LayerChoice choice;
  const auto direction = ProductDirectionFromKey(flags.direction);
  if (!direction)
    throw BadInput("--direction={}: expected fwd, bwd_data or bwd_weights", flags.direction);
  choice.direction = *direction;
  choice.type = flags.type;
  choice.layout = flags.nhwc ? delta::TensorLayout::kNhwc : delta::TensorLayout::kNchw;
  delta::ElementBytesOf(flags.type);
  if (flags.batch) choice.batch = *flags.batch;
  return choice;
}

std::vector<model::LayerGroup> GroupsOf(const ModelFlags& flags,
                                        const std::optional<record::RunFile>& run) {
  const int sources =
      (flags.problem ? 1 : 0) + (flags.suites.empty() ? 0 : 1) + (flags.run_file ? 1 : 0);
  if (sources != 1)
    throw BadInput(
        "model: expected one of --suite NAME, --problem n..c..h..w..k..r..s.. or a run file");
  if (run) return {model::LayersOfRunFile(*run, *flags.run_file)};
  if (flags.problem) return {model::LayersOfProblem(*flags.problem, ChoiceOf(flags))};
  return model::LayersOfSuites(flags.suites, ChoiceOf(flags));
}

std::string ChoiceText(const ModelFlags& flags) {
  if (flags.run_file) return "types and kernels of the run file";
  return fmt::format("{} {} {}{}", flags.direction, flags.type, flags.nhwc ? "nhwc" : "nchw",
                     flags.batch ? fmt::format(", batch {}", *flags.batch) : "");
}

model::ModelReport ReportOf(const ModelFlags& flags) {
  model::ModelReport report;
  if (flags.run_file) report.run = record::ReadRunFile(*flags.run_file, std::cerr);
  std::optional<machine::Machine> machine;
  if (flags.machine) machine = machine_file::ReadMachineFile(*flags.machine);
  auto groups = GroupsOf(flags, report.run);
  report.base.gpu =
      model::ChosenGpu({flags.gpu, machine ? &*machine : nullptr,
                        report.run ? &*report.run : nullptr, flags.run_file.value_or("")});
  report.choice = ChoiceText(flags);
  for (const auto& scale : flags.scales)
    report.designs.push_back({model::Rescaled(report.base, scale), {}});
  if (flags.sweep) report.axes = model::ParseSweep(*flags.sweep);
  if (report.run) groups.at(0) = model::OnlyPredicted(groups.at(0), report.base.gpu);
  for (const auto& group : groups) {
    report.groups.push_back(model::Predict(group, report.base));
    for (auto& [design, predicted] : report.designs)
      predicted.push_back(model::Predict(group, design));
    if (!report.axes.empty())
      report.sweeps.push_back({group.name, model::Sweep(group, report.base, report.axes)});
    if (!report.designs.empty())
      report.gains.push_back(model::GainsOfDoubling(group, report.designs.back().design));
  }
  if (report.run) model::SetPredictions(report.groups.at(0), report.base.gpu, *report.run);
  return report;
}

std::string ModelText(const model::ModelReport& report, const std::string& = {}) {
  std::ostringstream text;
  document::Write(model::DocumentOf(report), 0, text);
  return text.str();
}

std::string ModelJson(const model::ModelReport& report, const std::string& = {}) {
  return JsonText(model::ToJson(report), 1) + "\n";
}

int ShowModel(const ModelFlags& flags) {
  const figure::Outputs<model::ModelReport> outputs({{"json", ModelJson}, {"txt", ModelText}},
                                                    model::FigureScript);
  outputs.Check(flags.outputs);
  const auto report = ReportOf(flags);
  outputs.Write(flags.outputs, report);
  if (!flags.outputs.empty()) return 0;
  std::cout << (flags.format == "json" ? ModelJson(report) : ModelText(report)) << std::flush;
  return 0;
}

Command MakeModel() {
  auto flags = std::make_shared<ModelFlags>();
  return {
      .name = "model",
      .about =
          "predict traffic and time of convolutions on a GPU (DeLTA-style model) and on changed "
          "designs",
      .options =
          {Ruled("FILE", {.type = kFile}, &flags->run_file,
                 "run file, whose GPU convolutions are compared with the model"),
           {"--gpu", &flags->gpu,
            "name of a built-in GPU, or a parameter file (default: the GPU of the run or machine "
            "file, with its ceilings; else v100)"},
           Ruled("--machine", {.type = kMachine}, &flags->machine,
                 "machine whose validated or specified ceilings replace the GPU's parameters: " +
                     machine_file::MachineChoices()),
           Ruled("--suite", {.type = runner::kSuite, .one_each = true}, &flags->suites,
                 "suites to predict (names or files, separated by commas)"),
           {"--problem", &flags->problem,
            "one convolution to predict, written as in a benchmark's name"},
           Ruled("--batch", {.limits = Range{1, 1 << 20}}, &flags->batch,
                 "number of images, instead of the problem's"),
           {"--type", &flags->type,
            "data type: f32 (default), tf32, f16, bf16, int8, fp8 or a mix such as s8s8f32"},
           {"--direction", &flags->direction, "fwd (default), bwd_data or bwd_weights"},
           {"--nhwc", &flags->nhwc, "the layout of tensors is NHWC (default NCHW)"},
           Ruled("--scale", {.one_each = true}, &flags->scales,
                 "predict a changed design, sm=2,dram=1.5,l2=2,tile=256x128 (an additional tile, "
                 "used if it is faster); may be repeated"),
           {"--sweep", &flags->sweep,
            "vary one resource or two, from:to:step: dram=1:4:0.5,l2=1:2:1"},
           Ruled("--format", {.choices = {"table", "json"}}, &flags->format,
                 "table (default) or json"),
           Ruled("-o,--output", {.type = kFile, .one_each = true}, &flags->outputs,
                 "write x.json, x.txt, or a figure of --scale or --sweep (x.svg, x.pdf, "
                 "x.png) instead of the table")},
      .run = [flags] { return ShowModel(*flags); }};
}

[[maybe_unused]] const bool model_registered = RegisterCommand(MakeModel);

}  // namespace
}  // namespace dlroof::commands
