// The part of a message passing library that measuring a network needs. MPI is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlroof {

class Messages {
 public:
  virtual ~Messages() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string Library() const = 0;
  virtual std::string NodeName() const = 0;  // of this rank
  virtual double Now() const = 0;            // [s] of this rank's clock

  // Both block. Contents do not matter.
  virtual void Send(int to, std::size_t bytes) = 0;
  virtual void Receive(int from, std::size_t bytes) = 0;
  // A number that the other end has and this one needs.
  virtual void SendNumber(int to, double number) = 0;
  virtual double ReceiveNumber(int from) = 0;
  // Waits for all ranks, asleep: a waiting rank leaves its CPU to others.
  virtual void WaitForAll() = 0;
  // Sums up vectors of floats of the first `ranks` ranks, after these have waited for each other.
  // Returns the longest of their times [s], the same on all of them; the others return 0 at once.
  virtual double Sum(int ranks, std::size_t bytes) = 0;
  // Returns all ranks' texts on rank 0; empty on the others.
  virtual std::vector<std::string> Gather(const std::string& text) = 0;
};

}  // namespace dlroof
