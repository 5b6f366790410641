// A primitive of a log: its texts, and what they say of its tensors and sizes.
//
// A primitive of a log as a line of benchdnn, oneDNN's benchmark program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/verbose/verbose_log.h"

namespace dlroof::verbose {

// A memory descriptor: "src:f32:a:blocked:aBcd8b::f0", or "src_f32:a:blocked:aBcd8b:f0" before 3.3.
struct Tensor {
  std::string role;     // "src", "diff_dst", "wei_layer"; "data" where it was not printed
  std::string type;     // "f32"; "undef": the call has no such tensor; empty: not printed
  bool chosen = false;  // the library chose the layout
  std::string tag;      // "aBcd8b"; empty: not printed
};

// Returns the tensors in the line's order.
std::vector<Tensor> ReadTensors(std::string_view text);
// Returns false for a word that is no type of oneDNN's.
bool IsTensorType(std::string_view type);
// [byte] of one element; absent for a type that this program does not know. "undef" has 0.
std::optional<double> BytesOf(std::string_view type);

struct Primitive {
  PrimitiveText text;
  std::vector<Tensor> tensors;

  // Returns the first tensor of the role, or of its gradient ("diff_src" for "src"); null: there is
  // none, or its type is "undef".
  const Tensor* Find(std::string_view role) const;
  bool HasBias() const { return Find("bia") != nullptr || Find("bias") != nullptr; }
  bool IsBackward() const { return text.prop.starts_with("backward"); }
};

Primitive ReadPrimitive(const PrimitiveText& text);

// Sizes of "mb8_ic64oc64_ih56oh56kh3sh1dh0ph1": a number behind each letter.
class LetterSizes {
 public:
  // Absent: the text has another form, or a number above 2^31-1.
  static std::optional<LetterSizes> Read(std::string_view text);

  double Or(std::string_view key, double otherwise) const;
  // Product over d, h and w of the sizes with this first letter: "k" of kd, kh, kw; 1 where the
  // problem has none.
  double Image(char first) const;
  bool Has(std::string_view key) const { return sizes_.contains(key); }

 private:
  std::map<std::string, double, std::less<>> sizes_;
};

// Sizes of "8x64x56x56". Absent: another form; a size that is known only at run time ("*") too.
std::optional<std::vector<double>> ReadDims(std::string_view text);
// Sizes of "16x256:256x192", each part's. Absent: a part has another form.
std::optional<std::vector<std::vector<double>>> ReadDimsList(std::string_view text);
double ProductOf(const std::vector<double>& dims);

// Returns the value of "axis:1" in "alg:softmax_accurate axis:1"; empty: there is none.
std::string_view WordOf(std::string_view text, std::string_view key);

// Returns the post-ops: "eltwise_relu:0:1", "sum", in their order; none where the attributes have
// none.
std::vector<std::string_view> PostOpsOf(std::string_view attributes);

// Returns the arguments that time the same call: "--conv --mode=P --dir=FWD_D ...". A layout that
// the library chose is "any", as is a blocked one, which programs leave to the library. Empty: no
// driver of benchdnn, or a text that this program cannot put into its words.
std::string BenchdnnLine(const Primitive& primitive);

}  // namespace dlroof::verbose
