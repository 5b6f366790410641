#include "reporters/record/json_object.h"

#include <fmt/format.h>

namespace dlroof {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string JsonPlace::Text() const {
  std::string text = outer == nullptr ? "" : outer->Text() + ": ";
  text += key;
  if (index != kNoIndex) text += fmt::format("[{}]", index);
  return text;
}

const char* TypeName(element element) {
  switch (element.type()) {
    case element_type::ARRAY:
      return "array";
    case element_type::OBJECT:
      return "object";
    case element_type::STRING:
      return "string";
    case element_type::BOOL:
      return "boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "number";
  }
}

JsonObject::JsonObject(element element, const JsonPlace& place) : place_(place) {
  if (element.get(object_) != simdjson::SUCCESS)
    throw BadInput(fmt::format("{}: expected an object, got {}", where(), TypeName(element)));
}

void JsonObject::Refuse(std::string_view key, const std::string& expected) const {
  const auto found = Find(key);
  throw BadInput(fmt::format("{}: '{}': expected {}, got {}", where(), key, expected,
                             found ? TypeName(*found) : "nothing"));
}

std::optional<double> JsonObject::OptionalNumber(const char* key) const {
  const auto found = Find(key);
  if (!found) return std::nullopt;
  double value = 0;
  if (found->get(value) != simdjson::SUCCESS) Refuse(key, "a number");
  return value;
}

double JsonObject::Number(const char* key) const {
  const auto value = OptionalNumber(key);
  if (!value) Refuse(key, "a number");
  return *value;
}

std::string JsonObject::TextOr(const char* key, const std::string& otherwise) const {
  const auto found = Find(key);
  if (!found) return otherwise;
  std::string_view text;
  if (found->get(text) != simdjson::SUCCESS) Refuse(key, "a text");
  return std::string(text);
}

std::string JsonObject::Text(const char* key) const {
  if (!Has(key)) Refuse(key, "a text");
  return TextOr(key, "");
}

bool JsonObject::FlagOr(const char* key) const {
  const auto found = Find(key);
  bool flag = false;
  if (found && found->get(flag) != simdjson::SUCCESS) Refuse(key, "true or false");
  return flag;
}

JsonObject JsonObject::Object(const char* key) const {
  const auto found = Find(key);
  if (!found || !found->is_object()) Refuse(key, "an object");
  return {*found, PlaceOf(key)};
}

std::optional<simdjson::dom::array> JsonObject::OptionalArray(const char* key) const {
  const auto found = Find(key);
  if (!found) return std::nullopt;
  simdjson::dom::array array;
  if (found->get(array) != simdjson::SUCCESS) Refuse(key, "an array");
  return array;
}

}  // namespace dlroof
