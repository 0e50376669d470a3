# Tasks that must not run twice: interrupted ones are unknown, and resolved in three ways;
# a check that decides.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: pays
tasks:
  pay:
    run: 'echo pay >>ran; touch at; while [ ! -e let ]; do sleep 0.02; done'
    once: true
    outputs: [receipt]
  after: {needs: pay, run: 'echo after >>ran'}
END2
crash() { # FILE: the newest run of it is killed while its first task runs
    rm -f at
    killed_at at cairn run --fresh "$1"
    gone() { ! lives 'touch at;'; }
    wait_for 10 gone
}

crash flow.yaml
exits 0 cairn status
says '1 unknown, 1 not run'
says 'decide: cairn resolve 1 pay done|failed|rerun' 'status names the remedy'
exits 0 cairn status --json
json_ok 'status --json'
is "$(json_get '.unknown_tasks[0].task')" pay 'and the task'
exits 0 cairn status --tasks
matches '^  unknown +pay .*\(must not run twice: decide: cairn resolve 1 pay done.failed.rerun\)$' 'the list says what it waits for'
exits 0 cairn status --waiting
says 'pay  is unknown: decide: cairn resolve 1 pay done|failed|rerun  (1 behind it)'
exits 0 cairn plan
matches '^may +after' 'plan: what comes after may run'
exits 8 cairn resume
says '1 unknown, 1 not run'
says 'cairn resolve 1 pay done|failed|rerun' 'the last line tells what to do'
exits 8 cairn watch
exits 2 cairn resolve 1 pay
exits 2 cairn resolve 1 pay perhaps
exits 10 cairn resolve 1 pai 'done'
exits 2 cairn resolve 1 after 'done'
says 'not unknown'
exits 2 cairn resolve 1 pay 'done'
says 'receipt' 'what is declared must be there'
exits 8 cairn resume 1
touch receipt
exits 0 cairn resolve 1 pay 'done'
says 'continue with: cairn resume 1'
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'pay after ' 'it was not run again'
exits 2 cairn resolve 1 pay 'done'

: >ran
crash flow.yaml
exits 0 cairn resolve 2 pay failed --json
json_ok 'resolve --json'
exits 0 cairn status 2
says '1 failed, 1 skipped'
says 'resolved: failed'
is "$(tr '\n' ' ' <ran)" 'pay ' 'failed: nothing more ran'

: >ran
crash flow.yaml
exits 0 cairn resolve 3 pay rerun
says 'continue with: cairn resume 3'
touch let
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'pay pay after ' 'rerun: it was run again, when the run went on'

rm -f let
cat >check.yaml <<'END2'
name: checked
tasks:
  pay: {run: 'touch at; while :; do sleep 0.02; done', once: true, check: test -e paid}
  after: {needs: pay, run: 'echo after >>ran'}
END2
: >ran
crash check.yaml
exits 0 cairn status
says 'its check decides: cairn resume 4' 'status: nobody has to decide'
exits 0 cairn status --json
is "$(json_get '.unknown_tasks[0].check')" true 'in JSON, too'
exits 0 cairn status --tasks
matches '^  unknown +pay .*\(must not run twice: its check decides\)$' 'of all tasks, too'
exits 0 cairn status --waiting
says 'pay  is unknown: its check decides  (1 behind it)'
says 'continue with: cairn resume 4'
touch paid
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'after ' 'the check says that it is done'
rm -f paid
crash check.yaml
exits 1 cairn resume
says 'its check failed'
exits 0 cairn events "$(cairn runs --limit 1 --quiet | awk 'NR > 1 { print $1 }')"
says 'its outcome is unknown: its check decides'
is "$(grep -c 'cairn resolve' out)" 0 'and nobody is sent to decide'
exits 0 cairn explain pay check.yaml
matches 'attempt 2  failed by its check'

rm -f at
cairn run --fresh check.yaml >run.out 2>&1 &
pid=$!
wait_for 20 test -e at
kill -TERM $pid
wait $pid
is $? 8 'stopped'
is "$(grep -c 'its check decides: cairn resume 6' run.out)" 1 'the last line tells that the check decides'

# It has paid, and whatever keeps its check from an answer does not make it pay again.
cat >paid.yaml <<'END2'
name: paid
tasks:
  pay:
    run: 'echo PAID >>ran'
    once: true
    retries: 3
    check: 'touch checking; while [ ! -e let ]; do sleep 0.02; done; grep -q PAID ran'
  after: {needs: pay, run: 'echo after >>ran'}
END2
pays() { # FILE: stopped during the check by the words that follow
    rm -f let checking ran
    file=$1
    shift
    cairn run --fresh "$file" >run.out 2>&1 &
    pid=$!
    wait_for 20 test -e checking
    "$@"
    wait $pid
    status=$?
}
pays_once() { # EXIT NAME
    is $status "$1" "$2"
    exits 0 cairn status
    says 'its check decides' 'nobody knows yet'
    touch let
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'PAID after ' "$2: it has paid once"
}
term() { kill -TERM $pid; }
cancel() { exits 0 cairn cancel; }
pays paid.yaml term
pays_once 8 'stopped during the check'
pays paid.yaml cancel
pays_once 8 'cancelled during the check'
sed 's/^tasks/deadline: 1s\n&/' paid.yaml >deadline.yaml
pays deadline.yaml :
pays_once 8 'the deadline passed during the check'
sed "s/^    run:.*/&\n    timeout: 1s/" paid.yaml >timeout.yaml
pays timeout.yaml :
pays_once 8 'the check took too long'
sed 's/while.*done;/[ -e let ] || kill -9 $$;/' paid.yaml >killed.yaml
pays killed.yaml :
pays_once 8 'the check was killed'
# An end that nobody can learn: a sandbox may refuse to wait.
unlearned() {
    rm -rf .cairn ran
    exits 8 "$BUILD/tests/tools/refuse" waitid=EPERM cairn run flow.yaml
    exits 8 cairn resume
    is "$(grep -c pay ran)" 1 "$1: it does not run again"
    exits 0 cairn log pay
    says 'could not be learned'
}
cat >flow.yaml <<'END2'
name: unlearned
tasks:
  pay: {run: 'echo pay >>ran; echo paid', once: true, retries: 2}
END2
if "$BUILD/tests/tools/refuse" waitid=EPERM true; then
    unlearned 'an end that nobody has seen'
else
    skip 'an end that nobody has seen' 'system calls cannot be refused here'
fi

# Taken out of the file for one resume, and put back: it is remembered.
cat >back.yaml <<'END2'
name: back
tasks:
  pay: {run: 'echo pay >>ran', once: true}
  last: {run: '[ -e go ]'}
END2
rm -rf .cairn ran go
exits 1 cairn run back.yaml
sed -i.full '/pay/d' back.yaml
exits 1 cairn resume
exits 1 cairn resume
mv back.yaml.full back.yaml
exits 0 cairn plan
ok 'plan does not say that it will run' sh -c '! grep -q "^run.*pay" out'
exits 8 cairn resume
is "$(grep -c pay ran)" 1 'what completed does not run again'
exits 0 cairn resolve 1 pay 'done'
touch go
exits 0 cairn resume
is "$(grep -c pay ran)" 1 'nor then'
sed -i.full '/pay/d' back.yaml
exits 0 cairn resume
mv back.yaml.full back.yaml
exits 8 cairn resume
is "$(grep -c pay ran)" 1 'also in a run that was completed'

# Turned off for one resume, itself or what it needs, and on again.
for off in "s/pay: {/pay: {if: 'false', /" "s/first: {/first: {if: 'false', /"; do
    cat >back.yaml <<'END2'
name: back
tasks:
  first: {run: 'true'}
  pay: {needs: first, run: 'echo pay >>ran', once: true}
  last: {needs: [first, pay], when: always, run: '[ -e go ]'}
END2
    rm -rf .cairn ran go
    exits 1 cairn run back.yaml
    sed -i.full "$off" back.yaml
    exits 1 cairn resume
    exits 0 cairn status
    says ' skipped' 'it is skipped'
    exits 1 cairn resume
    mv back.yaml.full back.yaml
    exits 0 cairn explain pay
    case $off in
    *pay*) says 'it ran before, and must not run twice' 'explain says why' ;;
    *) says 'pay may run' 'explain does not say that it will run' ;;
    esac
    exits 8 cairn resume
    is "$(grep -c pay ran)" 1 'once turned on again it is asked about'
    exits 0 cairn resolve 1 pay 'done'
    touch go
    exits 0 cairn resume
    is "$(grep -c pay ran)" 1 'and did not run again'
done

# One that failed may run again.
cat >back.yaml <<'END2'
name: back
tasks:
  pay: {run: 'echo pay >>ran; [ -e go ]', once: true, undo: 'echo undo >>ran'}
END2
rm -rf .cairn ran go
exits 1 cairn run back.yaml
cp back.yaml full.yaml
sed -i 's/pay:/other:/; s/echo pay/echo other/' back.yaml
exits 1 cairn resume
cp full.yaml back.yaml
touch go
exits 0 cairn resume
is "$(grep -c pay ran)" 2 'what had failed'


# What it had passed on is there again.
for how in 'done' check; do
    rm -rf .cairn ran
    for off in '' ", if: 'false'" ''; do
        cat >receipt.yaml <<END2
name: receipt
tasks:
  pay: {once: true, run: 'echo paid >>ran; echo receipt=5 >>"\$CAIRN_OUTPUT"'$([ $how = 'done' ] || echo ", check: 'grep -q paid ran'")$off}
  ship: {needs: pay, run: 'echo "ship \$S" >>ran', env: {S: "\${{ tasks.pay.outputs.receipt }}"}}
END2
        if [ -n "$off" ] || [ -e ran ]; then
            cairn resume >out 2>err
        else
            cairn run receipt.yaml >out 2>err
        fi
    done
    [ $how = check ] || exits 0 cairn resolve 1 pay 'done'
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'paid ship 5 ship 5 ' "$how: with the receipt of then"
    exits 0 cairn resume
    says 'nothing to do' 'and all is settled'
    exits 0 cairn checkpoint verify
done

# It has completed, and what it needs runs again: it is asked about (or its check) when it
# can start; so is one that counts as done because a person has decided so.
for how in completed decided check; do
    rm -rf .cairn ran at in go
    echo 1 >in
    touch go
    cat >again.yaml <<END2
name: again
tasks:
  fetch: {run: 'cp in got', inputs: in, outputs: got}
  pay: {needs: fetch, inputs: got, once: true, run: 'echo pay >>ran; echo receipt=5 >>"\$CAIRN_OUTPUT"; touch at; [ -e go ] || sleep 60'$([ $how != check ] || echo ", check: 'grep -q pay ran'")}
  ship: {needs: pay, run: 'echo ship >>ran'}
finally:
  tell: {once: true, run: 'echo tell >>ran'}
END2
    if [ $how = decided ]; then
        rm go
        crash again.yaml
        exits 0 cairn resolve 1 pay 'done'
        touch go
        exits 0 cairn resume
    else
        exits 0 cairn run again.yaml
    fi
    exits 0 cairn resume
    says 'nothing to do' "$how: at rest"
    echo 2 >in
    exits 0 cairn plan
    is "$(planned)" fetch "$how: the plan does not say that it will pay again"
    matches 'may +pay .*fetch, which it needs, runs again; it has completed and must not run twice' "$how: it says why"
    is "$(grep -c 'pay.*runs again now' err)" 0 "$how: nor that it runs again now"
    exits 0 cairn explain pay
    says 'pay may run' "$how: explain says the same"
    if [ $how != check ]; then
        exits 8 cairn resume
        says 'decide: cairn resolve 1 pay done|failed|rerun' "$how: it stops there and asks"
        exits 8 cairn resume
        exits 0 cairn explain pay
        [ $how = decided ] || says 'it ran before, and must not run twice; decide' "$how: explain says why"
        exits 0 cairn resolve 1 pay 'done'
    fi
    exits 0 cairn resume
    is "$(count pay ran)" 1 "$how: it has paid once"
    is "$(grep -c ship ran)" 2 "$how: what needs it has run again"
    exits 0 cairn resume
    says 'nothing to do' "$how: then all is settled"
    exits 0 cairn rerun pay
    is "$(count pay ran)" 2 "$how: whoever names it means it"
    exits 0 cairn checkpoint verify
done
# What is decided holds, and what comes between does not make it pay: a kill, a part of the
# run, another failure.
cat >again.yaml <<'END2'
name: again
tasks:
  fetch: {run: 'cp in got; [ ! -e hold ] || { touch at; while :; do sleep 0.02; done; }', inputs: in, outputs: got}
  pay: {needs: fetch, once: true, run: 'echo pay >>ran'}
  z: {needs: fetch, run: '[ ! -e bad ]'}
END2
for between in 'kill' part failure; do
    rm -rf .cairn ran at hold bad
    echo 1 >in
    exits 0 cairn run again.yaml
    echo 2 >in
    case $between in
    kill)
        touch hold
        killed_at at cairn resume
        rm hold
        ;;
    part) exits 0 cairn resume z ;;
    failure)
        touch bad
        sed -i '/^  z:/d; s/^  pay:/  z: {needs: fetch, run: "[ ! -e bad ]"}\n  pay:/; s/needs: fetch, once/needs: [fetch, z], once/' again.yaml
        exits 0 cairn rerun fetch --only
        exits 1 cairn resume -j1
        rm bad
        ;;
    esac
    exits 8 cairn resume
    exits 0 cairn resolve 1 pay rerun
    is "$(count pay ran)" 1 "$between: it has paid once until it is decided"
    exits 0 cairn resume
    is "$(count pay ran)" 2 "$between: it runs again, since that was decided"
    exits 0 cairn resume
    says 'nothing to do' "$between: and that is all"
done
# Left out by its own condition for a while, without an edit.
cat >out.yaml <<'END2'
name: out
tasks:
  x: {run: 'echo v=$(cat in) >>"$CAIRN_OUTPUT"', inputs: in}
  pay: {needs: x, if: "tasks.x.outputs.v == 'yes'", once: true, run: 'echo pay >>ran'}
END2
rm -rf .cairn ran
echo yes >in
exits 0 cairn run out.yaml
echo no >in
exits 0 cairn resume
echo yes >in
exits 8 cairn resume
is "$(count pay ran)" 1 'left out and back: it has paid once'

# In a run that forks from the one in which it completed, too.
cat >fork.yaml <<'END2'
name: fork
tasks:
  pay: {once: true, run: 'echo pay >>ran'}
  ship: {needs: pay, run: 'echo ship >>ran'}
END2
rm -rf .cairn ran
exits 0 cairn run fork.yaml
exits 0 cairn resume --from "$(cairn checkpoint list --limit 1 --json | sed -n 's/.*"id":"\(workflow:[^"]*\)".*/\1/p' | head -n 1)"
sed -i.full "s/pay: {/pay: {if: 'false', /" fork.yaml
exits 0 cairn resume 2
mv fork.yaml.full fork.yaml
exits 8 cairn resume 2
is "$(grep -c pay ran)" 1 'it is asked about in the fork'

# Nobody is asked, and no check completes it, where its own condition still skips it.
write_when() { # CHECK MARK
    cat >when.yaml <<END2
name: when
tasks:
  x: {run: 'echo v=\$(cut -d" " -f1 in) >>"\$CAIRN_OUTPUT"', inputs: in}
  pay: {needs: x, if: "tasks.x.outputs.v == 'yes'", once: true, run: 'echo pay >>ran'$1}
  ship: {needs: pay, run: 'echo ship >>ran'}
  other: {run: 'echo $2'}
END2
}
for check in '' ", check: 'grep -q pay ran'"; do
    rm -rf .cairn ran
    echo yes >in
    write_when "$check" 1
    exits 0 cairn run when.yaml
    echo no >in
    write_when "$check" 2
    exits 0 cairn resume
    echo 'no 2' >in
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'pay ship ' 'it stays skipped, and so does what needs it'
    echo 'yes 2' >in
    if [ -n "$check" ]; then
        exits 0 cairn resume
        is "$(tr '\n' ' ' <ran)" 'pay ship ship ' 'its check completes it when its condition is met'
    else
        exits 8 cairn resume
        is "$(tr '\n' ' ' <ran)" 'pay ship ' 'it is asked about when its condition is met'
        exits 0 cairn resolve 1 pay rerun
        exits 0 cairn resume
        is "$(tr '\n' ' ' <ran)" 'pay ship pay ship ' 'and runs again if so decided'
    fi
done

# After an edit its attempts are numbered anew: the last one counts, not the highest.
rm -rf .cairn ran at first
cat >numbers.yaml <<'END2'
name: numbers
tasks:
  pay: {once: true, run: 'echo pay >>ran; [ -e first ] || { touch first; exit 1; }; touch at; while :; do sleep 0.02; done'}
  other: {run: 'true'}
END2
exits 1 cairn run numbers.yaml
killed_at at cairn resume
sed -i "s/'true'/'true '/" numbers.yaml
exits 8 cairn resume
exits 0 cairn resolve 1 pay rerun
exits 0 cairn status --tasks
matches 'not run +pay' 'status knows that it is decided'
exits 0 cairn status --json
is "$(json_get .unknown)" 0 'in JSON, too'

# One that counts as done because somebody, or its check, has decided so runs again if
# its input changes after that, as one that ended by itself.
for how in 'done' check; do
    rm -rf .cairn ran at in
    echo 1 >in
    cat >input.yaml <<END2
name: input
tasks:
  pay: {once: true, inputs: in, run: 'echo pay >>ran; touch at; [ -e go ] || sleep 60'$([ $how = 'done' ] || echo ", check: 'grep -q pay ran'")}
END2
    rm -f go
    crash input.yaml
    echo 2 >in
    touch go
    [ $how = check ] || exits 0 cairn resolve 1 pay 'done'
    exits 0 cairn resume
    exits 0 cairn resume
    says 'nothing to do' "$how: what is there when it is decided counts"
    echo 3 >in
    exits 0 cairn plan
    matches 'run +pay +the content of its input in differs' "$how: a change after that does, too"
    exits 0 cairn resume
    is "$(wc -l <ran)" 2 "$how: it runs again"
done

# One that counts as failed because somebody, or its check, has decided so, and whose failure
# is handled, is tried again if its input changes after that, as one that failed by itself.
for how in failed check passed; do
    rm -rf .cairn ran at res made go
    echo bad >in
    case $how in
    failed) more= ;;
    check) more=', check: grep -q good in' ;;
    passed) more=', outputs: made, check: "true"' ;;
    esac
    cat >input.yaml <<END2
name: input
tasks:
  pay: {once: true, inputs: in, run: 'echo pay >>ran; touch at; [ -e go ] || sleep 60; grep good in >res; touch made'$more}
  fallback: {needs: pay, when: failed, run: 'echo fallback >res'}
END2
    crash input.yaml
    touch go
    if [ $how = failed ]; then
        exits 8 cairn resume
        exits 0 cairn resolve 1 pay failed
    fi
    exits 0 cairn resume
    is "$(cat res)" fallback "$how: its failure is handled"
    exits 0 cairn resume
    says 'nothing to do' 'and stands while the input is the same'
    echo good >in
    exits 0 cairn plan
    matches 'run +pay +the content of its input in differs' "$how: else it is tried again"
    exits 0 cairn resume
    is "$(cat res)" good "$how: and ends as a fresh one does"
    exits 0 cairn resume
    says 'nothing to do' 'then it is at rest'
    exits 0 cairn checkpoint verify
done

# ---- Another run of the workflow says that this one waits for an answer ----
rm -rf ./.cairn ./*
export CAIRN_STORE="$PWD/.cairn"
cat >days.yaml <<'END'
name: days
params: {day: mon}
tasks:
  pay: {once: true, run: 'test $day = tue || { touch at-pay; exec sleep 60; }'}
END
for day in mon sun; do
    rm -f at-pay
    cairn run days.yaml --param "day=$day" >run.out 2>&1 &
    pid=$!
    ok "the run of $day gets to its task" wait_for 20 test -e at-pay
    kill -9 $pid
    wait $pid 2>/dev/null
done
exits 0 cairn run days.yaml --param day=tue
says 'run 2 of days, day=sun waits for an answer (1 task is unknown): cairn status 2; and 1 more: cairn runs'
is "$(grep -c 'waits for an answer' err)" 1 'in one line'
exits 0 cairn resolve 2 pay failed
exits 0 cairn resolve 1 pay rerun
exits 0 cairn run days.yaml --param day=tue --fresh
says 'run 1 of days, day=mon (waiting) is not finished: cairn resume 1' 'a run that can continue is named'
ok 'one that has failed is not' sh -c '! grep -q day=sun err'
printf 'name: other\ntasks: {t: {run: ":"}}\n' >other.yaml
exits 0 cairn run other.yaml
ok 'nor is one of another workflow' sh -c '! grep -q "of days" err'
done_testing
