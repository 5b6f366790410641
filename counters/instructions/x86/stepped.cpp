#include "counters/instructions/stepped.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "counters/base/files.h"
#include "counters/instructions/x86/instruction_kind.h"

namespace dlroof::instructions {
namespace {

constexpr long long kTrapFlag = 0x100;

// Written by the child, read by its parent when it has ended.
struct Steps {
  StepCounts counts;       // of what was stepped last
  StepCounts of_nothing;   // the same of an empty call: marks, the call itself
  bool over_time = false;  // `most_cpu_seconds` are spent
  bool done = false;
};

// State of the child's signal handler.
struct Stepping {
  Steps* steps = nullptr;
  std::vector<AddressRange> generated;
  double most_cpu_seconds = 0;  // [s] of the child's CPU time
  long long last = 0;           // address of the instruction before
};
Stepping the_stepping;

// The child's own CPU time: on a busy machine a budget of wall-clock time would end sooner.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Count(long long address) {
  constexpr std::uint64_t kStepsBetweenLooks = 256;
  auto& counts = the_stepping.steps->counts;
  ++counts.all;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the instruction lies there
  if (IsArithmetic(reinterpret_cast<const unsigned char*>(address))) ++counts.arithmetic;
  const auto at = static_cast<std::uint64_t>(address);
  for (const auto& [begin, end] : the_stepping.generated)
    if (begin <= at && at < end) ++counts.generated;
  if (counts.all % kStepsBetweenLooks == 0 && CpuSeconds() > the_stepping.most_cpu_seconds)
    the_stepping.steps->over_time = true;
}

// A signal that was raised turns steps on or off; a trap is the step to the instruction at its
// address, which a repeated string instruction makes once more for each element.
void OnTrap(int, siginfo_t* signal, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (signal->si_code == SI_TKILL) {
    registers[REG_EFL] ^= kTrapFlag;
    return;
  }
  if (registers[REG_RIP] != the_stepping.last) Count(registers[REG_RIP]);
  the_stepping.last = registers[REG_RIP];
  if (the_stepping.steps->over_time) registers[REG_EFL] &= ~kTrapFlag;
}

StepCounts CountsOf(const std::function<void()>& run) {
  the_stepping.steps->counts = {};
  raise(SIGTRAP);
  run();
  if (!the_stepping.steps->over_time) raise(SIGTRAP);
  return the_stepping.steps->counts;
}

// The handler needs a stack of its own: generated code may use the stack pointer as it likes, and
// then what lies below it is anybody's.
void TakeSignalStack() {
  constexpr std::size_t kBytes = 1 << 18;  // a signal's frame holds all vector and tile registers
  static std::vector<char> bytes(kBytes);
  const stack_t stack = {.ss_sp = bytes.data(), .ss_flags = 0, .ss_size = bytes.size()};
  sigaltstack(&stack, nullptr);
}

[[noreturn]] void StepInChild(const std::function<void()>& run, double most_cpu_seconds) {
  // A call that blocks takes no CPU time: the alarm ends it, also beside other busy processes.
  constexpr unsigned kGraceSeconds = 20, kWallPerCpu = 4;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kWallPerCpu * static_cast<unsigned>(std::ceil(most_cpu_seconds)) + kGraceSeconds);
  TakeSignalStack();
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, nullptr);
  the_stepping.most_cpu_seconds = most_cpu_seconds;
  const std::function<void()> nothing = [] {};
  CountsOf(nothing);  // its first time finds symbols
  the_stepping.steps->of_nothing = CountsOf(nothing);
  CountsOf(run);
  the_stepping.steps->done = true;
  _exit(0);
}

std::uint64_t Less(std::uint64_t all, std::uint64_t some) { return all > some ? all - some : 0; }

Stepped ResultOf(const Steps& steps, double most_cpu_seconds) {
  if (steps.over_time)
    return {std::nullopt,
            fmt::format("single steps took more than {} s of CPU time", most_cpu_seconds)};
  if (!steps.done) return {std::nullopt, "the process that stepped through the call ended before"};
  if (steps.of_nothing.all == 0) return {std::nullopt, "the system makes no single steps"};
  const auto& [all, arithmetic, generated] = steps.counts;
  return {StepCounts{Less(all, steps.of_nothing.all), Less(arithmetic, steps.of_nothing.arithmetic),
                     Less(generated, steps.of_nothing.generated)},
          ""};
}

}  // namespace

std::vector<AddressRange> GeneratedCode(std::string_view maps) {
  std::vector<AddressRange> ranges;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    // "7f10-7f20 r-xp 00000000 00:00 0    NAME", or no name
    std::istringstream fields(line);
    AddressRange range;
    char dash = 0;
    std::string rights, offset, device, inode, name;
    if (!(fields >> std::hex >> range.begin >> dash >> range.end >> rights)) continue;
    if (dash != '-' || rights.size() < 3 || rights[2] != 'x') continue;
    fields >> offset >> device >> inode >> name;
    if (name.empty() || name.starts_with("/memfd:")) ranges.push_back(range);
  }
  return ranges;
}

Stepped StepThrough(const std::function<void()>& run, double most_cpu_seconds) {
  void* page =
      mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {std::nullopt, "no memory for counts"};
  the_stepping = {.steps = new (page) Steps,
                  .generated = GeneratedCode(ReadFileIfAny("/proc/self/maps"))};
  const pid_t child = fork();
  if (child == 0) StepInChild(run, most_cpu_seconds);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const Steps steps = *the_stepping.steps;
  munmap(page, sizeof(Steps));
  if (child < 0) return {std::nullopt, "no process for single steps could be started"};
  return ResultOf(steps, most_cpu_seconds);
}

}  // namespace dlroof::instructions
