#include "baselines/compare/run_date.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "reporters/record/context.h"

namespace dlroof {
namespace {

// [s] east of UTC of "Z", "+01:00", "-0530" or "+01"; 0 where there is no zone.
double OffsetOf(const char* zone) {
  char sign = '+';
  int hours = 0, minutes = 0;
  if (std::sscanf(zone, " %c%2d:%2d", &sign, &hours, &minutes) == 2)
    std::sscanf(zone, " %*c%*2d%2d", &minutes);
  return (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
}

}  // namespace

double Moment(const RunFile& file) {
  const auto date = Text(file.context, "date");
  tm parts = {};
  char between = ' ';
  int end = 0;
  const int read =
      std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &between, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  if (read < 7 || (between != 'T' && between != ' ')) return 0;
  auto zone = static_cast<std::size_t>(end);
  if (zone < date.size() && (date[zone] == '.' || date[zone] == ','))
    zone = std::min(date.find_first_not_of("0123456789", zone + 1), date.size());
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) - OffsetOf(date.c_str() + zone);
}

}  // namespace dlroof
