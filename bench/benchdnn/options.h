// benchdnn's options: their defaults and their values. Each driver has a table of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

struct BenchdnnDriver;

// An option whose values say which call a problem stands for; benchdnn runs every combination of
// the values of all of them.
struct BenchdnnOption {
  std::string_view name;
  std::string_view default_value;
  std::string_view words;  // that a value may be, separated by blanks, in any case; else `read`
  std::string (*read)(std::string_view value) = nullptr;  // to its one spelling; or refuses
};

inline constexpr std::string_view kBenchdnnFpmath = "strict bf16 f16 tf32 any";

// One value of each option of a driver.
class BenchdnnChoice {
 public:
  BenchdnnChoice(std::span<const BenchdnnOption> options, std::vector<std::string_view> values)
      : options_(options), values_(std::move(values)) {}

  // In its one spelling: "FWD_B", "u8:s8:u8", "relu"; see the readers in the .cpp.
  std::string_view operator[](std::string_view option) const;
  // The value of an integer option.
  int64_t Count(std::string_view option) const;
  bool IsDefault(std::string_view option) const;
  // "--dir=FWD_I --alg=wino ": the options that are not at their defaults.
  std::string Arguments() const;

 private:
  std::span<const BenchdnnOption> options_;
  std::vector<std::string_view> values_;
};

// What the options of one driver are set to.
class BenchdnnSettings {
 public:
  explicit BenchdnnSettings(const BenchdnnDriver& driver);

  // False where the driver has no such option. `values`: separated by commas; nothing stands for
  // the default. Throws BenchdnnRefusal (offset within `values`) for a value that is none.
  bool Set(std::string_view option, std::string_view values);
  const BenchdnnDriver& Driver() const { return *driver_; }
  uint64_t Combinations() const;  // as a problem has them; stops counting at 2^32
  BenchdnnChoice Choice(uint64_t index) const;

 private:
  const BenchdnnDriver* driver_;
  std::vector<std::vector<std::string>> values_;  // of each option
};

// True for an option of benchdnn that does not change what is computed: how long it measures, what
// it prints, which of the library's implementations it passes over. Its value is checked: throws
// BenchdnnRefusal (offset within `value`).
bool IsIgnoredOption(std::string_view option, std::string_view value);

// Throws BenchdnnRefusal unless `value` is one of `words` (any case); its spelling there.
std::string_view OneOf(std::string_view words, std::string_view value);

// Returns why options that drivers share lead to no benchmark; empty where they do not stand in the
// way.
std::string CommonReason(const BenchdnnChoice& choice);

}  // namespace dlroof
