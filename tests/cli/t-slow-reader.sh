# The reader of what cairn prints does not read (a pager, Ctrl-S): time limits, stops and
# the record go on all the same, and what was not shown is said when it reads again.
. "$TESTS/cli/tap.sh"

# 40 failures with 4 KB of their output each: more than a pipe takes.
cat >some.yaml <<'END'
name: some
on_failure: continue
jobs: 3
tasks:
  limited: {run: "sleep 1000", timeout: 1s}
  long: {run: "sleep 1001"}
  fails: {foreach: {k: {range: [1, 40]}}, run: 'yes "$(head -c 200 /dev/zero | tr "\0" x)" | head -n 20; exit 1'}
END
mkfifo pipe
start() { # a run whose reader reads only when there is a file `go`
    rm -rf go .cairn
    (
        while [ ! -e go ]; do sleep 0.05; done
        exec cat >shown
    ) <pipe &
    reader=$!
    env --default-signal=INT,QUIT sh -c "exec 2>&1; exec cairn run --fresh $*" >pipe &
    pid=$!
}
failed() { # whether so many tasks have failed, by the record
    cairn status --json >status.json 2>status.err
    [ "$(json_get .failed status.json)" = "$1" ]
}
stopped() {
    cairn status --json >status.json 2>status.err
    [ "$(json_get .live status.json)" = false ]
}
ended() { [ ! -e /proc/$pid ] || grep -q '^State:.Z' /proc/$pid/status 2>/dev/null; }
finish() {
    touch go
    wait $pid
    status=$?
    wait $reader
    cp shown out
    : >err
    tap_last='cairn run --fresh'
}

start some.yaml
ok 'all ends are recorded, that at the time limit too, while nobody reads' wait_for 20 failed 41
exits 0 cairn cancel
ok 'a cancel is obeyed while nobody reads' wait_for 20 stopped
ok 'the command waits for its reader, to show the rest' test -e /proc/$pid
finish
is "$(grep -c '^FAILED fails' shown)" 40 'every line of that is shown'
says 'resume with: cairn resume 1' 'and the last line'
ok 'nothing is said to be missing' sh -c '! grep -q "not shown" shown'

# A signal that comes after the run ends the waiting, too.
start some.yaml
ok 'nobody reads again' wait_for 20 failed 41
kill -TERM $pid
ok 'SIGTERM is obeyed' wait_for 20 stopped
sleep 0.2
kill -TERM $pid
ok 'and a second one ends the command, though nobody reads' wait_for 20 ended
finish

# More than is kept for a reader.
cat >much.yaml <<'END'
name: much
on_failure: continue
tasks:
  fails: {foreach: {k: {range: [1, 700]}}, run: 'yes "$(head -c 200 /dev/zero | tr "\0" x)" | head -n 20; exit 1'}
END
start much.yaml
ok 'a run that prints megabytes ends while nobody reads' wait_for 60 failed 700
finish
is "$status" 1 'with its own exit status'
matches '^[0-9]+ lines were not shown: the reader of the output was too slow$' 'what is missing is told'
n=$(sed -n 's/^\([0-9]*\) lines were not shown.*/\1/p' shown | awk '{ n += $1 } END { print n + 0 }')
lines=$(grep -vc -e '^\[' -e 'not shown' shown) # without lines of progress
# Of each task 22: that it failed, its output, what to type.
ok 'all others are shown' test $((lines + n)) -ge $((700 * 22 + 3)) -a $((lines + n)) -lt $((700 * 22 + 30))
says 'resume with: cairn resume' 'the last line is there'

start --json much.yaml '2>/dev/null'
ok 'the same with --json' wait_for 60 failed 700
finish
json_ok 'each line is a whole document' shown
dropped=$(sed -n 's/.*"type":"lines_dropped".*"lines":\([0-9]*\).*/\1/p' shown | awk '{ n += $1 } END { print n + 0 }')
ok 'lines were dropped, which a line says' test "$dropped" -gt 0
last=$(tail -n 1 shown | sed 's/.*"sequence":\([0-9]*\),.*/\1/')
is "$(($(wc -l <shown) + dropped))" "$last" 'as many as numbers are missing'
is "$(tail -n 1 shown | sed 's/.*"type":"\([a-z_]*\)".*/\1/')" run_finished 'the result comes last'

# A reader that reads: what was printed stays, whenever cairn is killed.
cat >kill.yaml <<'END'
name: kill
jobs: 1
tasks:
  a: {run: "true"}
  b: {needs: [a], run: "kill -9 $(ps -o ppid= $$)"}
END
lost=0
for round in 1 2 3 4 5 6 7 8 9 10; do
    cairn run --fresh kill.yaml 2>&1 | cat >shown
    grep -q '^ok   a' shown || lost=$((lost + 1))
done
is "$lost" 0 'a kill of cairn loses no line that was printed before'

# A pipe that somebody made non-blocking: the same.
if command -v python3 >/dev/null; then
    cat >nonblocking.py <<'END'
import os, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(w, False)
run = subprocess.Popen(sys.argv[1:], stdout=w, stderr=subprocess.DEVNULL)
os.close(w)
time.sleep(1)
got = b''
while True:
    part = os.read(r, 4096)
    if not part:
        break
    got += part
    time.sleep(0.001)
open('shown', 'wb').write(got)
sys.exit(run.wait())
END
    printf 'name: many\ntasks:\n  t: {foreach: {i: {range: [1, 400]}}, run: "true"}\n' >many.yaml
    exits 0 python3 nonblocking.py cairn run many.yaml --json
    is "$(grep -c task_finished shown)" 400 'no line is missing where it is non-blocking'
    is "$(tail -n 1 shown | sed 's/.*"type":"\([a-z_]*\)".*/\1/')" run_finished 'nor the result'
else
    skip 'a non-blocking pipe' 'python3 is missing'
fi
# A line that is longer than what may wait is no sign of a slow reader.
cat >wide.yaml <<'END'
name: wide
tasks:
  wide: {run: 'head -c 3000000 /dev/zero | tr "\0" x; exit 3'}
END
cairn run --fresh --output=group --output-limit 4M wide.yaml 2>&1 | cat >shown
ok 'a line of 3 MB is shown' [ "$(tr -cd x <shown | wc -c)" -ge 3000000 ]
ok 'and what comes after it' grep -q '^FAILED wide' shown
ok 'and nothing is said to be missing' sh -c '! grep -q "not shown" shown'

done_testing
