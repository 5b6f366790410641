// Kinds that only move data: reorder, concat, shuffle.
#include <algorithm>

#include "reporters/verbose/verbose_line.h"
#include "reporters/verbose/work_forms.h"

namespace dlroof {
namespace {

// [1] scales and zero points, each of which is applied to every element.
double Quantizations(std::string_view attributes) {
  double count = 0;
  for (const auto word : SplitText(attributes, ' '))
    for (const std::string_view key :
         {"attr-scales:", "attr-zero-points:", "attr-oscale:", "attr-zero_points:"})
      if (word.starts_with(key)) count += 1 + static_cast<double>(std::ranges::count(word, '+'));
  return count;
}

}  // namespace

FormWork ReorderWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive).front();
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr)
    throw NoClosedForm{"no types of source and destination are printed"};
  FormWork work;
  work.destination = ProductOf(dims);
  work.destination_dims = dims;
  work.destination_bytes = TypeBytes(*destination);
  work.elementwise = work.destination * Quantizations(primitive.text.attributes);
  work.bytes = work.destination * (TypeBytes(*source) + work.destination_bytes);
  return work;
}

// "8x32x56x56:8x32x56x56 8x64x56x56": the sources, in some versions the destination behind them.
FormWork ConcatWork(const Primitive& primitive) {
  const std::string_view problem = primitive.text.problem;
  const auto dims = ReadDimsList(problem.substr(0, problem.find(' ')));
  if (!dims) throw NoClosedForm{"the problem has another form than sizes with x between them"};
  std::size_t sources = 0;
  FormWork work;
  for (const auto& tensor : primitive.tensors) {
    if (!tensor.role.starts_with("src")) continue;
    if (sources >= dims->size()) throw NoClosedForm{"the problem lacks a source's sizes"};
    const double elements = ProductOf((*dims)[sources++]);
    work.destination += elements;
    work.bytes += elements * TypeBytes(tensor);
  }
  if (sources == 0) throw NoClosedForm{"no source is printed"};
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.bytes += work.destination * work.destination_bytes;
  return work;
}

FormWork ShuffleWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive).front();
  const auto* data = primitive.Find("data");
  if (data == nullptr) data = primitive.Find("src");
  if (data == nullptr) throw NoClosedForm{"no type of the data is printed"};
  FormWork work;
  work.destination = ProductOf(dims);
  work.destination_dims = dims;
  work.destination_bytes = TypeBytes(*data);
  work.bytes = 2 * work.destination * work.destination_bytes;
  return work;
}

}  // namespace dlroof
