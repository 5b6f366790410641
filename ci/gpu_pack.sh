# shellcheck shell=bash
# A folder of programs that run on another machine without installing anything there. Source it after lib.sh.

# Libraries that a machine with a GPU has: the C and C++ runtimes, and CUDA's own.
readonly on_every_system='linux-vdso|ld-linux[a-z0-9_-]*|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+)'
readonly of_cuda='lib(cuda|cudart|cublas|cublasLt|cupti|nvperf_host|nvrtc|nvrtc-builtins|nvJitLink|cudnn[a-z_]*)'

# needed_libraries FOLDER: "NAME PATH" of each library that the files there need and that has to come with them; PATH is
# "missing" where this machine has none either.
needed_libraries() {
  local file
  for file in "$1"/*; do LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ldd "$file" 2>/dev/null || true; done \
    | awk '{ print $1, $2 != "=>" ? $1 : $3 == "not" ? "missing" : $3 }' | sort -u \
    | grep -vE "^(.*/)?($on_every_system|$of_cuda)\.so" | grep -v '^linux-vdso' || true
}

carry_libraries() { # carry_libraries FOLDER
  local name path
  needed_libraries "$1" | while read -r name path; do
    [ -e "$1/$name" ] || [ "$path" = missing ] || cp -L "$path" "$1/$name"
  done
}

# check_carried FOLDER: fails, naming them, where the files there need libraries that are not beside them.
check_carried() {
  local name path lacking=""
  while read -r name path; do
    [ -z "$name" ] || [ "$path" = "$1/$name" ] || lacking="$lacking $name"
  done < <(needed_libraries "$1")
  [ -z "$lacking" ] || fail "the packed programs need what is not packed:$lacking"
}

# carry_data BUILD FOLDER: what the programs find beside them, such as the hook of `dlroof profile --torch`.
carry_data() { rm -rf "$2/share" && cp -rL "$1/share" "$2/"; }

# pack_into FOLDER ARCHS PROGRAM...: builds them for these GPUs (empty: all), without oneDNN, and packs them with what gpu_check.sh
# needs.
pack_into() {
  local folder=$1 archs=$2 program
  shift 2
  install_requirements # plotly.js, for pages
  install_cuda
  [ -z "$archs" ] || build_options+=("-DDLROOF_CUDA_ARCHS=$archs")
  build_options+=(-DDLROOF_ONEDNN=OFF)
  cmake --preset release -B build-carried -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${build_options[@]}" >/dev/null || fail "cmake could not configure build-carried"
  cmake --build build-carried --target "$@" dlroof_cuda || fail "the build failed"
  mkdir -p "$folder/build" "$folder/ci" "$folder/tests"
  folder=$(cd "$folder" && pwd)
  for program in dlroof_bench dlroof libdlroof_cuda.so libdlroof_gpu_trace.so tests/dlroof_cuda_tests; do
    strip -o "$folder/build/$(basename "$program")" "build-carried/$program"
  done
  carry_libraries "$folder/build"
  check_carried "$folder/build"
  carry_data build-carried "$folder/build"
  cp ci/gpu_check.sh ci/gpu_pack.sh ci/gpu_kernel_time.py ci/gpu_models.py ci/gpu_programs.py ci/lib.sh baselines/studies/{programs/{models,jax_models,sizes},gpu-beside-torch/torch_times}.py "$folder/ci/"
  rm -rf "$folder/tests/data"
  cp -r tests/data "$folder/tests/"
  say "packed: $(du -sh "$folder" | cut -f1) in $folder"
}
