#include "reporters/verbose/primitive_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporters/verbose/work_forms.h"

namespace dlroof {
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

}  // namespace

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

}  // namespace dlroof
