#!/usr/bin/env bash
# The package as a consumer sees it. Arguments: build tree, scratch directory, consumer, compiler, cmake.
set -euo pipefail
build=$1 scratch=$2 consumer=$3 compiler=$4 cmake=$5
prefix="$scratch/prefix"
rm -rf "$prefix" "$scratch/consumer"

"$cmake" --install "$build" --prefix "$prefix" >/dev/null
"$cmake" -S "$consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
         -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$scratch/consumer" >/dev/null
output=$("$scratch/consumer/prototype")
echo "$output"
grep -q 'v4.0-two_slots .* yes$' <<<"$output"

# The installed program finds its model files beside itself, not in the source tree.
if [[ -x "$prefix/bin/memsim" ]]; then
  listed=$(cd / && "$prefix/bin/memsim" list)
  grep -q page_fault1 <<<"$listed"
  grep -q i7-3770 <<<"$listed"
  mv "$prefix/share/memsim/models/workloads/pft.json" "$prefix/share/memsim/models/workloads/mine.json"
  if "$prefix/bin/memsim" explain --event fault >/dev/null 2>&1; then
    echo "the installed program reads model files from elsewhere" >&2
    exit 1
  fi
fi

if command -v pkg-config >/dev/null; then
  pc=$(dirname "$(find "$prefix" -name memsim.pc)")
  flags=$(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs memsim)
  echo "pkg-config: ${flags:0:80}…"
  grep -q -- '-lmemsim' <<<"$flags"
  # The flags are enough to build with.
  printf '%s\n' '#include <cstdio>' '#include "memsim/session.h"' \
    'int main() { std::printf("%zu kernels\n", memsim::AllKernels().size()); }' >"$scratch/pc.cc"
  # shellcheck disable=SC2086
  "$compiler" "$scratch/pc.cc" $flags -o "$scratch/pc"
  "$scratch/pc"
fi
