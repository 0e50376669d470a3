# shellcheck shell=sh disable=SC2016,SC2154,SC1091
# Tasks that had ended when cairn was killed, but whose outcome was not yet stored: they
# do not run again. A program that has the store locked makes that moment long.
. "$TESTS/cli/tap.sh"

# A library that is loaded first is not AddressSanitizer's.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"

hold=$BUILD/tests/tools/hold

# For the test of what is moved, near the end: older than all that runs here.
mkdir in1 in2 out1 out2
echo old >in1/in
echo new >in2/in
echo foreign >out2/o.txt

# begin FILE N: runs the workflow until N tasks wait for `go`, takes the write lock, and
# lets them end.
begin() {
    rm -rf .cairn ran began checked go holding held
    : >ran
    : >began
    cairn run "$1" >run.out 2>&1 &
    pid=$!
    wait_for 20 began "$2" || return 1
    : >holding
    "$hold" .cairn/cairn.db holding >held &
    holder=$!
    wait_for 20 grep -q held held && : >go
}
began() { [ "$(wc -l <began)" -ge "$1" ]; }
ran() { [ "$(wc -l <ran)" -ge "$1" ]; }

# crash N [NOTED]: once N tasks have ended and as many, or NOTED, are noted, cairn is
# killed.
crash() {
    wait_for 20 ran "$1" && wait_for 20 noted "${2-$1}"
    result=$?
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    rm -f holding
    wait "$holder"
    return $result
}
# The notes are 88 bytes behind a header of 256; an unused one is zeros.
noted() {
    [ "$(tail -c +257 .cairn/live/run-1.*.ends | od -An -v -tx1 -w88 | grep -c ' [1-9a-f]')" -ge "$1" ]
}
# Each line of `ran` once?
once() { [ -z "$(sort ran | uniq -d)" ]; }

body='echo $n >>began; while [ ! -e go ]; do sleep 0.01; done; echo $n >>ran; echo "out of $n"; echo "err of $n" >&2'

cat >plain.yaml <<END
name: plain
jobs: 3
tasks:
  t: {foreach: {n: {range: [1, 12]}}, run: '$body', check: 'echo of the check; echo "\$n" >>checked'}
  last: {needs: [t], run: 'echo last >>ran'}
END
ok 'plain: tasks run while the store is locked' begin plain.yaml 3
ok 'six end and are noted: what runs, and what was handed in ahead' crash 6
exits 0 cairn resume
ok 'none of them runs again' once
is "$(sort -u ran | wc -l)" 13 'and all of them ran'
is "$(sort -u checked | wc -l)" 12 'and were checked'
exits 0 cairn log 't[n=2]'
says 'out of 2' 'their output is there'
says 'err of 2'
is "$(cat out)" 'out of 2
err of 2
--- its check:
of the check' 'what its check wrote is not taken for its own, but stands behind it'
is "$(find .cairn/live -type f | wc -l)" 0 'nothing is left in live/'
exits 0 cairn resume
says 'nothing to do'
exits 0 cairn checkpoint verify

# What a task leaves: values, declared files, a check after it, secrets in what it
# prints; one that fails and is tried again; one that must not run twice.
cat >kinds.yaml <<'END'
name: kinds
jobs: 8
secrets: [TOKEN]
tasks:
  value:
    run: 'echo value >>began; while [ ! -e go ]; do sleep 0.01; done; echo value >>ran; echo v=41 >>"$CAIRN_OUTPUT"'
  file:
    outputs: [made.txt]
    run: 'echo file >>began; while [ ! -e go ]; do sleep 0.01; done; echo file >>ran; echo made >made.txt'
  checked:
    run: 'echo checked >>began; while [ ! -e go ]; do sleep 0.01; done; echo checked >>ran; echo task'
    check: 'echo checked-by >>checks; echo of the check'
  secret:
    secrets: [TOKEN]
    run: 'echo secret >>began; while [ ! -e go ]; do sleep 0.01; done; echo secret >>ran; echo "is $TOKEN"; echo t=$TOKEN >>"$CAIRN_OUTPUT"'
  failing:
    retries: 1
    run: 'echo failing >>began; while [ ! -e go ]; do sleep 0.01; done; echo failing >>ran; test "$(grep -c failing ran)" -eq 2'
  single:
    once: true
    run: 'echo single >>began; while [ ! -e go ]; do sleep 0.01; done; echo single >>ran'
  exec: {exec: [sh, -c, 'echo exec >>began; while [ ! -e go ]; do sleep 0.01; done; echo exec >>ran']}
  user:
    needs: [value, file, checked, secret, failing, single, exec]
    env: {V: "${{ tasks.value.outputs.v }}"}
    run: 'echo "user $V $(cat made.txt)" >>ran'
END
export TOKEN=open-sesame-4711
ok 'kinds: seven tasks run while the store is locked' begin kinds.yaml 7
ok 'they end and are noted' crash 7
ok 'no secret is in live/ but in its file of values' sh -c '! grep -rlF open-sesame .cairn/live | grep -v values'
exits 0 cairn plan
says 'it has ended while cairn did not run' 'plan: taken over'
exits 0 cairn explain single
says 'it has ended while cairn did not run' 'what must not run twice is not unknown'
exits 0 cairn status
is "$(grep -c 'unknown\|interrupted)' out)" 0 'status: nothing is unknown, or was interrupted'
exits 2 cairn resolve 1 single 'done'
exits 0 cairn resume
says 'what was not yet searched for secrets is lost' 'output that was in a pipe may be lost, which is reported'
is "$(sort ran | tr '\n' ' ')" 'checked exec failing failing file secret single user 41 made value ' 'each ran once, the failed one once more, and the user has value and file'
is "$(sort -u checks)" checked-by 'the check was made'
ok 'nor anywhere in the store' sh -c '! grep -rqF open-sesame .cairn'
exits 0 cairn checkpoint verify

# The secret was another one then: what was made of it does not count.
rm -f checks
ok 'kinds: again' begin kinds.yaml 7
ok 'they end and are noted' crash 7
TOKEN=another-word-0815
exits 8 cairn resume
is "$(count secret ran) $(count value ran) $(count single ran)" '2 2 1' 'another secret: what they wrote may hold the old one, so it does not count'

# A note is worth nothing if it is torn; if its machine was started anew; and if what it
# says of values is not there.
ok 'plain: once more' begin plain.yaml 3
ok 'they end and are noted' crash 6
for file in .cairn/live/run-1.*.ends; do
    printf '\377\1\376\2' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
done
exits 0 cairn resume
says '1 note of ended processes' 'a torn note is reported'
is "$(sort ran | uniq -d | wc -l)" 1 'and its task runs again, no other'

ok 'plain: once more' begin plain.yaml 3
ok 'they end and are noted' crash 6
for file in .cairn/live/run-1.*.ends; do
    head -c 100 "$file" >short && cat short >"$file"
done
exits 0 cairn resume
says 'of ended processes' 'a file that was cut is reported'
is "$(sort ran | uniq -d | wc -l)" 6 'all run again'

TOKEN=open-sesame-4711
ok 'kinds: once more' begin kinds.yaml 7
ok 'they end and are noted' crash 7
for file in .cairn/live/run-1.*.values.*; do
    ! grep -q v=41 "$file" || : >"$file"
done
exits 0 cairn resume
is "$(count value ran) $(count file ran)" '2 1' 'values that are gone: the task runs again'

# Killed again and again while it takes them over.
ok 'plain: once more' begin plain.yaml 3
ok 'they end and are noted' crash 6
for n in 1 2 3 4; do
    CRASH_KILL=any-sync:$n CRASH_MARK=$PWD/mark LD_PRELOAD=$BUILD/tests/crash/killer.so cairn resume >run.out 2>&1
done
ok 'it was killed' test -e mark
exits 0 cairn resume
is "$(sort ran | uniq -d | grep -cx '[1-6]')" 0 'killed at four syncs: none of the six runs again'
is "$(sort -u ran | wc -l)" 13 'and all of them ran'
exits 0 cairn log 't[n=2]'
says 'out of 2' 'their output is still there'

# Edited meanwhile: what a note says is about the task as it was.
ok 'plain: once more' begin plain.yaml 3
ok 'they end and are noted' crash 6
sed 's/echo "out/echo "OUT/' plain.yaml >edited && mv edited plain.yaml
exits 0 cairn resume --on-change rerun
is "$(sort ran | uniq -d | wc -l)" 6 'edited: all run again'

# What belongs to `finally`, and must not run twice.
cat >finally.yaml <<END
name: finally
tasks:
  a: {run: 'echo a >>ran'}
finally:
  mail: {once: true, run: '$body'}
END
n=mail
export n
ok 'finally: its task runs while the store is locked' begin finally.yaml 1
ok 'it ends and is noted' crash 2 1
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a mail ' 'finally: nothing runs again'

# A failure stops the run; what had ended beside it still counts.
cat >stop.yaml <<END
name: stop
jobs: 3
tasks:
  t: {foreach: {n: {range: [1, 12]}}, once: true, run: '$body; [ \$n -ne 2 ] || [ -e good ]'}
END
ok 'stop: tasks run while the store is locked' begin stop.yaml 3
ok 'they end and are noted' crash 3
exits 1 cairn resume
says '2 completed, 1 failed' 'one had failed, and the others are not dropped'
: >good
exits 0 cairn resume
is "$(sort ran | uniq -d)" 2 'only the one that failed ran again'

# A text of words is executed without a shell, and ends as a shell would.
mkdir -p bin
printf '#!/bin/sh\necho x >>began; while [ ! -e go ]; do sleep 0.01; done\necho x >>ran; [ -e again ] || { : >again; kill -TERM $$; }\n' >bin/die
chmod +x bin/die
cat >words.yaml <<END
name: words
tasks:
  x: {run: '$PWD/bin/die', retries: {max: 1, on_exit: [143]}}
END
ok 'words: it runs while the store is locked' begin words.yaml 1
ok 'it ends and is noted' crash 1
exits 0 cairn resume
says 'exit 143' 'its signal is an exit code, which is worth a retry'

# An output that is gone makes its task run again, not fail.
cat >gone.yaml <<END
name: gone
tasks:
  x: {outputs: [o.txt], run: '$body; echo o >o.txt'}
END
ok 'gone: it runs while the store is locked' begin gone.yaml 1
ok 'it ends and is noted' crash 1
rm -f o.txt
exits 0 cairn resume
says 'o.txt is gone' 'its end does not count then'
is "$(wc -l <ran)" 2 'its output was removed: it runs again'

# What it read or made was not recorded yet: if that has changed since, nobody knows.
cat >touched.yaml <<END
name: touched
jobs: 4
tasks:
  made: {outputs: [o.txt], run: '$body; echo right >o.txt'}
  read: {inputs: [in], outputs: [r.txt], run: '$body; cat in >r.txt'}
  tree: {outputs: [d], run: '$body; mkdir -p d; echo right >d/x'}
  same: {inputs: [other], outputs: [s.txt], run: '$body; cat other >s.txt'}
  user: {needs: [made, read, tree, same], run: 'cat o.txt r.txt d/x s.txt >all'}
END
echo old >in
echo right >other
n=x
ok 'touched: four tasks run while the store is locked' begin touched.yaml 4
ok 'they end and are noted' crash 4
echo wrong >o.txt
echo wrong >d/x
echo right >in
exits 0 cairn plan
says 'run   made  it was running' 'plan names it'
exits 0 cairn resume
says 'made had ended when the run was killed, but o.txt has changed since' 'an output that was changed by hand'
says 'read had ended when the run was killed, but in has changed since' 'an input that was'
says 'tree had ended when the run was killed, but d has changed since' 'a file in a directory that was'
is "$(tr '\n' ' ' <all)" 'right right right right ' 'none of them is taken for what the task made or read'
is "$(wc -l <ran)" 7 'three run again, and the one whose files are as they were does not'

# Something else was edited, and cairn killed again: its end still counts. Of an edit of
# its own, and of a project that was moved: tests/cli/t-ended-moved.sh.
cat >twice.yaml <<END
name: twice
tasks:
  x: {once: true, run: '$body'}
END
ok 'twice: it runs while the store is locked' begin twice.yaml 1
ok 'it ends and is noted' crash 1
echo '  y: {run: "true"}' >>twice.yaml
CRASH_KILL=any-sync:2 CRASH_MARK=$PWD/mark LD_PRELOAD=$BUILD/tests/crash/killer.so cairn resume >run.out 2>&1
exits 0 cairn resume
is "$(wc -l <ran)" 1 'edited, killed, resumed: it ran once'


# What was moved there since has times from before.
cat >moved.yaml <<END
name: moved
jobs: 3
tasks:
  read: {inputs: [from/in], outputs: [r.txt], run: '$body; cat from/in >r.txt'}
  made: {outputs: [to/o.txt], run: '$body; echo mine >to/o.txt'}
  same: {inputs: [other], outputs: [s.txt], run: '$body; cat other >s.txt; echo same >>ends'}
  user: {needs: [read, made, same], run: 'cat r.txt to/o.txt >all'}
END
mv in1 from
ln -s out1 to
rm -f ends
ok 'moved: three tasks run while the store is locked' begin moved.yaml 3
ok 'they end and are noted' crash 3
mv from in1
mv in2 from
ln -sfn out2 to
exits 0 cairn resume
says 'read had ended when the run was killed, but what it read has changed since' 'an input in a directory that was replaced'
says 'made had ended when the run was killed, but to/o.txt has changed since' 'an output behind a link that was turned'
is "$(tr '\n' ' ' <all)" 'new mine ' 'both run again'
is "$(cat ends)" same 'the third does not'
done_testing
