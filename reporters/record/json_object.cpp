#include "reporters/record/json_object.h"

#include <fmt/format.h>

namespace dlroof {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Returns the word for a value's type in messages.
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

template <class Value>
Value ValueOf(const JsonMember& member, const char* expected) {
  Value value;
  if (member.value.get(value) != simdjson::SUCCESS) member.Refuse(expected);
  return value;
}

}  // namespace

std::string JsonPlace::Text() const {
  std::string text = outer == nullptr ? "" : outer->Text() + ": ";
  text += key;
  if (index != kNoIndex) text += fmt::format("[{}]", index);
  return text;
}

double JsonMember::Number() const { return ValueOf<double>(*this, "a number"); }
std::string_view JsonMember::Text() const { return ValueOf<std::string_view>(*this, "a text"); }
bool JsonMember::Flag() const { return ValueOf<bool>(*this, "true or false"); }
simdjson::dom::array JsonMember::Array() const {
  return ValueOf<simdjson::dom::array>(*this, "an array");
}
void JsonMember::Refuse(const std::string& expected) const { at.Refuse(key, expected); }

double JsonMember::NumberIn(double least, double most, const char* expected) const {
  const double number = Number();
  if (number < least || number > most) Refuse(expected);
  return number;
}

JsonObject JsonMember::Object() const {
  if (!value.is_object()) Refuse("an object");
  return {value, at.PlaceOf(key)};
}

JsonObject::JsonObject(element element, const JsonPlace& place) : place_(place) {
  if (element.get(object_) != simdjson::SUCCESS)
    throw BadInput("{}: expected an object, got {}", where(), TypeName(element));
}

void JsonObject::Refuse(std::string_view key, const std::string& expected) const {
  const auto found = Find(key);
  throw BadInput("{}: '{}': expected {}, got {}", where(), key, expected,
                 found ? TypeName(found->value) : "nothing");
}

std::optional<JsonMember> JsonObject::Find(std::string_view key) const {
  std::optional<JsonMember> found;
  for (const auto member : object_)
    if (member.key == key) found.emplace(JsonMember{*this, member.key, member.value});
  return found;
}

std::optional<double> JsonObject::OptionalNumber(const char* key) const {
  const auto found = Find(key);
  return found ? std::optional(found->Number()) : std::nullopt;
}

double JsonObject::Number(const char* key) const {
  const auto found = Find(key);
  if (!found) Refuse(key, "a number");
  return found->Number();
}

std::string JsonObject::TextOr(const char* key, const std::string& otherwise) const {
  const auto found = Find(key);
  return found ? std::string(found->Text()) : otherwise;
}

std::string JsonObject::Text(const char* key) const {
  if (!Find(key)) Refuse(key, "a text");
  return TextOr(key, "");
}

bool JsonObject::FlagOr(const char* key) const {
  const auto found = Find(key);
  return found && found->Flag();
}

}  // namespace dlroof
