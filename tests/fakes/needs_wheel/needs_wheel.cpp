// A module that needs a library which the dynamic linker does not find.
extern "C" int dlroof_fake_needed();
extern "C" int dlroof_fake_answer() { return dlroof_fake_needed() + 1; }
