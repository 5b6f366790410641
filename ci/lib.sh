# Shared by the scripts of this folder: where things are, how to say it, how to install what is missing. Source it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly venv=.deps/venv
readonly gpu_venv=.deps/gpu
readonly sass_venv=.deps/sass
readonly tidy_venv=.deps/tidy

say() { printf '== %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# as_root COMMAND...: runs it as root, through sudo when we are not.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
    return
  fi
  command -v sudo >/dev/null || fail "needs root or sudo to install packages: $*"
  sudo "$@"
}

build_packages="g++ cmake ninja-build ccache pkg-config python3-venv git libbenchmark-dev nlohmann-json3-dev libcli11-dev libfmt-dev libhwloc-dev libutf8proc-dev libsqlite3-dev libsqlitecpp-dev libboost-math-dev libsimdjson-dev zlib1g-dev liblzma-dev libzstd-dev gnuplot-nox valgrind"
test_packages="$build_packages slurm-wlm munge iproute2 procps libbenchmark-tools shellcheck libgtest-dev libgmock-dev libpfm4-dev python3-pytest python3-pytest-xdist patchelf prometheus qemu-user chromium libomp5 fonts-dejavu-core clang-format-14 black shfmt"

# install_packages NAME...: only what is missing; nothing to do takes milliseconds.
install_packages() {
  command -v dpkg-query >/dev/null || fail "needs a Debian or Ubuntu system with these packages: $*"
  local missing=""
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
  done
  [ -z "$missing" ] && return
  say "installing packages:$missing"
  as_root apt-get update -qq || fail "apt-get update failed: is there a network?"
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null \
    || fail "apt-get could not install:$missing"
}

# install_wheels FOLDER FILE WHAT: what FILE pins, with hashes, from PyPI into FOLDER; the stamp, which the caller writes, makes
# a second call free. Fails (1) where there is nothing to do.
install_wheels() {
  local folder=$1 file=$2 what=$3 wanted
  wanted=$(sha256sum <"$file")
  [ -f "$folder/requirements.sha256" ] && [ "$(cat "$folder/requirements.sha256")" = "$wanted" ] && return 1
  say "installing $what into $folder"
  rm -rf "$folder"
  python3 -m venv "$folder" || fail "python3 -m venv failed: is the package python3-venv installed?"
  "$folder/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes -r "$file" \
    || fail "pip could not install $file: is there a network?"
}
stamp() { sha256sum <"$2" >"$1/requirements.sha256"; }

install_requirements() {
  install_wheels "$venv" ci/requirements.txt "oneDNN, plotly.js and the frontend of cuDNN" || return 0
  # The wheel carries three full copies of the library.
  for name in libdnnl.so libdnnl.so.3; do ln -sf libdnnl.so.3.2 "$venv/lib/$name"; done
  stamp "$venv" ci/requirements.txt
}

# Where there is no CUDA toolkit, CUDA and cuDNN as well.
install_cuda() {
  build_options+=(-DDLROOF_CUDA=ON)
  for nvcc in "$(command -v nvcc || true)" "${CUDA_PATH:-}/bin/nvcc" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    "$nvcc" --version >/dev/null 2>&1 && {
      say "using the CUDA toolkit of $nvcc"
      return 0
    }
  done
  if install_wheels "$gpu_venv" ci/requirements-gpu.txt "CUDA and cuDNN, 1.6 GB,"; then stamp "$gpu_venv" ci/requirements-gpu.txt; fi
  build_options+=("-DDLROOF_CUDA_ROOT=$(echo "$PWD/$gpu_venv"/lib/python3*/site-packages/nvidia/cu13)")
}

# use_gpu yes|no: builds the CUDA module only for the GPU of this machine. Without a driver only where it is asked for, since
# nothing could run it: its kernels would take half of the first build.
use_gpu() {
  local driver arch
  driver=$(ldconfig -p 2>/dev/null | grep -m 1 -o 'libcuda\.so\.1' || true)
  if [ "$1" = yes ]; then
    install_cuda
  elif [ -n "$driver" ] || [ -e build/libdlroof_cuda.so ]; then
    build_options+=(-DDLROOF_CUDA=AUTO)
  else
    build_options+=(-DDLROOF_CUDA=OFF)
  fi
  arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed 's/\.//' | sort -u | sed 's/$/-real/' | paste -sd ';') || true
  [ -z "$arch" ] || build_options+=("-DDLROOF_CUDA_ARCHS=$arch")
}
# Where a CUDA toolkit without cuobjdump is found, what reads machine code: for one test, which else is skipped.
install_sass_reader() {
  command -v nvcc >/dev/null && ! command -v cuobjdump >/dev/null && [ "$(uname -m)" = x86_64 ] || return 0
  if install_wheels "$sass_venv" ci/requirements-sass.txt "cuobjdump and nvdisasm"; then stamp "$sass_venv" ci/requirements-sass.txt; fi
}
install_tidy() {
  if install_wheels "$tidy_venv" ci/requirements-tidy.txt clang-tidy; then stamp "$tidy_venv" ci/requirements-tidy.txt; fi
}
build_options=()
# The same file in another clone is the same file.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# ccache keeps files that use a precompiled header; its content is known by the sum beside it (ci/modules.cmake).
export CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# configure PRESET
configure() {
  local log="$venv/../cmake-$1.log"
  cmake --preset "$1" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${build_options[@]}" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "cmake could not configure the preset $1"
  }
  grep 'dlroof:' "$log" || true
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  say "building ($preset)"
  configure "$preset"
  cmake --build --preset "$preset" --target "$@" || fail "the build failed"
}
