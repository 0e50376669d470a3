# shellcheck shell=sh disable=SC2154
# For the provers that go through the system calls of cairn: $nth, skipping where it cannot
# work, and what one of them does.
nth=$BUILD/tests/prove/nth
if [ ! -x "$nth" ]; then
    echo 'skip|kills and faults at every system call|not on this processor'
    exit 0
fi
if ! "$nth" --sweep check 2>why; then
    echo "skip|kills and faults at every system call|$(cat why)"
    exit 0
fi
# sweep_calls KIND CASE STRIDE STRIDE-OF-THE-FULL-FORM: every STRIDE-th call, from which on
# depends on the seed.
sweep_calls() {
    stride=$3
    [ "$LEVEL" = full ] && stride=$4
    mkdir "$2" || exit 1
    timeout "${PART_TIMEOUT:?}" "$nth" --sweep "$1" --case "$2" --stride "$stride" \
        --first $((SEED % stride + 1)) "$2" "$BUILD/cairn"
    swept=$?
    rm -rf "$2"
    return $swept
}
