# shellcheck shell=sh disable=SC2154
# cairn is killed before each of its system calls, and after some that change anything;
# then it goes on, and the end must be that of an unbroken run (tests/prove/nth). The
# short form tries a part of them, which part depends on the seed.
set -u
nth=$BUILD/tests/prove/nth
bad=0
# sweep CASE STRIDE STRIDE-OF-THE-FULL-FORM
sweep() {
    stride=$2
    [ "$LEVEL" = full ] && stride=$3
    mkdir "$1" || exit 1
    timeout 900 "$nth" --sweep kill --case "$1" --stride "$stride" \
        --first $((SEED % stride + 1)) "$1" "$BUILD/cairn" || bad=1
    rm -rf "$1"
}
if [ ! -x "$nth" ]; then
    echo 'skip|kills and faults at every system call|not on this processor'
    exit 0
fi
if ! "$nth" --sweep check 2>why; then
    echo "skip|kills and faults at every system call|$(cat why)"
    exit 0
fi
sweep run 16 1
sweep resume 16 1
sweep adopt 48 3
sweep adopting 48 4
sweep prune 32 1
sweep verify 48 1
sweep doctor 48 1
sweep undo 32 2
sweep resolve 24 1
exit $bad
