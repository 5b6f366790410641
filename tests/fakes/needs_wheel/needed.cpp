// A library of a wheel: the dynamic linker does not search its folder.
extern "C" int dlroof_fake_needed() { return 41; }
