// Ends a program's work well when its user has seen enough.
#pragma once

namespace dlroof {

// From now on SIGINT and SIGTERM let what is running come to its next stop and skip the rest; a
// second one ends the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

}  // namespace dlroof
