#!/usr/bin/env bash
# Installs what the build needs and is not there yet (Debian 12 packages); does nothing when all is there.
# Usage: deps.sh [--ci]   --ci also installs what the sanitizer builds of clang++ need, an AArch64 compiler
#                         and emulator for the static keys, valgrind for the golden counts, and gnuplot for
#                         `memsim log --plot`
set -euo pipefail

packages=(g++ clang cmake ninja-build libboost-dev libboost-context-dev libabsl-dev libbenchmark-dev
          libgtest-dev nlohmann-json3-dev libcli11-dev pkg-config binutils)
if [[ "${1:-}" == "--ci" ]]; then
  packages+=(libclang-rt-14-dev g++-aarch64-linux-gnu qemu-user valgrind gnuplot-nox)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ "$status" == "install ok installed" ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "deps: all packages are there"
  exit 0
fi

sudo=()
if [[ $(id -u) -ne 0 ]]; then sudo=(sudo); fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${sudo[@]}" apt-get update &&
    "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
}
if ! install >"$log" 2>&1; then
  cat "$log" >&2
  echo "deps: apt-get could not install ${missing[*]}" >&2
  exit 1
fi
