// Stands for libnvidia-ml.so.1. Two devices: "0000:01:00.0" tells its power at the moment and as a
// mean; that of "0000:03:00.0" cannot be read, as on many cards.
#include <cstring>

namespace {
int device, old_device;
constexpr int kNotSupported = 3, kNotFound = 6;

// nvmlFieldValue_t
struct Field {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    unsigned whole;
    unsigned long long longest;
  } value;
};
}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  const bool old = std::strcmp(bus, "0000:03:00.0") == 0;
  if (!old && std::strcmp(bus, "0000:01:00.0") != 0) return kNotFound;
  *handle = old ? &old_device : &device;
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.65.06", length);
  return 0;
}

int nvmlDeviceGetClockInfo(void*, unsigned which, unsigned* megahertz) {
  *megahertz = which == 1 ? 1980 : 3201;
  return 0;
}

int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  if (handle == &old_device) return kNotSupported;
  *milliwatts = 300000;
  return 0;
}

int nvmlDeviceGetFieldValues(void* handle, int count, Field* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].status = handle == &old_device || fields[i].field != 186 ? kNotSupported : 0;
    fields[i].type = 1;
    fields[i].value.whole = 651234;
  }
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoules) {
  if (handle == &old_device) return kNotSupported;
  *millijoules = 8123456789;
  return 0;
}

int nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  *celsius = 41;
  return 0;
}

// The name before driver 535.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = 0x44;
  return 0;
}
}
