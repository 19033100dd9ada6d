#!/usr/bin/env bash
# From a fresh clone to the comparison of May 2015: installs what is missing, builds Release, runs memsim.
# Usage: demo.sh [arguments of memsim; default: run]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
{
  "$root/scripts/deps.sh"
  "$root/scripts/build.sh" release "$root/build/release" -- memsim_cli
  echo "run: memsim ${*:-run}"
} >&2
if [[ $# -eq 0 ]]; then set -- run; fi
exec "$root/build/release/tools/memsim/memsim" "$@"
