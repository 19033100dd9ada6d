#!/usr/bin/env bash
# Arguments: compiler, file with the cases, source directory.
set -euo pipefail
compiler=$1 file=$2 source=$3
compile() { "$compiler" -std=c++20 -fsyntax-only -I"$source/include" -I"$source" "$@" "$file" 2>&1; }

if ! compile; then
  echo "the control does not compile"
  exit 1
fi
status=0
expect() {
  local name=$1 message=$2 output
  if output=$(compile "-DCASE_$name"); then
    echo "FAILED: $name compiles"
    status=1
  elif ! grep -qE "$message" <<<"$output"; then
    echo "FAILED: $name does not compile, but for another reason:"
    head -5 <<<"$output"
    status=1
  else
    echo "ok: $name"
  fi
}
deleted='deleted|implicitly-deleted'
expect COPY_FIELD "$deleted"
expect AUTO_FIELD "$deleted"
expect CONVERT_FIELD 'cannot convert|no viable conversion'
expect ASSIGN_FIELD 'no match for|no viable overloaded|use of deleted function'
expect BARE_PAGES 'no match for|no viable overloaded'
expect COPY_PAGE "$deleted"
expect COPY_LIST "$deleted"
expect COPY_WORLD "$deleted"
exit $status
