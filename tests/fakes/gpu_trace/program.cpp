// A program that seems to use a GPU: it loads CUDA_INJECTION64_PATH as the CUDA driver does, and
// gives the fake libcupti work to report. Its arguments are commands, in their order:
//   cupti                      loads the fake libcupti (FAKE_CUPTI), as programs that link it do
//   cuda                       what the driver does in cuInit
//   kernel NAME GRID BLOCK STREAM BEGIN DURATION [us]; copy KIND BYTES STREAM BEGIN DURATION;
//   fill BYTES STREAM BEGIN DURATION
//   steps N                    a training loop: kernels, a copy, a fill and a pause of each step
//   graphs N                   the same as launches of one graph
//   ranges N                   the same with NVTX ranges around each step and its parts
//   lstm N                     an LSTM of JAX on an H200: steps of 710 us, each a graph of 304
//                              kernels and 102 copies; 2076 us while CUPTI traces the nodes
//   eager N                    DeepLabv3 there, launch by launch: 5390 us, 8360 while CUPTI traces
//                              kernels
//   many N                     N launches of 1 us, 1 us apart
//   drop N; push NAME; pop; print TEXT; sleep MS; flushed BYTES (waits until this process's
//   trace has that many bytes); fork COMMANDS... done
//   exit CODE; _exit CODE; kill
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fakes/gpu_trace/fake_cupti.h"

namespace {

using Words = std::vector<std::string>;

constexpr const char* kGemm = "_Z4gemmIfLi2EEvPT_";
constexpr const char* kAdd = "_Z22add_elementwise_kernelPfS_";
constexpr const char* kRelu = "_Z23relu_elementwise_kernelPf";
constexpr const char* kTranspose = "_Z16nchwToNhwcKernelPKfPf";

void* cupti = nullptr;

void LoadCupti() {
  if (cupti == nullptr) cupti = dlopen(std::getenv("FAKE_CUPTI"), RTLD_NOW);
  if (cupti == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(99);
  }
}

template <class Function>
Function* Find(const char* name) {
  LoadCupti();
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}

void InitializeCuda() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* library = dlopen(path, RTLD_NOW);
  auto* initialize = library == nullptr
                         ? nullptr
                         : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize == nullptr || initialize() == 0) {
    std::fprintf(stderr, "the driver cannot load %s\n", path);
    std::exit(98);
  }
}

// Waits for at most a minute.
void WaitForBytes(long bytes) {
  const std::string path =
      std::getenv("DLROOF_GPU_TRACE_FOLDER") + ("/" + std::to_string(getpid())) + ".gputrace";
  for (int i = 0; i < 6000; ++i) {
    struct stat about {};
    if (stat(path.c_str(), &about) == 0 && about.st_size >= bytes) return;
    const timespec moment{0, 10'000'000};
    nanosleep(&moment, nullptr);
  }
}

constexpr std::uint64_t base_ns = 4'000'000'000'000'000'000;

void Launch(const char* name, int grid, int block, unsigned stream, double begin_us,
            double duration_us, unsigned graph = 0, unsigned node = 0) {
  const FakeKernel kernel{name,
                          {grid, 1, 1},
                          {block, 1, 1},
                          1024,
                          base_ns + static_cast<std::uint64_t>(1e3 * begin_us),
                          static_cast<std::uint64_t>(1e3 * duration_us),
                          stream,
                          graph,
                          node};
  Find<void(std::uint64_t)>("FakeNow")(kernel.begin_ns);  // the host is no earlier
  Find<void(const FakeKernel*)>("FakeLaunch")(&kernel);
}

void CopyIn(int kind, std::uint64_t bytes, unsigned stream, double begin_us, double duration_us) {
  const FakeCopy copy{kind,
                      1,
                      bytes,
                      base_ns + static_cast<std::uint64_t>(1e3 * begin_us),
                      static_cast<std::uint64_t>(1e3 * duration_us),
                      stream};
  Find<void(const FakeCopy*)>("FakeCopyMemory")(&copy);
}

void Fill(std::uint64_t bytes, unsigned stream, double begin_us, double duration_us) {
  Find<void(std::uint64_t, std::uint64_t, std::uint64_t, unsigned)>("FakeFill")(
      bytes, base_ns + static_cast<std::uint64_t>(1e3 * begin_us),
      static_cast<std::uint64_t>(1e3 * duration_us), stream);
}

// A step of 1000 us: 500 us of kernels on stream 7 (100 us of them beside a copy on stream 8), 50
// us of another copy alone, 10 us of a fill, 440 us without work.
// `begin` and `end` are called around its parts.
void Step(double at, unsigned graph, void (*begin)(const char*), void (*end)()) {
  CopyIn(1, 6'400'000, 7, at, 50);
  Launch(kTranspose, 64, 256, 7, at + 60, 60, graph, graph == 0 ? 0 : 1);
  begin("features");
  begin("conv1");
  Launch(kGemm, 128, 128, 7, at + 130, 250, graph, graph == 0 ? 0 : 2);
  CopyIn(2, 1'000'000, 8, at + 200, 100);
  end();
  Launch(kAdd, 512, 256, 7, at + 390, 20, graph, graph == 0 ? 0 : 3);
  Launch(kRelu, 512, 256, 7, at + 420, 20, graph, graph == 0 ? 0 : 4);
  end();
  begin("head");
  Launch(kGemm, 256, 128, 7, at + 450, 150, graph, graph == 0 ? 0 : 5);
  end();
  Fill(4096, 7, at + 610, 10);
}

void Steps(int count, unsigned graph, bool ranges) {
  // Before the steps: the weights are converted.
  CopyIn(1, 100'000'000, 7, 0, 5000);
  for (int i = 0; i < 6; ++i) Launch(kTranspose, 8 + i, 256, 7, 6000 + 100 * i, 40);
  void (*begin)(const char*) = [](const char*) {};
  void (*end)() = [] {};
  if (ranges) {
    begin = [](const char* name) { nvtxRangePushA(name); };
    end = [] { nvtxRangePop(); };
  }
  for (int i = 0; i < count; ++i) {
    begin(("step " + std::to_string(i)).c_str());
    Step(10'000 + 1000.0 * i, graph, begin, end);
    end();
  }
}

void Lstm(int count) {
  constexpr double kKernel = 1.728, kCopy = 1.04;
  const bool traced = Find<bool()>("FakeTracesNodes")();
  const double step = traced ? 2076 : 710, gap = traced ? 3.386 : 0.021;
  for (int i = 0; i < 6; ++i) Launch(kTranspose, 8 + i, 256, 7, 100 * i, 40);
  for (int i = 0; i < count; ++i) {
    double at = 1000 + step * i;
    unsigned node = 0;
    for (int j = 0; j < 102; ++j) {
      for (int k = 0; k < (j < 101 ? 3 : 1); ++k, at += kKernel + gap)
        Launch(k == 0 ? kGemm : k == 1 ? kAdd : kRelu, 128, 128, 7, at, kKernel, 3, ++node);
      if (traced) CopyIn(8, 32'000, 7, at, kCopy);
      at += kCopy + gap;
    }
  }
}

void Eager(int count) {
  const double step = Find<bool()>("FakeTracesKernels")() ? 8360 : 5390;
  for (int i = 0; i < 6; ++i) Launch(kTranspose, 8 + i, 256, 7, 100 * i, 40);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < 10; ++j)
      Launch(kGemm, 100 + j, 128, 7, 1000 + step * i + step / 10 * j, 474.3);
}

// Runs commands from `at` on; returns the position of the "done" that ends them, or the end.
std::size_t Run(const Words& words, std::size_t at) {
  const auto number = [&](std::size_t i) { return std::atof(words.at(at + i).c_str()); };
  const auto whole = [&](std::size_t i) { return std::atoi(words.at(at + i).c_str()); };
  while (at < words.size()) {
    const std::string& command = words[at];
    if (command == "done") return at;
    if (command == "cupti") {
      LoadCupti();
    } else if (command == "cuda") {
      InitializeCuda();
    } else if (command == "kernel") {
      Launch(strdup(words.at(at + 1).c_str()), whole(2), whole(3), static_cast<unsigned>(whole(4)),
             number(5), number(6));
      at += 6;
    } else if (command == "copy") {
      CopyIn(whole(1), static_cast<std::uint64_t>(number(2)), static_cast<unsigned>(whole(3)),
             number(4), number(5));
      at += 5;
    } else if (command == "fill") {
      Fill(static_cast<std::uint64_t>(number(1)), static_cast<unsigned>(whole(2)), number(3),
           number(4));
      at += 4;
    } else if (command == "steps" || command == "graphs" || command == "ranges") {
      Steps(whole(1), command == "graphs" ? 3 : 0, command == "ranges");
      at += 1;
    } else if (command == "lstm" || command == "eager") {
      (command == "lstm" ? Lstm : Eager)(whole(1));
      at += 1;
    } else if (command == "many") {
      for (int i = 0; i < whole(1); ++i) Launch(kAdd, 512, 256, 7, 2 * i, 1);
      at += 1;
    } else if (command == "drop") {
      Find<void(std::uint64_t)>("FakeDrop")(static_cast<std::uint64_t>(number(1)));
      at += 1;
    } else if (command == "push") {
      nvtxRangePushA(words.at(at + 1).c_str());
      at += 1;
    } else if (command == "pop") {
      nvtxRangePop();
    } else if (command == "print") {
      std::puts(words.at(at + 1).c_str());
      std::fflush(stdout);
      at += 1;
    } else if (command == "sleep") {
      const int ms = whole(1);
      const timespec time{ms / 1000, ms % 1000 * 1'000'000L};
      nanosleep(&time, nullptr);
      at += 1;
    } else if (command == "flushed") {
      WaitForBytes(whole(1));
      at += 1;
    } else if (command == "fork") {
      const pid_t child = fork();
      std::size_t end = at + 1;
      if (child == 0) {
        Run(words, at + 1);
        std::exit(0);
      }
      while (end < words.size() && words[end] != "done") ++end;
      waitpid(child, nullptr, 0);
      at = end;
    } else if (command == "exit") {
      std::exit(whole(1));
    } else if (command == "_exit") {
      _exit(whole(1));
    } else if (command == "kill") {
      kill(getpid(), SIGKILL);
    } else {
      std::fprintf(stderr, "unknown command %s\n", command.c_str());
      return words.size();
    }
    ++at;
  }
  return at;
}

}  // namespace

int main(int count, char** words) {
  Run(Words(words + 1, words + count), 0);
  return 0;
}
