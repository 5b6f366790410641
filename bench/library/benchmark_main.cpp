// The main function of dlroof::benchmark_main.
#include <dlroof/benchmark.h>

DLROOF_BENCHMARK_MAIN()
