// benchdnn's drivers matmul and ip: parses their problems ("12x128x64:12x64x128",
// "mb16ic2048oc1000"), maps them to benchmarks, and writes the command line of a benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/benchdnn/options.h"
#include "bench/matmul/case.h"

namespace dlroof::matmul {

extern const benchdnn::BenchdnnDriver kMatmulDriver, kIpDriver;

struct BenchdnnMatmul {
  MatmulProblem problem;
  std::optional<Reason> unsupported;  // why dlroof has no such problem: "4-D matmul"
};
// Parses a problem. Throws BenchdnnRefusal for an invalid text, and for sizes that do not match.
BenchdnnMatmul ReadBenchdnnMatmul(std::string_view text);

struct BenchdnnIp {
  int64_t samples = 2, in_channels = 0, out_channels = 0;
  int64_t depth = 0, height = 0, width = 0;  // of an image as the source; 0: no image
};
// Throws BenchdnnRefusal for an unknown key, a number above 2^31-1, or a missing size.
BenchdnnIp ReadBenchdnnIp(std::string_view text);

// Returns the name of a benchmark Matmul/cpu/onednn/fwd/... --stag and --wtag (ab or ba) determine
// whether A and B are transposed. If all three tags are any, the name has the option `any`.
benchdnn::BenchdnnName MatmulName(const BenchdnnMatmul& problem,
                                  const benchdnn::BenchdnnChoice& choice);
// Returns the name of a benchmark Matmul/cpu/onednn/.../ip, in the direction of --dir.
benchdnn::BenchdnnName IpName(const BenchdnnIp& problem, const benchdnn::BenchdnnChoice& choice);

// Returns benchdnn's arguments that time the same call: "--matmul --mode=P --stag=ab --wtag=ba
// --dtag=ab 128x64:64x128", or "--ip --mode=P --dir=FWD_I mb16ic2048oc1000". For a gradient by the
// matmul primitive these are the arguments of the equivalent forward call. Returns nothing if
// benchdnn has no such call: bias of ip in inference (FWD_I has none), scales in a backward pass.
std::optional<std::string> MatmulBenchdnn(const MatmulCase& matmul);

}  // namespace dlroof::matmul
