# shellcheck shell=sh disable=SC2154
# Every system call of cairn fails, once and from then on, with the errors that can really
# occur; then the fault is gone, and it continues to the right end (tests/prove/nth). The
# short form tries a part of them, which part depends on the seed. Two at a time: cairn
# mostly waits when nothing can be saved.
set -u
. "$root/tests/prove/nth/sweep.sh"
# sweep CASE STRIDE OF-THE-FULL-FORM
sweep() {
    sweep_calls fault "$@" >"$1.out" 2>"$1.log"
    echo $? >"$1.status"
    cat "$1.out"
}
(
    sweep run 67 2
    sweep undo 127 4
    sweep verify 79 1
) >one &
(
    sweep resume 97 3
    sweep adopt 151 6
    sweep adopting 151 6
    sweep required 151 6
    sweep prune 127 3
    sweep doctor 79 1
    sweep resolve 127 3
) >two &
wait
cat one two
for status in *.status; do
    [ "$(cat "$status")" -eq 0 ] || exit 1
done
