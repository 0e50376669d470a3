# A task that runs another workflow: after kill -9 of everything the outer run is what
# continues, and the inner one continues inside it.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE # found from the directory, by the inner cairn, too
mkdir -m 700 killed killed/.cairn
cd killed || exit 1
cat >outer.yaml <<'END'
name: outer
tasks:
  first: {run: echo first >>ran}
  inside:
    needs: [first]
    run: |
      cairn run inner.yaml >>inside.out 2>&1
      echo inside >>ran
  last: {needs: [inside], run: echo last >>ran}
END
cat >inner.yaml <<'END'
name: inner
tasks:
  a: {run: echo a >>ran}
  b: {needs: [a], run: "echo b >>ran; touch began; until test -e go; do sleep 0.05; done"}
  c: {needs: [b], run: echo c >>ran}
END

field() { # RUN NAME: of its document
    cairn status "$1" --json >field.json 2>/dev/null
    json_get ".$2" field.json
}

gone() { # PID: it has ended, though its parent may not have noticed
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

kill_owners() { # RUN...: all at once
    owners=
    for owned; do
        owners="$owners $(field "$owned" owner_pid)"
    done
    # shellcheck disable=SC2086 # a list
    kill -9 $owners
    for owner in $owners; do
        wait_for 20 gone "$owner"
    done
}

timeout 60 cairn run outer.yaml >first.out 2>&1 &
wait_for 30 test -e began
is "$(field 2 parent_run)" 1 'the inner run says which run it is inside'
is "$(field 2 parent_task)" inside 'and which task'
exits 0 cairn status
says 'run 1  outer' 'status shows the outer run, though the inner one is newer'
kill_owners 1 2
wait
exits 0 cairn status
says 'run 1  outer' 'status shows the outer run, now that both are interrupted'
says 'run 2 of inner' 'and names the other unfinished run'
exits 0 cairn doctor
says 'cairn resume 1' 'doctor names the runs that are not finished, and the remedy'
exits 0 cairn runs
says 'in run 1' 'the list of runs says which are inside others'
touch go
exits 0 cairn resume
says 'run 1 completed' 'resume continues with the outer run'
is "$(tr '\n' ' ' <ran)" 'first a b b c inside last ' 'no finished task of either ran again'
ok 'the inner run continues' grep -q 'continuing run 2' inside.out
ok 'and says where it was begun' grep -q 'inside.* of run 1' inside.out
is "$(field 2 state)" completed 'the same inner run'
exits 0 cairn resume
says 'run 1: nothing to do'
exits 10 cairn status 3
cd ..

# The inner run has completed, the attempt that began it was killed: what it did stays
# done, but a second call of the same attempt is a second run.
mkdir -m 700 completed completed/.cairn
cd completed || exit 1
cat >inner.yaml <<'END'
name: inner
tasks: {a: {run: echo a >>ran}}
END
cat >outer.yaml <<'END'
name: outer
tasks:
  twice:
    run: |
      cairn run inner.yaml >>first.call 2>&1
      test -e go || { touch began; sleep 60; }
      cairn run inner.yaml >>second.call 2>&1
  other: {needs: [twice], run: "cairn run inner.yaml >>other.call 2>&1"}
END
timeout 60 cairn run outer.yaml >first.out 2>&1 &
wait_for 30 test -e began
kill_owners 1
wait
touch go
exits 0 cairn resume
ok 'what the inner run did before the kill is not done again' grep -q 'run 2: nothing to do' first.call
ok 'the next call begins another' grep -q 'run 3 of inner' second.call
ok 'and so does another task' grep -q 'run 4 of inner' other.call
is "$(wc -l <ran)" 3 'each call ran the inner workflow once'
rm go began
is "$(field 2 parent_task) $(field 4 parent_task)" 'twice other' 'each run knows its task'
exits 0 env CAIRN_TOKEN=x CAIRN_TASK=twice cairn run inner.yaml
is "$(field 5 parent_run)" null 'a token that means nothing makes no child'
exits 0 cairn status
says 'run 5  inner' 'a run that no task began is shown'
cat >needing.yaml <<'END'
name: needing
tasks:
  data: {outputs: [data], run: "echo data >data"}
  uses:
    needs: [data]
    run: |
      cairn run inner.yaml >>uses.call 2>&1
      test -e go || { touch began; sleep 60; }
END
timeout 60 cairn run needing.yaml >first.out 2>&1 &
wait_for 30 test -e began
kill_owners 6
wait
touch go
rm data # what the task needs has to run again, so the inner workflow has, too
exits 0 cairn resume 6
ok 'it is begun anew where what it works on was made again' grep -q 'run 8 of inner' uses.call
exits 0 cairn gc --keep-runs 1
exits 0 cairn checkpoint verify
cd ..

# The same after the project was moved, and after an edit of something else; not after one
# of the task itself, or of what it needs.
for how in moved other itself needed; do
    mkdir -m 700 edited-$how edited-$how/.cairn
    cd edited-$how || exit 1
    cat >inner.yaml <<'END'
name: inner
tasks: {a: {run: echo a >>ran}}
END
    cat >outer.yaml <<'END'
name: outer
tasks:
  data: {run: echo data >>data}
  uses:
    needs: [data]
    run: |
      cairn run inner.yaml >>uses.call 2>&1
      test -e go || { touch began; sleep 60; }
END
    timeout 60 cairn run outer.yaml >first.out 2>&1 &
    wait_for 30 test -e began
    kill_owners 1
    wait
    touch go
    again=1
    case $how in
    moved) cd .. && mv edited-moved edited-there && cd edited-there || exit 1 ;;
    other)
        echo '  last: {run: "true"}' >>outer.yaml
        sed -i 's/^tasks:/&\n  before: {run: "true"}/' outer.yaml
        ;;
    itself) sed -i 's/test -e go/test -e ".\/go"/' outer.yaml && again=2 ;;
    needed) sed -i 's/echo data/echo newer/' outer.yaml && again=2 ;;
    esac
    exits 0 cairn resume
    is "$(wc -l <ran)" $again "$how: how often the inner workflow has run"
    cd ..
done

# An attempt that was taken over after an edit is still the same one.
mkdir -m 700 adopted adopted/.cairn
cd adopted || exit 1
cat >inner.yaml <<'END'
name: inner
tasks: {a: {run: echo a >>ran}}
END
cat >outer.yaml <<'END'
name: outer
on_crash: adopt
tasks:
  twice:
    run: |
      cairn run inner.yaml >>first.call 2>&1
      touch began
      until test -e go; do sleep 0.05; done
      cairn run inner.yaml >>second.call 2>&1
END
timeout 60 cairn run outer.yaml >first.out 2>&1 &
wait_for 30 test -e began
kill_owners 1
wait
echo '  last: {run: "touch go"}' >>outer.yaml
exits 0 cairn resume
ok 'taken over after an edit: its next call begins another' grep -q 'run 3 of inner' second.call
is "$(wc -l <ran)" 2 'each call ran the inner workflow once'
cd ..

# A cancelled inner run makes its task cancelled, not failed.
mkdir -m 700 cancelled cancelled/.cairn
cd cancelled || exit 1
cat >inner.yaml <<'END'
name: inner
tasks: {a: {run: "touch began; until test -e go; do sleep 0.05; done"}}
END
cat >outer.yaml <<'END'
name: outer
tasks:
  inside: {run: cairn run inner.yaml, retries: {max: 3}}
  last: {needs: [inside], run: echo last >>ran}
END
timeout 60 cairn run outer.yaml >first.out 2>&1 &
first=$!
wait_for 30 test -e began
exits 0 cairn cancel 2
wait $first
is $? 7 'the outer run stops, with work left'
is "$(field 1 cancelled) $(field 1 failed)" '1 0' 'its task is cancelled'
exits 0 cairn status 1 --tasks
says 'run 2' 'and says which run was cancelled'
touch go
exits 0 cairn resume
is "$(field 2 state) $(field 3 run)" 'completed ' 'resume continues with the cancelled run'
is "$(cat ran)" last 'and the outer one continues behind it'
cd ..

# The inner run has another store: it is nobody's child there, and continues as well.
mkdir -m 700 apart apart/.cairn apart/in apart/in/.cairn
cd apart || exit 1
cat >in/inner.yaml <<'END'
name: inner
tasks:
  a: {run: echo a >>ran}
  b: {needs: [a], run: "touch ../began; until test -e ../go; do sleep 0.05; done"}
END
cat >outer.yaml <<'END'
name: outer
tasks: {inside: {run: cd in && cairn run inner.yaml}}
END
timeout 60 cairn run outer.yaml >first.out 2>&1 &
wait_for 30 test -e began
kill_owners 1
(cd in && kill_owners 1)
wait
touch go
exits 0 cairn resume
is "$(cat in/ran)" a 'in a store of its own, the inner run continues, too'
cd ..

# With a key: only a link with its HMAC counts.
mkdir -m 700 keyed keyed/.cairn
cd keyed || exit 1
head -c 32 /dev/zero >key
chmod 600 key
CAIRN_KEY=$PWD/key
export CAIRN_KEY
cat >inner.yaml <<'END'
name: inner
tasks: {a: {run: "echo a >>ran; touch began; until test -e go; do sleep 0.05; done"}}
END
cat >outer.yaml <<'END'
name: outer
tasks: {inside: {run: "CAIRN_KEY=$PWD/key cairn run inner.yaml"}}
END
timeout 60 cairn run outer.yaml >first.out 2>&1 &
wait_for 30 test -e began
kill_owners 1 2
wait
is "$(field 2 parent_run)" 1 'with a key the link is kept, too'
cp -r .cairn linked
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE meta SET value = replace(value, ' inside', ' elsewhere') WHERE key = 'parent.2'" >sql.out
is "$(field 2 parent_run)" null 'one that was changed counts for nothing'
rm -r .cairn
mv linked .cairn
touch go
exits 0 cairn resume
says 'run 1 completed'
is "$(field 2 state)" completed 'and the inner run, inside it'
unset CAIRN_KEY
cd ..

done_testing
