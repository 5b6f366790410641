// What stands between the values of JSON texts that are alike, remembered: bytes that come again
// were checked before and need not be looked at one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace dlroof {

// The brackets that are open, the innermost in the lowest bit: 1 for an object, 0 for an array.
struct JsonBrackets {
  static constexpr int kMost = 60;
  std::uint64_t open = 0;
  int depth = 0;

  bool operator==(const JsonBrackets&) const = default;
  void Enter(bool object) {
    open = open << 1 | (object ? 1 : 0);
    ++depth;
  }
  void Leave() {
    open >>= 1;
    --depth;
  }
  bool InObject() const { return (open & 1) != 0; }
};

// The text from behind one value to the next: brackets, commas, keys, colons and white space; at
// the end of all, the last bracket. Who made it has checked that JSON may continue so where the
// brackets `before` are open.
struct JsonJoint {
  static constexpr std::size_t kLongest = 56;  // [byte] of those that are remembered
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  std::array<char, kLongest + 8> text{};               // zeros behind its end
  std::uint32_t size = 0;                              // [byte]
  std::array<std::uint32_t, 2> next = {kNone, kNone};  // what came behind it, the last one first
  int meaning = -1;      // of `key` to a reader, who may put what is not negative here
  std::string_view key;  // the last one in it
  JsonBrackets before, after;

  // Whether the text at `at` begins with it; 8 bytes more than `kLongest` must be readable there.
  bool Stands(const char* at) const {
    const auto different = [&](std::size_t from) {
      std::uint64_t here = 0, known = 0;
      std::memcpy(&here, at + from, sizeof here);
      std::memcpy(&known, text.data() + from, sizeof known);
      return here ^ known;
    };
    std::uint64_t all = 0;
    std::size_t from = 0;
    for (; from + 8 <= size; from += 8) all |= different(from);
    const std::uint64_t rest = (std::uint64_t{1} << 8 * (size - from)) - 1;  // little endian
    return (all | (different(from) & rest)) == 0;
  }
};

// The joints of one place of a file whose values are alike, and which follows which. A few kB at
// most, whatever is read: it forgets all when there are too many.
class JsonJoints {
 public:
  static constexpr std::uint32_t kStart = 0;  // before a value: behind it comes its first bracket
  JsonJoints() { Forget(); }
  JsonJoints(const JsonJoints&) = delete;  // keys point into the joints
  JsonJoints& operator=(const JsonJoints&) = delete;

  JsonJoint& operator[](std::uint32_t joint) { return joints_[joint]; }

  // Which of those that followed `from` stands at `at`; kNone: none of them.
  std::uint32_t Following(std::uint32_t from, const char* at) const {
    for (const auto next : joints_[from].next)
      if (next != JsonJoint::kNone && joints_[next].Stands(at)) return next;
    return JsonJoint::kNone;
  }
  // Puts `text` behind `from`, with its last key, which is a part of it or (with escapes)
  // elsewhere; what can be remembered will be found there the next time. Returns its place, good
  // until the next call.
  std::uint32_t Add(std::uint32_t from, std::string_view text, std::string_view key,
                    const JsonBrackets& after);

 private:
  static constexpr std::uint32_t kPassing = 1;  // holds the last one that is not remembered
  static constexpr std::size_t kMost = 128;

  void Forget();
  std::uint32_t Find(std::string_view text, const JsonBrackets& before) const;

  std::vector<JsonJoint> joints_;  // never grows beyond kMost: no joint moves
};

}  // namespace dlroof
