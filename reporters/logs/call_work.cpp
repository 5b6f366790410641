#include "reporters/logs/call_work.h"

namespace dlroof::logs {

CallWork WorkOfProduct(const ProductCounts& counts, const ProductElementBytes& bytes) {
  return {.matrix = 2 * counts.multiply_adds,
          .elementwise = counts.bias > 0 ? counts.destination : 0,
          .bytes = counts.source * bytes.source + counts.weights * bytes.weights +
                   counts.destination * bytes.destination + counts.bias * bytes.bias};
}

CallWork FlopsOfRecurrent(const RecurrentCounts& counts, const CellFlops& cell, bool backward) {
  const double products = backward ? 2 : 1;
  return {.matrix = 2 * products * counts.samples * counts.weights,
          .elementwise = counts.cells * counts.hidden * (backward ? cell.backward : cell.forward) +
                         (backward ? counts.cells * counts.state : counts.summed)};
}

}  // namespace dlroof::logs
