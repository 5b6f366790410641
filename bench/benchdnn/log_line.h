// benchdnn's command line for a primitive of oneDNN's log. A driver (BenchdnnDriver::line) writes
// those of its op's primitives, from the parts below; log_line.cpp has those of kinds without an
// op.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reporters/logs/primitive.h"

namespace dlroof::benchdnn {

// Returns the arguments of benchdnn that time the same call: "--conv --mode=P --dir=FWD_D ...".
// Layouts that the library chose, and blocked layouts, are "any". Returns nullopt if benchdnn has
// no driver for the kind, or no options for the attributes.
std::optional<std::string> BenchdnnLine(const logs::Primitive& primitive);

// The parts of a line. Each ends with a blank, or is empty where benchdnn's default is right.
// Returns "--dir=FWD_D ". With a bias, a forward call is FWD_B: benchdnn's inference has none.
std::string DirArgument(const logs::Primitive& primitive);
// Returns the types of source, weights and destination: "--dt=u8:s8:u8 ".
std::string TypesArgument(const logs::Primitive& primitive);
// Returns the layout of the role's tensor as the option: "--stag=acdb ".
std::string LayoutArgument(const logs::Primitive& primitive, std::string_view role,
                           std::string_view option);
// Returns "--attr-post-ops=sum+eltwise_relu ".
std::string PostOpsArgument(const logs::Primitive& primitive);

// Returns the type of the role's tensor; "f32" if the log does not print it.
std::string TypeOf(const logs::Primitive& primitive, std::string_view role);
// Returns the role of the source: "src", or "data" where the log has one tensor for source and
// destination (oneDNN 2).
std::string SourceRole(const logs::Primitive& primitive);
// Returns the types of source and destination: "bf16:bf16".
std::string TypePair(const logs::Primitive& primitive);
// Returns the arguments for source and destination of a kind without weights: types and layouts,
// "--sdt=bf16 --ddt=bf16 --stag=ab ", without benchdnn's defaults. Logs of oneDNN 2 have one tensor
// for both ("data").
std::string InAndOutArguments(const logs::Primitive& primitive);

// Returns the line of a driver for filters on images: conv, deconv.
std::string FilterLine(const logs::Primitive& primitive, std::string_view driver);

}  // namespace dlroof::benchdnn
