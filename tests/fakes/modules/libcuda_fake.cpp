// Stands for libcuda.so.1: that it is there is asked, and it knows the work of the kernels that a
// program launches on the fake GPU.
extern "C" {

int dlroof_fake_driver() { return 0; }

// Since the program's start: [0] launches, [1] fused multiply-adds in fp32, [2] additions in fp32,
// [3] bytes of DRAM.
double dlroof_fake_launched[4] = {0, 0, 0, 0};

void dlroof_fake_launch(double multiply_adds, double additions, double dram_bytes) {
  dlroof_fake_launched[0] += 1;
  dlroof_fake_launched[1] += multiply_adds;
  dlroof_fake_launched[2] += additions;
  dlroof_fake_launched[3] += dram_bytes;
}
}
