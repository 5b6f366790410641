#include "bench/network/mpi/mpi_messages.h"

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace dlroof::network {

MpiMessages::MpiMessages(std::size_t most_bytes)
    : sent_(most_bytes / sizeof(float) + 1), received_(most_bytes / sizeof(float) + 1) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

MpiMessages::~MpiMessages() {
  for (auto& [ranks, communicator] : first_)
    if (communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
}

std::string MpiMessages::Library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::string MpiMessages::NodeName() const {
  if (const char* slurm = std::getenv("SLURMD_NODENAME")) return slurm;
  char text[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

void MpiMessages::Send(int to, std::size_t bytes) {
  MPI_Send(sent_.data(), static_cast<int>(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

void MpiMessages::Receive(int from, std::size_t bytes) {
  MPI_Recv(received_.data(), static_cast<int>(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

void MpiMessages::SendNumber(int to, double number) {
  MPI_Send(&number, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
}

double MpiMessages::ReceiveNumber(int from) {
  double number = 0;
  MPI_Recv(&number, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

void MpiMessages::WaitForAll() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

MPI_Comm MpiMessages::First(int ranks) {
  const auto found = first_.find(ranks);
  if (found != first_.end()) return found->second;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ < ranks ? 0 : MPI_UNDEFINED, rank_, &communicator);
  return first_[ranks] = communicator;
}

double MpiMessages::Sum(int ranks, std::size_t bytes) {
  const auto communicator = First(ranks);
  if (communicator == MPI_COMM_NULL) return 0;
  MPI_Barrier(communicator);
  const double start = Now();
  MPI_Allreduce(sent_.data(), received_.data(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT,
                MPI_SUM, communicator);
  const double seconds = Now() - start;
  double longest = 0;
  MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, communicator);
  return longest;
}

std::vector<std::string> MpiMessages::Gather(const std::string& text) {
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(rank_ == 0 ? size_ : 0), offsets(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), ' ');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
              0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    texts.push_back(all.substr(offsets[i], lengths[i]));
  return texts;
}

}  // namespace dlroof::network
