#!/bin/sh
# Runs the provers of docs/guarantees.md and prints their figures as a table.
#
#   BUILD=build LEVEL=short|full SEED=N sh tests/prove/run.sh [--write] [p-NAME.sh...]
#
# --write puts the table into docs/guarantees.md. Each prover has an empty directory of
# its own and prints lines
#
#   figure|PROMISES|what was done|tries|lost|repeated|undetected|other
#   skip|what|why it cannot be done here
#   # anything that a reader of a failure wants to know
#
# PROVE_JOBS of them run at a time (2), each for at most PROVE_TIMEOUT seconds and each long
# part of one for at most three quarters of that. These only end what hangs: on a machine
# that has much else to do everything takes several times as long.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${BUILD:-build}" && pwd)
LEVEL=${LEVEL:-short}
SEED=${SEED:-20261121}
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-prove.XXXXXX")
work=$(cd "$work" && pwd -P)
[ -n "${KEEP-}" ] || trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
PROVE_TIMEOUT=${PROVE_TIMEOUT:-7200}
PART_TIMEOUT=$((PROVE_TIMEOUT * 3 / 4))
export BUILD LEVEL SEED PROVE_TIMEOUT PART_TIMEOUT root work PATH="$BUILD:$PATH"
unset MAKEFLAGS MAKELEVEL MFLAGS CAIRN_STORE

write=
if [ "${1-}" = --write ]; then
    write=yes
    shift
fi
if [ $# -eq 0 ]; then
    set -- "$root"/tests/prove/p-*.sh
    # Those that take longest begin first: else they would run alone at the end.
    for name in racers faults syscalls; do
        set -- "$root/tests/prove/p-$name.sh" "$@"
    done
fi
began=$(date +%s)
for prover; do
    case $prover in
    /*) ;;
    *) prover=$PWD/$prover ;;
    esac
    printf '%s\n' "$prover"
done | awk '!seen[$0]++' | xargs -P "${PROVE_JOBS:-2}" -n 1 sh "$root/tests/prove/run-one.sh"
took=$(($(date +%s) - began))

cat "$work"/*.out >"$work/all"
sh "$root/tests/prove/table.sh" "$work/all" "$took" >"$work/table"
cat "$work/table"
bad=$(cat "$work"/*.bad 2>/dev/null || true)
if [ -n "$bad" ]; then
    printf '\nFAILED:\n%s\n' "$bad"
    exit 1
fi
if [ -n "$write" ]; then
    page=$root/docs/guarantees.md
    awk -v table="$work/table" '
        /^<!-- figures -->/ { print; while ((getline line <table) > 0) print line; skip = 1 }
        /^<!-- end of figures -->/ { skip = 0 }
        !skip { print }' "$page" | awk '!(/^<!-- figures -->/ && seen++)' >"$work/page"
    cat "$work/page" >"$page"
fi
