#!/usr/bin/env bash
# Configures a preset and builds it; what the tools print is shown only when they fail.
# Usage: build.sh PRESET DIRECTORY [cmake arguments…] [-- ninja arguments…]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=$1 dir=$2
shift 2
configure=() targets=()
while [[ $# -gt 0 && $1 != -- ]]; do configure+=("$1"); shift; done
if [[ $# -gt 0 ]]; then shift; targets=("$@"); fi

quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "failed: $*" >&2
    return 1
  fi
  rm -f "$log"
}

echo "configure: preset $preset into $dir"
(cd "$root" && quietly cmake --preset "$preset" -B "$dir" "${configure[@]}")
start=$(date +%s)
quietly cmake --build "$dir" -- "${targets[@]}"
echo "build: $(($(date +%s) - start)) s"
