#!/usr/bin/env bash
# Does a machine file of this host predict this host? Calibrates, then runs the bare path on the file and on this
# CPU, five pairs each with one and two threads, and prints the residual.
# Usage: calibrate_check.sh [MEMSIM]        MEMSIM: default build/release/tools/memsim/memsim
# The simulated kernel is built without frame pointers and tracer, as memsim itself is.
# Exit status: 0 the median of each five is within 25 %; 1 it is not.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
memsim=${1:-$root/build/release/tools/memsim/memsim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$memsim" calibrate --output "$work/host.json" >/dev/null
printf '%-8s %10s %13s %9s  %s\n' threads "native ns" "simulated ns" residual "of the five pairs"
status=0
for threads in 1 2; do
  for pair in 1 2 3 4 5; do
    native=$("$memsim" run --machine native --rest none --samples 100 --threads "$threads" | awk '$1 == "both" {print $2}')
    simulated=$("$memsim" run --machine "$work/host.json" --rest none --threads "$threads" --seeds 1 \
      --config FRAME_POINTER=n --config FUNCTION_TRACER=n | awk '/^  the whole run/ {print $4; exit}')
    echo "$native $simulated"
  done | awk -v threads="$threads" '
    {native[NR] = $1; simulated[NR] = $2; residual[NR] = 100 * ($2 / $1 - 1)}
    END {
      for (i = 1; i <= NR; ++i) for (j = i + 1; j <= NR; ++j) if (residual[j] < residual[i]) {
        t = residual[i]; residual[i] = residual[j]; residual[j] = t
        t = native[i]; native[i] = native[j]; native[j] = t
        t = simulated[i]; simulated[i] = simulated[j]; simulated[j] = t
      }
      printf "%-8d %10.1f %13.1f %+8.1f%%  ", threads, native[3], simulated[3], residual[3]
      for (i = 1; i <= NR; ++i) printf "%+.0f%% ", residual[i]
      print ""
      exit residual[3] > 25 || residual[3] < -25
    }' || status=1
done
exit $status
