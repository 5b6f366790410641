// Estimates the sectors that a block touches from its contiguous runs in memory, in a few dozen
// operations, without visiting elements.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "counters/delta/model.h"

namespace dlroof::delta {
namespace {

// --- Matrices that are not gathered: nested strides ---

struct Stride {
  double count = 1;
  int64_t bytes = 0;
};

// Appends the average strides of `length` consecutive indices of an axis to `strides`, and updates
// the common `alignment` [byte] of all start addresses. `begin` is a multiple of `length`.
void AddStrides(const Axis& axis, int64_t begin, int64_t length, std::vector<Stride>& strides,
                int64_t& alignment) {
  const bool whole = begin == 0 && length == Size(axis);
  double left = static_cast<double>(length);  // [1] values of this and the outer digits
  int64_t inner = 1, granule = length;        // [1] indices per value; divisor of all starts
  for (int digit = 2; digit >= 0; --digit) {
    const auto& [count, dy, dx, bytes] = axis.digits[static_cast<size_t>(digit)];
    const bool more = Size(axis) > inner * count;  // whether an outer digit has several values
    const int64_t start = more ? std::gcd(granule, count) : granule;
    if (!whole && bytes > 0) alignment = std::gcd(alignment, start * bytes);
    double pieces = std::max(1.0, left / static_cast<double>(count));
    // A range shorter than the digit may cross its end, which divides the range in two: `pieces` is
    // the mean number of parts over all starts, left / pieces their mean length.
    if (!whole && more && left < static_cast<double>(count))
      pieces = 1 + (left - static_cast<double>(start)) / static_cast<double>(count);
    strides.push_back({std::min(left / (left < static_cast<double>(count) ? pieces : 1),
                                static_cast<double>(count)),
                       bytes});
    granule = granule % count == 0 ? granule / count : 1;
    inner *= count;
    left = pieces;
  }
}

double BoxSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector) {
  std::vector<Stride> strides;
  int64_t alignment = sector;
  AddStrides(matrix.rows, rows.first, rows.second - rows.first, strides, alignment);
  AddStrides(matrix.columns, columns.first, columns.second - columns.first, strides, alignment);
  std::erase_if(strides, [](const Stride& s) { return s.count <= 1 || s.bytes == 0; });
  std::ranges::sort(strides, {}, &Stride::bytes);
  double element = strides.empty() ? 1 : static_cast<double>(strides[0].bytes);
  for (const Axis* axis : {&matrix.rows, &matrix.columns})
    for (const Digit& digit : axis->digits)
      if (digit.bytes > 0) element = std::min(element, static_cast<double>(digit.bytes));
  const auto g = static_cast<double>(sector);
  double run = element, runs = 1;
  for (const auto& [count, bytes] : strides) {
    const auto stride = static_cast<double>(bytes);
    if (runs == 1 && stride - run < g) {
      run += (count - 1) * stride;
    } else {
      runs *= count;
      alignment = std::gcd(alignment, bytes);
    }
  }
  if (matrix.group_bytes > 0) alignment = std::gcd(alignment, matrix.group_bytes);
  return runs * (run + g - static_cast<double>(alignment)) / g;
}

// --- Gathered matrices: lines of the image plane ---

struct Line {
  int64_t y = 0, first = 0, last = 0;  // `first` to `last`: inclusive range of columns
  double columns = 0;                  // [1] touched columns in this range
};

struct TapSpan {
  int64_t fy0 = 0, fy1 = 0, fx0 = 0, fx1 = 0;  // inclusive; fx0 in row fy0, fx1 in row fy1
};

// Counts the sectors of a gathered matrix, whose pixels are its rows or its columns.
class Gather {
 public:
  Gather(const Operand& matrix, int64_t sector)
      : matrix_(matrix),
        pixels_(matrix.taps_along_rows ? matrix.columns : matrix.rows),
        taps_(matrix.taps_along_rows ? matrix.rows : matrix.columns),
        nhwc_(taps_.digits[0].bytes == 0),
        fy_(taps_.digits[nhwc_ ? 0 : 1]),
        fx_(taps_.digits[nhwc_ ? 1 : 2]),
        channel_(taps_.digits[nhwc_ ? 2 : 0]),
        sector_(sector) {}

  double Sectors(IndexRange pixels, IndexRange taps) {
    return nhwc_ ? Nhwc(pixels, taps) : Nchw(pixels, taps);
  }

 private:
  double Nchw(IndexRange pixels, IndexRange taps) {
    const int64_t per_channel = fy_.count * fx_.count;
    double sum = 0;
    int64_t at = taps.first;
    while (at < taps.second) {
      const int64_t channel = at / per_channel, from = at % per_channel;
      int64_t to = std::min(per_channel, from + taps.second - at);
      int64_t channels = 1;
      if (from == 0 && to == per_channel) channels = (taps.second - at) / per_channel;
      sum += Channels(pixels, from, to, channel, channels);
      at += (to - from) * channels;
    }
    return sum;
  }

  // Returns the sectors of `channels` channels. If their alignments differ, takes the mean of two.
  double Channels(IndexRange pixels, int64_t from, int64_t to, int64_t channel, int64_t channels) {
    if (channels == 1 || channel_.bytes % sector_ == 0)
      return static_cast<double>(channels) *
             Images(pixels, from, to, channel * channel_.bytes, 0, channels > 1);
    const double some =
        Images(pixels, from, to, channel * channel_.bytes, 0, true) +
        Images(pixels, from, to, (channel + channels / 2) * channel_.bytes, 0, true);
    return static_cast<double>(channels) * some / 2;
  }

  // Returns the smaller of two upper bounds: all channels of all taps (too many for few channels),
  // and the sum over the taps of their channels (too many if taps share pixels).
  double Nhwc(IndexRange pixels, IndexRange taps) {
    const int64_t channels = channel_.count;
    const int64_t first = taps.first / channels, last = (taps.second - 1) / channels;
    if (first == last)
      return TapChannels(pixels, {first, last + 1}, taps.first % channels,
                         taps.second - taps.first);
    const double all = TapChannels(pixels, {first, last + 1}, 0, channels);
    const int64_t offset = taps.first % channels, rest = taps.second - last * channels;
    double each = TapChannels(pixels, {first, first + 1}, offset, channels - offset) +
                  TapChannels(pixels, {last, last + 1}, 0, rest);
    if (last - first > 1) each += TapChannels(pixels, {first + 1, last}, 0, channels);
    return std::min(all, each);
  }

  double TapChannels(IndexRange pixels, IndexRange taps, int64_t channel, int64_t channels) {
    chunk_ = channels * channel_.bytes;
    return Images(pixels, taps.first, taps.second, 0, channel * channel_.bytes, false);
  }

  // Returns the sectors of the pixels with the taps [from, to); complete images are computed once.
  // `seamless` means that the planes of several channels are contiguous.
  double Images(IndexRange pixels, int64_t from, int64_t to, int64_t base, int64_t offset,
                bool seamless) {
    const int64_t per_image = pixels_.digits[1].count * pixels_.digits[2].count;
    const TapSpan taps{from / fx_.count, (to - 1) / fx_.count, from % fx_.count,
                       (to - 1) % fx_.count};
    double sum = 0;
    int64_t at = pixels.first;
    while (at < pixels.second) {
      const int64_t image = at / per_image, begin = at % per_image;
      const int64_t end = std::min(per_image, begin + pixels.second - at);
      int64_t images = 1;
      if (begin == 0 && end == per_image) images = (pixels.second - at) / per_image;
      Collect(begin, end, taps);
      const int64_t place = base + image * pixels_.digits[0].bytes;
      sum += static_cast<double>(images) *
             (nhwc_ ? PixelRuns(place, offset) : LineRuns(place, seamless));
      at += (end - begin) * images;
    }
    return sum;
  }

  // Sets lines_ to the merged input lines that pixels [begin, end) of an image read with `taps`.
  void Collect(int64_t begin, int64_t end, const TapSpan& taps) {
    lines_.clear();
    const int64_t width = pixels_.digits[2].count;
    for (int64_t oy = begin / width; oy <= (end - 1) / width; ++oy) {
      const int64_t ox0 = oy == begin / width ? begin % width : 0;
      const int64_t ox1 = oy == (end - 1) / width ? (end - 1) % width : width - 1;
      for (int64_t fy = taps.fy0; fy <= taps.fy1; ++fy)
        AddLine(oy, fy, {ox0, ox1},
                {fy == taps.fy0 ? taps.fx0 : 0, fy == taps.fy1 ? taps.fx1 : fx_.count - 1});
    }
    Merge();
  }

  void AddLine(int64_t oy, int64_t fy, IndexRange ox, IndexRange fx) {
    int64_t y = pixels_.y + oy * pixels_.digits[1].dy + fy * fy_.dy;
    if (y < 0 || y % matrix_.step_h != 0) return;
    y /= matrix_.step_h;
    if (y >= matrix_.limit_h) return;
    const int64_t step = pixels_.digits[2].dx, tap = std::abs(fx_.dx);
    const int64_t left =
        pixels_.x + ox.first * step + std::min(fx.first * fx_.dx, fx.second * fx_.dx);
    const int64_t right =
        pixels_.x + ox.second * step + std::max(fx.first * fx_.dx, fx.second * fx_.dx);
    const int64_t first = std::max<int64_t>(0, CeilDiv(left, matrix_.step_w));
    const int64_t last = std::min(matrix_.limit_w - 1, FloorDiv(right, matrix_.step_w));
    if (first > last) return;
    const double all = static_cast<double>(right - left + 1);
    const double share =
        Different(ox.second - ox.first + 1, step, fx.second - fx.first + 1, tap) / all;
    const auto span = static_cast<double>(last - first + 1);
    lines_.push_back(
        {y, first, last, matrix_.step_w == 1 ? std::max(1.0, std::round(share * span)) : span});
  }

  // Returns the number of different values i * step + j * tap for i < n and j < m.
  static double Different(int64_t n, int64_t step, int64_t m, int64_t tap) {
    const int64_t common = std::gcd(step, tap);
    step /= common;
    tap /= common;
    const double all = static_cast<double>(n * m);
    if (step == 1) return static_cast<double>(n + (m - 1) * std::min(n, tap));
    if (tap == 1) return static_cast<double>(m + (n - 1) * std::min(m, step));
    return std::min(all, static_cast<double>((n - 1) * step + (m - 1) * tap + 1));
  }

  void Merge() {
    std::ranges::sort(lines_, [](const Line& a, const Line& b) {
      return a.y != b.y ? a.y < b.y : a.first < b.first;
    });
    size_t merged = 0;
    for (size_t i = 1; i < lines_.size(); ++i) {
      Line &to = lines_[merged], &from = lines_[i];
      if (from.y != to.y || from.first > to.last + 1) {
        lines_[++merged] = from;
        continue;
      }
      // With a stride, taps with the same range touch the same columns; other taps add columns.
      const bool same = from.first == to.first && from.last == to.last;
      const int64_t last = std::max(to.last, from.last);
      const auto span = static_cast<double>(last - to.first + 1);
      const double density =
          std::max(to.columns / static_cast<double>(to.last - to.first + 1),
                   from.columns / static_cast<double>(from.last - from.first + 1));
      to.columns = same ? std::max(to.columns, from.columns) : density * span;
      to.last = last;
    }
    if (!lines_.empty()) lines_.resize(merged + 1);
  }

  double LineRuns(int64_t place, bool seamless) const {
    const auto g = static_cast<double>(sector_);
    double sum = 0;
    int64_t last_sector = -1;
    const int64_t pixel = matrix_.pixel_bytes;
    bool plane = seamless;
    double columns = 0;
    for (const Line& line : lines_) {
      const int64_t begin = place + line.y * matrix_.line_bytes + line.first * pixel;
      const int64_t end = place + line.y * matrix_.line_bytes + (line.last + 1) * pixel;
      const auto span = static_cast<double>(line.last - line.first + 1);
      if (line.columns < span && span / line.columns * static_cast<double>(pixel) > g) {
        sum += line.columns;  // each column is in its own sector
        last_sector = -1;
        plane = false;
        continue;
      }
      const int64_t from = begin / sector_, to = (end - 1) / sector_;
      sum += static_cast<double>(to - from + (from == last_sector ? 0 : 1));
      last_sector = to;
      columns += span;
    }
    const auto whole = static_cast<double>(matrix_.limit_h * matrix_.limit_w);
    return plane && columns == whole ? whole * static_cast<double>(pixel) / g : sum;
  }

  double PixelRuns(int64_t place, int64_t offset) const {
    const auto g = static_cast<double>(sector_);
    const int64_t pixel = matrix_.pixel_bytes;
    const int64_t alignment = std::gcd(sector_, pixel);
    double per_pixel = (static_cast<double>(chunk_) + g - static_cast<double>(alignment)) / g;
    if (alignment == sector_) {
      const int64_t sectors = (offset + chunk_ - 1) / sector_ - offset / sector_ + 1;
      per_pixel = static_cast<double>(sectors);
    }
    double sum = 0;
    int64_t last_sector = -1;
    for (const Line& line : lines_) {
      const auto span = static_cast<double>(line.last - line.first + 1);
      const int64_t at = place + offset + line.y * matrix_.line_bytes + line.first * pixel;
      const int64_t end = at + (line.last - line.first) * pixel + chunk_;
      const int64_t from = at / sector_, to = (end - 1) / sector_;
      const auto closed = static_cast<double>(to - from + (from == last_sector ? 0 : 1));
      const bool contiguous = chunk_ == pixel && line.columns == span;
      sum += contiguous ? closed : std::min(closed, line.columns * per_pixel);
      last_sector = to;
    }
    return sum;
  }

  const Operand& matrix_;
  const Axis& pixels_;
  const Axis& taps_;
  bool nhwc_;
  const Digit& fy_;
  const Digit& fx_;
  const Digit& channel_;
  int64_t sector_;
  int64_t chunk_ = 0;  // [byte] that are read per pixel (NHWC)
  std::vector<Line> lines_;
};

}  // namespace

double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector) {
  if (!matrix.gathered) return BoxSectors(matrix, rows, columns, sector);
  Gather gather(matrix, sector);
  return matrix.taps_along_rows ? gather.Sectors(columns, rows) : gather.Sectors(rows, columns);
}

}  // namespace dlroof::delta
