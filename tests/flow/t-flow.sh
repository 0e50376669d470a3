# shellcheck shell=sh disable=SC2154
# plan = explain = run, and the same answer however it runs: tests/flow/flow.h. The
# program speaks TAP itself; FLOW_SEED repeats what it printed.
set -u
flow=$BUILD/tests/flow/flow
if [ ! -x "$flow" ]; then
    printf 'ok 1 - flow tests # skip %s is not built\n1..1\n' "$flow"
    exit 0
fi
level=--short
[ "${CAIRN_TEST_LEVEL-short}" != full ] || level=--full
exec "$flow" "$level" ${FLOW_SEED:+--seed "$FLOW_SEED"}
