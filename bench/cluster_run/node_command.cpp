// dlroof cluster node: measures the benchmarks on one node of a cluster.

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

struct NodeFlags {
  std::string out;
  std::optional<std::string> bench;
  std::vector<std::string> arguments;
  int visit = 0;
  double timeout_seconds = 600;  // [s] limit for one benchmark
  bool per_gpu = false;          // this process has one of the node's GPUs
};

// Returns whether nodes/NAME.json is complete. Throws BadInput if its run had other arguments.
bool IsDone(const NodeFolder& folder, const cluster::NodeFacts& facts) {
  const auto path = folder.Node(facts.name);
  if (!fs::exists(path)) return false;
  const auto there = ReadNodeFile(path);
  if (there.status != cluster::NodeStatus::kComplete) {
    std::cerr << fmt::format("{}; measuring again\n", text::Printable(there.reason));
    return false;
  }
  if (there.facts.arguments == facts.arguments) return true;
  throw BadInput("{}: was measured with other arguments: '{}', now '{}'; use another --out",
                 path.string(), fmt::join(there.facts.arguments, " "),
                 fmt::join(facts.arguments, " "));
}

// Writes nodes/NAME.json from the finished run, and removes the files of the run.
void Finish(const NodeFolder& folder, const cluster::NodeFacts& facts) {
  const auto run = folder.Run(facts.name);
  auto file = ParsedJson(ReadFile(run, "a run file"), run.string());
  file.erase("benchmarks");  // the records have all results
  file["context"]["dlroof"]["node"] = cluster::ToJson(facts);
  ReplaceFile(folder.Node(facts.name), JsonText(file) + '\n', OnDisk::kNow);
  fs::remove(run);
  fs::remove(folder.Facts(facts.name));
}

class BothBuffers : public std::streambuf {
 public:
  BothBuffers(std::streambuf* first, std::streambuf* second) : first_(first), second_(second) {}

 private:
  int_type overflow(int_type c) override {
    second_->sputc(traits_type::to_char_type(c));
    return first_->sputc(traits_type::to_char_type(c));
  }
  int sync() override { return first_->pubsync() | second_->pubsync(); }

  std::streambuf *first_, *second_;
};

// Opens the log to append to it. Throws BadInput for a link or a pipe, which others may put there.
std::ofstream OpenLog(const fs::path& path) {
  const Descriptor log(open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  struct stat facts = {};
  if (fstat(log.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw BadInput("{}: expected a regular file, or none", path.string());
  return std::ofstream(fmt::format("/proc/self/fd/{}", log.get()), std::ios::app);
}

// Measures the remaining benchmarks with all messages in the node's log and on the terminal, if
// there is one. Returns whether all are finished.
bool Measure(const NodeFlags& flags, const NodeFolder& folder, const std::string& name) {
  std::ofstream file = OpenLog(folder.Log(name));
  if (fs::is_symlink(folder.Run(name)))
    throw BadInput("{}: expected a regular file, or none", folder.Run(name).string());
  BothBuffers both(file.rdbuf(), std::cerr.rdbuf());
  std::ostream log(&both);
  if (isatty(STDERR_FILENO) == 0) log.rdbuf(file.rdbuf());
  log << std::unitbuf;  // unbuffered, so that the log of a lost node shows its last action
  supervise::RunRequest request;
  request.programs = {flags.bench ? fs::absolute(*flags.bench).string()
                                  : supervise::BenchProgram()};
  request.outputs = {folder.Run(name).string()};
  request.arguments = flags.arguments;
  request.timeout_seconds = flags.timeout_seconds;
  request.resume = true;
  request.tables = &file;
  try {
    if (supervise::IsFinished(request)) return true;  // killed before nodes/NAME.json was written
    supervise::Supervise(request, log);
    return !StoppedByInterrupt() && supervise::IsFinished(request);
  } catch (const std::exception& error) {
    log << text::Printable(error.what()) << '\n' << std::flush;
    throw;
  }
}

// Sets a file's modification time to now every few seconds during its lifetime, by the clock of the
// file system, as a sign that this node is alive.
class SignOfLife {
 public:
  explicit SignOfLife(fs::path file)
      : thread_([file = std::move(file)](const std::stop_token& stop) {
          constexpr int kPauses = 20;  // of 0.1 s each, so that the thread stops at once
          while (!stop.stop_requested()) {
            utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
            for (int i = 0; i < kPauses && !stop.stop_requested(); ++i) SleepSeconds(0.1);
          }
        }) {}

 private:
  std::jthread thread_;
};

int RunNode(const NodeFlags& flags) {
  const NodeFolder folder(fs::absolute(flags.out), flags.visit);
  auto facts = ThisNode(flags.per_gpu);
  facts.arguments = flags.arguments;
  facts.system = SystemOf("/sys");
  folder.Make();
  if (IsDone(folder, facts)) {
    std::cerr << fmt::format("{}: whole, nothing is left to do\n", facts.name);
    return 0;
  }
  if (!facts.gpu.empty()) {
    setenv("CUDA_VISIBLE_DEVICES", facts.gpu.c_str(), 1);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);  // as nvidia-smi and schedulers count them
  }
  setenv("XDG_CACHE_HOME", folder.Cache(facts.name).c_str(), 1);
  fs::create_directories(folder.Cache(facts.name));
  ReplaceFile(folder.Facts(facts.name), JsonText(cluster::ToJson(facts)) + '\n');
  StopOnInterrupt();
  const LoadWatch load(cpu::FactsOfThisProcess("/sys"));
  bool whole = false;
  {
    const SignOfLife lives(folder.Facts(facts.name));
    whole = Measure(flags, folder, facts.name);
  }
  facts.load = load.Load();
  if (whole) Finish(folder, facts);
  std::cerr << fmt::format("{}: {}\n", facts.name,
                           whole ? "whole" : "not finished; run the same command to continue");
  if (whole) return 0;
  return StoppedByInterrupt() ? InterruptCode() : 1;
}

struct Engine {
  const char* name;
  const char* rank;     // variable that only this engine sets
  const char* local;    // variable with the task's number on its node; may be null
  const char* several;  // variable with the number of a node's tasks; may be null
};
constexpr std::array<Engine, 5> kEngines = {{
    {"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"pmix", "PMIX_RANK", nullptr, nullptr},
    {"pmi", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"flux", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", nullptr},
}};

// Returns whether a node has several tasks. `tasks` is a count, e.g. "2", or Slurm's "2(x4)".
bool IsSeveral(const std::string& tasks) { return std::atoi(tasks.c_str()) > 1; }

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

void NameByGpu(const Environment& environment, const std::string& local,
               cluster::NodeFacts& facts) {
  if (local.empty() || local.find_first_not_of("0123456789") != std::string::npos)
    throw BadInput(
        "--per-gpu: the launcher does not number the processes of a node; expected SLURM_LOCALID, "
        "OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID or FLUX_TASK_LOCAL_ID");
  facts.gpu = GpuOfTask(environment("CUDA_VISIBLE_DEVICES"), local);
  facts.host = std::exchange(facts.name, facts.name + "-gpu" + local);
}

std::string WordIn(const fs::path& path) {
  std::istringstream text(ReadFileIfAny(path));
  std::string word;
  text >> word;
  return word;
}

// Returns e.g. "800 to 3600 MHz, boost on", or "" if the system does not report the limits.
std::string ClockLimits(const fs::path& cpus) {
  const auto frequencies = cpus / "cpu0/cpufreq";
  const auto least = WordIn(frequencies / "scaling_min_freq");  // [kHz]
  const auto most = WordIn(frequencies / "scaling_max_freq");
  if (least.empty() || most.empty()) return "";
  auto text = fmt::format("{:.0f} to {:.0f} MHz", std::atof(least.c_str()) / 1e3,
                          std::atof(most.c_str()) / 1e3);
  if (const auto boost = WordIn(cpus / "cpufreq/boost"); !boost.empty())
    text += boost == "1" ? ", boost on" : ", boost off";
  if (const auto no_turbo = WordIn(cpus / "intel_pstate/no_turbo"); !no_turbo.empty())
    text += no_turbo == "0" ? ", turbo on" : ", turbo off";
  return text;
}

// Returns the values of /proc/stat's line "cpu": user nice system idle iowait irq softirq steal
std::vector<double> CpuTimes(std::string_view stat) {
  std::istringstream text{std::string(stat)};
  std::string word;
  std::vector<double> times;
  if (!(text >> word) || word != "cpu") return times;
  for (double time = 0; text >> time;) times.push_back(time);
  return times;
}

constexpr std::size_t kSteal = 7;  // position in CpuTimes

}  // namespace

runner::Command MakeClusterNode() {
  auto flags = std::make_shared<NodeFlags>();
  return {
      .name = "node",
      .about = "measure on one node and write DIR/nodes/NAME.json; continues after a kill",
      .options = {runner::Ruled("--out", {.type = runner::kFolder, .required = true}, &flags->out,
                                "folder that all nodes share"),
                  runner::Ruled("--bench", {.type = runner::kFile}, &flags->bench,
                                "the dlroof_bench to run (default: the one beside this program)"),
                  runner::Ruled("--visit", {.limits = runner::Range{1, 10000}}, &flags->visit,
                                "the number of a further visit, from 1"),
                  {"--per-gpu", &flags->per_gpu,
                   "this process is one of several on a node, each of which sees only one GPU"},
                  runner::Ruled("--timeout", {.limits = runner::AboveZero{}},
                                &flags->timeout_seconds,
                                "[s] limit for one benchmark (default 600)"),
                  runner::Ruled(
                      "ARGUMENTS", {.type = runner::kFlag}, &flags->arguments,
                      "after --: arguments for dlroof_bench, such as --dlroof_suite=resnet50")},
      .run = [flags] { return RunNode(*flags); }};
}

std::string GpuOfTask(const std::string& visible, const std::string& local) {
  if (visible.empty()) return local;
  std::vector<std::string> entries;
  std::istringstream list(visible);
  for (std::string entry; std::getline(list, entry, ',');) entries.push_back(entry);
  if (entries.size() == 1) return entries.front();
  const auto number = static_cast<std::size_t>(std::atoi(local.c_str()));
  if (number < entries.size()) return entries[number];
  throw BadInput(
      "--per-gpu: process {} of the node, and CUDA_VISIBLE_DEVICES={} has {} GPUs: start one "
      "process for each",
      local, visible, entries.size());
}

cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                                bool per_gpu) {
  cluster::NodeFacts facts;
  facts.name = host;
  facts.known_by = "hostname";
  // The user may set the scheduler's name of the node, which may differ from the host's.
  if (const auto node = environment("DLROOF_NODE"); !node.empty()) {
    facts.name = node;
    facts.known_by = "DLROOF_NODE";
  }
  std::string local;
  for (const auto& engine : kEngines) {
    const bool slurm = &engine == &kEngines.front();
    const auto node = slurm ? environment("SLURMD_NODENAME") : std::string();
    const auto rank = environment(engine.rank);
    if (slurm ? node.empty() : rank.empty()) continue;
    facts.engine = engine.name;
    facts.rank = rank;
    if (slurm) {
      facts.name = node;
      facts.known_by = "SLURMD_NODENAME";
    }
    if (engine.local != nullptr) local = environment(engine.local);
    if (per_gpu || engine.local == nullptr || engine.several == nullptr ||
        !IsSeveral(environment(engine.several)))
      break;
    facts.host = std::exchange(facts.name, facts.name + "-task" + local);
    break;
  }
  if (per_gpu) NameByGpu(environment, local, facts);
  for (const char* job : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"})
    if (facts.job.empty()) facts.job = environment(job);
  facts.place = environment("SLURM_TOPOLOGY_ADDR");
  const auto where = fmt::format("cluster node: the node's name ({})", facts.known_by);
  cluster::CheckNodeName(facts.name, where);
  if (facts.name.starts_with('.'))
    throw BadInput("{}: '{}' would name a hidden file", where, facts.name);
  return facts;
}

cluster::NodeFacts ThisNode(bool per_gpu) {
  const auto environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  auto facts = IdentifyNode(environment, HostName(), per_gpu);
  facts.cpus_specified = static_cast<int>(cpu::ThisCpu().allowed.size());
  if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0)
    facts.cpus = static_cast<int>(online);
  return facts;
}

std::map<std::string, std::string> SystemOf(const fs::path& sysfs) {
  std::map<std::string, std::string> system;
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) system[key] = text;
  };
  utsname name{};
  if (uname(&name) == 0) add("kernel", name.release);
  add("microcode", cpu::Microcode().value_or(""));
  const auto cpus = sysfs / "devices/system/cpu";
  add("governor", WordIn(cpus / "cpu0/cpufreq/scaling_governor"));
  add("clock limits", ClockLimits(cpus));
  return system;
}

LoadWatch::LoadWatch(cpu::LimitFacts facts)
    : facts_(std::move(facts)),
      quota_(cpu::QuotaFrom(facts_)),
      stat_(facts_.read(facts_.proc / "stat")),
      begin_(cpu::WallSeconds()) {
  if (quota_) throttling_ = cpu::ParseThrottling(facts_.read(quota_->stat));
}

cluster::NodeLoad LoadWatch::Load() const {
  cluster::NodeLoad load;
  load.wall_seconds = cpu::WallSeconds() - begin_;
  load.steal_share = StealShare(stat_, facts_.read(facts_.proc / "stat"));
  if (!quota_) return load;
  load.quota_cpus = quota_->cpus;
  const auto now = cpu::ParseThrottling(facts_.read(quota_->stat));
  if (!now || !throttling_) return load;
  const auto during = *now - *throttling_;
  load.periods = during.periods;
  load.throttled = during.throttled;
  return load;
}

std::optional<double> StealShare(std::string_view before, std::string_view after) {
  const auto first = CpuTimes(before), last = CpuTimes(after);
  // Ignores the numbers after steal: guest times are included in user and nice.
  if (first.size() <= kSteal || last.size() <= kSteal) return std::nullopt;
  double all = 0;
  for (std::size_t i = 0; i <= kSteal; ++i) all += last[i] - first[i];
  const double steal = last[kSteal] - first[kSteal];
  if (all <= 0 || steal < 0) return std::nullopt;
  return steal / all;
}

}  // namespace dlroof::cluster_run
