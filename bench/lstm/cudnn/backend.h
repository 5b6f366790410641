// One LSTM call on cuDNN's RNN interface, from seeded tensors to the result. Part of the CUDA
// module only.
#pragma once

#include <cudnn.h>

#include <memory>

#include "bench/lstm/case.h"
#include "bench/lstm/cudnn_case.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Fills the descriptor; needs no GPU. Throws Unsupported with cuDNN's words.
void SetRnn(const RnnSpec& spec, cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t rnn);

class LstmGpuCall {
 public:
  // Asks cuDNN, fills the GPU's memory, runs the call once; for `bwd` the forward training call
  // before it. Throws Unsupported with cuDNN's own words. `d_output` is read by `bwd` only.
  LstmGpuCall(const CudnnLstmCase& lstm, const LstmInput<float>& input,
              const LstmOutput<float>& d_output);
  ~LstmGpuCall();
  LstmGpuCall(const LstmGpuCall&) = delete;
  LstmGpuCall& operator=(const LstmGpuCall&) = delete;

  // Starts one call on a cudaStream_t.
  void Enqueue(void* stream) const;
  // One call, finished when it returns.
  void Run() const;
  // Brings back what `bwd` uses up: cuDNN writes over the reserve space of the forward call, and
  // adds to the weight gradients. Does nothing for other directions.
  void Restore() const;
  // As if nothing had run: results are not-a-number, weight gradients zero, and for `bwd` the
  // forward training call has just run.
  void Renew() const;

  LstmOutput<float> Outputs() const;
  LstmInput<float> Gradients() const;  // `bwd` only

  std::string Algorithm() const;
  std::vector<workload::MemoryRegion> Memory() const;
  const CudnnLstmCase& lstm() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlroof::lstm
