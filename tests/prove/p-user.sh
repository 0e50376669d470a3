# shellcheck shell=sh disable=SC2154
# What a user does to a project, in random order, against a model of what has to run:
# tests/prove/user/main.c.
set -u
if [ "$LEVEL" = full ]; then
    scenarios=100 steps=60 patience=900
else
    scenarios=8 steps=40 patience=200
fi
mkdir user
timeout "$patience" "$BUILD/tests/prove/user" "$PWD/user" "$SEED" "$scenarios" "$steps" >said 2>&1
code=$?
grep '^#' said | head -n 60
read -r _ n did tasks lost repeated undetected other <<END
[ "$code" -eq 0 ]
