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
done_testing
