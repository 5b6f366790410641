// Stands for libcuda.so.1: only that it is there is asked.
extern "C" int dlroof_fake_driver() { return 0; }
