#include "bench/cluster_run/node_folder.h"

#include <fmt/format.h>
#include <nettle/sha2.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "bench/supervise/journal.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cluster_run {
namespace {

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

bool CanBeAFile(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// Returns whether a node has several tasks: "2", or Slurm's "2(x4)".
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

}  // namespace

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
  // A user may tell the scheduler's name of the node, which may not be the host's.
  if (const auto node = environment("DLROOF_NODE"); facts.engine != "slurm" && !node.empty()) {
    facts.name = node;
    facts.known_by = "DLROOF_NODE";
  }
  if (per_gpu) NameByGpu(environment, local, facts);
  for (const char* job : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"})
    if (facts.job.empty()) facts.job = environment(job);
  facts.place = environment("SLURM_TOPOLOGY_ADDR");
  if (!CanBeAFile(facts.name))
    throw BadInput(
        "cluster node: the node's name '{}' ({}) cannot name a file: expected letters, "
        "digits, '-', '_' and '.'",
        facts.name, facts.known_by);
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

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = ".json.journal";
constexpr std::uintmax_t kMostAsked = 64 << 20;  // [byte] of asked.txt

cluster::NodeSummary Unreadable(const std::string& name, const std::string& file,
                                const std::string& reason) {
  cluster::NodeSummary summary;
  summary.facts.name = name;
  summary.status = cluster::NodeStatus::kFailed;
  summary.reason = reason;
  summary.file = file;
  return summary;
}

// Returns the last line of a log, which usually tells why the program ended.
std::optional<std::string> LastLineOf(const fs::path& log) {
  const auto text = ReadFileIfAny(log);
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) return std::nullopt;
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? -1 : static_cast<long>(begin)));
}

std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

NodeFolder::NodeFolder(const fs::path& folder, int visit)
    : folder_(visit == 0 ? folder : folder / "visits" / std::to_string(visit)) {}

std::vector<int> NodeFolder::Visits() const {
  std::vector<int> visits;
  for (const auto& path : FilesIn(folder_ / "visits")) {
    const auto name = path.filename().string();
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && *end == '\0' && number > 0) visits.push_back(number);
  }
  std::ranges::sort(visits);
  return visits;
}

void NodeFolder::Make() const {
  for (const auto& path :
       {folder_ / "nodes", folder_ / "runs", folder_ / "logs", folder_ / "cache"}) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw BadInput("{}: cannot be created: {}", path.string(), error.message());
  }
}

std::optional<std::vector<std::string>> NodeFolder::Asked() const {
  const auto path = folder_ / "asked.txt";
  if (!fs::exists(path)) return std::nullopt;
  return NamesIn(path);
}

std::vector<fs::path> NodeFolder::NodeFiles() const {
  auto files = FilesIn(folder_ / "nodes");
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".json"; });
  return files;
}

std::vector<std::string> NodeFolder::Unfinished() const {
  std::vector<std::string> names;
  for (const auto& file : FilesIn(folder_ / "runs"))
    if (file.extension() == ".node" && !fs::exists(Node(file.stem().string())))
      names.push_back(file.stem().string());
  return names;
}

std::vector<std::string> NamesIn(const fs::path& path) {
  std::istringstream lines(ReadFile(path, "a list of nodes", kMostAsked));
  std::set<std::string> names;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    if (line.find_first_of("/ \t\r") != std::string::npos)
      throw BadInput(BadInput::Place{path.string(), number},
                     "'{}': expected one name of a node per line", line);
    names.insert(line);
  }
  return {names.begin(), names.end()};
}

cluster::NodeSummary ReadNodeFile(const fs::path& path) {
  const auto stem = path.stem().string();
  try {
    std::ostringstream warnings;
    const auto text = ReadFile(path, "a node's file");
    auto summary =
        cluster::SummaryOf(record::ParseRunFile(text, path.string(), warnings), path.string());
    summary.sha256 = Sha256(text);
    if (summary.facts.name != stem)
      return Unreadable(stem, path.string(),
                        fmt::format("{}: is of node {}, whose file is {}.json: a node counts once",
                                    path.string(), summary.facts.name, summary.facts.name));
    if (summary.times.empty() && summary.untimed.empty())
      return Unreadable(
          stem, path.string(),
          fmt::format("{}: has no records; expected those of a complete run", path.string()));
    if (warnings.str().empty()) return summary;
    summary.status = cluster::NodeStatus::kPartial;
    summary.reason = warnings.str().substr(0, warnings.str().find('\n'));
    return summary;
  } catch (const BadInput& refusal) {
    return Unreadable(stem, path.string(), refusal.what());
  }
}

bool IsJournal(const std::string& path) { return path.ends_with(kJournal); }

record::RunFile ReadNodeRun(const std::string& path) {
  std::ostringstream warnings;
  if (!IsJournal(path)) return record::ReadRunFile(path, warnings);
  const auto journal = supervise::ParseJournal(ReadFile(path, "a journal"), path);
  std::vector<supervise::Supervised> done;
  for (const auto& entry : journal.entries)
    done.push_back(
        {entry.benchmark.contender,
         {supervise::PartFrom(entry.benchmark.contender, entry.outcomes.front(), std::nullopt)}});
  if (done.empty()) throw BadInput("{}: no benchmark was finished", path);
  auto run = supervise::MergedRun(done, journal.machines, nlohmann::json::object()).run.file;
  const auto facts = path.substr(0, path.size() - kJournal.size()) + ".node";
  run.context["dlroof"]["node"] = ParsedJson(ReadFile(facts, "a node's facts"), facts);
  return run;
}

cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name) {
  const auto journal = folder.Run(name).string() + ".journal";
  const auto line = LastLineOf(folder.Log(name));
  const auto said = line ? "; its log ends: " + *line : std::string();
  if (!fs::exists(journal)) {
    auto summary = Unreadable(name, "", "began, and has no file" + said);
    summary.status = cluster::NodeStatus::kMissing;
    return summary;
  }
  try {
    const auto run = ReadNodeRun(journal);
    auto summary = cluster::SummaryOf(run, journal);
    summary.status = cluster::NodeStatus::kPartial;
    summary.reason = fmt::format("not finished: {} benchmarks are{}", run.records.size(), said);
    return summary;
  } catch (const BadInput& refusal) {
    auto summary = Unreadable(name, journal, refusal.what() + said);
    summary.status = cluster::NodeStatus::kMissing;
    return summary;
  }
}

std::string Sha256(std::string_view bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace dlroof::cluster_run
