// Opens, but there is no GPU.
#include "tests/fakes/modules/module.h"

void Change(dlroof::gpu_loader::GpuModule& module) {
  module.devices.clear();
  module.no_device_reason = dlroof::Reason{"the fake driver sees no GPU"};
}
