#!/usr/bin/env bash
# Compiles the static-key torture in many ways and runs each; prints one line a cell.
# Usage: static_key_matrix.sh [--compilers "g++ clang++"] [--links "pie no-pie static shared dlopen lto"]
#          [--opts "O0 O1 O2 O3"] [--linkers "bfd gold lld"] [--flips 100000] [--control]
# Without arguments: both compilers, all links, all levels, the default linker, 100 000 flips: about an hour.
# --linkers adds a dimension: every linker with and without --gc-sections.
# --control adds a run that breaks the protocol on purpose, which has to crash.
# Exit status: 0 all cells passed; 1 a cell failed, was inconclusive, or the control never crashed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
compilers="g++ clang++" links="pie no-pie static shared dlopen lto" opts="O0 O1 O2 O3"
linkers="" flips=100000 control=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --compilers) compilers=$2; shift 2 ;;
    --links) links=$2; shift 2 ;;
    --opts) opts=$2; shift 2 ;;
    --linkers) linkers=$2; shift 2 ;;
    --flips) flips=$2; shift 2 ;;
    --control) control=1; shift ;;
    *) echo "static_key_matrix.sh: unknown argument '$1'; see the head of the file" >&2; exit 2 ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# compile CXX FLAGS… : the library's objects, once for each set of flags.
objects() {
  local key
  key="$work/$(echo "$*" | md5sum | cut -c1-12)"
  if [[ ! -d $key ]]; then
    mkdir "$key"
    for source in "$root"/lib/static_key/*.cc; do
      "$@" -std=c++20 -I "$root/include" -I "$root" -c "$source" -o "$key/$(basename "$source" .cc).o"
    done
  fi
  echo "$key"/*.o
}

# build CXX LINK OPT LINKFLAGS… : $work/torture, and the argument it takes after "sound".
build() {
  local cxx=$1 link=$2 opt=$3
  shift 3
  local flags=(-"$opt" -ffunction-sections) torture="$root/tests/static_key/torture.cc"
  local common=(-std=c++20 -I "$root/include" -I "$root" -pthread)
  library=""
  case $link in
    pie) flags+=(-fPIE) link_as=(-pie) ;;
    no-pie) flags+=(-fno-pie) link_as=(-no-pie) ;;
    static) flags+=(-fno-pie) link_as=(-static) ;;
    lto) flags+=(-flto -fPIE) link_as=(-pie) ;;
    shared | dlopen) flags+=(-fPIC) link_as=(-pie -L "$work" "-Wl,-rpath,$work") ;;
  esac
  local lib
  lib=$(objects "$cxx" "${flags[@]}")
  if [[ $link != shared && $link != dlopen ]]; then
    # shellcheck disable=SC2086
    "$cxx" "${common[@]}" "${flags[@]}" "$torture" $lib "${link_as[@]}" "$@" -o "$work/torture"
    return
  fi
  # The program defines the key and the library has the sites; the registry is a library of its own.
  # shellcheck disable=SC2086
  "$cxx" -shared "${flags[@]}" $lib -o "$work/libregistry.so" "$@"
  "$cxx" "${common[@]}" "${flags[@]}" -DTORTURE_LIBRARY -shared "$torture" "$@" -L "$work" -lregistry \
    -o "$work/libtorture.so"
  local program=(-DTORTURE_PROGRAM) with=()
  if [[ $link == shared ]]; then program+=(-DTORTURE_LINKED) with=(-ltorture); fi
  if [[ $link == dlopen ]]; then library="$work/libtorture.so"; fi
  "$cxx" "${common[@]}" "${flags[@]}" "${program[@]}" "$torture" -rdynamic "${link_as[@]}" "$@" \
    "${with[@]}" -lregistry -ldl -o "$work/torture"
}

cell() {
  local name="$*"
  if ! build "$@" >"$work/log" 2>&1; then
    echo "$name: does not build"
    cat "$work/log"
    failed=1
    return
  fi
  local status=0
  # shellcheck disable=SC2086
  "$work/torture" "$flips" sound $library >"$work/log" 2>&1 || status=$?
  if [[ $status -eq 0 ]]; then
    echo "$name: passed; $(sed -n '2,3p' "$work/log" | tr '\n' ' ')"
  else
    echo "$name: exit status $status"
    cat "$work/log"
    failed=1
  fi
}

for compiler in $compilers; do
  if ! command -v "$compiler" >/dev/null; then
    echo "$compiler: not installed, skipped"
    continue
  fi
  for link in $links; do
    for opt in $opts; do
      if [[ -z $linkers ]]; then cell "$compiler" "$link" "$opt"; fi
      for linker in $linkers; do
        if [[ $compiler == g++ && $link == lto && $linker == lld ]]; then
          echo "$compiler $link $opt $linker: skipped, g++'s LTO does not go through lld"
          continue
        fi
        cell "$compiler" "$link" "$opt" "-fuse-ld=$linker"
        cell "$compiler" "$link" "$opt" "-fuse-ld=$linker" -Wl,--gc-sections
      done
    done
  done
  if [[ $control -eq 1 ]]; then
    build "$compiler" pie O2
    crashed=0
    # A thread has to fetch a site in the middle of a write; one in eight runs of 20 000 flips met one.
    for ((try = 1; try <= 40 && crashed == 0; ++try)); do
      "$work/torture" 100000 broken >/dev/null 2>&1 || crashed=$try
    done 2>/dev/null
    if [[ $crashed -gt 0 ]]; then
      echo "$compiler control: plain 5-byte writes crashed in run $crashed, as they have to"
    else
      echo "$compiler control: 40 runs with plain 5-byte writes did not crash: this test proves nothing here"
      failed=1
    fi
  fi
done
exit $failed
