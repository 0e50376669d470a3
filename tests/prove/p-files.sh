# shellcheck shell=sh disable=SC2154
# Files in checkpoints of sessions: random lives of a directory, changed by plain system
# calls, with checkpoints, restores, branches and processes that are killed, against a
# model: tests/prove/files/main.c.
set -u
lives=1000 seconds=20
if [ "$LEVEL" = full ]; then
    lives=2500 seconds=$PART_TIMEOUT
fi
mkdir files
PROVER_NTH=
"$BUILD/tests/prove/nth" --count true 2>/dev/null && PROVER_NTH=$BUILD/tests/prove/nth
export PROVER_NTH
"$BUILD/tests/prove/files" "$PWD/files" "$SEED" "$lives" "$seconds" >said 2>&1
code=$?
grep '^#' said | head -n 60
# shellcheck disable=SC2046 # words
set -- $(grep '^files ' said || echo files 0 0 0 0 0 0 0 1)
if [ "$3" -eq 0 ] || [ "$4" -eq 0 ] || [ "$5" -eq 0 ]; then
    code=1
    echo '# no checkpoint, no restore, or nothing was killed'
fi
printf 'figure|G1 G2 G10|random lives of a directory in checkpoints: contents, modes and times as they were, nothing else touched|%s lives, %s states, %s restores and switches, %s processes killed|%s|%s|%s|%s\n' \
    "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$9"
[ "$code" -eq 0 ]
