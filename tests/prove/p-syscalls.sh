# shellcheck shell=sh disable=SC2154
# cairn is killed before each of its system calls, and after some that change anything;
# then it continues, and the end must be that of an unbroken run (tests/prove/nth). The
# short form tries a part of them, which part depends on the seed.
set -u
. "$root/tests/prove/nth/sweep.sh"
bad=0
# sweep CASE STRIDE OF-THE-FULL-FORM
sweep() {
    sweep_calls kill "$@" || bad=1
}
sweep run 16 1
sweep resume 16 1
sweep adopt 48 3
sweep adopting 48 4
sweep prune 32 1
sweep verify 48 1
sweep doctor 48 1
sweep undo 32 2
sweep resolve 24 1
sweep add 32 1
sweep withdraw 32 1
exit $bad
