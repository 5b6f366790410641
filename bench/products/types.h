// Element types of an operator that multiplies a source by weights into a destination.
#pragma once

#include <string>
#include <string_view>

namespace dlroof {

// Element types of the three tensors; of a gradient, the type of its tensor.
struct ProductTypes {
  std::string source, weights, destination;

  bool operator==(const ProductTypes&) const = default;
};

// "f32" and "tf32" -> f32 f32 f32, "int8" -> u8 s8 u8, "u8s8f32" -> u8 s8 f32, "fp8" -> three times
// e4m3. Throws BadInput without a column for anything that is not a type's one spelling.
ProductTypes ProductTypesFromKey(std::string_view type);
// Returns true for a key that is no mix of element types: "int8", "tf32".
bool IsNamedType(std::string_view type);
// The inverse of ProductTypesFromKey; empty where a name has no word for these types.
std::string KeyOf(const ProductTypes& types);

bool IsByte(std::string_view element);   // "u8", "s8"
bool IsInt8(const ProductTypes& types);  // integer source and weights

// The element type of the bias: f32 beside integer weights.
std::string_view BiasType(const ProductTypes& types);
// "bf16": the narrowest floating type of the three tensors, "int8" for integers, "fp8"; what
// decides the unit that computes.
std::string_view ComputeType(const ProductTypes& types);

}  // namespace dlroof
