// A GPU without cuDNN.
#include "tests/fakes/modules/module.h"

void Change(dlroof::gpu_loader::GpuModule& module) {
  module.backends.clear();
  module.no_backends_reason = dlroof::Reason{"the fake was built without cuDNN"};
}
