#!/bin/sh
# One prover for run.sh, which sets BUILD, LEVEL, SEED, root and work. Leaves
# $work/NAME.out, and $work/NAME.bad if something failed.
set -u
: "${work:?}" "${BUILD:?}" "${root:?}" "${LEVEL:?}" "${SEED:?}"
prover=$1
name=$(basename "$prover" .sh)
dir=$work/$name
mkdir "$dir" && cd "$dir" || exit 1
began=$(date +%s)
TMPDIR=$dir timeout -k 10 "${PROVE_TIMEOUT:?}" sh "$prover" >"$work/$name.out" 2>"$work/$name.log" </dev/null
status=$?
took=$(($(date +%s) - began))
# Of a processor, with all processes that the prover waited for.
times >"$work/$name.times"
used=$(awk -F '[ms ]+' '{ used += 60 * $1 + $2 + 60 * $3 + $4 } END { printf "%.0f", used }' "$work/$name.times")
if [ "$status" -ne 0 ] || ! grep -q '^figure|\|^skip|' "$work/$name.out" ||
    awk -F '|' '/^figure\|/ && ($5 + $6 + $7 + $8 > 0 || NF != 8) { bad = 1 } END { exit !bad }' "$work/$name.out"; then
    echo "$name (exit $status)" >"$work/$name.bad"
    echo "FAILED $name after $took s, $used of a processor (exit $status)"
    grep '^#' "$work/$name.out" | head -n 60
    tail -n 40 "$work/$name.log" | sed 's/^/    | /'
else
    echo "ok $name ($took s, $used of a processor)"
fi
[ -n "${KEEP-}" ] || rm -rf "$dir"
exit 0
