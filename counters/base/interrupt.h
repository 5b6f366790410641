// Stops a program at its next safe point.
#pragma once

namespace dlroof {

// Makes SIGINT and SIGTERM request a stop: the program skips all work after its next safe point. A
// second signal ends the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

}  // namespace dlroof
