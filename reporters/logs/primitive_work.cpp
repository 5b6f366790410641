#include "reporters/logs/primitive_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "counters/base/number_range.h"

namespace dlroof::logs {
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
                           {"brgemm", BlockProductWork},
                           {"transform", BlockTransformWork},
                           {"inner_product", InnerProductWork},
                           {"rnn", RnnWork},
                           {"batch_normalization", BatchNormalizationWork},
                           {"layer_normalization", LayerNormalizationWork},
                           {"group_normalization", GroupNormalizationWork},
                           {"softmax", SoftmaxWork},
                           {"softmax_v2", SoftmaxWork},
                           {"logsoftmax", LogsoftmaxWork},
                           {"eltwise", EltwiseWork},
                           {"binary", BinaryWork},
                           {"sum", SumWork},
                           {"reduction", ReductionWork},
                           {"pooling", PoolingWork},
                           {"pooling_v2", PoolingWork},
                           {"reorder", ReorderWork},
                           {"concat", ConcatWork}};

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
    found.reason = Reason{"no closed form of this kind"};
    return found;
  }
  try {
    if (const auto word = UnknownWord(primitive))
      throw NoClosedForm{
          fmt::format("{} may change the work in a way that the log does not tell", *word)};
    FormWork work = form->work(primitive);
    AddPostOps(primitive, work);
    for (const double count : {work.matrix, work.elementwise, work.bytes})
      if (!RangeOf("flops").Contains(count)) throw NoClosedForm{"the problem has impossible sizes"};
    found.matrix = work.matrix;
    found.elementwise = work.elementwise;
    found.reason = work.missing_bytes;
    const bool typed = std::ranges::any_of(primitive.tensors, [](const Tensor& tensor) {
      return !tensor.type.empty() && tensor.type != "undef";
    });
    if (!typed && !found.reason) found.reason = Reason{"the log has no types of tensors"};
    if (!found.reason) found.bytes = work.bytes;
  } catch (const NoClosedForm& error) {
    found.reason = Reason{error.reason};
  }
  return found;
}

bool HasNoFlops(const PrimitiveWork& work) {
  return work.matrix && *work.matrix == 0 && *work.elementwise == 0;
}

std::optional<std::string> ComputeTypeOf(const Primitive& primitive) {
  for (const std::string_view role :
       {"src", "src_layer", "src_a", "data", "wei", "wei_layer", "src_b"}) {
    const auto* tensor = primitive.Find(role);
    if (tensor == nullptr) continue;
    const std::string_view type = tensor->type;
    if (type == "s8" || type == "u8" || type == "s4" || type == "u4") return "int8";
    if (type == "f32" || type == "f64" || type == "bf16" || type == "f16") return std::string(type);
    if (!type.empty()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dlroof::logs
