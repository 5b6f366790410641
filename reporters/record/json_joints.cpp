#include "reporters/record/json_joints.h"

#include <bit>
#include <functional>

namespace dlroof {

static_assert(std::endian::native == std::endian::little);

void JsonJoints::Forget() {
  joints_.clear();
  joints_.reserve(kMost);
  joints_.resize(2);
}

std::uint32_t JsonJoints::Find(std::string_view text, const JsonBrackets& before) const {
  for (std::uint32_t i = kPassing + 1; i < joints_.size(); ++i)
    if (joints_[i].before == before &&
        std::string_view(joints_[i].text.data(), joints_[i].size) == text)
      return i;
  return JsonJoint::kNone;
}

std::uint32_t JsonJoints::Add(std::uint32_t from, std::string_view text, std::string_view key,
                              const JsonBrackets& after) {
  const JsonBrackets before = joints_[from].after;
  const std::less<const char*> less;
  const bool inside = key.empty() || (!less(key.data(), text.data()) &&
                                      !less(text.data() + text.size(), key.data() + key.size()));
  if (text.size() > JsonJoint::kLongest || !inside) {
    JsonJoint& passing = joints_[kPassing];
    passing = JsonJoint();
    passing.key = key;
    passing.before = before;
    passing.after = after;
    return kPassing;
  }
  auto found = Find(text, before);
  if (found == JsonJoint::kNone) {
    if (joints_.size() == kMost) {
      Forget();
      from = kPassing;
    }
    found = static_cast<std::uint32_t>(joints_.size());
    auto& joint = joints_.emplace_back();
    std::memcpy(joint.text.data(), text.data(), text.size());
    joint.size = static_cast<std::uint32_t>(text.size());
    if (!key.empty()) joint.key = {joint.text.data() + (key.data() - text.data()), key.size()};
    joint.before = before;
    joint.after = after;
  }
  // What follows a passing one is no habit.
  if (from != kPassing) joints_[from].next = {found, joints_[from].next[0]};
  return found;
}

}  // namespace dlroof
