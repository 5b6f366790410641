// benchdnn's problem texts: "mb16_g1ic64ih56oc64oh56kh3ph1n"name"" and "l2t50mb32sic512dhc512",
// with its defaults for what is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlroof {

enum class BenchdnnDriver { kConv, kRnn };
std::string_view Key(BenchdnnDriver driver);  // "conv", "rnn"

// Whose problem this text begins like; none for anything else.
std::optional<BenchdnnDriver> DriverOfProblem(std::string_view text);

// What the text says about one direction of the image. All zero but stride and padding: nothing.
struct BenchdnnAxis {
  int64_t input = 0, output = 0, filter = 0;
  int64_t stride = 1;
  int64_t padding = -1;  // before the first element; below 0 while it is not known
  int64_t dilation = 0;  // 0 = dense

  bool operator==(const BenchdnnAxis&) const = default;
};

// [1] padding behind the last element, as the output asks for: below 0 where it uses less than the
// image has.
int64_t FarPadding(const BenchdnnAxis& axis);

struct BenchdnnConv {
  int64_t groups = 1, images = 2, in_channels = 0, out_channels = 0;
  bool has_groups = false;  // written, even when it is 1
  int dimensions = 2;       // of the image: 1 (w), 2 (h, w) or 3 (d, h, w)
  BenchdnnAxis d, h, w;     // complete where the image has that dimension
};

// Of what is left out: 2 images, 1 group, stride 1, dense; the output follows from the padding (0
// where that is left out, too), or the padding from the output; w is like h, both like d.
// Throws BenchdnnRefusal: a letter that is none, a number above 2^31-1, a size that is missing or
// leads to no output.
BenchdnnConv ReadBenchdnnConv(std::string_view text);

// The problem as benchdnn lists it; without its name.
std::string ToText(const BenchdnnConv& problem);

struct BenchdnnRnn {
  int64_t layers = 1, steps = 1, samples = 2;
  int64_t state = 0;   // sic: channels of the hidden state that goes in
  int64_t input = 0;   // slc: channels of a layer's input
  int64_t hidden = 0;  // dhc
  int64_t output = 0;  // dic: channels of the hidden state that comes out
};

// Of what is left out: 1 layer, 1 step, 2 samples; input and hidden as state, output as hidden.
// Throws BenchdnnRefusal as above.
BenchdnnRnn ReadBenchdnnRnn(std::string_view text);

std::string ToText(const BenchdnnRnn& problem);

}  // namespace dlroof
