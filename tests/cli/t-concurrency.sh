# Runs of one workflow with other params that live at once: `concurrency: params`.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

cat >w.yaml <<'END'
name: w
concurrency: params
params: {day: "1", region: eu}
tasks:
  a: {run: 'echo "a $day $CAIRN_RUN" >>log; echo $$ >"pid$day"; touch "at$day"; until test -e "go$day"; do sleep 0.02; done; echo "$day" >"out$day"', outputs: 'out${{ params.day }}'}
  b: {needs: a, run: 'echo "b $day $CAIRN_RUN" >>log; test -e "fine$day"'}
END

# ---- Two of them live ----
exits 0 cairn validate w.yaml
is "$(cat err)" '' 'whose outputs have the params in their names'
touch fine1 fine2
cairn run w.yaml >one.out 2>&1 &
one=$!
wait_for 20 test -e at1
cairn run w.yaml --param day=2 >two.out 2>&1 &
two=$!
ok 'the second one starts beside the first' wait_for 20 test -e at2
exits 6 cairn run w.yaml --param day=2
says 'workflow `w[day=2,region=eu]` is owned by process' 'with the same params one lives at a time'
exits 6 cairn resume 1
exits 0 cairn status
says 'run 2  w[day=2,region=eu]  running' 'the newest one without a number'
exits 0 cairn status 1
says 'run 1  w[day=1,region=eu]  running' 'the other one by its number'
is "$(planned w.yaml --param day=3)" 'a b' 'a third one would be new'
touch go1
wait $one
is "$?" 0 'the first one ends'
exits 0 cairn status 2
says running 'and the second one lives'
touch go2
wait $two
is "$?" 0 'it ends, too'
is "$(sort log | tr '\n' ' ')" 'a 1 1 a 2 2 b 1 1 b 2 2 ' 'each task has run once in each'
exits 0 cairn resume w.yaml
says 'run 2' 'the file stands for its newest run'
exits 0 cairn checkpoint verify

# ---- One is killed, stopped, cancelled; the other one goes on ----
rm -f go? at? log out?
for how in kill term cancel; do
    rm -f go? at? log out?
    cairn run w.yaml --fresh >one.out 2>&1 &
    one=$!
    cairn run w.yaml --fresh --param day=2 >two.out 2>&1 &
    two=$!
    wait_for 20 test -e at1
    wait_for 20 test -e at2
    run=$(awk '$2 == 2 { print $3 }' log)
    case $how in
    kill) kill -9 $two ;;
    term) kill -TERM $two ;;
    cancel) exits 0 cairn cancel "$run" ;;
    esac
    wait $two 2>/dev/null
    ok "$how: the task of the other run is not touched" kill -0 "$(cat pid1)"
    rm -f at2
    cairn resume "$run" >two.out 2>&1 &
    two=$!
    ok "$how: it is resumed beside the other one" wait_for 20 test -e at2
    touch go1 go2
    wait $one
    one=$?
    wait $two
    is "$one $?" '0 0' "$how: both complete"
    is "$(grep -c '^a 1' log) $(grep -c '^a 2' log) $(grep -c ^b log)" '1 2 2' "$how: only what was cut off has run again"
done

# ---- Inner runs of an outer one ----
cat >inner.yaml <<'END'
name: inner
concurrency: params
params: {part: "0"}
tasks:
  x: {run: 'echo "x $part" >>ilog; touch "x$part"; until test -e all; do sleep 0.02; done', once: true}
  y: {needs: x, run: 'echo "y $part" >>ilog; touch "y$part"; until test -e more; do sleep 0.02; done'}
END
cat >outer.yaml <<'END'
name: outer
jobs: 3
tasks:
  part: {foreach: {n: [1, 2, 3]}, run: 'cairn run inner.yaml --param part="$n" --quiet'}
END
cairn run outer.yaml >outer.out 2>&1 &
pid=$!
ok 'three inner runs live at once' wait_for 20 test -e x1 -a -e x2 -a -e x3
touch all
wait_for 20 test -e y1 -a -e y2 -a -e y3
kill -9 $pid
wait $pid 2>/dev/null
touch more
exits 0 cairn resume outer.yaml
is "$(sort ilog | uniq -c | awk '{ print $2, $3, $1 }' | tr '\n' ' ')" 'x 1 1 x 2 1 x 3 1 y 1 2 y 2 2 y 3 2 ' 'each goes on where it was killed'

# ---- A set of params is a workflow of its own ----
long=$(printf '%070d' 0)
exits 0 cairn plan w.yaml --param day="$long" --param region="$long" --json
ok 'a long value is shortened as in ids' grep -qE '"workflow":"w\[day=0+[^"]*0,region=0[^"]*\]"' out
{
    printf 'name: many\nconcurrency: params\nparams: {'
    for i in a b c d e f; do printf '%s: "%s", ' $i "$(printf '%050d' 0)"; done
    printf '}\ntasks: {t: {run: x}}\n'
} >many.yaml
exits 0 cairn validate many.yaml
matches 'many\[[0-9a-f]{16}\] is valid' 'many of them have a hash'
sed "s/name: many/name: x$(printf '%0190d' 0)/" many.yaml >name.yaml
exits 3 cairn validate name.yaml
says '`name` is too long for `concurrency: params`'
sed 's/^concurrency.*//' w.yaml >plain.yaml
exits 0 cairn run plain.yaml
says 'of w:' 'without the key it is another workflow'
cp w.yaml kept.yaml
cp plain.yaml w.yaml
exits 2 cairn resume 1
says 'run 1 belongs to workflow `w[day=1,region=eu]`, not to `w`' 'whose runs are not mixed up'

cp kept.yaml w.yaml
sed -i 's/region: eu/region: us/; s/test -e "fine/test -e "good/' w.yaml
touch go1 go2
exits 1 cairn resume 1
says 'continuing run 1' 'a run keeps its params when a default is edited, and its name with them'
is "$(planned w.yaml)" 'a b' 'the new default is another set'

# ---- Outputs at one place ----
while IFS='|' read -r text warned; do
    printf 'name: o\nconcurrency: params\nparams: {d: 1}\ntasks: {a: {%s}, b: {run: x}}\n' "$text" >o.yaml
    exits 0 cairn validate o.yaml
    is "$(grep -c 'is the same file whatever the params' err)" "$warned" "$text: $warned"
done <<'END'
run: x, outputs: out|1
run: x, outputs: ['${{ params.d }}', out]|1
run: x, outputs: 'out/${{ params.d }}'|0
run: x, cwd: 'd${{ params.d }}', outputs: out|0
exec: [x]|0
END
exits 0 cairn plan o.yaml
printf 'name: o\nparams: {d: 1}\ntasks: {a: {run: x, outputs: out}}\n' >o.yaml
exits 0 cairn validate o.yaml
is "$(cat err)" '' 'where one run lives at a time nothing is said'

# ---- Included files, and what is refused ----
printf 'name: i\nparams: {d: 2}\ninclude: [{file: w.yaml, as: w}]\ntasks: {z: {run: x}}\n' >i.yaml
exits 0 cairn validate i.yaml
says 'i is valid' 'the key of an included file is not that of the workflow'
while IFS='|' read -r value meant; do
    printf 'name: r\nparams: {d: 1}\nconcurrency: %s\ntasks: {a: {run: x}}\n' "$value" >r.yaml
    exits 3 cairn validate r.yaml
    says "$meant" "$value: $meant"
done <<'END'
4|write `jobs: 4`
{group: ci, cancel-in-progress: true}|`workflow` (one run lives at a time) or `params`
param|`workflow` (one run lives at a time) or `params`
END
printf 'name: r\nconcurrency: params\ntasks: {a: {run: x}}\n' >r.yaml
exits 3 cairn validate r.yaml
says '`concurrency: params` needs `params`'

# ---- Without it, the refusal names it, where that is what is wanted ----
mkdir one && cd one || exit 1
export CAIRN_STORE="$PWD/.cairn"
printf 'name: w\nparams: {day: "1"}\ntasks:\n  a: {run: "touch at; until test -e go; do sleep 0.02; done"}\n' >w.yaml
cairn run w.yaml >out.1 2>&1 &
one=$!
wait_for 20 test -e at
exits 6 cairn run w.yaml --param day=2
says 'That run has other params: with `concurrency: params` in the file both can live at once' 'a second run with other params: how to have both'
exits 6 cairn run w.yaml
ok 'not with the same' sh -c '! grep -q concurrency err'
exits 6 cairn resume 1
ok 'nor on resume' sh -c '! grep -q concurrency err'
touch go
wait $one
cd .. || exit 1

done_testing
