# The suites' text, as BuiltInSuites() of suite.h.
file(GLOB dlroof_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${room}/*.txt")
dlroof_embed(suites.cpp ${room}/suite.h BuiltInSuite BuiltInSuites ${dlroof_files})
