# make: sanitize
# A task that has outlived its cairn (on_crash: adopt) is running, whoever asks, before it
# is adopted and while it is.
. "$TESTS/cli/tap.sh"

cat >cairn.yaml <<'END'
name: kept
on_crash: adopt
tasks:
  a: {run: 'echo a >>log; touch begun; until [ -e go ]; do sleep 0.02; done'}
  b: {run: 'true', needs: a}
END
killed_at begun cairn run
exits 0 cairn status --tasks
matches '  running      a  [0-9.]*s' 'its cairn is dead, and it runs'
says '  not run      b'
exits 0 cairn status --tasks --state running --json
is "$(json_get '.tasks[0].task')" a 'so it is listed as running'
cairn resume >resume.out 2>&1 &
pid=$!
wait_for 20 sh -c 'cairn status --json | grep -q "\"live\":true"'
exits 0 cairn status --tasks
matches '  running      a  [0-9.]*s' 'it was adopted, and runs'
touch go
wait $pid
wait_for 20 sh -c 'cairn status --json | grep -q "\"state\":\"completed\""'
exits 0 cairn status --tasks
says '  completed    a' 'it has completed'
is "$(wc -l <log)" 1 'once'

# One that must not run twice was ended under its keeper: somebody decides.
cat >once.yaml <<'END'
name: once
on_crash: adopt
tasks:
  pay: {once: true, run: 'touch begun; until [ -e go ]; do sleep 0.02; done'}
  next: {needs: pay, run: 'true'}
END
for how in cancel 'run --fresh once.yaml'; do
    rm -rf .cairn begun go
    killed_at begun cairn run once.yaml
    exits 0 cairn status 1
    is "$(grep -c unknown out)" 0 "$how: it still runs"
    case $how in cancel) exits 0 cairn cancel 1 ;; *)
        rm begun
        (wait_for 20 test -e begun; touch go) &
        # shellcheck disable=SC2086
        exits 0 cairn $how
        wait
        ;;
    esac
    exits 0 cairn status 1
    says '1 unknown' "$how: it is unknown"
    says 'cairn resolve 1 pay done' 'and what to do is said'
    is "$(grep -c interrupted out)" "$([ "$how" = cancel ] && echo 0 || echo 1)" 'it is not interrupted, whatever the run is'
    exits 0 cairn plan --run 1
    says 'cairn resolve 1 pay done' 'plan says it, too'
done
done_testing
