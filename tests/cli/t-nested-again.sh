# A task that runs another workflow runs again: when the inner run continues, when another
# one begins, and what that means for inner tasks that must not run twice.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE # found from the directory, by the inner cairn, too

field() { # RUN NAME: of its document
    cairn status "$1" --json >field.json 2>/dev/null
    json_get ".$2" field.json
}

# A task `use` that reads what the outer run makes, and one that must not run twice.
place() { # NAME [TASK...]: in a directory of its own; the inner run is of these tasks
    mkdir -m 700 "$1" "$1/.cairn"
    cd "$1" || exit 1
    shift
    cat >inner.yaml <<'END'
name: inner
tasks:
  pay: {run: echo pay >>ran, once: true}
  use: {needs: [pay], run: "echo use >>ran; cp made used"}
  last: {needs: [use], run: "test ! -e bad; until test ! -e hold; do touch held; sleep 0.05; done"}
  other: {run: echo other >>ran}
END
    cat >outer.yaml <<END
name: outer
tasks:
  make: {run: cp source made, inputs: [source], outputs: [made]}
  inside: {needs: [make], run: cairn run inner.yaml $*}
  behind: {needs: [inside], run: echo behind >>ran}
END
    echo one >source
}
ran() { # EXPECTED NAME
    is "$(sort ran | uniq -c | sed 's/^ *//' | tr '\n' ' ')" "$1" "$2"
}

# ---- The inner run was finished by hand, behind the failure of its task ----
place by-hand
touch bad
exits 1 cairn run outer.yaml
rm bad
exits 0 cairn resume 2
exits 0 cairn resume 1
says 'run 1 completed'
ran '1 behind 1 other 1 pay 1 use ' 'what was finished by hand does not run again'
exits 10 cairn status 3
cd ..

place decided
sed -i 's/echo pay >>ran/echo pay >>ran; until test ! -e hold; do touch held; sleep 0.05; done/' inner.yaml
touch hold
timeout 60 cairn run outer.yaml >first.out 2>&1 &
first=$!
wait_for 30 test -e held
# The outer one first: otherwise it may store that its task was killed.
kill -9 "$(field 1 owner_pid)" "$(field 2 owner_pid)" 2>/dev/null
wait $first
rm hold
exits 1 cairn resume 1
says '(exit 8'
exits 0 cairn resolve 2 pay "done"
exits 0 cairn resume 1
says 'run 1 completed'
ran '1 behind 1 other 1 pay 1 use ' 'what was decided is not done again'
exits 10 cairn status 3
cd ..

# ---- What it is given was made again: nothing of the unfinished run counts ----
for how in failed killed partial edited; do
    place given-$how "$(test $how != partial || echo use)"
    case $how in
    failed | edited)
        touch bad
        exits 1 cairn run outer.yaml
        rm bad
        ;;
    partial)
        exits 0 cairn run outer.yaml
        is "$(field 2 state)" waiting 'a part of the inner run'
        ;;
    killed)
        touch hold
        timeout 60 cairn run outer.yaml >first.out 2>&1 &
        first=$!
        wait_for 30 test -e held
        kill -9 "$(field 2 owner_pid)" "$(field 1 owner_pid)"
        wait $first
        rm hold
        ;;
    esac
    echo two >source
    if test $how = edited; then
        echo one >source
        sed -i 's/inner.yaml/inner.yaml -j1/' outer.yaml
    fi
    exits 0 cairn resume 1
    is "$(cat used)" "$(cat source)" "$how: what the inner task uses is of now"
    is "$(grep -c use ran) $(grep -c pay ran)" '2 2' "$how: all of it runs again"
    exits 0 cairn log inside --run 1
    says 'pay must not run twice if interrupted; it has completed in run 2, and runs again now' "$how: not without a word"
    cd ..
done

# A retry and a resume go on, and so does a second part in one attempt.
place retried
sed -i 's/inner.yaml }/inner.yaml, retries: 1}/' outer.yaml
sed -i 's/test ! -e bad/test -e tried || { touch tried; exit 1; }/' inner.yaml
exits 0 cairn run outer.yaml
ran '1 behind 1 other 1 pay 1 use ' 'a retry continues with the inner run'
cd ..
place parts
sed -i 's/run: cairn run inner.yaml /run: cairn run inner.yaml use \&\& cairn run inner.yaml/' outer.yaml
exits 0 cairn run outer.yaml
ran '1 behind 1 other 1 pay 1 use ' 'one part after the other'
cd ..

# Both parts were done when their task was killed.
place killed-behind
sed -i 's/run: cairn run inner.yaml /run: "cairn run inner.yaml use \&\& cairn run inner.yaml; touch held; until test ! -e slow; do sleep 0.05; done"/' outer.yaml
touch slow
timeout 60 cairn run outer.yaml >first.out 2>&1 &
first=$!
wait_for 30 test -e held
kill -9 "$(field 1 owner_pid)"
wait $first
rm slow
exits 0 cairn resume
ran '1 behind 1 other 1 pay 1 use ' 'nothing of both is done again'
cd ..

# ---- Its task failed, though the inner run had completed ----
after() { # COMMAND...: what the outer task does behind the inner run
    sed -i "s/cairn run inner.yaml }/\"cairn run inner.yaml >>call 2>\&1 \&\& $1\"${2-}}/" outer.yaml
}
place behind-failed
after 'test -e ok'
exits 1 cairn run outer.yaml
exits 1 cairn resume 1
exits 0 cairn status 2
ok 'a resume says which run continues' grep -q 'task inside of run 1 began run 2, which has completed' call
ok 'that nothing is left of it' grep -q 'run 2: nothing to do' call
ok 'and what begins another' grep -q 'begin another: .cairn run .*inner.yaml --fresh' call
touch ok
exits 0 cairn rerun --run 1 inside
says 'run 1 completed'
ran '1 behind 1 other 1 pay 1 use ' 'neither a resume nor a rerun of the failed task repeats it'
exits 10 cairn status 3
exits 0 cairn rerun --run 1 inside
is "$(grep -c use ran)" 2 'a rerun of the completed task begins another'
cd ..

place behind-retried
after 'test -e ok || { touch ok; exit 1; }' ', retries: 1'
exits 0 cairn run outer.yaml
ran '1 behind 1 other 1 pay 1 use ' 'nor does a retry'
cd ..

place behind-edited
after 'test -e ok'
exits 1 cairn run outer.yaml
touch ok
sed -i 's/echo use/echo newer/' inner.yaml
exits 0 cairn resume 1
ran '1 behind 1 newer 1 other 1 pay 1 use ' 'of an edited inner workflow, what was edited runs again'
exits 10 cairn status 3
cd ..

place behind-fresh
after 'test -e ok'
sed -i 's/run inner.yaml/run --fresh inner.yaml/' outer.yaml
exits 1 cairn run outer.yaml
touch ok
exits 0 cairn resume 1
ran '1 behind 2 other 2 pay 2 use ' '--fresh begins another each time'
cd ..

place behind-given
after 'test -e ok'
exits 1 cairn run outer.yaml
touch ok
echo two >source
exits 0 cairn resume 1
is "$(cat used)" two 'what it is given was made again: another begins'
cd ..

# A check that says no asks for the whole work; what a check or an undo runs looks anew.
place behind-check
sed -i 's/cairn run inner.yaml }/cairn run inner.yaml, check: "cairn run look.yaml \&\& test -e ok"}/' outer.yaml
printf 'name: look\ntasks: {look: {run: echo look >>ran}}\n' >look.yaml
exits 1 cairn run outer.yaml
touch ok
exits 0 cairn resume 1
ran '1 behind 2 look 2 other 2 pay 2 use ' 'its check had said that nothing was done'
cd ..

place behind-fork
after 'test -e ok'
exits 1 cairn run --keep 0 outer.yaml
touch ok
last=$(cairn checkpoint list --run 1 | sed -n '2s/ .*//p')
exits 1 cairn resume --from "$last"
exits 0 cairn resolve 4 pay "done"
exits 0 cairn resume 3
is "$(grep -c pay ran)" 1 'in a fork it is asked, too'
cd ..

# ---- A fork from before the task: it is asked ----
place fork
exits 0 cairn run --keep 0 outer.yaml
checkpoint=$(cairn checkpoint list --run 1 --json | sed 's/.*"id":"\(workflow:1-[0-9a-f]*\)".*/\1/')
exits 1 cairn resume --from "$checkpoint"
exits 0 cairn log inside --run 3
says 'it has completed in run 2, and runs again only if that is decided'
exits 0 cairn status 4 --tasks
says 'unknown'
is "$(grep -c pay ran)" 1 'it did not run again'
exits 0 cairn resolve 4 pay "done"
exits 0 cairn resume 3
ran '2 behind 2 other 1 pay 2 use ' 'the others did'
: >ran
exits 1 cairn resume --from "$checkpoint"
exits 0 cairn resolve 6 pay rerun
exits 0 cairn resume 5
ran '1 behind 1 other 1 pay 1 use ' 'and it does where that is decided'
last=$(cairn checkpoint list --run 1 | sed -n '2s/ .*//p')
exits 0 cairn resume --from "$last"
says '0 of 3 tasks to run'
cd ..

# Its check decides.
place checked
sed -i 's/once: true/once: true, check: grep -q pay ran/' inner.yaml
exits 0 cairn run --keep 0 outer.yaml
exits 0 cairn resume --from workflow:1
is "$(grep -c pay ran)" 1 'its check says that it was done'
: >ran
exits 1 cairn resume --from workflow:1
exits 0 cairn resume
is "$(grep -c pay ran)" 1 'or that it was not'
cd ..

# ---- A service, and what is needed only for the order, give nothing ----
beside() { # DIRECTORY NEEDS [KEY]: of the task with the inner run
    place "$1"
    cat >outer.yaml <<END
name: outer
tasks:
  db: {service: true, run: 'exec sleep 60', ready: 'true'}
  dir: {run: echo dir >>ran; touch made, outputs: [made]}
  inside: {needs: [$2], run: 'cairn run inner.yaml && test -e ok'${3:-}}
END
    echo one >made
    exits 1 cairn run outer.yaml
    rm -f made
    touch ok
    exits 0 cairn resume
}
beside by-service 'db'
ran '2 dir 1 other 1 pay 1 use ' 'a service that is started again changes nothing'
cd ..
beside by-order '{task: dir, order: true}'
ran '2 dir 1 other 1 pay 1 use ' 'nor does what is needed only for the order'
exits 10 cairn status 3
cd ..
beside by-need 'dir'
ran '2 dir 2 other 2 pay 2 use ' 'any other need does'
cd ..
beside by-file '{task: dir, order: true}' ', inputs: [made]'
ran '2 dir 2 other 2 pay 2 use ' 'and a file of it that the task reads'
cd ..
done_testing
