# shellcheck shell=sh disable=SC2154
# make: long
# plan = explain = run, and the same answer however it runs: tests/flow/flow.h. The
# program speaks TAP itself; FLOW_SEED repeats what it printed.
set -u
flow=$BUILD/tests/flow/flow
if [ ! -x "$flow" ]; then
    printf 'ok 1 - flow tests # skip %s is not built\n1..1\n' "$flow"
    exit 0
fi
if [ "${CAIRN_TEST_LEVEL-short}" != full ]; then
    exec "$flow" --short --seed "${FLOW_SEED:-20261121}" # always the same ones
fi
exec "$flow" --full ${FLOW_SEED:+--seed "$FLOW_SEED"}
