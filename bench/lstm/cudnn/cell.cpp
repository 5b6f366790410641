#include <fmt/format.h>

#include <memory>

#include "bench/lstm/check.h"
#include "bench/lstm/cudnn/call.h"
#include "bench/workload/host_memory.h"
#include "bench/workload/seeded_values.h"

namespace dlroof::lstm {
namespace {

LstmInput<float> SeededInput(const CudnnLstmCase& lstm, unsigned seed) {
  return SeededLstmInput(lstm.problem, seed, StorageType(lstm.type));
}

// Exact in the type in which cuDNN reads them.
LstmOutput<float> SeededGradient(const CudnnLstmCase& lstm, unsigned seed) {
  auto gradient = SeededLstmGradient(lstm.problem, seed);
  const auto type = StorageType(lstm.type);
  if (type != "f32")
    ForEachOutput(
        [&](auto& tensor) {
          for (float& value : tensor)
            value = type == "f16" ? workload::RoundToF16(value) : workload::RoundToBf16(value);
        },
        gradient);
  return gradient;
}

// Runs the call once and compares everything that it makes with the plain loops.
workload::Verification Compared(const LstmGpuCall& call, unsigned seed) {
  const auto& lstm = call.lstm();
  call.Renew();
  return CompareWithLoops(call, lstm.problem, lstm.direction, SeededInput(lstm, seed),
                          SeededGradient(lstm, seed), GpuLstmTolerance(lstm));
}

// Tells if a backward call leaves its reserve space as it was, which cuDNN does not promise: where
// not, calls that follow each other without a renewal work on what the first left there, which has
// to be said.
std::string AgainOnTheSameReserve(const LstmGpuCall& call) {
  call.Renew();
  call.Run();
  const auto first = call.Gradients();
  call.Run();
  const auto second = call.Gradients();
  return first.source == second.source && first.initial_hidden == second.initial_hidden
             ? "; a call leaves its reserve space as it was"
             : "; a call uses its reserve space up: renewed before each timed call, back to back "
               "and in a graph before the first alone";
}

workload::Verification Verify(const LstmGpuCall& call, unsigned seed) {
  const auto& lstm = call.lstm();
  CudnnLstmCase small = lstm;
  small.problem = Twin(lstm.problem, kMostFlopsToVerify);
  // Halved and rounded up, a projection may be as wide as the cell, which cuDNN has none of.
  if (small.problem.p >= small.problem.h) small.problem.p = small.problem.h - 1;
  workload::Verification found;
  if (small == lstm) {
    found = Compared(call, seed);
  } else {
    const LstmGpuCall twin(small, SeededInput(small, seed), SeededGradient(small, seed));
    found = Compared(twin, seed);
    found.how +=
        fmt::format(" of the twin {} ({} too)", ToText(small.problem), Key(lstm.algorithm));
  }
  if (lstm.direction == LstmDirection::kBackward) found.how += AgainOnTheSameReserve(call);
  return found;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name, const workload::RunSettings& settings) {
  const auto lstm = ReadCudnnLstmCase(name);
  RnnSpecOf(lstm);  // refuses before anything is made
  const auto bytes = GpuElementBytes(lstm.type);
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, lstm.direction, bytes), ToText(lstm.problem));
  const auto call = std::make_shared<const LstmGpuCall>(lstm, SeededInput(lstm, settings.seed),
                                                        SeededGradient(lstm, settings.seed));
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.enqueue = [call](void* stream) { call->Enqueue(stream); };
  if (lstm.direction == LstmDirection::kBackward) prepared.renew = [call] { call->Restore(); };
  prepared.verify = [call, seed = settings.seed] { return Verify(*call, seed); };
  prepared.algorithm = call->Algorithm();
  prepared.modelled =
      ModelledWork(lstm.problem, lstm.direction, bytes, RnnPipe(lstm.type), "fp32.vector", 1);
  // One call of cuDNN is many kernels, and how many is its own affair.
  prepared.modelled.launches.reset();
  prepared.threads = 1;
  prepared.blocks_wait = lstm.algorithm != RnnAlgorithm::kStandard;
  prepared.memory = call->Memory();
  return prepared;
}

[[maybe_unused]] const bool cell_registered =
    workload::RegisterCell({.op = "LSTM", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::lstm
