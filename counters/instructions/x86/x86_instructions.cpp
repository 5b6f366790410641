#include "counters/instructions/x86/x86_instructions.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <vector>

#include "counters/base/files.h"
#include "counters/cpu/clocks.h"
#include "counters/instructions/instruction_count.h"

namespace dlroof::instructions {
namespace {

// An opcode: its opcode map, its number, and the prefix that selects among several instructions.
struct Opcode {
  int map = 0;     // 1 for 0F, 2 for 0F 38, 3 for 0F 3A, 5 and 6 for EVEX's own, 0 for others
  int prefix = 0;  // as in VEX: 0 none, 1 66, 2 F3, 3 F2
  int code = 0;
};

// Returns the opcode of an instruction without VEX or EVEX. Its last F2 or F3 prefix overrides 66.
Opcode OfLegacy(const unsigned char* at) {
  constexpr std::array<unsigned char, 8> kIgnored = {0x2E, 0x36, 0x3E, 0x26,
                                                     0x64, 0x65, 0x67, 0xF0};
  constexpr int kMostPrefixes = 12;
  int prefix = 0;
  for (int i = 0; i < kMostPrefixes; ++i, ++at) {
    if (*at == 0xF3)
      prefix = 2;
    else if (*at == 0xF2)
      prefix = 3;
    else if (*at == 0x66)
      prefix = prefix == 0 ? 1 : prefix;
    else if (std::ranges::find(kIgnored, *at) == kIgnored.end())
      break;
  }
  if ((*at & 0xF0) == 0x40) ++at;  // REX
  if (*at != 0x0F) return {};
  if (at[1] == 0x38) return {2, prefix, at[2]};
  if (at[1] == 0x3A) return {3, prefix, at[2]};
  return {1, prefix, at[1]};
}

Opcode Decode(const unsigned char* code) {
  if (*code == 0xC5) return {1, code[1] & 3, code[2]};               // VEX of two bytes
  if (*code == 0xC4) return {code[1] & 0x1F, code[2] & 3, code[3]};  // VEX of three bytes
  if (*code == 0x62) return {code[1] & 7, code[2] & 3, code[4]};     // EVEX
  return OfLegacy(code);
}

constexpr unsigned kAnyPrefix = 0xF;

// Arithmetic opcodes `first` to `last` of a map, with any prefix whose bit is set in `prefixes`.
struct Row {
  int map, first, last;
  unsigned prefixes;
};
constexpr Row kArithmetic[] = {
    {1, 0x51, 0x53, kAnyPrefix},  // square root, reciprocals
    {1, 0x58, 0x59, kAnyPrefix},  // add, multiply
    {1, 0x5C, 0x5F, kAnyPrefix},  // subtract, minimum, divide, maximum
    {1, 0x7C, 0x7D, 0b1010},      // horizontal add, subtract
    {1, 0xD0, 0xD0, 0b1010},      // add and subtract
    {1, 0xF5, 0xF5, 0b0011},      // PMADDWD
    {2, 0x04, 0x04, 0b0011},      // PMADDUBSW
    {2, 0x4C, 0x4F, 0b0010},      // reciprocals of 14 bits
    {2, 0x50, 0x53, 0b1111},      // VPDPBUSD and its siblings, VDPBF16PS
    {2, 0x5C, 0x5C, 0b1100},      // TDPBF16PS, TDPFP16PS
    {2, 0x5E, 0x5E, kAnyPrefix},  // TDPBUUD and its siblings
    {2, 0x96, 0x9F, 0b0010},      // fused multiply-adds
    {2, 0xA6, 0xAF, 0b0010},     {2, 0xB6, 0xBF, 0b0010},
    {3, 0x40, 0x41, 0b0010},      // dot products
    {5, 0x51, 0x51, kAnyPrefix},  // FP16: square root; then the same as maps 1 and 2
    {5, 0x58, 0x59, kAnyPrefix}, {5, 0x5C, 0x5F, kAnyPrefix},
    {6, 0x4C, 0x4F, 0b0010},     {6, 0x96, 0x9F, 0b0010},
    {6, 0xA6, 0xAF, 0b0010},     {6, 0xB6, 0xBF, 0b0010}};

}  // namespace

bool IsArithmetic(const unsigned char* code) {
  const auto opcode = Decode(code);
  return std::ranges::any_of(kArithmetic, [&](const Row& row) {
    return row.map == opcode.map && row.first <= opcode.code && opcode.code <= row.last &&
           (row.prefixes >> static_cast<unsigned>(opcode.prefix) & 1U) != 0;
  });
}

namespace {

constexpr double kSeconds = 0.03;  // an idle core takes milliseconds to reach its full clock
constexpr int kRounds = 600;
constexpr int kPerRound = cpu::kAdditionsPerRound;

unsigned Additions(unsigned x, const unsigned*) { return cpu::AddInChains(x, kRounds); }

// A loop with one load per two additions: cores can start more instructions than they can add.
[[gnu::noinline]] unsigned AdditionsAndLoads(unsigned x, const unsigned* from) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, loaded = 0;
  for (int round = 0; round < kRounds; ++round)
    asm volatile(
        ".rept 6\n\t"
        "addl %9, %0\n\taddl %9, %1\n\tmovl (%10), %8\n\t"
        "addl %9, %2\n\taddl %9, %3\n\tmovl (%10), %8\n\t"
        "addl %9, %4\n\taddl %9, %5\n\tmovl (%10), %8\n\t"
        "addl %9, %6\n\taddl %9, %7\n\tmovl (%10), %8\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "=&r"(loaded)
        : "r"(x), "r"(from));
  return a + b + c + d + e + f + g + h + loaded;
}

}  // namespace

std::optional<double> MeasureInstructionRate() {
  double best = 0;
  unsigned value = 3;
  const unsigned loaded = 1;
  for (const double end = cpu::WallSeconds() + kSeconds; cpu::WallSeconds() < end;)
    for (auto* mix : {Additions, AdditionsAndLoads}) {
      const double begin = cpu::WallSeconds();
      value = mix(value, &loaded);
      best = std::max(best, kRounds * kPerRound / (cpu::WallSeconds() - begin));
    }
  return best;
}

namespace {

constexpr long long kTrapFlag = 0x100;

// Results in shared memory, which the child writes and the parent reads after the child's end.
struct Steps {
  StepCounts counts;       // of the last function executed in single steps
  StepCounts overhead;     // counts for an empty function
  bool over_time = false;  // the child used up `most_cpu_seconds`
  bool done = false;
};

// State of the child's signal handler.
struct Stepping {
  Steps* steps = nullptr;
  std::vector<AddressRange> generated;
  double most_cpu_seconds = 0;  // [s] of the child's CPU time
  long long last = 0;           // address of the previous instruction
};
Stepping the_stepping;

// Returns the CPU time [s], which unlike wall time does not depend on other programs.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Count(long long address) {
  constexpr std::uint64_t kStepsBetweenChecks = 256;
  auto& counts = the_stepping.steps->counts;
  ++counts.all;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the instruction pointer's value
  if (IsArithmetic(reinterpret_cast<const unsigned char*>(address))) ++counts.arithmetic;
  const auto at = static_cast<std::uint64_t>(address);
  for (const auto& [begin, end] : the_stepping.generated)
    if (begin <= at && at < end) ++counts.generated;
  if (counts.all % kStepsBetweenChecks == 0 && CpuSeconds() > the_stepping.most_cpu_seconds)
    the_stepping.steps->over_time = true;
}

// The handler of SIGTRAP. A raised signal (SI_TKILL) turns single-stepping on or off. A trap
// reports the next instruction's address; a repeated string instruction traps once per element.
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

// Gives the handler its own stack, as generated code may use the stack pointer for other purposes.
void UseSignalStack() {
  constexpr std::size_t kBytes = 1 << 18;  // a signal frame contains all vector and tile registers
  static std::vector<char> bytes(kBytes);
  const stack_t stack = {.ss_sp = bytes.data(), .ss_flags = 0, .ss_size = bytes.size()};
  sigaltstack(&stack, nullptr);
}

// Returns the wall time [s] after which the child ends. It ends a call that blocks, which uses no
// CPU time; the factor allows for a busy machine.
double WallLimit(double most_cpu_seconds, double most_wall_seconds) {
  constexpr double kGraceSeconds = 20, kWallPerCpu = 4, kLeastSeconds = 1e-3, kMostSeconds = 1e6;
  const double limit = std::min(most_wall_seconds, kWallPerCpu * most_cpu_seconds + kGraceSeconds);
  return std::clamp(limit, kLeastSeconds, kMostSeconds);
}

void EndAfter(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  signal(SIGALRM, SIG_DFL);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

[[noreturn]] void StepInChild(const std::function<void()>& run, double most_cpu_seconds,
                              double wall_limit) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  EndAfter(wall_limit);
  UseSignalStack();
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, nullptr);
  the_stepping.most_cpu_seconds = most_cpu_seconds;
  const std::function<void()> nothing = [] {};
  CountsOf(nothing);  // the first run resolves symbols
  the_stepping.steps->overhead = CountsOf(nothing);
  CountsOf(run);
  the_stepping.steps->done = true;
  _exit(0);
}

std::uint64_t Less(std::uint64_t all, std::uint64_t some) { return all > some ? all - some : 0; }

StepResult Failed(const std::string& text) { return {.reason = Reason{text}}; }

StepResult ResultOf(const Steps& steps, double most_cpu_seconds) {
  if (steps.over_time)
    return Failed(fmt::format("single steps took more than {} s of CPU time", most_cpu_seconds));
  if (!steps.done) return Failed("the single-stepping process ended before the call did");
  const auto& [all, arithmetic, generated] = steps.overhead;
  if (all == 0) return Failed("the system does not support single steps");
  return {.counts =
              StepCounts{Less(steps.counts.all, all), Less(steps.counts.arithmetic, arithmetic),
                         Less(steps.counts.generated, generated)}};
}

}  // namespace

std::vector<AddressRange> GeneratedCode(std::string_view maps) {
  std::vector<AddressRange> ranges;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    // "7f10-7f20 r-xp 00000000 00:00 0    NAME" with an optional name
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

StepResult StepThrough(const std::function<void()>& run, double most_cpu_seconds,
                       double most_wall_seconds) {
  const double wall_limit = WallLimit(most_cpu_seconds, most_wall_seconds);
  void* page =
      mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Failed("there is no memory for the counts");
  the_stepping = {.steps = new (page) Steps,
                  .generated = GeneratedCode(ReadFileIfAny("/proc/self/maps"))};
  const pid_t child = fork();
  if (child == 0) StepInChild(run, most_cpu_seconds, wall_limit);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const Steps steps = *the_stepping.steps;
  munmap(page, sizeof(Steps));
  if (child < 0) return Failed("the single-stepping process could not be started");
  if (!steps.done && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return Failed(fmt::format("single steps took more than {:.2g} s", wall_limit));
  return ResultOf(steps, most_cpu_seconds);
}

}  // namespace dlroof::instructions
