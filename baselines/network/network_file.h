// Networks as people and dlroof_net write them.
#pragma once

#include <string>

#include "baselines/network/allreduce.h"

namespace dlroof::cluster {

// Reads an object of
//   "name"                  for people; may be missing
//   "latency_seconds", "bytes_per_second"   of a message; or in their place
//   "pieces"                [{"up_to_bytes", "latency_seconds", "bytes_per_second"}, ...] by rising
//                           size, the last one without "up_to_bytes"
//   "allreduce_over_model"  measured time of an allreduce over the best closed form's; may be
//                           missing
//   "proof"                 as dlroof_net writes it; may be missing
// A file of dlroof_net has it as its member "network". Throws BadInput with FILE:LINE:COLUMN for
// anything else.
Network ReadNetwork(const std::string& path);
Network ParseNetwork(const std::string& text, const std::string& where);

}  // namespace dlroof::cluster
