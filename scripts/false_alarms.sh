#!/usr/bin/env bash
# How often does `memsim compare` call a configuration different from itself? At most 12 of 400 are allowed: the
# verdict is nominally wrong in one of a hundred.
# Usage: false_alarms.sh [-n COMPARISONS] [-s SECONDS] [-a ARM] [MEMSIM]
#   -n  comparisons, idle and again with another core busy (400)      -s  seconds each (1)
#   -a  the configuration (v4.0,memcg=root)                           MEMSIM: build/release/tools/memsim/memsim
# Exit status: 0 at most 3 % were resolved in both; 1 more were.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
count=400 seconds=1 arm=v4.0,memcg=root
while getopts n:s:a: option; do
  case $option in
    n) count=$OPTARG ;;
    s) seconds=$OPTARG ;;
    a) arm=$OPTARG ;;
    *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
memsim=${1:-$root/build/release/tools/memsim/memsim}
busy=
trap '[[ -z $busy ]] || kill "$busy"' EXIT

# The comparisons run on one CPU; what keeps another one busy runs on the last.
status=0
for load in idle busy; do
  if [[ $load == busy ]]; then
    taskset -c "$(($(nproc) - 1))" bash -c 'while :; do :; done' &
    busy=$!
  fi
  resolved=0 excluded=0 control=0
  for ((i = 1; i <= count; ++i)); do
    said=$("$memsim" compare "$arm" "$arm" --seconds "$seconds" --seed "$i")
    if grep -q '^B is' <<<"$said"; then resolved=$((resolved + 1)); fi
    if grep -q '^no verdict: the control' <<<"$said"; then control=$((control + 1)); fi
    if grep -q '^layout excluded: B is' <<<"$said"; then excluded=$((excluded + 1)); fi
  done
  echo "$load: $resolved of $count resolved, $control without a verdict because the control failed;" \
    "with layout excluded $excluded"
  if ((100 * resolved > 3 * count)); then status=1; fi
done
exit $status
