// Measuring by turns with another process: each has the machine for itself while its repetition
// runs, and both see the same slow spells.
#pragma once

namespace dlroof {

// The measuring side. Over `to` it says "ready\n" once, when its first repetition could begin, and
// how many iterations a repetition had ("12\n") when it is over; over `from` it gets a byte for
// each repetition that it may make. Who gives the turns stops this process in between, so that no
// thread of it spins. The descriptors are those of pipes and stay open.
class Turns {
 public:
  Turns(int from, int to) : from_(from), to_(to) {}

  // Waits for the turn. False: there is none any more.
  bool Take();
  void Give(double iterations);

 private:
  int from_, to_;
  bool ready_ = false;
};

}  // namespace dlroof
