# shellcheck shell=sh disable=SC2016
# A `once` task that completed, was skipped by an edit, and is put back while what it
# needs runs again: it is asked about when it can start, however many resumes that takes.
. "${TESTS:?}/cli/tap.sh"

# write MORE-OF-PAY NEED: what `pay` needs is `x` of this kind.
write() {
    cat >w.yaml <<END
name: w
tasks:
  x0: {run: 'cp in x.out; [ ! -e hold ] || { touch at; while :; do sleep 0.02; done; }', inputs: in, outputs: x.out}
  x: {needs: x0, $2}
  pay: {needs: x, once: true, run: 'echo pay >>ran; echo receipt=5 >>"\$CAIRN_OUTPUT"'$1}
  ship: {needs: pay, run: 'echo "ship \$R" >>ran', env: {R: '\${{ tasks.pay.outputs.receipt }}'}}
  z: {run: '[ ! -e bad ]', inputs: in}
END
}
# Completed, and then skipped by an edit of its own condition.
begin() {
    rm -rf .cairn ran bad hold at
    echo 1 >in
    write '' "$1"
    exits 0 cairn run w.yaml
    write ", if: 'false'" "$1"
    exits 0 cairn resume
    echo 2 >in
}
is_asked_about() { # NAME
    exits 8 cairn resume
    is "$(tr '\n' ' ' <ran)" 'pay ship 5 ' "$1: it is asked about"
    exits 0 cairn resolve 1 pay 'done'
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'pay ship 5 ship 5 ' "$1: with its receipt of then"
    exits 0 cairn resume
    says 'nothing to do' "$1: then all is settled"
    exits 0 cairn checkpoint verify
}
hold() { # the resume stays in x0
    touch hold
    cairn resume >resume.out 2>&1 &
    pid=$!
    wait_for 20 test -e at
}
let_end() {
    wait $pid 2>/dev/null
    rm -f hold
}

plain="run: 'true'"
for signal in KILL TERM; do
    begin "$plain"
    write '' "$plain"
    hold
    kill -$signal $pid
    let_end
    exits 0 cairn plan
    matches 'may +pay .*it has completed before, and must not run twice' "$signal: plan knows"
    exits 0 cairn status --tasks
    matches 'not run +pay' "$signal: nobody has been asked yet"
    is_asked_about "$signal"
done

begin "$plain"
write '' "$plain"
touch bad
exits 1 cairn resume -j1
rm bad
is_asked_about 'another task had failed'

# A command that settles the run asks as the run does.
rm -rf .cairn ran
asked='external: "Go on?"'
echo 1 >in
write '' "$asked"
exits 7 cairn run w.yaml --no-wait
exits 0 cairn complete 1 x
exits 0 cairn resume
write ", if: 'false'" "$asked"
exits 0 cairn resume
write '' "$asked"
echo 2 >in
exits 7 cairn resume --no-wait
exits 0 cairn complete 1 x
exits 0 cairn status --tasks
matches 'unknown +pay' 'a command has asked'
is_asked_about 'what it needs was completed by a command'

# Skipped once more, in a resume that is killed.
begin "$plain"
write ", if: \"'a' == 'b'\"" "$plain"
hold
kill -KILL $pid
let_end
write '' "$plain"
is_asked_about 'skipped anew'

# Taken out of the file as well.
begin "$plain"
write '' "$plain"
hold
kill -KILL $pid
let_end
sed -i.full '/^  pay/d; /^  ship/d' w.yaml
exits 0 cairn resume
mv w.yaml.full w.yaml
is_asked_about 'taken out as well'

# What somebody has decided is not asked again.
begin "$plain"
write '' "$plain"
exits 8 cairn resume
exits 0 cairn resolve 1 pay rerun
touch bad
sed -i 's/bad \]/bad  ]/' w.yaml
exits 1 cairn resume -j1
rm bad
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'pay ship 5 pay ship 5 ' 'once decided, it runs'

# In a run that forks from the record in which it is skipped.
begin "$plain"
write '' "$plain"
exits 8 cairn resume --from "$(cairn checkpoint list --limit 1 --json | sed -n 's/.*"id":"\(workflow:[^"]*\)".*/\1/p' | head -n 1)"
is "$(tr '\n' ' ' <ran)" 'pay ship 5 ' 'a fork asks'

# Unknown in the record from which a run forks, taken out of the fork and put back.
newest() { cairn checkpoint list --limit 1 --json | sed -n 's/.*"id":"\(workflow:[^"]*\)".*/\1/p' | head -n 1; }
write_fork() { # PAY
    cat >fork.yaml <<END
name: fork
tasks:
  other: {run: 'true'}
$1
  ship: {needs: other, run: 'true'}
END
}
pay="  pay: {needs: other, once: true, run: 'echo pay >>ran; touch at; while [ ! -e go ]; do sleep 0.02; done'}"
rm -rf .cairn ran at go
write_fork "$pay"
killed_at at cairn run fork.yaml
touch go
exits 8 cairn resume
write_fork ''
exits 0 cairn resume --from "$(newest)"
write_fork "$pay"
exits 8 cairn resume 2
is "$(cat ran)" pay 'the fork remembers that it is unknown'

# Interrupted, and then turned off or taken out by an edit: it is asked about where it is put
# back in the run, and in one that forks from a record in which it is not any more.
write_cut() { # ON_CRASH PAY
    cat >cut.yaml <<END
name: cut
on_crash: $1
tasks:
  d: {run: echo d}
  $2
  z: {needs: d, run: echo z, inputs: in}
END
}
newest() {
    cairn checkpoint list | grep -o 'workflow:[0-9]*' | sort -t : -k 2n | tail -n 1
}
for crash in kill adopt; do
    for off in turned taken; do
        for how in run fork forks; do
            pay="{needs: d, once: true, run: 'echo pay >>ran; touch at; until [ -e go ]; do sleep 0.02; done'}"
            rm -rf .cairn ran at go
            echo 1 >in
            write_cut $crash "pay: $pay"
            killed_at at cairn run -j3 cut.yaml
            echo 2 >in
            if [ $off = turned ]; then
                write_cut $crash "pay: {if: 'false', ${pay#?}"
            else
                write_cut $crash 'other: {run: echo other}'
            fi
            run cairn resume
            [ $how != forks ] || run cairn resume --from "$(newest)"
            from=$(newest)
            touch go
            write_cut $crash "pay: $pay"
            if [ $how = run ]; then
                exits 8 cairn resume 1
            else
                exits 8 cairn resume --from "$from"
            fi
            is "$(cat ran)" pay "$crash, $off, $how: it is asked about"
        done
    done
done

# Begun in the record from which a run forks, and never ended in any: the fork asks, too.
for crash in kill adopt; do
    rm -rf .cairn ran at go
    echo 1 >in
    write_cut $crash "pay: {needs: d, once: true, run: 'echo pay >>ran; touch at; until [ -e go ]; do sleep 0.02; done'}"
    killed_at at cairn run cut.yaml
    touch go
    exits 8 cairn resume --from "$(newest)"
    says 'must not run twice' err
    exits 8 cairn resume 2
    exits 8 cairn resume --from "$(newest)"
    is "$(cat ran)" pay "$crash: left in the file, a fork asks about it"
    exits 0 cairn resolve 2 pay rerun
    exits 0 cairn resume 2
    is "$(tr '\n' ' ' <ran)" 'pay pay ' "$crash: and runs it when somebody says so"
done

# An edit that was taken back, and the records since are damaged: what the run tried with the
# edit is not forgotten.
write_back() { # Z
    cat >back.yaml <<END
name: back
tasks:
  d: {run: '[ ! -e slow ] || { touch at; sleep 60; }'}
  pay: {needs: d, once: true, run: 'echo pay >>ran; touch at; sleep 60'}
  z: {needs: pay, run: 'echo $1'}
END
}
kill_when_begun() { # COMMAND...
    killed_at at "$@"
    rm -f at slow
}
rm -rf .cairn ran at
touch slow
write_back 1
kill_when_begun cairn run back.yaml
first=$(cairn checkpoint list | grep -o 'workflow:[0-9]*' | cut -d : -f 2 | sort -n | tail -n 1)
write_back 2
kill_when_begun cairn resume
write_back 1
exits 8 cairn resume
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, 40) WHERE seq > $first"
exits 8 cairn resume
is "$(cat ran)" pay 'an edit that was taken back: it is asked about after damage'
done_testing
