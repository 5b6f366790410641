#include "counters/cpu/clocks.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <utility>

#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::cpu {
namespace {

double CpuSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<double> RunDelayIn(const std::filesystem::path& schedstat) {
  return ParseRunDelay(ReadFileIfAny(schedstat));
}

std::optional<double> ProcessRunDelay() {
  std::error_code error;
  std::optional<double> total;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error))
    if (const auto delay = RunDelayIn(task.path() / "schedstat"))
      total = total.value_or(0) + *delay;
  return total;
}

constexpr int kMultipliesPerRound = 16;
constexpr double kCyclesPerMultiply = 3;

// Executes `rounds` * kMultipliesPerRound dependent 32-bit multiplications. Their latency is 3
// cycles on all cores, whereas new cores execute several dependent additions of constants a cycle.
[[gnu::noinline]] unsigned MultiplyInAChain(unsigned value, int rounds) {
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 16\n\t"
        "imull %0, %0\n\t"
        ".endr"
        : "+r"(value));
  return value;
}

constexpr int kAdditionsPerRound = 72;

// Executes `rounds` * kAdditionsPerRound additions in eight independent chains, so that up to eight
// can start per cycle. Adds registers, as some cores eliminate additions of a constant.
[[gnu::noinline]] unsigned AddInChains(unsigned x, int rounds) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 9\n\t"
        "addl %8, %0\n\taddl %8, %1\n\taddl %8, %2\n\taddl %8, %3\n\t"
        "addl %8, %4\n\taddl %8, %5\n\taddl %8, %6\n\taddl %8, %7\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
        : "r"(x));
  return a + b + c + d + e + f + g + h;
}

// Executes `rounds` * kAdditionsPerRound instructions, a third of them loads from L1 and the others
// additions as in AddInChains: some cores start more instructions per cycle than additions.
[[gnu::noinline]] unsigned AddAndLoad(unsigned x, int rounds) {
  const unsigned from = 1;
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, loaded = 0;
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 6\n\t"
        "addl %9, %0\n\taddl %9, %1\n\tmovl %10, %8\n\t"
        "addl %9, %2\n\taddl %9, %3\n\tmovl %10, %8\n\t"
        "addl %9, %4\n\taddl %9, %5\n\tmovl %10, %8\n\t"
        "addl %9, %6\n\taddl %9, %7\n\tmovl %10, %8\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "=&r"(loaded)
        : "r"(x), "m"(from));
  return a + b + c + d + e + f + g + h + loaded;
}

constexpr double kTimeout = 1e-3;  // [s] maximum wait: a library may start fewer threads than asked
constexpr int kChunks = 9, kTrips = 10;
constexpr std::size_t kRank = 3, kMaxLooks = 4096;

// Returns the third best value, or the worst of fewer than three.
template <class Better>
std::optional<double> ThirdBest(std::vector<double> values, Better better) {
  if (values.empty()) return std::nullopt;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(kRank, values.size()) - 1);
  std::nth_element(values.begin(), at, values.end(), better);
  return *at;
}

}  // namespace

std::optional<double> ThreadRunDelay() { return RunDelayIn("/proc/thread-self/schedstat"); }

ClockReading ReadClocks() {
  return {WallSeconds(), CpuSeconds(CLOCK_THREAD_CPUTIME_ID), CpuSeconds(CLOCK_PROCESS_CPUTIME_ID),
          ProcessRunDelay()};
}

ClockReading ReadThreadClocks() {
  return {WallSeconds(), CpuSeconds(CLOCK_THREAD_CPUTIME_ID), 0, ThreadRunDelay()};
}

ClockReading operator-(const ClockReading& end, const ClockReading& begin) {
  ClockReading difference{end.wall - begin.wall, end.thread_cpu - begin.thread_cpu,
                          end.process_cpu - begin.process_cpu, std::nullopt};
  // The sum over threads may decrease if a thread has ended between the two readings.
  if (end.run_delay && begin.run_delay)
    difference.run_delay = std::max(0.0, *end.run_delay - *begin.run_delay);
  return difference;
}

ClockReading operator+(ClockReading sum, const ClockReading& other) {
  sum.wall += other.wall;
  sum.thread_cpu += other.thread_cpu;
  sum.process_cpu += other.process_cpu;
  if (other.run_delay) sum.run_delay = sum.run_delay.value_or(0) + *other.run_delay;
  return sum;
}

ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call) {
  ClockReading begin, end;
  begin.run_delay = ProcessRunDelay();
  ready();
  begin.process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  begin.thread_cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  begin.wall = WallSeconds();
  call();
  end.wall = WallSeconds();
  end.thread_cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  end.process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  end.run_delay = ProcessRunDelay();
  return end - begin;
}

std::optional<double> ParseRunDelay(std::string_view schedstat) {
  const auto begin = schedstat.find(' ') + 1, end = schedstat.find(' ', begin);
  if (end == schedstat.npos) return std::nullopt;
  const auto nanoseconds = ParseNumber<unsigned long long>(schedstat.substr(begin, end - begin));
  return nanoseconds ? std::optional(1e-9 * static_cast<double>(*nanoseconds)) : std::nullopt;
}

FreezeReport WatchFreezes(double seconds) {
  constexpr double kGapSeconds = 1e-3;
  FreezeReport report;
  const auto delay_before = ThreadRunDelay();
  const double begin = WallSeconds();
  double previous = begin;
  while (previous - begin < seconds) {
    const double now = WallSeconds();
    if (now - previous >= kGapSeconds) report.gaps.push_back(now - previous);
    previous = now;
  }
  report.seconds = previous - begin;
  if (const auto delay_after = ThreadRunDelay(); delay_after && delay_before)
    report.run_delay = *delay_after - *delay_before;
  return report;
}

double MeasureCoreClock() {
  constexpr int kChains = 4, kRounds = 1600;
  double best = 1;  // [s] shortest time
  unsigned value = 3;
  for (int chain = 0; chain < kChains; ++chain) {
    const double begin = WallSeconds();
    value = MultiplyInAChain(value, kRounds);
    best = std::min(best, WallSeconds() - begin);
  }
  return kCyclesPerMultiply * kRounds * kMultipliesPerRound / best;
}

double MeasureIssueRate() {
  constexpr int kPairs = 5, kAddRounds = 600, kChainRounds = 200;
  std::array<double, kPairs> seconds{};  // [s] times of the addition loops
  double shortest = 1;                   // [s] shortest time of a multiplication chain
  unsigned value = 3;
  for (double& additions : seconds) {
    const double begin = WallSeconds();
    value = AddInChains(value, kAddRounds);
    const double middle = WallSeconds();
    value = MultiplyInAChain(value | 1, kChainRounds);
    additions = middle - begin;
    shortest = std::min(shortest, WallSeconds() - middle);
  }
  // Takes the shortest chain, not the median: interference would make the clock too low and the
  // issue rate too high.
  const double cycles_per_second =
      kCyclesPerMultiply * kChainRounds * kMultipliesPerRound / shortest;
  std::nth_element(seconds.begin(), seconds.begin() + kPairs / 2, seconds.end());
  return kAddRounds * kAdditionsPerRound / seconds[kPairs / 2] / cycles_per_second;
}

double MeasureInstructionRate() {
  constexpr double kSeconds = 0.03;  // an idle core takes milliseconds to reach its full clock
  constexpr int kRounds = 600;
  double best = 0;
  unsigned value = 3;
  for (const double end = WallSeconds() + kSeconds; WallSeconds() < end;)
    for (auto* mix : {AddInChains, AddAndLoad}) {
      const double begin = WallSeconds();
      value = mix(value, kRounds);
      best = std::max(best, kRounds * kAdditionsPerRound / (WallSeconds() - begin));
    }
  return best;
}

BudgetClocks CallersClocks() {
  return {WallSeconds, [] { return CpuSeconds(CLOCK_THREAD_CPUTIME_ID); }};
}

Budget::Budget(double cpu_seconds, double wall_seconds, BudgetClocks clocks)
    : clocks_(std::move(clocks)),
      cpu_end_(clocks_.cpu() + cpu_seconds),
      wall_end_(clocks_.wall() + wall_seconds) {}

Budget Budget::Part(double cpu_seconds) const {
  return Budget(std::min(cpu_seconds, CpuLeft()), WallLeft(), clocks_);
}

double Budget::CpuLeft() const { return std::max(0.0, cpu_end_ - clocks_.cpu()); }

double Budget::WallLeft() const { return std::max(0.0, wall_end_ - clocks_.wall()); }

std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks) {
  constexpr double kMinOverlap = 0.8;  // [1] common time / (last end - first begin)
  if (looks.empty()) return std::nullopt;
  const auto [first_begin, last_begin] = std::ranges::minmax(looks, {}, &IssueLook::begin);
  const auto [first_end, last_end] = std::ranges::minmax(looks, {}, &IssueLook::end);
  if (first_end.end - last_begin.begin < kMinOverlap * (last_end.end - first_begin.begin))
    return std::nullopt;
  return std::ranges::min(looks, {}, &IssueLook::rate).rate;  // nullopt is the lowest
}

bool TeamLook::WaitsFor(const std::atomic<long>& line, long value) const {
  for (double begin = WallSeconds();;) {
    for (int i = 0; i < 1000; ++i)
      if (line.load(std::memory_order_acquire) >= value) return true;
    if (WallSeconds() - begin > kTimeout) return false;
  }
}

// Runs in the first thread. Exchanges a cache line with each other thread in turn. A thread's round
// trip is the median of several chunks of trips.
void TeamLook::Send() {
  std::optional<double> farthest;
  long trip = 0;
  for (std::size_t other = 1; other < looks_.size(); ++other) {
    std::vector<double> chunks;
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const double begin = WallSeconds();
      for (int i = 0; i < kTrips; ++i) {
        sent_.store(++trip, std::memory_order_release);
        if (!WaitsFor(answered_, trip)) return;
      }
      chunks.push_back((WallSeconds() - begin) / kTrips);
    }
    farthest = std::max(farthest.value_or(0), Median(std::move(chunks)));
  }
  farthest_ = farthest;
}

void TeamLook::Answer(std::size_t thread) {
  constexpr long kOfEach = kChunks * kTrips;
  const long before = static_cast<long>(thread - 1) * kOfEach;
  for (long at = answered_.load(); at < before; at = answered_.load())
    if (!WaitsFor(answered_, at + 1)) return;  // the previous thread has timed out
  for (long trip = before + 1; trip <= before + kOfEach; ++trip) {
    if (!WaitsFor(sent_, trip)) return;
    answered_.store(trip, std::memory_order_release);
  }
}

void TeamLook::Measure(int thread) {
  const auto index = static_cast<std::size_t>(thread);
  if (thread < 0 || index >= looks_.size()) return;
  arrived_.fetch_add(1);
  const double begin = WallSeconds();
  while (arrived_.load(std::memory_order_acquire) < looks_.size())
    if (WallSeconds() - begin > kTimeout) return;
  auto& look = looks_[index];
  look.begin = WallSeconds();
  look.rate = MeasureIssueRate();
  look.end = WallSeconds();
  if (thread == 0)
    Send();
  else
    Answer(index);
}

TeamState Better(const TeamState& first, const TeamState& other) {
  const double rate = first.issue_rate.value_or(0), others = other.issue_rate.value_or(0);
  const double least = kMinCoreShare * std::max(rate, others);
  if (rate < least) return other;
  if (others < least) return first;
  return {rate < others ? other.issue_rate : first.issue_rate,
          Lower(first.round_trip, other.round_trip)};
}

TeamState SharesOfBest::Best() const {
  std::vector<double> rates, trips;
  for (const auto& look : looks_)
    if (look.issue_rate) rates.push_back(*look.issue_rate);
  TeamState seen{ThirdBest(rates, std::greater<>()), std::nullopt};
  // A known rate that no measurement reaches was wrong, or the host permanently takes a part of the
  // core.
  TeamState known = best_known_;
  if (!known.issue_rate || std::ranges::none_of(rates, [&](double rate) {
        return rate >= kMinCoreShare * *known.issue_rate;
      }))
    known.issue_rate = seen.issue_rate;
  const auto full = Better(seen, {known.issue_rate, std::nullopt}).issue_rate.value_or(0);
  for (const auto& look : looks_)
    if (look.round_trip && look.issue_rate.value_or(full) >= kMinCoreShare * full)
      trips.push_back(*look.round_trip);
  seen.round_trip = ThirdBest(trips, std::less<>());
  return Better(known, seen);
}

TeamShares SharesOfBest::OfLower(const TeamState& before, const TeamState& after) {
  for (const auto& look : {before, after})
    if (look != TeamState{}) looks_.push_back(look);
  if (looks_.size() > kMaxLooks) looks_.erase(looks_.begin(), looks_.begin() + kMaxLooks / 2);
  const auto best = Best();
  TeamShares shares;
  for (const auto& look : {before, after}) {
    if (look.issue_rate)
      shares.core = Lower(shares.core, std::min(1.0, *look.issue_rate / *best.issue_rate));
    if (look.round_trip && best.round_trip)
      shares.link = Lower(shares.link, std::min(1.0, *best.round_trip / *look.round_trip));
  }
  return shares;
}

}  // namespace dlroof::cpu
