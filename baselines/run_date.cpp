#include "baselines/run_date.h"

#include <time.h>

#include <cstdio>

#include "reporters/json_access.h"

namespace dlroof {

double Moment(const RunFile& file) {
  const auto date = Text(file.context, "date");
  tm parts = {};
  char sign = '+';
  int hours = 0, minutes = 0;
  const int read = std::sscanf(date.c_str(), "%d-%d-%dT%d:%d:%d%c%d:%d", &parts.tm_year,
                               &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                               &parts.tm_sec, &sign, &hours, &minutes);
  if (read < 6) return 0;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const double offset = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
  return static_cast<double>(timegm(&parts)) - offset;
}

}  // namespace dlroof
