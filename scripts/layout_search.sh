#!/usr/bin/env bash
# Finds copies of the same code that a comparison of two programs would call different: compares the first replica
# with each other one, all else equal, and then the configuration with itself over all replicas.
# Usage: layout_search.sh [-s SECONDS] [-a ARM] [MEMSIM]
#   -s  seconds each (2)      -a  the configuration (v4.0,memcg=root)
#   MEMSIM: default build/release/tools/memsim/memsim
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=2 arm=v4.0,memcg=root
while getopts s:a: option; do
  case $option in
    s) seconds=$OPTARG ;;
    a) arm=$OPTARG ;;
    *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
memsim=${1:-$root/build/release/tools/memsim/memsim}

verdict() { "$memsim" compare "$@" --seconds "$seconds" | grep -m1 -E '^(B is|not resolved|no verdict)'; }
for ((replica = 2; replica <= 32; ++replica)); do
  printf 'replica 1 and %2d: %s\n' "$replica" "$(verdict "$arm,replica=1" "$arm,replica=$replica")"
done
printf 'all replicas:     %s\n' "$(verdict "$arm" "$arm")"
