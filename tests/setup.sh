#!/usr/bin/env bash
# Installs what the project needs and is not there yet: `setup.sh start` for building and serving, `setup.sh test` also
# what the tests need, `setup.sh bench` what the benches need, their peers into tests/bench, `setup.sh matrix` the runtimes,
# bundlers and browsers of tests/matrix. npm packages into node_modules; Debian packages only as root on Debian or Ubuntu,
# listed first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; then
  say "error: Node $(node --version) is too old to build addnorm: 20.19 or newer is needed (https://nodejs.org)"
  exit 1
fi

# The packages of a folder. npm writes node_modules/.package-lock.json last, so its age is that of a complete installation.
install() {
  local done=$1/node_modules/.package-lock.json
  [ ! -e "$done" ] || [ "$1/package-lock.json" -nt "$done" ] || return 0
  say "installing the npm packages of $1/package-lock.json"
  (cd "$1" && npm ci --no-audit --no-fund --ignore-scripts) || {
    say "error: npm ci failed; is the registry reachable? (npm config get registry)"
    exit 1
  }
  touch "$done"
}
install .
[ "${1:-start}" = bench ] && install tests/bench
[ "${1:-start}" = matrix ] && install tests/matrix
[ "${1:-start}" = start ] && exit 0

# Which package brings which file; a test that misses one skips and says so (with CI=true it fails).
wanted=(
  /usr/bin/gcc:gcc
  /usr/bin/clang:clang
  "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan-*:libclang-rt-14-dev"
  /usr/include/simde/wasm/simd128.h:libsimde-dev
  /usr/bin/valgrind:valgrind
  /usr/bin/chromium-headless-shell:chromium-headless-shell
  /usr/bin/firefox-esr:firefox-esr
  /usr/bin/WebKitWebDriver:webkit2gtk-driver
  /usr/bin/Xvfb:xvfb
  "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc:fonts-noto-cjk"
  "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core"
)
if [ "${1:-start}" = bench ]; then
  wanted=(/usr/bin/gcc:gcc /usr/bin/chromium-headless-shell:chromium-headless-shell /usr/bin/firefox-esr:firefox-esr)
fi
if [ "${1:-start}" = matrix ]; then
  wanted=(
    /usr/bin/chromium-headless-shell:chromium-headless-shell
    /usr/bin/firefox-esr:firefox-esr
    /usr/bin/WebKitWebDriver:webkit2gtk-driver
    /usr/bin/Xvfb:xvfb
  )
fi
missing=()
for entry in "${wanted[@]}"; do
  # shellcheck disable=SC2086 # the pattern is meant to expand
  ls ${entry%%:*} >/dev/null 2>&1 || missing+=("${entry##*:}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then
  apt-get update -qq
  # The name of clang's runtime package carries clang's version.
  clang_major=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  missing=("${missing[@]/libclang-rt-14-dev/libclang-rt-${clang_major:-14}-dev}")
  say "installing the Debian packages ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || {
    say "error: apt-get could not install ${missing[*]}; is the network up?"
    exit 1
  }
else
  say "not there: ${missing[*]}. What needs them will be skipped; to run it, install these packages (Debian names)."
fi
