# shellcheck shell=sh
# A part of the prover `outside` as a test, for the mutants that name it: $PROVERS has the
# programs, PATH the cairn that is tried.
echo 1..1
if "$PROVERS/tests/prove/outside" namespaces "$PWD" 1 20 30; then
    echo "ok 1 - part namespaces"
else
    echo "not ok 1 - part namespaces"
fi
