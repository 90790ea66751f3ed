#!/usr/bin/env bash
# Builds the wasm module: dist/lib/addnorm.{scalar,simd,relaxed}.wasm. See --help.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ADDNORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/addnorm}
need=3.1.69        # the oldest Emscripten whose LLVM encodes relaxed SIMD as browsers decode it
emsdk_version=3.1.69
chroot_dir=$cache/trixie

help() {
  cat <<EOF
usage: ./build.sh [scalar] [simd] [relaxed] [option]

Builds dist/lib/addnorm.<variant>.wasm for the variants named; all three when none is. What is newer than its sources is kept.

  --force        build even what is up to date
  --toolchain    only find or set up Emscripten, and say which
  --emcc ...     only run it, with all that follows, in this folder
  --help         this text

Emscripten >= $need is taken from the first of
  1. emcc on PATH                 2. \$EMSDK/upstream/emscripten/emcc
  3. the cache, $cache
If none is there, one is set up in the cache (about 2 minutes and 2.5 GB):
  Debian or Ubuntu as root        debootstrap installs Debian trixie's Emscripten 3.1.69 into a folder of its own;
                                  it is used by chroot and changes nothing else on the system
  elsewhere                       emsdk $emsdk_version, which needs git, python3 and access to its download host

  ADDNORM_CACHE      another place for the cache
  ADDNORM_MIRROR     another Debian mirror for debootstrap

The rest of the project: npm start (Block Lab), npm test; see README.md.
EOF
}

say() { printf 'build: %s\n' "$*" >&2; }
die() { printf 'build: error: %s\n' "$*" >&2; exit 1; }

# "3.1.69" from an emcc, or nothing
version_of() { "$@" --version 2>/dev/null | sed -n '1s/.*) \([0-9][0-9.]*\).*/\1/p'; }
new_enough() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$need" "$1" | sort -V | head -n 1)" = "$need" ]; }

# Runs emcc of the trixie folder on the checkout, which is mounted at /src in a mount namespace of its own. The registry
# settings of the host mean nothing in there; a CA file named by NODE_EXTRA_CA_CERTS would only be reported as missing.
chroot_emcc() {
  env -u NODE_EXTRA_CA_CERTS unshare -m bash -c '
    set -e
    mkdir -p "$1/src"
    mount --make-rprivate / 2>/dev/null || true
    mount --bind "$2" "$1/src"
    mountpoint -q "$1/proc" || mount -t proc proc "$1/proc" 2>/dev/null || true
    dir=$1; shift 2
    exec chroot "$dir" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 sh -c "cd /src && exec emcc \"\$@\"" emcc "$@"
  ' chroot_emcc "$chroot_dir" "$root" "$@"
}

setup_chroot() {
  if ! command -v debootstrap >/dev/null; then
    say "installing the Debian package debootstrap"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap; } \
      >&2 || die "apt-get could not install debootstrap: is the network up?"
  fi
  mkdir -p "$cache"
  local part=$chroot_dir.partial.$$ log=$cache/debootstrap.log
  rm -rf "$chroot_dir".partial.*
  say "setting up Emscripten $need from Debian trixie in $cache (about 2 minutes, 2.5 GB, once)"
  # One line of progress at a time, overwritten on a terminal.
  if ! debootstrap --variant=minbase --include=emscripten trixie "$part" ${ADDNORM_MIRROR:+"$ADDNORM_MIRROR"} 2>&1 |
    tee "$log" | awk -v tty="$([ -t 2 ] && echo 1 || echo 0)" '
      /Retrieving|Validating/ { got++ } /Unpacking/ { unpacked++ } /Configuring/ { configured++ }
      { line = sprintf("build: packages: %d fetched, %d unpacked, %d configured", got, unpacked, configured)
        if (tty) printf "\r%s ", line; else if (NR % 400 == 0) print line; fflush() }
      END { printf "%s%s\n", tty ? "\r" : "", line }' >&2; then
    rm -rf "$part"
    die "debootstrap failed; its last lines:
$(tail -n 5 "$log")
Full log: $log. Run again when the network is up, or put Emscripten >= $need on PATH."
  fi
  rm -rf "$part"/var/cache/apt/archives/*.deb "$part"/usr/share/doc
  mv "$part" "$chroot_dir"
}

setup_emsdk() {
  local dir=$cache/emsdk
  command -v git >/dev/null && command -v python3 >/dev/null || die "no Emscripten >= $need found.
Install it (https://emscripten.org/docs/getting_started/downloads.html) and put emcc on PATH or set EMSDK,
or install git and python3 and run this again: it then sets up emsdk $emsdk_version in $cache."
  say "setting up emsdk $emsdk_version in $cache (once)"
  mkdir -p "$cache"
  [ -d "$dir" ] || git clone --depth 1 https://github.com/emscripten-core/emsdk.git "$dir" >&2 ||
    die "emsdk could not be cloned: is the network up? Or put Emscripten >= $need on PATH."
  { "$dir/emsdk" install "$emsdk_version" && "$dir/emsdk" activate "$emsdk_version"; } >&2 ||
    die "emsdk could not install $emsdk_version; see above. Or put Emscripten >= $need on PATH."
}

# Sets the array `emcc` to the command that runs the compiler.
find_emcc() {
  local candidate version
  for candidate in "$(command -v emcc || true)" "${EMSDK:+$EMSDK/upstream/emscripten/emcc}" \
    "$cache/emsdk/upstream/emscripten/emcc"; do
    [ -n "$candidate" ] && [ -x "$candidate" ] || continue
    version=$(version_of "$candidate")
    if new_enough "$version"; then
      emcc=("$candidate"); emcc_version=$version
      return
    fi
    say "$candidate is ${version:-of unknown version}, older than $need: passed over"
  done
  local debian_root=
  [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null && debian_root=1
  if [ ! -d "$chroot_dir" ]; then
    if [ -n "$debian_root" ]; then
      setup_chroot
    else
      setup_emsdk
      emcc=("$cache/emsdk/upstream/emscripten/emcc"); emcc_version=$emsdk_version
      return
    fi
  fi
  [ "$(id -u)" = 0 ] || die "the Emscripten in $chroot_dir needs root (chroot). Run as root, or put Emscripten >= $need on PATH."
  emcc=(chroot_emcc)
  emcc_version=$(version_of chroot_emcc)
  new_enough "$emcc_version" || die "the Emscripten in $chroot_dir does not run (version '${emcc_version}').
A container without the right to mount (CAP_SYS_ADMIN) cannot use it: put Emscripten >= $need on PATH.
If the folder is damaged, remove it and run this again."
}

if [ "${1:-}" = --emcc ]; then
  find_emcc
  cd "$root"
  "${emcc[@]}" "${@:2}"
  exit
fi

variants=() force=
for arg; do
  case $arg in
    scalar | simd | relaxed) variants+=("$arg") ;;
    --force) force=1 ;;
    --toolchain) find_emcc; say "Emscripten $emcc_version: ${emcc[*]}"; exit ;;
    --help | -h) help; exit ;;
    *) die "unknown argument '$arg'; see ./build.sh --help" ;;
  esac
done
[ ${#variants[@]} -gt 0 ] || variants=(scalar simd relaxed)

cd "$root"
mkdir -p dist/lib
# For size, all but the tile of the matrix product, which has to unroll; kernels may have small functions copied into them,
# what is called once a tensor may not: docs/adr/0009.
kernels=(activation matmul norm softmax tensor)
not_copied=(-mllvm -inline-threshold=-50 -mllvm -jump-threading-threshold=0)
compile_flags=(
  -std=c11 -Wall -Wextra -Werror
  -ffp-contract=off      # vf_madd is the only contraction
  -fno-math-errno
  -mnontrapping-fptoint -mbulk-memory # in every engine that has SIMD, and in Safari 15; 1.5 KB
  -ffile-prefix-map="$root"=.
)
link_flags=(
  -sSTANDALONE_WASM --no-entry
  -sALLOW_MEMORY_GROWTH -sIMPORTED_MEMORY -sINITIAL_MEMORY=1MB -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=256KB
  -sMALLOC=none          # src/heap.c
  -sEXPORTED_FUNCTIONS=_malloc,_free
  # Once more, 0.2 KB; and no large function goes into its one caller, 0.2 KB.
  -sBINARYEN_EXTRA_PASSES=--one-caller-inline-max-function-size=100,-Oz
)
declare -A variant_flags=(
  [scalar]='-fno-vectorize -fno-slp-vectorize'
  [simd]='-msimd128 -fno-vectorize -fno-slp-vectorize'
  [relaxed]='-msimd128 -mrelaxed-simd -fno-vectorize -fno-slp-vectorize'
)

# Changes with whatever the binding has to know of the module.
interface=$(printf %08x "$(cat include/addnorm.h src/*.def src/*/*.def | cksum | cut -d ' ' -f 1)")

emcc=() hot=() cold=()
for file in src/*.c; do
  name=$(basename "$file" .c)
  case " ${kernels[*]} " in
    *" $name "*) hot+=("$file") ;;
    *) [ "$name" = tile ] || cold+=("$file") ;;
  esac
done
compile() {
  local variant=$1 out=$2 build="-DAN_BUILD=\"$interface $1 emscripten-$emcc_version\"" tile=dist/.$1.tile.o rest=dist/.$1.rest.o
  # shellcheck disable=SC2206
  local flags=("${compile_flags[@]}" ${variant_flags[$variant]})
  { "${emcc[@]}" "${flags[@]}" -O2 -c src/tile.c -o "$tile" &&
    "${emcc[@]}" "${flags[@]}" "$build" -Oz "${not_copied[@]}" -r "${cold[@]}" -o "$rest" &&
    "${emcc[@]}" "${flags[@]}" "${link_flags[@]}" -Oz "${hot[@]}" "$rest" "$tile" -o "dist/.$variant.wasm"; } ||
    die "$variant did not compile"
  mv "dist/.$variant.wasm" "$out"
  rm "$tile" "$rest"
  say "$out: $(stat -c %s "$out") bytes, $(gzip -9c "$out" | wc -c) gzipped (Emscripten $emcc_version)"
}

# All at once: one compiler uses one processor.
running=()
for variant in "${variants[@]}"; do
  out=dist/lib/addnorm.$variant.wasm
  if [ -z "$force" ] && [ -e "$out" ] && [ -z "$(find src include build.sh -newer "$out" -print -quit)" ]; then
    say "$out is up to date"
    continue
  fi
  [ ${#emcc[@]} -gt 0 ] || find_emcc
  compile "$variant" "$out" &
  running+=($!)
done
failed=
for one in ${running[@]+"${running[@]}"}; do wait "$one" || failed=1; done
[ -z "$failed" ]
