#!/usr/bin/env bash
# Arguments: compiler, directory with the cases, source directory.
set -euo pipefail
compiler=$1 cases=$2 source=$3
compile() {
  local file=$1
  shift
  "$compiler" -std=c++20 -fsyntax-only -I"$source/include" -I"$source" "$@" "$cases/$file" 2>&1
}
status=0
# The file without a case must compile.
control() {
  file=$1
  if ! compile "$file"; then
    echo "FAILED: the control of $file does not compile"
    exit 1
  fi
}
expect() {
  local name=$1 message=$2 output
  if output=$(compile "$file" "-DCASE_$name"); then
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

control cases.cc
deleted='deleted|implicitly-deleted'
expect COPY_FIELD "$deleted"
expect AUTO_FIELD "$deleted"
expect CONVERT_FIELD 'cannot convert|no viable conversion'
expect ASSIGN_FIELD 'no match for|no viable overloaded|use of deleted function'
expect BARE_PAGES 'no match for|no viable overloaded'
expect COPY_PAGE "$deleted"
expect COPY_LIST "$deleted"
expect COPY_WORLD "$deleted"

control static_key_cases.cc
expect KEY_NOT_CONSTANT "no matching function for call to .Branch"
expect KEY_AUTOMATIC 'constinit.* can only be applied to a variable with static|cannot be declared .constinit'
expect KEY_THREAD_LOCAL 'not a constant expression|no matching function for call to .Branch'
expect KEY_WRONG_TYPE "non-class type 'int'|non-class type ‘int’|not a structure or union"
expect INDEX_BEYOND 'index beyond the array of keys'
expect CALL_WRONG_TYPE 'invalid conversion|cannot initialize a parameter'
exit $status
