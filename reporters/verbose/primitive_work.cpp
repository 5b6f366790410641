#include "reporters/verbose/primitive_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporters/verbose/work_forms.h"

namespace dlroof::verbose {
namespace {

struct Form {
  std::string_view kind;
  FormWork (*work)(const Primitive& primitive);
};
constexpr Form kForms[] = {{"convolution", ConvolutionWork},
                           {"deconvolution", DeconvolutionWork},
                           {"matmul", MatmulWork},
                           {"gemm_api", MatmulWork},
                           {"gemm", MatmulWork},
                           {"inner_product", InnerProductWork},
                           {"rnn", RnnWork},
                           {"batch_normalization", BatchNormalizationWork},
                           {"layer_normalization", LayerNormalizationWork},
                           {"group_normalization", GroupNormalizationWork},
                           {"lrn", LocalNormalizationWork},
                           {"softmax", SoftmaxWork},
                           {"softmax_v2", SoftmaxWork},
                           {"logsoftmax", LogsoftmaxWork},
                           {"eltwise", EltwiseWork},
                           {"prelu", PreluWork},
                           {"binary", BinaryWork},
                           {"sum", SumWork},
                           {"reduction", ReductionWork},
                           {"pooling", PoolingWork},
                           {"pooling_v2", PoolingWork},
                           {"resampling", ResamplingWork},
                           {"reorder", ReorderWork},
                           {"concat", ConcatWork},
                           {"shuffle", ShuffleWork}};

double BiasBytes(const Primitive& primitive) {
  return ElementBytes(primitive, primitive.Find("bia") != nullptr ? "bia" : "bias");
}

// [flop] of the bias' additions, or of those to its gradient.
double BiasFlops(const Primitive& primitive, double destination) {
  return primitive.HasBias() && primitive.text.prop != "backward_data" ? destination : 0;
}

std::vector<double> ImageDims(const LetterSizes& sizes, double channels) {
  std::vector<double> dims = {sizes.Or("mb", 1), channels};
  for (const char* key : {"od", "oh", "ow"})
    if (sizes.Has(key)) dims.push_back(sizes.Or(key, 1));
  return dims;
}

// `multiplied`: [1] points of the image for each of which the filter is applied once.
FormWork FilterWork(const Primitive& primitive, const LetterSizes& sizes, double multiplied) {
  const double groups = sizes.Or("g", 1);
  if (!sizes.Has("ic") || !sizes.Has("oc") || groups < 1)
    throw NoClosedForm{"the problem lacks ic or oc"};
  const double samples = sizes.Or("mb", 1);
  const double in = sizes.Or("ic", 1);
  const double out = sizes.Or("oc", 1);
  const double weights = in * out / groups * sizes.Image('k');
  FormWork work;
  work.matrix = 2 * samples * weights * multiplied;
  work.destination = samples * out * sizes.Image('o');
  work.destination_dims = ImageDims(sizes, out);
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.elementwise = BiasFlops(primitive, work.destination);
  work.bytes = samples * in * sizes.Image('i') * ElementBytes(primitive, "src") +
               weights * ElementBytes(primitive, "wei") +
               work.destination * work.destination_bytes + out * BiasBytes(primitive);
  return work;
}

double Batches(const std::vector<double>& a, const std::vector<double>& b) {
  double batches = 1;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) batches *= std::max(a[i], b[i]);
  return batches;
}

}  // namespace

FormWork WorkOn(const std::vector<double>& destination_dims) {
  return {.destination = ProductOf(destination_dims), .destination_dims = destination_dims};
}

double ElementBytes(const Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  if (tensor == nullptr) return 0;
  const auto bytes = BytesOf(tensor->type);
  if (!bytes) throw NoClosedForm{fmt::format("no type of '{}' is printed", role)};
  return *bytes;
}

double TypeBytes(const Tensor& tensor) {
  const auto bytes = BytesOf(tensor.type);
  if (!bytes) throw NoClosedForm{"no type of a tensor is printed"};
  return *bytes;
}

LetterSizes SizesOf(const Primitive& primitive) {
  auto sizes = LetterSizes::Read(primitive.text.problem);
  if (!sizes) throw NoClosedForm{"the problem has another form than letters with sizes"};
  return *std::move(sizes);
}

std::vector<std::vector<double>> DimsOf(const Primitive& primitive) {
  if (primitive.text.problem.find('*') != std::string::npos)
    throw NoClosedForm{"sizes are known only at run time"};
  auto dims = ReadDimsList(primitive.text.problem);
  if (!dims) throw NoClosedForm{"the problem has another form than sizes with x between them"};
  return *std::move(dims);
}

PrimitiveWork WorkOf(const Primitive& primitive) {
  PrimitiveWork found;
  const auto* form = std::ranges::find(kForms, primitive.text.kind, &Form::kind);
  if (form == std::end(kForms)) {
    found.reason = "no closed form of this kind";
    return found;
  }
  try {
    FormWork work = form->work(primitive);
    AddPostOps(primitive, work);
    for (const double count : {work.matrix, work.elementwise, work.bytes})
      if (!(count >= 0)) throw NoClosedForm{"the problem's sizes cannot be"};
    found.matrix = work.matrix;
    found.elementwise = work.elementwise;
    found.reason = work.no_bytes;
    if (work.no_bytes.empty()) found.bytes = work.bytes;
  } catch (const NoClosedForm& none) {
    found.reason = none.reason;
  }
  return found;
}

bool HasNoFlops(const PrimitiveWork& work) {
  return work.matrix && *work.matrix == 0 && *work.elementwise == 0;
}

std::string ComputeTypeOf(const Primitive& primitive) {
  std::string narrowest;
  for (const std::string_view role :
       {"src", "src_layer", "src_a", "data", "wei", "wei_layer", "src_b"}) {
    const auto* tensor = primitive.Find(role);
    if (tensor == nullptr) continue;
    const std::string_view type = tensor->type;
    if (type == "s8" || type == "u8" || type == "s4" || type == "u4") return "int8";
    if (type == "f32" || type == "f64" || type == "bf16" || type == "f16") {
      if (narrowest.empty()) narrowest = type;
    }
  }
  return narrowest;
}

FormWork ConvolutionWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  return FilterWork(primitive, sizes, sizes.Image('o'));
}

// Every point of the source is multiplied by the whole filter.
FormWork DeconvolutionWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  return FilterWork(primitive, sizes, sizes.Image('i'));
}

// "16x256:256x192", "4x16x256:1x256x192"; what follows a third part's colon is the destination's.
FormWork MatmulWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive);
  if (dims.size() < 2 || dims[0].size() < 2 || dims[0].size() != dims[1].size())
    throw NoClosedForm{"the problem is no pair of matrices"};
  const auto& a = dims[0];
  const auto& b = dims[1];
  const double rows = a[a.size() - 2];
  const double inner = a.back();
  const double columns = b.back();
  if (b[b.size() - 2] != inner) throw NoClosedForm{"the matrices do not fit together"};
  FormWork work;
  work.destination = Batches(a, b) * rows * columns;
  work.destination_dims = a;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) work.destination_dims[i] = std::max(a[i], b[i]);
  work.destination_dims.back() = columns;
  work.destination_bytes = ElementBytes(primitive, primitive.Find("dst") ? "dst" : "dst_c");
  work.matrix = 2 * work.destination * inner;
  work.elementwise = BiasFlops(primitive, work.destination);
  const auto bytes_of = [&](const char* usual, const char* other) {
    return ElementBytes(primitive, primitive.Find(usual) != nullptr ? usual : other);
  };
  work.bytes = ProductOf(a) * bytes_of("src", "src_a") + ProductOf(b) * bytes_of("wei", "src_b") +
               work.destination * work.destination_bytes + columns * BiasBytes(primitive);
  return work;
}

FormWork InnerProductWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  if (!sizes.Has("ic") || !sizes.Has("oc")) throw NoClosedForm{"the problem lacks ic or oc"};
  const double samples = sizes.Or("mb", 1);
  const double inner = sizes.Or("ic", 1) * sizes.Image('i');
  const double out = sizes.Or("oc", 1);
  auto work = WorkOn({samples, out});
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.matrix = 2 * work.destination * inner;
  work.elementwise = BiasFlops(primitive, work.destination);
  work.bytes = samples * inner * ElementBytes(primitive, "src") +
               inner * out * ElementBytes(primitive, "wei") +
               work.destination * work.destination_bytes + out * BiasBytes(primitive);
  return work;
}

}  // namespace dlroof::verbose
