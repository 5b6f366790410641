// A oneDNN primitive of a verbose log: its tensors and sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/logs/verbose_log.h"

namespace dlroof::logs {

// A memory descriptor: "src:f32:a:blocked:aBcd8b::f0", or "src_f32:a:blocked:aBcd8b:f0" before 3.3.
struct Tensor {
  std::string role;        // "src", "diff_dst", "wei_layer"; "data" if the log has no role
  std::string type;        // "f32"; "undef" for a tensor that the call does not have; may be empty
  std::string properties;  // "a": the library chose the layout, "p": padded, "o", "0": offsets
  std::string format;      // "blocked", "sparse"; may be empty
  std::string tag;         // "aBcd8b"; may be empty
  std::string extra;       // strides and flags: ":f0_mask2"; may be empty

  bool Chosen() const { return properties.find('a') != std::string::npos; }
};

// Returns the size of one element [byte] of a known type. "undef" has 0.
std::optional<double> BytesOf(std::string_view type);

struct Primitive {
  PrimitiveText text;
  std::vector<Tensor> tensors;  // in the line's order

  // Returns the first tensor of the role or of its gradient ("diff_src" for "src"), or null if
  // there is none or its type is "undef".
  const Tensor* Find(std::string_view role) const;
  bool HasBias() const { return Find("bia") != nullptr || Find("bias") != nullptr; }
  bool IsBackward() const { return text.prop.starts_with("backward"); }
};

Primitive ReadPrimitive(const PrimitiveText& text);

// The sizes in a problem like "mb8_ic64oc64_ih56oh56kh3sh1dh0ph1": a number after each key.
class LetterSizes {
 public:
  // Returns nullopt for a text of another form, or with a number above 2^31-1.
  static std::optional<LetterSizes> Read(std::string_view text);

  double Or(std::string_view key, double otherwise) const;
  // Returns the product of the sizes with this first letter and d, h or w: kd, kh and kw for 'k'.
  // Missing sizes are 1.
  double Image(char first) const;
  bool Has(std::string_view key) const { return sizes_.contains(key); }

 private:
  std::map<std::string, double, std::less<>> sizes_;
};

// Returns the sizes of "8x64x56x56", or nullopt for another form, such as a size known only at run
// time ("*").
std::optional<std::vector<double>> ReadDims(std::string_view text);
// Returns the sizes of each part of "16x256:256x192", or nullopt if a part has another form.
std::optional<std::vector<std::vector<double>>> ReadDimsList(std::string_view text);
double ProductOf(const std::vector<double>& dims);

// Returns the first word of the line that no known version of oneDNN prints, with its kind ("the
// format 'sparse' of a tensor"), or nullopt. The work of a call with such a word is unknown.
std::optional<std::string> UnknownWord(const Primitive& primitive);

// Returns the value of a key: "1" of "axis" in "alg:softmax_accurate axis:1". A missing key has an
// empty value.
std::string_view WordOf(std::string_view text, std::string_view key);

// Returns the post-ops of the attributes in their order: "eltwise_relu:0:1", "sum".
std::vector<std::string_view> PostOpsOf(std::string_view attributes);

}  // namespace dlroof::logs
