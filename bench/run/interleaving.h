// Interleaves the repetitions of this process with those of another one: each has the machine for
// itself while it measures, and slow periods of the machine hit both.
#pragma once

namespace dlroof {

// The measured program's side of two pipes. It writes "ready\n" once, before its first repetition,
// and the number of iterations ("12\n") after each. It reads one byte per repetition. The
// supervisor stops this process (SIGSTOP) between its turns, so that its threads do not spin. The
// descriptors stay open.
class Interleaving {
 public:
  Interleaving(int from, int to) : from_(from), to_(to) {}

  // Returns false when there are no more turns.
  bool WaitForTurn();
  void EndTurn(double iterations);

 private:
  int from_, to_;
  bool ready_ = false;
};

}  // namespace dlroof
