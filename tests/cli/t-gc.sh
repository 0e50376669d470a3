# Garbage collection: what stays is as it was, and nothing that is needed goes.
. "$TESTS/cli/tap.sh"

# Every answer about a run, and the checkpoints of it, in one file.
answers() { # RUN FILE
    {
        for command in "status $1" "status $1 --tasks" "events $1" "log --run $1" \
            "checkpoint list --run $1 --limit 100" "checkpoint head $1"; do
            # shellcheck disable=SC2086
            cairn $command --json
        done
        cairn status "$1" --tasks --json | tr '{' '\n' | sed -n 's/.*"task": *"\([^"]*\)".*/\1/p' | sort -u |
            while read -r task; do
                cairn log "$task" --run "$1" --json
            done
        cairn checkpoint list --run "$1" --limit 100 --json | tr '{' '\n' |
            sed -n 's/.*"seq": *\([0-9]*\).*/\1/p' | while read -r seq; do
                cairn checkpoint show "$seq" --tasks --json
            done
    } 2>&1 | sed 's/"lease_left_ms": *[0-9]*//; s/"next_seq": *[0-9]*//' >"$2"
}

flow() { # SIZE TEXT
    cat >flow.yaml <<END
name: flow
params: {who: {type: string, default: me}}
secrets: [TOKEN]
tasks:
  head:
    run: 'echo "value=$2" >>"\$CAIRN_OUTPUT"; echo head of $2 "\$who"; echo shared by all >&2'
    undo: 'echo undone >>undone'
  part:
    foreach: {n: {range: [1, $1]}}
    needs: [head]
    run: 'echo part \$n of $2; echo \$n >"file-\$n"'
    outputs: ['file-\${{ n }}']
  secret:
    needs: [part]
    secrets: [TOKEN]
    run: 'echo \$TOKEN; echo with a secret'
  tail:
    needs: [secret]
    exec: [echo, 'tail \${{ tasks.head.outputs.value }}']
END
}
export TOKEN=not-to-be-told

flow 4 one
exits 0 cairn run flow.yaml                 # 1
flow 4 two
exits 0 cairn run flow.yaml --fresh         # 2
flow 70 three
exits 0 cairn run flow.yaml --fresh         # 3: pruned at its end
flow 4 four
exits 0 cairn run flow.yaml --fresh         # 4
flow 5 edited
exits 0 cairn resume 4                      # its second generation
cairn checkpoint list --run 4 --json --sort seq >list
from=$(json_get '.checkpoints[1].seq' list)
exits 0 cairn resume --from "$from"         # 5
says 'run 5 completed'
exits 0 cairn run flow.yaml --param who=you # 6
for run in 4 5 6; do
    answers $run before-$run
done
ok 'the answers are there' grep -q 'tail edited' before-5
cairn checkpoint head >heads
cp -r .cairn kept

exits 0 cairn gc --dry-run
matches '^would remove 0 of 6 runs with 0 checkpoints, and 0 of' 'what nothing was removed from holds no garbage'
exits 0 cairn gc --keep-runs 1 --dry-run --json
is "$(json_get .runs)" 3 'runs 1 to 3 would go: 4 is forked from, 5 and 6 are the newest of their params'
would=$(json_get .objects) bytes=$(json_get .freed_bytes) rows=$(json_get .attempts)
ok 'a dry run changes nothing' sh -c 'cairn runs | grep -q "^ *1 "'
exits 0 cairn gc --keep-runs 1 --json
json_ok 'gc --json prints JSON'
is "$(json_get .runs) $(json_get .kept_runs)" '3 3' 'it does'
is "$(json_get .objects) $(json_get .freed_bytes) $(json_get .attempts)" "$would $bytes $rows" 'a dry run told the truth'
ok 'attempts went' test "$rows" -ge 80
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint verify --head heads
exits 0 cairn doctor
for run in 4 5 6; do
    answers $run after-$run
    ok "every answer about run $run is as before" cmp before-$run after-$run
done
exits 10 cairn status 2
exits 10 cairn checkpoint show 3
exits 0 cairn runs --json
is "$(json_get .total)" 3 'runs lists what is left'
exits 0 cairn checkpoint timeline
exits 0 cairn gc --keep-runs 1
says 'removed 0 of 3 runs with 0 checkpoints, and 0 of' 'there is nothing more to do'

# What is left can be gone on with.
exits 0 cairn resume 6
says 'nothing to do' 'a run is still known as finished'
exits 0 cairn resume 5
says 'nothing to do' 'so is a fork; a secret that is the same is no change: its key is kept'
rm -f undone
exits 0 cairn undo 5 head
is "$(cat undone)" undone 'undo finds what it needs'
exits 0 cairn resume 5
exits 0 cairn run flow.yaml --fresh
says 'run 7' 'numbers are not used again'
exits 0 cairn checkpoint verify

# Ages, usage.
exits 0 cairn gc --older-than 1h
says 'removed 0 of 4 runs'
exits 2 cairn gc --older-than yesterday
exits 2 cairn gc --keep-runs 0
exits 2 cairn gc extra
exits 10 cairn gc --store "$PWD/nowhere"
ok 'and made no store there' test ! -e nowhere
sleep 1.1
exits 0 cairn gc --older-than 1s --json
is "$(json_get .runs) $(json_get .kept_runs)" '2 2' 'a fork goes with what it forked from; the newest of each params stays'

# Beside a live run, which uses content again that nothing referred to.
rm -rf .cairn
cat >live.yaml <<'END'
name: live
tasks:
  step:
    foreach: {n: {range: [1, 200]}}
    run: 'echo wave of $(($n % 40)); sleep 0.01'
END
cat >old.yaml <<'END'
name: old
tasks:
  step:
    foreach: {n: {range: [1, 120]}}
    run: 'echo wave of $(($n % 60)); echo only $n'
END
exits 0 cairn run old.yaml
exits 0 cairn run old.yaml --fresh
printf 'name: old\ntasks:\n  step: {run: "true"}\n' >old.yaml
exits 0 cairn run old.yaml --fresh
cairn run live.yaml --quiet -j 2 >live.out 2>&1 &
live=$!
collections=0
while kill -0 $live 2>/dev/null; do
    run cairn gc --keep-runs 1
    [ "$status" -eq 0 ] || tap_report 'not ok' "gc beside a run ends with $status: $(cat err)"
    collections=$((collections + 1))
done
wait $live
is $? 0 'a run beside it completes'
ok "after $collections collections" test $collections -ge 2
exits 0 cairn checkpoint verify
exits 0 cairn runs --json
is "$(json_get .total)" 2 'the old runs are gone'
bad=0
for n in 1 40 77 123 199; do
    [ "$(cairn log "step[n=$n]")" = "wave of $((n % 40))" ] || bad=$((bad + 1))
done
is $bad 0 'the output of its tasks is all there'

# Killed at any moment: the store is whole, and the next one finishes.
killed=0
for delay in 002 004 006 008 010 013 016 020 025 030 040; do
    rm -rf .cairn
    cp -r kept .cairn
    timeout -s KILL 0.$delay cairn gc --keep-runs 1 >/dev/null 2>&1
    [ $? -ne 137 ] || killed=$((killed + 1))
    cairn checkpoint verify >out 2>err || tap_report 'not ok' "verify after a kill at 0.$delay s: $(cat out err)"
    cairn gc --keep-runs 1 >out 2>err || tap_report 'not ok' "gc after a kill at 0.$delay s: $(cat err)"
    cairn checkpoint verify --head heads >out 2>err || tap_report 'not ok' "verify after that: $(cat out err)"
    cairn runs --json >out
    [ "$(json_get .total)" = 3 ] || tap_report 'not ok' "after a kill at 0.$delay s: $(cat out)"
done
ok "$killed of 11 were killed on the way" test $killed -ge 1
for run in 4 5 6; do
    answers $run after-$run
    ok "every answer about run $run is still as before" cmp before-$run after-$run
done

# ---- What a killed process had begun to write ----

rm -rf .cairn && cp -r kept .cairn
old='outputs.1.tmp files-1.index.4711 files-1.index.tmp.a1B2c3 outputs.1.tmp.a1B2c3'
for name in open.tmp.a1B2c3 .gitignore.tmp.Zz09aa repair.tmp.000000 $old; do
    echo half >".cairn/$name"
done
for name in $old; do touch -d '2 hours ago' ".cairn/$name"; done
echo now >.cairn/outputs.2.tmp.bbbbbb
mkdir .cairn/open.tmp.dirdir
echo mine >.cairn/notes.tmp.txt
exits 0 cairn doctor
says '7 unfinished files of processes that were killed, such as ' 'the doctor names them'
says '`cairn gc`' 'and the remedy'
exits 0 cairn gc --dry-run
is "$(find .cairn -type f -name '*.tmp*' | wc -l)" 8 'a dry run leaves them'
exits 0 cairn gc
is "$(cd .cairn && find . -name '*.tmp*' | sort | tr '\n' ' ')" './notes.tmp.txt ./open.tmp.dirdir ./outputs.2.tmp.bbbbbb ' \
    'the collection removes them, but what may still be written, and what is not ours'
ok 'also those of earlier releases' test ! -e .cairn/files-1.index.4711
exits 0 cairn doctor


# ---- Runs with params that come only once ----

rm -rf .cairn
cat >nightly.yaml <<'END'
name: nightly
params: {day: ''}
tasks:
  a: {run: 'test "$day" != 2'}
END
for day in 1 2 3 4 5; do
    run cairn run nightly.yaml --param day=$day
done
exits 0 cairn gc --keep-runs 1
matches '^removed 0 of 5 runs' 'the newest run with its params stays'
says '4 runs stay because each is the newest with its params: --any-params' 'and gc says why'
exits 2 cairn gc --any-params
says '--keep-runs' 'without a limit nothing says which would go'
exits 0 cairn gc --keep-runs 2 --any-params --json
is "$(json_get .runs) $(json_get .kept_runs) $(json_get .newest_runs)" '2 3 1' 'completed ones go when that is asked for'
exits 0 cairn runs --json
is "$(json_get '.runs[2].run') $(json_get '.runs[2].state')" '2 failed' 'one that would be gone on with stays'
exits 0 cairn gc --keep-runs 2 --any-params
says '1 run stays, since the next run with the same params continues it' 'and gc says so'
exits 0 cairn checkpoint verify
done_testing
