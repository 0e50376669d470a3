# shellcheck shell=sh disable=SC2154,SC1091
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

# The removal of outputs of members that are gone (`stale: remove`): what is to go, goes in
# the end, nothing else does, and the join has what is there.
stride=24
[ "$LEVEL" = full ] && stride=1
mkdir stale && cd stale || exit 1
mkdir try try/in
cat >try/w.yaml <<'END'
name: w
again: never
tasks:
  part:
    foreach: {csv: parts.csv, key: p}
    run: 'cat "in/$p" >"part.$p"'
    inputs: ['in/${{ p }}']
    outputs: ['part.${{ p }}']
    stale: remove
  join: {needs: part, run: 'cat part.* >all', outputs: all}
END
(
    cd try || exit 1
    echo p >parts.csv
    for p in a b c d e f; do
        echo $p >>parts.csv
        echo "$p" >in/$p
        echo mine >mine.$p
    done
    cairn run w.yaml
    printf 'p\na\nc\n' >parts.csv
    echo changed >>part.e # somebody's by now
) >said 2>&1
# The files of a project as what is to be there.
stale_is_right() {
    [ "$(echo part.*)" = 'part.a part.c part.e' ] && [ "$(echo mine.* in/*)" = "$kept" ] &&
        [ "$(cat all)" = "$(cat in/a in/c part.e)" ] && [ "$(tail -n 1 part.e)" = changed ]
}
kept=$(cd try && echo mine.* in/*)
tries=0 wrong=0
cp -a try base
calls=$(cd try && "$nth" --count cairn run w.yaml 2>&1 | sed -n 's/^nth: \([0-9]*\) calls.*/\1/p')
(cd try && stale_is_right) || { echo '# not even an unbroken run is right' && wrong=1; }
n=$((SEED % stride + 1))
while [ $n -le "${calls:-0}" ]; do
    rm -rf try
    cp -a base try
    (
        cd try || exit 1
        "$nth" --kill $n cairn run w.yaml >../killed 2>&1
        cairn run w.yaml >../said 2>&1 && stale_is_right && cairn checkpoint verify >>../said 2>&1 &&
            cairn run w.yaml 2>&1 | tee -a ../said | grep -q 'nothing to do' &&
            cairn clean --stale --dry-run 2>&1 | tee -a ../said | grep -q 'part.e'
    ) || {
        wrong=$((wrong + 1))
        [ $wrong -gt 5 ] || { echo "# killed before call $n:" && cat killed said | sed 's/^/#   /'; }
    }
    tries=$((tries + 1))
    n=$((n + stride))
done
cd ..
echo "figure|G2 G9|killed before each system call of a run that removes stale outputs: gone in the end, nothing else is, and the join is right|$tries kills in $calls calls|0|0|0|$wrong"
[ $wrong -eq 0 ] && [ $tries -gt 0 ] || bad=1
exit $bad
