#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the whole test suite.
# Usage: test.sh [PRESET] [cmake arguments…]   PRESET: release (default), dev, asan, tsan
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:-release}
if [[ $# -gt 0 ]]; then shift; fi
dir="$root/build/$preset"
case "$preset" in
  asan | tsan) "$root/scripts/deps.sh" --ci ;;
  *) "$root/scripts/deps.sh" ;;
esac
"$root/scripts/build.sh" "$preset" "$dir" "$@"
echo "test: ctest in $dir"
run=(ctest --test-dir "$dir" --output-on-failure -j 2)
# ThreadSanitizer of g++ 12 needs the old, less random layout of addresses on kernels since 6.
if [[ "$preset" == tsan ]] && command -v setarch >/dev/null; then
  run=(setarch "$(uname -m)" -R "${run[@]}")
fi
"${run[@]}"
