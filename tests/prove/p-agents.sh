# shellcheck shell=sh disable=SC2154
# Two agents and a person in one directory: going back with the one agent leaves what the
# others have changed, and can be taken back: tests/prove/agents/main.c.
set -u
lives=150
[ "$LEVEL" != full ] || lives=10000
mkdir lives
"$BUILD/tests/prove/agents" "$PWD/lives" "$SEED" "$lives" >said 2>&1
code=$?
grep '^#' said | head -n 60
# shellcheck disable=SC2046 # words
set -- $(grep '^agents ' said || echo agents 0 0 0 1)
if [ "$3" -eq 0 ]; then
    code=1
    echo '# nothing was restored'
fi
printf 'figure|G10|two agents and a person in one directory: restores, undone and redone, against a model of who has changed what|%s lives, %s restores|%s|0|0|%s\n' \
    "$2" "$3" "$4" "$5"
[ "$code" -eq 0 ]
