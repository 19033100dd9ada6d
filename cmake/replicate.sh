#!/usr/bin/env bash
# Replicas of a kernel's native code: the same object linked again at other places, in other order and with other
# padding, so that where code lies can be varied without compiling anything twice.
#
# Usage: replicate.sh LD OBJCOPY OBJDUMP COUNT ENTRY NAME OUT OBJECT…
#   ENTRY   the one symbol that stays visible, as NAME_1 to NAME_<COUNT>
#   OUT     OUT_1.o to OUT_<COUNT>.o
#   KEYS    (environment) symbols to be renamed as well, as in "old=new old=new"; a number is added to `new`
#
# Order     ld -r with a script that names every text section, in an order drawn by a hash of replica and name,
#           so that a build is reproducible. Alignment stays the compiler's; the padding is a multiple of 16
# Symbols   all are made local but ENTRY, KEYS, and data that has to be one in the process: what is writable.
#           COMDAT groups are dissolved first, or the linker would keep one copy of all. What is local gets a
#           name that --discard-locals removes, for whoever looks up a symbol reads them all
set -euo pipefail
ld=$1 objcopy=$2 objdump=$3 count=$4 entry=$5 name=$6 out=$7
shift 7
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$objdump" -h "$@" | awk '$2 ~ /^\.text/ {print $2}' | sort -u >"$scratch/sections"
# Writable and not read-only after relocation: .data, .bss and their thread-local kin.
"$objdump" -t "$@" | awk '$1 ~ /^[0-9a-f]+$/ && / \.t?(data|bss)/ && !/ \.data\.rel\.(ro|local)/ && $2 != "l" {print $NF}' |
  sort -u >"$scratch/shared"

for ((replica = 1; replica <= count; ++replica)); do
  # A generator of Lehmer's, seeded by the replica: awk's own differs between systems.
  awk -v seed="$replica" '
    function draw(below) { state = (state * 48271) % 2147483647; return state % below }
    BEGIN { state = 7919 * (seed + 1); for (i = 0; i < 8; ++i) draw(2) }
    { section[NR] = $1 }
    END {
      for (i = NR; i > 1; --i) { j = 1 + draw(i); t = section[i]; section[i] = section[j]; section[j] = t }
      print "SECTIONS {\n.text : ALIGN(64) {"
      printf ". += %d;\n", 16 * draw(256)
      for (i = 1; i <= NR; ++i) printf "*(%s)\n. += %d;\n", section[i], 16 * draw(8)
      print "}\n}"
    }' "$scratch/sections" >"$scratch/script"
  "$ld" -r --force-group-allocation -S -T "$scratch/script" -o "$scratch/merged.o" "$@"
  {
    echo "$entry ${name}_$replica"
    for pair in ${KEYS:-}; do echo "${pair%=*} ${pair#*=}_$replica"; done
    "$objdump" -t "$scratch/merged.o" | awk -v entry="$entry" -v shared="$scratch/shared" '
      BEGIN { while ((getline one <shared) > 0) kept[one]; kept[entry] }
      / [FO] / && !/\*UND\*/ && !($NF in kept) && !($NF in seen) { seen[$NF]; print $NF, ".L" NR }'
  } >"$scratch/names"
  # Weak first: objcopy leaves a symbol that is "unique" as it is. What is defined elsewhere stays needed.
  { cat "$scratch/shared"; awk '$2 ~ /^\.L/ {print $2}' "$scratch/names"; } >"$scratch/weak"
  "$objcopy" --weaken-symbols "$scratch/weak" --redefine-syms "$scratch/names" "$scratch/merged.o" \
    "$scratch/weak.o"
  "$objcopy" --keep-global-symbol "${name}_$replica" --keep-global-symbols "$scratch/shared" \
    "$scratch/weak.o" "${out}_$replica.o"
done
