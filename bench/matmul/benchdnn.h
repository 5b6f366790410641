// benchdnn's drivers matmul and ip: their problems ("12x128x64:12x64x128", "mb16ic2048oc1000"), the
// benchmarks that they are, and the command line of a benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/benchdnn/options.h"
#include "bench/matmul/case.h"

namespace dlroof::matmul {

extern const benchdnn::BenchdnnDriver kMatmulDriver, kIpDriver;

// Factors of two or three dimensions. `strange` says what a problem has that ours have not.
struct BenchdnnMatmul {
  MatmulProblem problem;
  std::string unsupported;  // "4-D matmul", "broadcast batch"; empty: nothing
  std::string listed;       // as written, without its name
};
// Throws BenchdnnRefusal for a text that is no problem, and for sizes that do not fit each other.
BenchdnnMatmul ReadBenchdnnMatmul(std::string_view text);

struct BenchdnnIp {
  int64_t samples = 2, in_channels = 0, out_channels = 0;
  int64_t depth = 0, height = 0, width = 0;  // of the image; 0: the source has none
};
// Throws BenchdnnRefusal for a letter that is none, a number above 2^31-1, a size that is missing.
BenchdnnIp ReadBenchdnnIp(std::string_view text);
std::string ToText(const BenchdnnIp& problem);

// Matmul/cpu/onednn/fwd/... --stag=ab and ba are the orders of A, --wtag those of B. Three times
// any is the option `any`.
benchdnn::BenchdnnName MatmulName(const BenchdnnMatmul& problem,
                                  const benchdnn::BenchdnnChoice& choice);
// Matmul/cpu/onednn/.../ip, with directions as those of a convolution.
benchdnn::BenchdnnName IpName(const BenchdnnIp& problem, const benchdnn::BenchdnnChoice& choice);

// Returns benchdnn's arguments that time the same call: "--matmul --mode=P --stag=ab --wtag=ba
// --dtag=ab 128x64:64x128", or "--ip --mode=P --dir=FWD_I mb16ic2048oc1000". A gradient by the
// matmul primitive is the line of the product that it is. Returns nothing where benchdnn has no
// such call: bias of ip without training (its FWD_I has none), scales backward.
std::string MatmulBenchdnn(const MatmulCase& matmul);

}  // namespace dlroof::matmul
