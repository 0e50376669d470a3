# shellcheck shell=sh disable=SC2154
# Every call that cairn makes to SQLite made to fail, once or from then on, with each
# error that SQLite gives; judged as in p-memory.sh.
set -u
faults=$BUILD/tests/prove/faults
points=600
[ "$LEVEL" = full ] && points=2500
timeout "${PART_TIMEOUT:?}" "$faults" --seed "$SEED" --cairn "$BUILD/cairn" --preload "$faults.so" --kind sqlite \
    --codes IOERR,FULL,NOMEM,BUSY,CORRUPT,CANTOPEN,INTERRUPT --points "$points" >log 2>&1
status=$?
grep '^#' log | cut -c 1-1000
places=$(sed -n 's/^places //p' log)
# shellcheck disable=SC2046
set -- $(sed -n 's/^counts //p' log)
[ $# -eq 5 ] || set -- 0 0 0 0 1
echo "figure|G1 G2 G6|each call to SQLite fails in one of 7 ways, once or from then on: 40 commands, then resumed|$2 failures of ${places:-?} places|$3|$4|0|$5"
[ "$status" -eq 0 ]
