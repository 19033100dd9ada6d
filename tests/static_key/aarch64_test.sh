#!/usr/bin/env bash
# The static-key library and its torture, cross-compiled for AArch64 and run under user-mode emulation.
# Arguments: source directory
# The emulator goes on running translations of code that was written through /proc/self/mem, so the self-test
# has to reject that, and what it offers instead has to pass; without an offer the torture is skipped by name.
# Exit status: 0 passed; 77 skipped, because the cross compiler or the emulator is missing; 1 failed.
set -euo pipefail
source=$1
cxx=aarch64-linux-gnu-g++ emulator=qemu-aarch64
for tool in $cxx $emulator; do
  if ! command -v $tool >/dev/null; then
    echo "SKIPPED: $tool is not installed"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mode in "-O2 -fPIE -pie" "-O0 -fno-pie -static"; do
  # shellcheck disable=SC2086
  $cxx -std=c++20 $mode -Wall -Wextra -Werror -I "$source/include" -I "$source" -pthread \
    "$source"/tests/static_key/torture.cc "$source"/lib/static_key/*.cc -o "$work/torture"
  status=0
  timeout 120 $emulator -L /usr/aarch64-linux-gnu "$work/torture" 300 >"$work/out" 2>&1 || status=$?
  sed "s/^/$mode: /" "$work/out"
  if ! grep -q 'patched code is not executed' "$work/out"; then
    echo "FAILED: the self-test did not reject /proc/self/mem"
    exit 1
  fi
  if grep -q '^relaxed atomic' "$work/out" && grep -q 'wrong: 0$' "$work/out"; then
    echo "SKIPPED: torture ($mode): page replacement is refused here, the fallback was right"
  elif [[ $status -ne 0 ]]; then
    echo "FAILED: exit status $status ($mode)"
    exit 1
  fi
done
