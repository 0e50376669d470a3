# shellcheck shell=sh
# The prover `user` as one test, for the mutants that name it: $PROVERS has the programs,
# PATH the cairn that is tried.
echo 1..1
if "$PROVERS/tests/prove/user" "$PWD" 1 12 50; then
    echo "ok 1 - a user's days"
else
    echo "not ok 1 - a user's days"
fi
