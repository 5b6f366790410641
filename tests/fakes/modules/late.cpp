// A GPU whose library is loaded by the first call, as cuDNN loads its parts: at the end of the
// program it is gone before everything that was there earlier. Whatever is freed after that
// crashes.
#include <cstdlib>

#include "tests/fakes/modules/module.h"

namespace {

bool library_is_gone = false;
struct Library {
  ~Library() { library_is_gone = true; }
};

struct Freed {
  ~Freed() {
    if (library_is_gone) std::abort();
  }
};

dlroof::workload::PreparedCall LatePrepare(const dlroof::workload::BenchmarkName&,
                                           const dlroof::workload::RunSettings&) {
  static const Library library;
  auto call = dlroof::fakes::FakeCall();
  call.run = [freed = std::make_shared<Freed>(), run = call.run] { run(); };
  return call;
}

}  // namespace

void Change(dlroof::gpu_loader::GpuModule& module) { module.backends.at(0).prepare = LatePrepare; }
