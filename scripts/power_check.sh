#!/usr/bin/env bash
# How often does `memsim compare` find a cost of known size? A chain of multiplies between the faults is worth what
# a long comparison of a long one says; then comparisons with chains of the sizes wanted are counted.
# Usage: power_check.sh [-n COMPARISONS] [-a ARM] [-c "NS:SECONDS …"] [MEMSIM]
#   -n  comparisons of each kind (100)        -a  the configuration (v4.0,memcg=root)
#   -c  sizes and times ("0.3:20 1:3")        MEMSIM: default build/release/tools/memsim/memsim
# Exit status: 0 at least 90 % of each kind were resolved; 1 fewer were.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
count=100 arm=v4.0,memcg=root cells="0.3:20 1:3"
while getopts n:a:c: option; do
  case $option in
    n) count=$OPTARG ;;
    a) arm=$OPTARG ;;
    c) cells=$OPTARG ;;
    *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
memsim=${1:-$root/build/release/tools/memsim/memsim}

# "B is 0.29 ns (0.4 %) slower than A, …" -> 0.29; nothing when it is not resolved.
found() { sed -n 's/^B is \([0-9.]*\) ns.* slower .*/\1/p'; }

long=1000
worth=$("$memsim" compare "$arm,chain=0" "$arm,chain=$long" --seconds 5 | found)
echo "$long multiplies before every 32 faults cost $worth ns a page"
status=0
for cell in $cells; do
  ns=${cell%:*} seconds=${cell#*:}
  chain=$(awk -v ns="$ns" -v worth="$worth" -v long="$long" 'BEGIN {printf "%d", ns / worth * long + 0.5}')
  resolved=0 excluded=0 seen=
  for ((i = 1; i <= count; ++i)); do
    said=$("$memsim" compare "$arm,chain=0" "$arm,chain=$chain" --seconds "$seconds" --seed "$i")
    ns_found=$(found <<<"$said")
    if [[ -n $ns_found ]]; then resolved=$((resolved + 1)); seen+="$ns_found "; fi
    if grep -q '^layout excluded: B is' <<<"$said"; then excluded=$((excluded + 1)); fi
  done
  range=$(tr ' ' '\n' <<<"$seen" | sed '/^$/d' | sort -g |
    awk '{v[NR] = $1} END {if (NR) print v[1] "…" v[NR] " ns, median " v[int((NR + 1) / 2)]}')
  echo "$ns ns ($chain multiplies) in $seconds s: $resolved of $count resolved, with layout excluded $excluded;" \
    "found: $range"
  if ((10 * resolved < 9 * count)); then status=1; fi
done
exit $status
