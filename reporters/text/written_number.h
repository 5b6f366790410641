// Numbers as files hold them: every digit that was resolved, and no noise behind it.
#pragma once

#include <nlohmann/json.hpp>

namespace dlroof::text {

// Enough to name every double: RoundAll only writes whole numbers whole.
inline constexpr int kExactDigits = 17;
// Digits of derived values: of a repetition of 30 ms the clock resolves 8.
inline constexpr int kWrittenDigits = 8;
// Digits of a stored run's roofs, whose repetitions agree in three or four, of what is derived from
// them, and of CPU times, which say no more than whether a repetition was disturbed.
inline constexpr int kStoredDigits = 6;
// Digits of the times that a stored run's threads waited for a CPU.
inline constexpr int kStoredDelayDigits = 3;

// The double that is nearest to `value` rounded to `digits` significant decimal digits; itself
// where it is not finite.
double Rounded(double value, int digits = kWrittenDigits);
// Without ".0" where it is whole and exact (below 2^53).
nlohmann::json WholeOrReal(double value);
// All numbers of `json` that have a fraction or an exponent, in place: rounded, and whole where
// they are.
void RoundAll(nlohmann::json& json, int digits = kWrittenDigits);

// [s] The mean over `iterations` calls of a clock that counts nanoseconds, in so many decimals that
// seconds x iterations still names the nanosecond, and with at least `digits` significant ones.
// Itself where `iterations` is not known (0).
double RoundedToClock(double seconds, double iterations, int digits = 0);

}  // namespace dlroof::text
