# shellcheck shell=sh disable=SC2154
# What is deleted is gone from every byte of the store: random lives of sessions, with
# files, messages, prunes, deletions, searches, collections of garbage and processes that
# are killed: tests/prove/forgotten/main.c.
set -u
lives=40 seconds=60
if [ "$LEVEL" = full ]; then
    lives=1000 seconds=$PART_TIMEOUT
fi
mkdir lives
"$BUILD/tests/prove/forgotten" "$PWD/lives" "$SEED" "$lives" "$seconds" >said 2>&1
code=$?
grep '^#' said | head -n 60
# shellcheck disable=SC2046 # words
set -- $(grep '^forgotten ' said || echo forgotten 0 0 0 0 0 1)
if [ "$3" -eq 0 ] || [ "$4" -eq 0 ]; then
    code=1
    echo '# nothing was deleted, or nothing was killed'
fi
printf 'figure|G11|what was deleted, looked for in every byte of the store, as it is and unpacked|%s lives, %s words deleted, %s processes killed|%s|0|%s|%s\n' \
    "$2" "$3" "$4" "$5" "$6" "$7"
[ "$code" -eq 0 ]
