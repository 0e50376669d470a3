# shellcheck shell=sh disable=SC2154
# What a user does to a project, in random order, against a model of what has to run:
# tests/prove/user/main.c.
set -u
if [ "$LEVEL" = full ]; then
    scenarios=100 steps=60
else
    scenarios=12 steps=50
fi
mkdir user
timeout "${PART_TIMEOUT:?}" "$BUILD/tests/prove/user" "$PWD/user" "$SEED" "$scenarios" "$steps" >said 2>&1
code=$?
grep '^#' said | head -n 60
# shellcheck disable=SC2046 # words
set -- $(grep '^user ' said || echo user 0 0 0 0 0 0 1)
echo "figure|G1 G2 G9|a user's days: workflows that share files and one inside another, run, killed, stopped, resumed, edited, moved and copied, files changed by hand|$2 projects, $3 steps, $4 tasks|$5|$6|$7|$8"
[ "$code" -eq 0 ]
