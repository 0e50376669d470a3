# examples/callbacks: killed in the second of three callbacks, and finished by another
# process, which has the registry and the store only. The command shows such runs, and
# refuses to run them.
. "$TESTS/cli/tap.sh"
program=$BUILD/examples/callbacks

run "$program" begin
is "$status" 137 'killed in the second callback'
is "$(tr '\n' ';' <out)" 'fetch https://example.org/;count;' 'the first one has completed'
exits 0 cairn status --store pages.cairn
says '1 completed, 2 not run (1 interrupted)' 'status shows what was interrupted'
says 'resume with: the program' 'and that the program resumes it'
exits 0 cairn plan --store pages.cairn
says '1 of 3 tasks will run' 'the plan counts what is done'
exits 2 cairn resume --store pages.cairn
says 'calls `fetch`, a function that this program does not have: start the program that has it' 'the command refuses to resume it'
touch calm
run "$program" resume
is "$status" 0 'another process resumes it from the stored definition'
is "$(tr '\n' ';' <out)" 'count;report page of https://example.org/: 28;completed;' 'with the value and the arguments'

# A file that says the same: killed, and finished by the program.
rm calm
cat >killed.yaml <<'END'
name: killed
tasks:
  fetch: {call: fetch, with: {url: here}}
  count: {call: count, needs: fetch}
END
run "$program" begin killed.yaml
is "$status" 137 'a run from a file is killed'
exits 0 cairn status 2 --store pages.cairn
says 'resume with: the program that has its functions' 'of a file, too, the program resumes it'
exits 0 cairn next 2 --store pages.cairn
says 'continue with: the program that has its functions' 'next says so, too'
exits 2 cairn status 2 --can-resume --store pages.cairn
says 'run 2 has functions of a program' 'the command cannot'
exits 2 cairn resume 2 --store pages.cairn
touch calm
run "$program" begin killed.yaml
is "$(tr '\n' ';' <out)" 'count;completed;' 'the program does'

# Another one.
cat >flow.yaml <<'END'
name: file
again: never
tasks:
  a: {call: fetch, with: {url: here}}
  b: {run: echo b, needs: a}
END
exits 0 cairn validate flow.yaml
exits 0 cairn graph flow.yaml
exits 0 cairn plan flow.yaml --store pages.cairn
exits 2 cairn run flow.yaml --store pages.cairn
says 'task `a` calls `fetch`' 'the command refuses to run the file'
run "$program" begin flow.yaml
is "$status" 0 'the program runs it'
exits 0 cairn plan flow.yaml --store pages.cairn
says '0 of 2 tasks will run' 'the command takes the version of the callback from the run'
sed -i 's/url: here/url: there/' flow.yaml
exits 0 cairn plan flow.yaml --store pages.cairn
run env FETCH_VERSION=2 "$program" resume
is "$(head -n 1 out)" 'fetch https://example.org/' 'another version of a callback runs again'
sed -i 's/call: fetch/call: other/' flow.yaml
run "$program" begin flow.yaml
is "$status" 75 'a callback that is not there: nothing runs'
says 'task `a` calls `other`, which the registry of this program does not have; it has `fetch`, `inspect`, `count`, `withdraw`, `report`' 'it is named'

# Its check and its undo are functions, too: only the program can undo.
run env FETCH_VERSION=2 "$program" resume
exits 2 cairn undo 1 --store pages.cairn
says 'task report is undone by `withdraw`, a function that this program does not have' 'the command cannot undo it'
run "$program" undo 1
is "$status" 0 'the program can, in a new process'
is "$(head -n 1 out)" 'withdraw page of https://example.org/' 'with the arguments of that time'
exits 0 cairn status 1 --tasks --store pages.cairn
says 'report' 'undone' 'which is recorded'
sed -e 's/call: other, with: {url: there}/call: fetch, undo: {call: forget}/' -i flow.yaml
run "$program" begin flow.yaml
is "$status" 75 'an undo that is not there: nothing runs'
says 'task `a` calls `forget`, which the registry' 'it is named'
done_testing
