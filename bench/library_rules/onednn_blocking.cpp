#include "bench/library_rules/onednn_blocking.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dlroof::library_rules {

VectorUnit VectorUnitOf(std::string_view implementation, std::string_view isa) {
  const bool named = implementation.find(':') != std::string_view::npos;
  const std::string_view text = named ? implementation : isa;
  if (text.find("avx512") != std::string_view::npos || text.find("avx10") != std::string_view::npos)
    return {16, 32};
  if (text.find("avx") != std::string_view::npos) return {8, 16};
  return {4, 16};
}

int64_t MostRows(const VectorUnit& unit, int64_t columns) {
  return std::max<int64_t>(1, (unit.registers - columns - 1) / columns);
}

int64_t RowBlock(const VectorUnit& unit, int64_t columns, int64_t rows) {
  return RowBlock(columns, rows, MostRows(unit, columns));
}

int64_t RowBlock(int64_t columns, int64_t rows, int64_t most) {
  int64_t best = 1;
  double best_worth = 0;
  for (int64_t block = most; block >= 1; --block) {
    const int64_t blocks = (rows + block - 1) / block;
    const auto padded = static_cast<double>(blocks * block);
    const auto reuse = static_cast<double>(columns * block) / static_cast<double>(columns + block);
    const double worth = static_cast<double>(rows) / padded * reuse;
    if (worth > best_worth * 1.0001) best = block, best_worth = worth;
  }
  return std::min(best, rows);
}

std::optional<Reason> NotModelledReason(int major, int minor) {
  if (major == 3 && minor == 2) return std::nullopt;
  return Reason{
      fmt::format("the loops of oneDNN {}.{} are not modelled, only those of 3.2", major, minor)};
}

std::optional<Reason> TilesReason(std::string_view implementation) {
  if (implementation.find("amx") == std::string_view::npos) return std::nullopt;
  return Reason{fmt::format(
      "the kernel uses AMX tiles ({}); its L1, L2 and L3 traffic is not modelled", implementation)};
}

namespace {

int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }
int64_t RoundedUp(int64_t size, int64_t block) { return Blocks(size, block) * block; }
double Filled(int64_t size, int64_t block) {
  return static_cast<double>(size) / static_cast<double>(RoundedUp(size, block));
}

// [1] Elements of each tensor that one iteration of a loop touches.
struct Touched {
  int64_t source = 0, weights = 0, result = 0;
};
struct CostLoop {
  Touched body;
  int64_t source_again = 1, weights_again = 1, result_again = 1;  // [1] accesses to same elements
  int64_t overlap = 1;  // [1] times that a vector or a row of taps reads a source element
};

enum class Operand { kSource, kWeights, kResult };

// Estimates the worth of blockings of one convolution, as oneDNN does to choose among them.
class Estimate {
 public:
  Estimate(const BlockedConv& conv, const VectorUnit& unit, const BlockingCaches& caches,
           int threads, bool pointwise)
      : conv_(conv), unit_(unit), caches_(caches), threads_(threads), pointwise_(pointwise) {
    lanes_ = unit.lanes * 4 / conv.read_bytes;
    const bool whole_images = pointwise && conv.stride_h == 1 && conv.w % conv.stride_w == 0;
    blocking_.whole_images = whole_images;
    row_ = whole_images ? conv.p * conv.q : conv.q;
    rows_ = whole_images ? 1 : conv.p;
    // Compares the bytes of one input channel's image with those of its weights.
    blocking_.filters_outside = conv.h * conv.w * conv.read_bytes <
                                conv.k * (pointwise ? 1 : conv.r * conv.s) * conv.weight_bytes;
  }

  // Stores the best blocking with `columns` vectors of filters in `best`. Returns its worth [1]:
  // larger is better, 0 means that no blocking with so many vectors is tried.
  double Best(int64_t columns, ConvBlocking& best) {
    blocking_.columns = columns;
    blocking_.filters = columns * unit_.lanes;
    double best_worth = 0;
    if (!WorthTrying()) return 0;
    const int64_t most = MostPositions();
    for (const int64_t taps : pointwise_ || conv_.r == 1 ? std::vector<int64_t>{conv_.r}
                                                         : std::vector<int64_t>{conv_.r, 1})
      for (int64_t parts = 1, before = 0; parts <= row_; ++parts) {
        const int64_t positions = Blocks(row_, parts);
        if (positions == before || positions > most) continue;
        before = positions;
        Choose(positions, taps);
        const double worth = Worth();
        if (worth > best_worth) best_worth = worth, best = blocking_;
      }
    return best_worth;
  }

 private:
  bool WorthTrying() const {
    const int64_t padded = RoundedUp(conv_.k, unit_.lanes), filters = blocking_.filters;
    const int64_t strides = conv_.stride_h * conv_.stride_w;
    if (blocking_.columns == 4 && unit_.lanes == 16)
      return padded % filters == 0 &&
             (pointwise_ ? conv_.p * conv_.q >= 64 * strides : padded * conv_.weight_bytes < 768);
    if (filters != 48) return true;
    if (pointwise_) return Filled(conv_.k, filters) >= 0.95;
    return padded % filters == 0 && padded * conv_.weight_bytes <= 1536 &&
           conv_.h * conv_.w > 81 * strides;
  }

  int64_t MostPositions() const {
    if (!blocking_.whole_images) return row_;
    const int64_t channel_bytes = conv_.read_bytes * conv_.c;
    const int64_t blocks = conv_.n * Blocks(conv_.k, blocking_.filters);
    const int64_t fair =
        channel_bytes >= 1024 && channel_bytes < 4096
            ? std::max(std::min<int64_t>(16, row_), Blocks(row_, Blocks(threads_, blocks)))
            : std::max(Blocks(2048, blocking_.filters),
                       Blocks(conv_.n * conv_.groups * row_, threads_));
    return std::clamp<int64_t>(std::min(fair, NotAliased()), 1, row_);
  }

  // Results a multiple of a page apart share few cache sets, so a block has fewer of them.
  int64_t NotAliased() const {
    constexpr int64_t kPage = 4096;
    int64_t most = 1000000 / threads_;
    const int64_t filters = conv_.k * conv_.groups;
    if (filters * row_ * conv_.written_bytes % kPage == 0) {
      for (int64_t left = filters; most * conv_.written_bytes > 400 && left % 2 == 0 &&
                                   left * row_ * conv_.written_bytes >= kPage;
           left /= 2)
        most /= 2;
      if (most % 2 == 0) ++most;
    }
    return std::min(most, Blocks(1001, conv_.written_bytes));
  }

  int64_t RowOfInput(int64_t positions) const {
    const int64_t reach = (conv_.s - 1) * conv_.dilation_w + 1;
    return std::min(conv_.w, (positions - 1) * std::min(conv_.s, conv_.stride_w) + reach);
  }

  void Choose(int64_t positions, int64_t taps) {
    blocking_.positions = positions;
    blocking_.taps = taps_ = taps;
    ChooseChannels();
    blocking_.rows = RowsInRegisters(blocking_.columns);
  }

  void ChooseChannels() {
    const int64_t filters = blocking_.filters, vectors = Blocks(conv_.c, lanes_);
    const int64_t usual = filters == 64 ? 6 : filters == 48 ? 9 : filters == 32 ? 14 : 28;
    const int64_t at_a_time = std::min(blocking_.positions, usual);
    const int64_t input = blocking_.whole_images ? at_a_time : RowOfInput(at_a_time);
    const auto fit = [&](double bytes, int64_t per_channel, int64_t most) {
      const double many = bytes / static_cast<double>(per_channel * lanes_);
      return std::clamp<int64_t>(static_cast<int64_t>(many), 1, most);
    };
    int64_t most = std::min(5 * lanes_, vectors);
    if (conv_.s > 1) most = fit(caches_.l1_bytes, input * conv_.read_bytes, most);
    most = fit(caches_.l2_bytes,
               taps_ * (conv_.s * filters * conv_.weight_bytes + input * conv_.read_bytes), most);
    int64_t block = 1;
    for (int64_t many = most; many > 1; --many)
      if (Filled(vectors, many) >= 0.5) {
        block = many;
        break;
      }
    blocking_.channels = std::min(conv_.c, block * lanes_);
  }

  int64_t RowsInRegisters(int64_t columns) const {
    int64_t most = MostRows(unit_, columns);
    const double fits =
        caches_.l1_bytes / static_cast<double>(conv_.read_bytes * blocking_.channels);
    most = std::clamp<int64_t>(static_cast<int64_t>(fits), 1, most);
    return RowBlock(columns, blocking_.positions, most);
  }

  int64_t InputElements(int64_t positions, int64_t channels) const {
    const int64_t row = RowOfInput(positions);
    return conv_.stride_w == 1 && channels >= conv_.c ? RoundedUp(row * channels, lanes_)
                                                      : row * RoundedUp(channels, lanes_);
  }

  // Adds the loops inside one kernel call and the loops over the blocks of a sum.
  void AddKernel(std::vector<CostLoop>& loops) const {
    const int64_t rows = blocking_.rows, filters = blocking_.filters;
    const int64_t channels = blocking_.channels, positions = blocking_.positions;
    const int64_t parts = Blocks(conv_.c, channels), again = Blocks(positions, rows);
    const int64_t weights = filters * channels;
    if (pointwise_) {
      loops.push_back({{rows * lanes_, filters, 0}, 1, 1, 1, unit_.lanes});
      loops.push_back({{rows * RoundedUp(channels, lanes_), weights, rows * filters}, 1, again});
      loops.push_back({{positions * channels, weights, positions * filters}, 1, 1, parts});
      return;
    }
    const int64_t source = InputElements(rows, channels);
    const int64_t taps = taps_ * conv_.s;
    loops.push_back({{RowOfInput(rows) * lanes_, filters, 0}, 1, 1, 1, unit_.lanes});
    loops.push_back({{source, weights, 0}, 1, 1, 1, conv_.s});
    loops.push_back({{source, conv_.s * weights, 0}});
    loops.push_back({{taps_ * source, taps * weights, rows * filters}, 1, again});
    loops.push_back(
        {{taps_ * InputElements(positions, channels), taps * weights, positions * filters},
         1,
         1,
         Blocks(conv_.r, taps_)});
    loops.push_back({{conv_.r * InputElements(positions, channels), conv_.r * conv_.s * weights,
                      positions * filters},
                     1,
                     1,
                     parts});
  }

  // One thread's share of the kernel calls, and the sizes that it covers in each loop.
  struct Share {
    int64_t work, job;  // [1] kernel calls of all threads; of one thread
    int64_t filter_blocks, filter_vectors, row_blocks, positions, rows, images;
  };

  Share ShareOfThread() const {
    Share share{};
    const int64_t blocks = Blocks(conv_.k, blocking_.filters);
    const int64_t row_blocks = Blocks(row_, blocking_.positions), places = row_blocks * rows_;
    share.work = conv_.n * conv_.groups * blocks * places;
    share.job = Blocks(share.work, threads_);
    const bool outside = blocking_.filters_outside;
    share.filter_blocks = std::min(blocks, Blocks(share.job, outside ? places : 1));
    share.filter_vectors =
        Blocks(std::min(conv_.k, share.filter_blocks * blocking_.filters), lanes_);
    const int64_t inner = outside ? 1 : conv_.groups * blocks;
    share.row_blocks = std::min(row_blocks, Blocks(share.job, inner));
    share.positions = std::min(row_, share.row_blocks * blocking_.positions);
    share.rows = std::min(rows_, Blocks(share.job, row_blocks * inner));
    share.images = std::min(conv_.n, Blocks(share.job, places * conv_.groups * blocks));
    return share;
  }

  void AddHarness(std::vector<CostLoop>& loops, const Share& share) const {
    const int64_t taps = conv_.r * conv_.s, positions = blocking_.positions;
    const int64_t channels = pointwise_ ? blocking_.channels : conv_.c;
    const auto input = [&](int64_t many) {
      return pointwise_ ? many * RoundedUp(channels, lanes_)
                        : conv_.r * InputElements(many, conv_.c);
    };
    const int64_t block_weights = taps * blocking_.filters * conv_.c;
    const int64_t share_weights = taps * share.filter_vectors * conv_.c * lanes_;
    const bool outside = blocking_.filters_outside;
    const int64_t weights = outside ? taps * blocking_.columns * conv_.c * lanes_ : share_weights;
    const int64_t filters = lanes_ * (outside ? blocking_.columns : share.filter_vectors);
    if (!outside)
      loops.push_back(
          {{input(positions), block_weights, positions * blocking_.filters}, share.filter_blocks});
    loops.push_back({{input(positions), weights, positions * filters}, 1, share.row_blocks});
    if (!blocking_.whole_images)
      loops.push_back(
          {{input(share.positions), weights, share.positions * filters}, 1, share.rows});
    const int64_t all_input = share.rows * input(share.positions);
    const int64_t all_results = share.rows * share.positions;
    if (outside)
      loops.push_back(
          {{all_input, block_weights, blocking_.filters * all_results}, share.filter_blocks});
    loops.push_back(
        {{all_input, share_weights, all_results * share.filter_vectors * lanes_}, 1, share.images});
  }

  double Latency(const CostLoop& loop, Operand operand) const {
    constexpr double kL1 = 1, kL2 = 3, kBeyond = 15;
    const auto source = static_cast<double>(loop.body.source * conv_.read_bytes);
    const auto amount = source + static_cast<double>(loop.body.weights * conv_.weight_bytes +
                                                     loop.body.result * conv_.written_bytes);
    if (operand == Operand::kSource && source < caches_.l1_bytes) return kL1;
    return amount < caches_.l2_bytes ? kL2 : kBeyond;
  }

  // Returns the cost of all accesses to an operand's elements in all loops.
  double Cost(const std::vector<CostLoop>& loops, Operand operand, double elements) const {
    double each = 15;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      const int64_t again = operand == Operand::kSource    ? loop->source_again
                            : operand == Operand::kWeights ? loop->weights_again
                                                           : loop->result_again;
      elements *= static_cast<double>(again);
      const auto times =
          static_cast<double>(again * (operand == Operand::kSource ? loop->overlap : 1));
      if (times > 1) each = (each + Latency(*loop, operand) * (times - 1)) / times;
    }
    return each * elements;
  }

  double CacheWorth(const Share& share) const {
    std::vector<CostLoop> loops;
    AddKernel(loops);
    AddHarness(loops, share);
    const int64_t places = share.images * share.rows * share.positions;
    const int64_t taps = conv_.r * conv_.s;
    const int64_t channels = pointwise_ ? blocking_.channels : conv_.c;
    const double cost =
        Cost(loops, Operand::kSource, static_cast<double>(places * taps * channels)) +
        Cost(loops, Operand::kResult, static_cast<double>(places * share.filter_vectors)) +
        Cost(loops, Operand::kWeights, static_cast<double>(taps * share.filter_vectors * conv_.c));
    const int64_t calls =
        share.job * Blocks(conv_.c, blocking_.channels) * (pointwise_ ? 1 : Blocks(conv_.r, taps_));
    const auto products = static_cast<double>(conv_.n * (blocking_.whole_images ? 1 : rows_)) *
                          static_cast<double>(row_ * conv_.c * conv_.k);
    return products /
           (static_cast<double>(threads_) * (cost + 1000.0 * static_cast<double>(calls)));
  }

  double Worth() const {
    const Share share = ShareOfThread();
    const auto rows = static_cast<double>(blocking_.rows);
    const auto columns = static_cast<double>(blocking_.columns);
    const auto positions = static_cast<double>(blocking_.positions);
    const double registers =
        columns * rows / ((rows + columns) * static_cast<double>(unit_.registers));
    const double unrolled = (1 + rows * (2 - std::min(1.9, rows / positions)) / 64) / 2;
    return registers * unrolled * Filled(blocking_.positions, blocking_.rows) *
           Filled(row_, blocking_.positions) * Filled(share.work, threads_) *
           Filled(conv_.k, blocking_.filters) * CacheWorth(share);
  }

  BlockedConv conv_;
  VectorUnit unit_;
  BlockingCaches caches_;
  int64_t threads_;
  bool pointwise_;
  int64_t lanes_ = 8;  // [1] input channels in a vector
  int64_t row_ = 1;    // [1] positions that blocks divide: a row, or a 1x1's image
  int64_t rows_ = 1;   // [1] rows of row_ positions in an image
  int64_t taps_ = 1;   // [1] rows of taps that one kernel call sums over
  ConvBlocking blocking_;
};

}  // namespace

ConvBlocking BlockingOf(const BlockedConv& conv, const VectorUnit& unit,
                        const BlockingCaches& caches, int threads) {
  const bool pointwise = conv.r == 1 && conv.s == 1 && conv.pad_left <= 0;
  ConvBlocking best;
  double best_worth = 0;
  Estimate estimate(conv, unit, caches, threads, pointwise);
  for (int64_t columns = std::min<int64_t>(4, Blocks(conv.k, unit.lanes)); columns >= 1;
       --columns) {
    ConvBlocking one;
    const double worth = estimate.Best(columns, one);
    if (worth > best_worth) best_worth = worth, best = one;
  }
  // A kernel's block needs at least as many positions as the left padding has columns.
  if (MostRows(unit, best.columns) < conv.pad_left) {
    best.columns = std::min<int64_t>(2, best.columns);
    best.rows = RowBlock(unit, best.columns, best.positions);
  }
  return best;
}

}  // namespace dlroof::library_rules
