// A library of someone else.
extern "C" int dlroof_is_not_here() { return 0; }
