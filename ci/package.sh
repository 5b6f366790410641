#!/usr/bin/env bash
# Makes the packages of a release and tests them in an empty Debian 12, the archive also in an empty Ubuntu 22.04 where its mirror
# is reached: half an hour on two cores where nothing is built, an hour with clang 14.
#
#   ci/package.sh [--make | --test] [--packages] [--without-cuda] [--archs LIST]
#
# --make only makes them, --test only tests those of build-package/packages. --packages leaves out a project that builds these
# sources by FetchContent, with g++ and clang 14. --archs: the GPUs that the CUDA module is compiled for
# (90-real; default: all). Writes dlroof_VERSION_amd64.deb, libdlroof-dev_VERSION_amd64.deb, dlroof-VERSION-linux-x86_64.tar.gz
# and a Python wheel (ci/wheel.py). The tests need root: they use debootstrap and chroot. Exit code: 0 all is well.
. "$(dirname "$0")/lib.sh"
make=yes test=yes sources=yes cuda=yes archs=""
while [ $# -gt 0 ]; do
  case $1 in
    --make) test=no ;;
    --test) make=no ;;
    --packages) sources=no ;;
    --without-cuda) cuda=no ;;
    --archs) archs=${2:?--archs needs a list} && shift ;;
    *) fail "unknown argument '$1' (its first lines say what it takes)" ;;
  esac
  shift
done
readonly build=build-package
readonly packages=$PWD/$build/packages
readonly root=$PWD/$build/root                   # an empty Debian 12 or Ubuntu 22.04
readonly newest_glibc=2.35 newest_glibcxx=3.4.30 # of Ubuntu 22.04, older than Debian 12

# Writes the manual page of each program and command, of what its --help prints.
write_manual() {
  local pages=$PWD/$build/share/man/man1 command words about version
  version=$($build/dlroof --version)
  rm -rf "$pages" && mkdir -p "$pages"
  while read -r command; do
    read -ra words <<<"$command"
    about="measure deep-learning operators and place them on the machine's roofs"
    [ "$command" = dlroof_bench ] || about=$("$build/${words[0]}" "${words[@]:1}" --help | head -n 1)
    (cd $build && help2man --no-info --version-string="${version%% *}" --name="$about" "./$command") >"$pages/${command// /-}.1" \
      || fail "help2man failed: $command"
  done < <({ echo dlroof && $build/dlroof completion table | cut -f 1; } | sort -u)
  gzip -9nf "$pages"/*.1
}
make_packages() {
  local targets
  # shellcheck disable=SC2086
  install_packages $build_packages dpkg-dev file help2man patchelf xz-utils
  install_requirements
  if [ "$cuda" = yes ]; then install_cuda; else build_options+=(-DDLROOF_CUDA=OFF); fi
  [ -z "$archs" ] || build_options+=("-DDLROOF_CUDA_ARCHS=$archs")
  say "building ($build)"
  cmake --preset release -B $build -DDLROOF_ONEDNN=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${build_options[@]}" >$build.log 2>&1 \
    || { tail -n 20 $build.log >&2 && fail "cmake could not configure $build"; }
  rm -f $build.log
  # Without the tests, which no package contains.
  targets="dlroof dlroof_bench dlroof_benchmark dlroof_benchmark_main dlroof_documents"
  # shellcheck disable=SC2086
  cmake --build $build --target $targets || fail "the build failed"
  write_manual
  say "packing"
  rm -rf "$packages"
  (cd $build && cpack >packages.log 2>&1) || { tail -n 20 $build/packages.log >&2 && fail "cpack failed"; }
  make_wheel
}
make_wheel() {
  local component
  rm -rf $build/wheel
  for component in runtime bundled; do
    cmake --install $build --prefix "$PWD/$build/wheel" --strip --component $component >$build/wheel.log || fail "cmake --install failed"
  done
  ci/wheel.py $build/wheel "$packages" || fail "ci/wheel.py failed"
}

# check WHAT COMMAND...: runs a command, and names what it tested.
check() {
  local what=$1
  shift
  "$@" || fail "$what: failed ($*)"
  say "ok: $what"
}

# --- What is in the packages

# no_path FOLDER: no file names the folder of the sources, or of the build inside it.
no_path() { ! grep -rlaF -- "$PWD/" "$1" && ! grep -rlaF -- "$PWD\"" "$1"; }

# newest_symbols FOLDER: no program or library needs a newer C or C++ library than Ubuntu 22.04 has.
newest_symbols() {
  local file name limit needed status=0
  while read -r file; do
    for name in GLIBC:$newest_glibc GLIBCXX:$newest_glibcxx; do
      limit=${name#*:} name=${name%:*}
      needed=$(objdump -T "$file" | grep -oE "\(?${name}_[0-9.]+" | grep -oE '[0-9.]+$' | sort -uV | tail -1)
      [ "$(printf '%s\n' "${needed:-0}" "$limit" | sort -V | tail -1)" = "$limit" ] || {
        echo "$file needs ${name}_$needed"
        status=1
      }
    done
  done < <(find "$1" -type f \( -path '*/bin/*' -o -name '*.so*' \))
  return $status
}

# needs_only_itself FOLDER: the programs and the libraries need what is in FOLDER, and the C and C++ libraries. CUDA's may be missing.
needs_only_itself() {
  local file lacking
  while read -r file; do
    lacking=$(ldd "$file" | awk '{ print $1, $3 }' | grep -vE "^(linux-vdso|/lib64/ld-linux|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+)\.so)" \
      | grep -vE '^lib(cublasLt|cublas|cudart|cupti|nvperf_host|nvrtc|cudnn)\.so' | grep -v "$1/") || continue
    echo "$file needs $lacking"
    return 1
  done < <(find "$1/bin" "$1/lib/dlroof" -type f)
}

# has PACKAGE FILE...: the Debian package contains the files.
has() {
  local package=$1 contents file
  shift
  contents=$(dpkg-deb -c "$packages/$package"_*.deb | awk '{ print $6 }')
  for file in "$@"; do grep -qE "^\./usr/$file$" <<<"$contents" || { echo "$package has no /usr/$file" && return 1; }; done
}
contents() {
  has dlroof bin/dlroof bin/dlroof_bench lib/dlroof/libdnnl.so.3 share/man/man1/dlroof.1.gz share/man/man1/dlroof-run.1.gz \
    share/bash-completion/completions/dlroof share/doc/dlroof/README.md \
    share/dlroof/suites/resnet50.txt
  has libdlroof-dev include/dlroof/benchmark.h 'lib/.*libdlroof_benchmark.a' 'lib/.*libdlroof_benchmark_main.a' \
    'lib/.*cmake/dlroof/dlroofConfig.cmake' 'lib/.*pkgconfig/dlroof.pc' share/dlroof/examples/axpy.cpp
}

# --- An empty system, and a user in it who is not root

# make_root SUITE [MIRROR]: fails (1) if it cannot be downloaded.
make_root() {
  local suite=$1 folder=$PWD/$build/boot-$1
  [ "$(id -u)" -eq 0 ] || fail "the tests need root (debootstrap, chroot)"
  install_packages debootstrap
  trap unmount_root EXIT
  [ ! -e "$root-$suite.tar" ] || return 0
  say "making an empty $suite (debootstrap --variant=minbase)"
  rm -rf "$folder"
  debootstrap --variant=minbase "$@" "$folder" >"$folder.log" 2>&1 || { tail -n 5 "$folder.log" >&2 && return 1; }
  tar -C "$folder" -cf "$root-$suite.tar" .
  rm -rf "$folder"
}
unmount_root() {
  local folder
  for folder in proc sys dev; do ! mountpoint -q "$root/$folder" || umount -l "$root/$folder"; done
}
# new_root SUITE
new_root() {
  unmount_root
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$root-$1.tar"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mkdir -p "$root/home/user"
  chown 65534:65534 "$root/home/user"
}
# inside COMMAND...: as the user, from another folder than the package's. inside_root: as root.
as_user() { user=(chroot --userspec=65534:65534 "$root" /usr/bin/env -i HOME=/home/user "PATH=$1/bin:/usr/bin:/bin" sh -c 'cd && exec "$@"' sh); }
inside() { "${user[@]}" "$@"; }
inside_root() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

# Sets first_seconds: the time [s] until dlroof_bench printed its first result on two CPUs, with the measurement of the machine.
first_result() {
  local begin=$SECONDS cpus output=$root/home/user/first.txt
  cpus=$(taskset -cp $$ | sed 's/.*: //; s/-/,/' | cut -d, -f1,2)
  taskset -c "$cpus" "${user[@]}" timeout 300 dlroof_bench --benchmark_filter=LSTM >"$output" 2>&1 &
  while ! grep -qE '^LSTM/' "$output" && kill -0 $! 2>/dev/null; do sleep 0.2; done
  first_seconds=$((SECONDS - begin))
  kill $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  grep -E '^LSTM/' "$output" | head -1
}

# use_programs PREFIX: what a user does first, with the installation in PREFIX of the root.
use_programs() {
  local stored
  as_user "$1"
  check "no compiler in the root" bash -c "! ls $root/usr/bin/{cc,c++,gcc,g++} 2>/dev/null"
  check "dlroof doctor --quick" inside dlroof doctor --quick
  inside dlroof doctor --quick >"$root/home/user/doctor.txt"
  check "the data is found" grep -qE "^data +$1/share/dlroof$" "$root/home/user/doctor.txt"
  check "oneDNN is found" grep -qE "$1/lib/(dlroof/)?libdnnl.so.3" "$root/home/user/doctor.txt"
  first_result
  say "the first result of dlroof_bench --benchmark_filter=LSTM took $first_seconds s"
  check "a first result in less than two minutes" [ "$first_seconds" -lt 120 ]
  check "dlroof_bench" inside dlroof_bench --benchmark_filter='^LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64/' --benchmark_min_time=0.01 \
    --dlroof_suite=paper --benchmark_out=run.json
  check "dlroof machine" inside dlroof machine
  check "dlroof report -o" inside dlroof report run.json -o page.html
  check "the page has plotly.js" [ "$(stat -c %s "$root/home/user/page.html")" -gt 1000000 ]
  stored=$1/share/dlroof/baselines/zen5-2c/2026-11-22-conv2d.json
  inside cp "$stored" run-of-today.json
  check "dlroof compare --baseline auto" inside dlroof compare --baseline auto run-of-today.json
}

# finds_cuda FOLDER WHEELS: with CUDA's libraries where pip puts its wheels, the module is opened. Nothing to do without a module.
finds_cuda() {
  local cuda wheel=$2/nvidia/cu13/lib status=0
  [ -e "$1/lib/dlroof/libdlroof_cuda.so" ] || return 0
  as_user "${1#"$root"}"
  inside dlroof doctor --quick >"$root/home/user/doctor.txt"
  grep -q 'the CUDA module needs lib.*, which was not found' "$root/home/user/doctor.txt" || return 1
  cuda=$(ldd $build/libdlroof_cuda.so | awk '/libcublasLt/ { print $3 }')
  mkdir -p "$wheel"
  mount --bind "$(dirname "$cuda")" "$wheel"
  inside dlroof doctor --quick | grep -E '^(cublaslt|cudnn) ' || status=1
  umount "$wheel"
  rm -r "$2/nvidia"
  return $status
}

# test_archive SUITE
test_archive() {
  local archive folder
  archive=$(echo "$packages"/*.tar.gz)
  say "testing $(basename "$archive") in $1"
  new_root "$1"
  tar -C "$root/opt" --no-same-owner -xzf "$archive"
  folder=$(basename "$archive" .tar.gz)
  check "no path of the build" no_path "$root/opt"
  check "runs with glibc $newest_glibc" newest_symbols "$root/opt/$folder"
  check "needs only itself" needs_only_itself "$root/opt/$folder"
  check "needs CUDA only for GPUs" finds_cuda "$root/opt/$folder" "$root/opt/$folder/lib/dlroof"
  check "moved" mv "$root/opt/$folder" "$root/opt/another place"
  use_programs "/opt/another place"
  say "sizes: $(du -h "$archive" | cut -f1) packed, $(du -sh "$root/opt/another place" | cut -f1) unpacked, of which" \
    "$(du -h "$root/opt/another place/lib/dlroof/"*dnnl* | cut -f1) oneDNN, $(du -h "$root/opt/another place/bin/dlroof" | cut -f1) dlroof," \
    "$(du -h "$root/opt/another place/bin/dlroof_bench" | cut -f1) dlroof_bench, $(du -h "$root/opt/another place/lib/dlroof/libdlroof_cuda.so" 2>/dev/null | cut -f1 || true) CUDA module"
}

# The user installs the wheel in a virtual environment that is not activated. oneDNN's wheel is downloaded outside the root, where pip
# knows this system's proxies and certificates.
test_wheel() {
  local wheel env=/home/user/env begin
  wheel=$(basename "$packages"/*.whl)
  say "testing $wheel"
  new_root bookworm
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  inside_root apt-get update -qq
  inside_root apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  cp "$packages/$wheel" "$root/tmp"
  install_requirements
  check "oneDNN's wheel" $venv/bin/pip download -q --disable-pip-version-check --no-deps -d "$root/tmp" "$(grep -o '^onednn-cpu-gomp==[0-9.]*' ci/requirements.txt)"
  as_user $env
  check "python3 -m venv" inside python3 -m venv $env
  begin=$SECONDS
  check "pip install" inside pip install -q --no-index --find-links /tmp "/tmp/$wheel"
  check "a table" inside dlroof_bench --benchmark_filter='^LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64/' --benchmark_min_time=0.01 --dlroof_suite=paper --dlroof_machine=none
  say "the first table was there $((SECONDS - begin)) s after the start of pip install"
  check "pip check" inside pip check
  check "no path of the build" no_path "$root$env"
  check "runs with glibc $newest_glibc" newest_symbols "$root$env/lib/dlroof"
  check "needs CUDA only for GPUs" finds_cuda "$root$env" "$(echo "$root$env"/lib/python3*/site-packages)"
  use_programs $env
  check "pip uninstall" inside pip uninstall -q -y dlroof
  check "nothing is left" [ -z "$(find "$root$env" -name '*dlroof*' ! -type d)" ]
  say "sizes: $(du -h "$packages/$wheel" | cut -f1) packed, $(du -sh "$root$env" | cut -f1) the environment with oneDNN's wheel"
}

files_of_root() { (cd "$root" && find . -xdev \( -path ./home -o -path ./tmp -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt \) -prune -o -print | sort); }

test_debian_packages() {
  say "testing the Debian packages"
  check "lintian" lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$packages"/*.deb
  check "contents" contents
  new_root bookworm
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp "$packages"/dlroof_*.deb "$root/tmp/dlroof.deb"
  inside_root apt-get update -qq
  # Its dependencies first, so that only the package's own files come and go below.
  # shellcheck disable=SC2046
  inside_root apt-get install -y -qq --no-install-recommends $(dpkg-deb -f "$root/tmp/dlroof.deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,//g') >/dev/null
  files_of_root >"$root.before"
  check "dpkg -i" inside_root dpkg -i /tmp/dlroof.deb
  check "no path of the build" no_path "$root/usr/share/dlroof"
  check "no path of the build" no_path "$root/usr/lib/dlroof"
  check "no path of the build" bash -c "! grep -lF '$PWD/' $root/usr/bin/dlroof*"
  use_programs /usr
  check "dpkg -r" inside_root dpkg -r dlroof
  check "dpkg --purge" inside_root dpkg --purge dlroof
  files_of_root >"$root.after"
  check "nothing is left" diff <(grep -v /var/lib/dpkg "$root.before") <(grep -v /var/lib/dpkg "$root.after")
  say "sizes: $(cd "$packages" && du -h -- *.deb | paste -sd ',')"
}

# A program of a user, who installs both packages, a compiler and CMake.
test_library() {
  local quick="--benchmark_filter=/4096/ --benchmark_repetitions=3 --benchmark_min_time=0.01 --dlroof_machine=none"
  say "testing libdlroof-dev"
  new_root bookworm
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp "$packages"/dlroof_*.deb "$packages"/libdlroof-dev_*.deb "$root/tmp"
  inside_root apt-get update -qq
  check "apt-get install of both" inside_root sh -c 'apt-get install -y -qq --no-install-recommends g++ cmake make /tmp/*.deb >/dev/null'
  as_user /usr
  check "the examples" inside cp -r /usr/share/dlroof/examples mybench
  check "find_package(dlroof)" inside sh -c 'cmake -S mybench -B built >/dev/null && cmake --build built >/dev/null'
  check "the program" inside sh -c "built/axpy $quick | grep -E '^BM_Axpy/4096 .*FLOP/s +0.167 '"
  # shellcheck disable=SC2016
  check "pkg-config" inside sh -c 'g++ -std=c++20 -O2 mybench/axpy.cpp -o mine -ldlroof_benchmark_main $(pkg-config --cflags --libs dlroof)'
  check "the program" inside sh -c "./mine $quick | grep -E '^BM_Axpy/4096 .*FLOP/s +0.167 '"
  check "dpkg --purge" inside_root dpkg --purge libdlroof-dev dlroof
}

# A project that contains these sources, with each compiler and without a warning; without oneDNN and CUDA. ccache makes a
# second time short.
test_sources() {
  local compiler folder=$PWD/$build/consumer
  say "testing FetchContent"
  mkdir -p "$folder"
  cat >"$folder/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
include(FetchContent)
set(DLROOF_ONEDNN OFF)
set(DLROOF_CUDA OFF)
FetchContent_Declare(dlroof SOURCE_DIR "$PWD" EXCLUDE_FROM_ALL)
FetchContent_MakeAvailable(dlroof)
add_executable(mine "$PWD/tests/programs/own_main.cpp")
target_link_libraries(mine PRIVATE dlroof::benchmark)
END
  for compiler in g++ clang++-14; do
    command -v $compiler >/dev/null || { say "without $compiler" && continue; }
    check "$compiler: configured" cmake -S "$folder" -B "$folder/$compiler" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$compiler \
      -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DDLROOF_WERROR=ON -Wno-dev --log-level=WARNING
    check "$compiler: built" cmake --build "$folder/$compiler" --target mine dlroof dlroof_bench
    check "$compiler: runs" "$folder/$compiler/mine" --benchmark_repetitions=3 --dlroof_machine=none
  done
}

[ "$make" = no ] || make_packages
if [ "$test" = yes ]; then
  install_packages lintian
  [ "$sources" = no ] || test_sources
  make_root bookworm || fail "debootstrap failed"
  test_debian_packages
  test_library
  test_archive bookworm
  test_wheel
  if make_root jammy http://archive.ubuntu.com/ubuntu; then
    test_archive jammy
  else
    say "Ubuntu 22.04 cannot be downloaded: only symbol versions were tested for it"
  fi
fi
say "done: $(cd "$packages" && echo ./*.deb ./*.tar.gz ./*.whl) in $packages"
