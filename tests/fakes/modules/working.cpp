// One GPU, one op.
#include "tests/fakes/modules/module.h"

void Change(dlroof::gpu_loader::GpuModule&) {}
