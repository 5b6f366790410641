// Messages by MPI.
#pragma once

#include <mpi.h>

#include <map>
#include <string>
#include <vector>

#include "bench/network/probe.h"

namespace dlroof::network {

// Exists between MPI_Init and MPI_Finalize. MPI ends the job if a call fails.
class MpiMessages : public Messages {
 public:
  explicit MpiMessages(std::size_t most_bytes);
  ~MpiMessages() override;
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string Library() const override;
  std::string NodeName() const override;
  double Now() const override { return MPI_Wtime(); }
  void Send(int to, std::size_t bytes) override;
  void Receive(int from, std::size_t bytes) override;
  void SendNumber(int to, double number) override;
  double ReceiveNumber(int from) override;
  void WaitForAll() override;
  double Sum(int ranks, std::size_t bytes) override;
  std::vector<std::string> Gather(const std::string& text) override;

 private:
  MPI_Comm First(int ranks);

  int rank_ = 0, size_ = 1;
  std::vector<float> sent_, received_;
  std::map<int, MPI_Comm> first_;  // communicators of the first ranks, by their number
};

}  // namespace dlroof::network
