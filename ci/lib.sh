# Shared by the scripts of this folder: where things are, how to say it, how to install what is missing. Source it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly venv=.deps/venv

say() { printf '== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# as_root COMMAND...: runs it as root, through sudo when we are not.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; return; fi
  command -v sudo >/dev/null || fail "needs root or sudo to install packages: $*"
  sudo "$@"
}

build_packages="g++ cmake ninja-build ccache pkg-config python3-venv git libbenchmark-dev nlohmann-json3-dev libcli11-dev libfmt-dev libhwloc-dev gnuplot-nox"
test_packages="$build_packages libgtest-dev libgmock-dev chromium fonts-dejavu-core clang-format-14 clang-tidy-14"

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

# oneDNN and plotly.js come from PyPI, pinned with hashes; the stamp makes a second call free.
install_requirements() {
  local stamp="$venv/requirements.sha256" wanted
  wanted=$(sha256sum < ci/requirements.txt)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return
  say "installing oneDNN and plotly.js into $venv"
  rm -rf "$venv"
  python3 -m venv "$venv" || fail "python3 -m venv failed: is the package python3-venv installed?"
  "$venv/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes -r ci/requirements.txt \
    || fail "pip could not install ci/requirements.txt: is there a network?"
  # The wheel carries three full copies of the library.
  for name in libdnnl.so libdnnl.so.3; do ln -sf libdnnl.so.3.2 "$venv/lib/$name"; done
  printf '%s\n' "$wanted" > "$stamp"
}

# build PRESET TARGET...
build() {
  local preset=$1; shift
  say "building ($preset)"
  cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache > "$venv/../cmake-$preset.log" 2>&1 \
    || { tail -n 20 "$venv/../cmake-$preset.log" >&2; fail "cmake could not configure the preset $preset"; }
  grep 'dlroof:' "$venv/../cmake-$preset.log" || true
  cmake --build --preset "$preset" --target "$@" || fail "the build failed"
}
