#include "counters/base/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace dlroof {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

extern "C" void RequestStop(int) { stop_requested = true; }

}  // namespace

void StopOnInterrupt() {
  // Kernels that a library generates may use the stack beyond what a signal spares: oneDNN 3.2's
  // sgemm did, and its loop counters were gone.
  static std::array<char, 1 << 16> other_stack;
  stack_t stack = {};
  stack.ss_sp = other_stack.data();
  stack.ss_size = other_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool StoppedByInterrupt() { return stop_requested; }

}  // namespace dlroof
