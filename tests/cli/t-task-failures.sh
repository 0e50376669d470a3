# Every way in which a task can fail: exit 1, and the message says how and what to do.
. "$TESTS/cli/tap.sh"

# fails 'YAML of the task' : runs it; exit 1
fails() {
    printf 'name: w\ntasks:\n  t: %s\n' "$1" >w.yaml
    exits 1 cairn run --fresh w.yaml
}

fails '{run: "echo one; echo two >&2; exit 3"}'
says 'exit 3'
says 'two' 'the last lines of its output are shown'
says 'cairn log t --run 1' 'with the command to see the rest'
says 'cairn resume 1' 'and how to continue'

fails '{exec: [no-such-command-anywhere]}'
says '127' 'a command that is not found: its exit code'
says 'no-such-command-anywhere' 'and its name'
matches 'not found|No such file' 'and the reason'
printf 'x' >plain
fails '{exec: [./plain]}'
says '126' 'a file that may not be executed: its exit code'
says 'plain' 'and its name'
fails '{run: no-such-command-anywhere}'
says '127' 'the same within a shell'

# exec says the same of a command and of its interpreter.
mkdir bin
printf '#! /nosuch/interp -x\n' >scripted
printf '#!%s\n' "$PWD/scripted" >bin/by-script
printf '#!/bin/sh\r\n' >dos
sed 's|ld-linux[a-z0-9_-]*|nn-NOSUX|' "$(command -v cairn)" >foreign
printf '#!/bin/true\n' >bin/good
chmod +x scripted bin/* dos foreign
fails '{exec: [./scripted]}'
says '(exit 127, ' 'a missing interpreter: the exit code of exec'
says 'cannot execute ./scripted: the interpreter /nosuch/interp that the first line of ./scripted names is missing' 'and which it is'
fails '{exec: [../scripted], cwd: bin}'
says 'the interpreter /nosuch/interp that' 'also from another directory'
PATH="$PWD/bin:$PATH" fails '{exec: [by-script]}'
says "cannot execute by-script: the interpreter /nosuch/interp that the first line of $PWD/scripted names" \
    'also in PATH, and of an interpreter that is a script'
fails '{exec: [./dos]}'
says 'ends with a carriage return; save the file with the line ends of Unix' 'the line ends of another system'
says 'carriage return' 'and what they are'
if ./foreign version >/dev/null 2>&1; then
    skip 'a missing loader' 'this program has none that could be renamed'
else
    fails '{exec: [./foreign]}'
    says 'it is there, but the interpreter or loader' 'a missing loader is told of'
fi
fails '{exec: [./none]}'
says 'command not found: ./none' 'what is not there is not found'

fails '{run: "kill -9 $$"}'
matches 'signal 9|KILL' 'death by a signal is named'
fails '{run: "kill -SEGV $$"}'
matches 'signal 11|SEGV' 'whichever it is'

fails '{run: "true", outputs: [result.txt]}'
says 'result.txt' 'an output that is missing after success is named'
matches 'output' 'as an output'
exits 0 cairn status
says 'its output result.txt is missing' 'status tells it, too'
exits 0 cairn log t
ok 'and log, on stderr' grep -q 'result.txt is missing' err
silent_on out
exits 0 cairn log t --json
matches '"text":"[^"]*result.txt is missing' 'and log --json'
fails '{run: "true", cwd: nowhere}'
says 'nowhere' 'a working directory that is missing is named'

fails '{run: "sleep 60", timeout: {after: 300ms, grace: 1s}}'
matches 'time' 'a timeout is named'
fails '{run: "trap \"\" TERM; : marker-'$$'; while :; do sleep 0.1; done", timeout: {after: 200ms, grace: 200ms}}'
matches 'time' 'also of a task that does not heed TERM'
gone() { ! lives "$1"; }
ok 'no process of it is left over' wait_for 5 gone "marker-$$"

rm -f tries
fails '{run: "echo x >>tries; exit 5", retries: {max: 2, delay: 10ms}}'
is "$(grep -c x tries)" 3 'two retries are three attempts'
says '(exit 5, attempt 3, ' 'which attempt it was is told'
rm -f tries
fails '{run: "echo x >>tries; exit 5", retries: {max: 2, delay: 10ms, on_exit: [7]}}'
is "$(grep -c x tries)" 1 'no retry after another exit code'
# A signal counts as 128 and its number, whatever stands between cairn and the program.
cat >die.sh <<'END'
#!/bin/sh
echo x >>tries
kill -9 $$
END
chmod +x die.sh
for how in 'run: "sh die.sh; exit $?"' 'run: sh die.sh' 'exec: [./die.sh]' \
    'shell: bash, run: sh die.sh'; do
    rm -f tries
    fails "{$how, retries: {max: 1, delay: 10ms, on_exit: [137]}}"
    is "$(grep -c x tries)" 2 "killed is exit 137: $how"
done
rm -f tries
fails '{run: "echo x >>tries; sleep 60", timeout: 100ms, retries: {max: 1, on_exit: [143, 137]}}'
is "$(grep -c x tries)" 1 'its time limit is not such an exit'
# `on`: kinds of failures and exit codes. Each line: what is tried again, the task, how
# many attempts there are with `max: 1`.
echo 'not a program' >not-executable
while IFS='|' read -r on task attempts; do
    fails "{$task, retries: {max: 1, on: [$on]}}"
    is "$(($(grep -c '^ *retry ' err) + 1))" "$attempts" "on: [$on] of $task: $attempts"
done <<'ROWS'
timeout|run: sleep 60, timeout: 50ms|2
signal, spawn, check, 143, 137|run: sleep 60, timeout: 50ms|1
timeout|run: exit 75|1
timeout, 75|run: exit 75|2
signal|run: sh die.sh|2
signal|run: "sh die.sh; exit $?"|2
signal|exec: [./die.sh]|2
timeout, spawn, check, 1|exec: [./die.sh]|1
spawn|exec: [./no-such-program]|2
spawn|run: ./no-such-program|2
spawn|exec: [./not-executable]|2
spawn|run: "true", cwd: no-such-directory|2
timeout, signal, check, 1|exec: [./no-such-program]|1
check|run: "true", check: exit 1|2
timeout, signal, spawn, 1|run: "true", check: exit 1|1
check|run: exit 1|1
ROWS
fails '{run: exit 3, retries: {max: 1, on: [timeout, 75]}}'
says 'not tried again: `retries` lists other failures' 'why it is not tried again is told'
exits 0 cairn explain t
says 'not tried again' '... by explain, too'
exits 0 cairn events
says 'not tried again' '... and in the events'
# No pause is longer than the cap.
fails '{run: exit 1, retries: {max: 3, delay: 10ms, factor: 1000, cap: 20ms}}'
is "$(grep -c 'retry.*in 0.02s' err)" 2 'the second and the third pause are as long as the cap'

rm -f tries
printf 'name: w\ntasks:\n  t: {run: "echo x >>tries; [ $(grep -c x tries) -ge 3 ]", retries: {max: 5, delay: 10ms}}\n' >w.yaml
exits 0 cairn run --fresh w.yaml
is "$(grep -c x tries)" 3 'as many attempts as it takes'
exits 0 cairn log t --attempt 2

cat >stop.yaml <<'END'
name: failing
on_failure: stop
jobs: 1
tasks:
  bad: {run: exit 1, priority: 9}
  after: {run: "true", needs: [bad]}
  other: {run: touch other-ran}
END
exits 1 cairn run stop.yaml
ok 'on_failure: stop starts nothing more' test ! -e other-ran
sed 's/: stop/: continue/; s/name: failing/name: going/' stop.yaml >continue.yaml
exits 1 cairn run continue.yaml
ok 'on_failure: continue does what it can' test -e other-ran
says '1 completed, 1 failed, 1 skipped'
exits 0 cairn explain after --json
is "$(json_get .cause)" bad 'explain names the failure behind a skipped task'
exits 1 cairn run continue.yaml --json
json_ok 'a failed run is NDJSON with --json'
exits 0 cairn status
says 'bad' 'status names the failed task'

done_testing
