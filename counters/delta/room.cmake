# The GPUs' parameter files, as BuiltInGpus() of gpu_spec.h.
file(GLOB dlroof_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${room}/gpus/*.json")
dlroof_embed(gpus.cpp ${room}/gpu_spec.h BuiltInGpu BuiltInGpus ${dlroof_files})
