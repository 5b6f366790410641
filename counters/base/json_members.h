// One list of a structure's members writes and reads its JSON object. In the structure's namespace:
//   void Members(auto& all, Node& node) {
//     all(Required("name", node.name), Field("reason", node.reason),
//         Keyed("status", node.status, kStatuses, "whole or failed"));
//   }
// Or define ToJson(node) and FromJson(reader, node) instead of Members. If Check(reader, node) is
// defined, it is called after reading and may throw BadInput.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"

namespace dlroof {

template <class T>
struct ListedMember {
  const char* key;
  T& value;
  bool required;  // if false: may be missing; an unset, empty or default value is not written
};
template <class T>
ListedMember<T> Required(const char* key, T& value) {
  return {key, value, true};
}
template <class T>
ListedMember<T> Field(const char* key, T& value) {
  return {key, value, false};
}

// A required enumerator, written as its text in `table`.
template <class T, std::size_t rows>
struct KeyedMember {
  const char* key;
  T& value;
  const KeyRow<T> (&table)[rows];
  const char* expected;  // for the message: "whole or failed"
};
template <class T, std::size_t rows>
KeyedMember<T, rows> Keyed(const char* key, T& value, const KeyRow<T> (&table)[rows],
                           const char* expected) {
  return {key, value, table, expected};
}

class MemberWriter {
 public:
  template <class... Fields>
  void operator()(Fields... fields) {
    (Put(fields), ...);
  }

  nlohmann::json object = nlohmann::json::object();

 private:
  template <class T>
  void Put(ListedMember<T> field) {
    if (field.required || !IsUnset(field.value)) object[field.key] = JsonOf(field.value);
  }
  template <class T, std::size_t rows>
  void Put(KeyedMember<T, rows> field) {
    object[field.key] = KeyIn(field.table, field.value);
  }

  template <class T>
  static bool IsUnset(const T& value) {
    if constexpr (requires { value.has_value(); })
      return !value.has_value();
    else if constexpr (requires { value.empty(); })
      return value.empty();
    else if constexpr (requires { value == T(); })
      return value == T();
    else
      return false;
  }
  template <class T>
  static nlohmann::json JsonOf(T& value) {
    if constexpr (requires { value.has_value(); }) {
      return JsonOf(*value);
    } else if constexpr (std::is_same_v<T, Reason>) {
      return value.text;
    } else if constexpr (requires { ToJson(value); }) {
      return ToJson(value);
    } else if constexpr (std::is_constructible_v<nlohmann::json, T>) {
      return value;
    } else if constexpr (requires { value.begin(); }) {
      auto array = nlohmann::json::array();
      for (auto& element : value) array.push_back(JsonOf(element));
      return array;
    } else {
      MemberWriter inner;
      Members(inner, value);
      return std::move(inner.object);
    }
  }
};

template <class T>
nlohmann::json MembersJson(T value) {
  MemberWriter all;
  Members(all, value);
  return std::move(all.object);
}

// What happens to a member that is missing or has a wrong type or number. kRefuse: throws BadInput;
// a number is wrong outside of its key's range (numbers.h). kIgnore: the member keeps its value, an
// array's element becomes T(); a number is wrong only if the member's type cannot represent it.
enum class Faults { kRefuse, kIgnore };

class MemberReader {
 public:
  MemberReader(const JsonReader& at, Faults faults) : at_(at), faults_(faults) {}

  template <class... Fields>
  void operator()(Fields... fields) {
    (Try([&] { Take(fields); }), ...);
  }

  template <class T>
  void ReadAll(T& value) {
    if constexpr (requires { FromJson(at_, value); })
      FromJson(at_, value);
    else
      Members(*this, value);
    if constexpr (requires { Check(at_, value); }) Check(at_, value);
  }

 private:
  template <class Action>
  void Try(const Action& action) const {
    try {
      action();
    } catch (const BadInput&) {
      if (faults_ == Faults::kRefuse) throw;
    }
  }
  template <class T>
  void Take(ListedMember<T> field) {
    if (field.required || at_.Has(field.key)) Read(field.key, field.value);
  }
  template <class T, std::size_t rows>
  void Take(KeyedMember<T, rows> field) {
    const auto found = ValueIn(field.table, at_.Text(field.key));
    if (!found) at_.Refuse(field.key, field.expected);
    field.value = *found;
  }

  double NumberAt(const char* key, double least, double most) const {
    if (faults_ == Faults::kRefuse) return least < 0 ? at_.Number(key) : at_.NotNegative(key);
    if (!at_.Has(key) || !at_.json().at(key).is_number()) at_.Refuse(key, "a number");
    const auto number = at_.json().at(key).template get<double>();
    if (!(number >= least && number <= most)) at_.Refuse(key, "a count");
    return number;
  }

  void Read(const char* key, std::string& text) { text = at_.Text(key); }
  void Read(const char* key, Reason& reason) { reason.text = at_.Text(key); }
  void Read(const char* key, bool& flag) { flag = at_.Flag(key); }
  void Read(const char* key, nlohmann::json& object) { object = at_.Object(key).json(); }
  void Read(const char* key, std::pair<double, double>& pair) { pair = at_.PositivePair(key); }
  void Read(const char* key, std::map<std::string, std::string>& texts) {
    texts = at_.TextsByKey(key);
  }
  void Read(const char* key, std::map<std::string, double>& numbers) {
    const auto object = at_.Object(key);
    for (const auto& name : object.Keys()) numbers[name] = object.Positive(name);
  }
  template <class T, std::size_t size>
  void Read(const char* key, std::array<T, size>& values) {
    std::vector<T> read;
    Read(key, read);
    if (read.size() != size) at_.Refuse(key, "as many numbers");
    std::ranges::copy(read, values.begin());
  }
  template <class T>
  void Read(const char* key, std::optional<T>& value) {
    T read{};
    Read(key, read);
    value = std::move(read);
  }
  template <class T>
  void Read(const char* key, std::vector<T>& values) {
    const auto& array = at_.Array(key);
    for (std::size_t i = 0; i < array.size(); ++i) {
      T element{};
      Try([&] {
        if constexpr (std::is_class_v<T> && !requires { typename T::value_type; }) {
          MemberReader(at_.Item(key, i), faults_).ReadAll(element);
        } else {
          const nlohmann::json wrapped = {{key, array[i]}};
          MemberReader({wrapped, at_.where()}, faults_).Read(key, element);
        }
      });
      values.push_back(std::move(element));
    }
  }
  template <class T>
  void Read(const char* key, T& value) {
    if constexpr (std::is_floating_point_v<T>)
      value = NumberAt(key, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
    else if constexpr (std::is_integral_v<T>)  // counts are never negative, and below 2^53
      value = static_cast<T>(
          NumberAt(key, 0, std::min(9e15, static_cast<double>(std::numeric_limits<T>::max()))));
    else
      MemberReader(at_.Object(key), faults_).ReadAll(value);
  }

  JsonReader at_;
  Faults faults_;
};

template <class T>
T FromMembers(const JsonReader& at, Faults faults = Faults::kRefuse) {
  T value;
  MemberReader(at, faults).ReadAll(value);
  return value;
}

}  // namespace dlroof
