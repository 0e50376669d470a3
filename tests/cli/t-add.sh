# Tasks that are added to a run.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
ran() { sort ran | tr '\n' ' '; }
stop_between_writes() { # PID
    sleep 0.3
    kill -STOP "$1"
    until "$BUILD/tests/tools/sql" "$CAIRN_STORE/cairn.db" 'BEGIN IMMEDIATE' 2>tried; do
        kill -CONT "$1"
        sleep 0.1
        kill -STOP "$1"
    done
}
cat >w.yaml <<'END'
name: w
params: {day: monday}
tasks:
  build: {run: 'echo build >>ran; echo "v=7" >>$CAIRN_OUTPUT'}
  test: {needs: build, run: 'echo test >>ran'}
finally:
  last: {run: 'echo last >>ran'}
END

# ---- To a run that rests ----
exits 0 cairn run w.yaml
cat >more.yaml <<'END'
tasks:
  more: {needs: build, env: {V: "${{ tasks.build.outputs.v }}"}, run: 'echo "more $V $day" >>ran'}
  each: {foreach: {n: [1, 2]}, needs: more, run: 'echo "each $n" >>ran'}
END
cksum w.yaml >sum
exits 0 cairn add 1 more.yaml
says '3 tasks added to run 1' 'members are counted'
exits 0 cairn status 1
says '2 added tasks wait: cairn resume 1' 'the status names them, though the run has completed'
exits 0 cairn status 1 --json
is "$(json_get .added_waiting)" 2 'as JSON, too'
exits 0 cairn status 1 --can-resume
says 'run 1 can be resumed; 2 added tasks wait' 'and the answer whether it can be resumed'
exits 0 cairn plan w.yaml
says '2 added tasks that have not run: `cairn resume 1`' 'a plan of a new run says so'
is "$(planned --run 1)" 'last more each[n=1] each[n=2]' 'the plan of the run has them'
exits 0 cairn explain more --run 1
says 'it is new in the workflow' 'and explain'
exits 0 cairn events --run 1
: >ran
exits 0 cairn resume 1
is "$(ran)" 'each 1 each 2 last more 7 monday ' 'a resume runs them, and nothing else'
is "$(planned --run 1)" '' 'and then they are done'
exits 0 cairn status 1 --json
is "$(json_get .added_waiting)" 0 'and none waits'
exits 0 cairn plan w.yaml
ok 'nor is anything said of a new run' sh -c '! grep -q added out err'
run cairn status 1 --tasks
says 'each[n=2]' 'status has them'
cksum w.yaml >sum.now
ok 'the file is as it was' cmp sum sum.now
: >ran
exits 0 cairn run w.yaml --fresh
is "$(ran)" 'build last test ' 'a new run has none of them'

# ---- An edited file keeps them ----
sed -i 's/echo test/echo test2/' w.yaml
is "$(planned --run 1)" 'test last' 'after an edit of the file'
: >ran
exits 0 cairn resume 1
is "$(ran)" 'last test2 ' 'only that runs'
exits 0 cairn rerun more --only --run 1
is "$(tail -n 1 ran)" 'more 7 monday' 'an added task can be asked to run again'
ok 'it ran' grep -q 'more 7' ran
sed -i '/^  test:/d' w.yaml
exits 0 cairn resume 1
sed -i 's/^  build:/  built:/' w.yaml
exits 3 cairn resume 1
says 'addition 1 to run 1:2:' 'a file that they do not fit is refused, with the place'
says 'needs `build`, which does not exist' 'and the reason'
exits 0 cairn run w.yaml --fresh
sed -i 's/^  built:/  build:/' w.yaml

# ---- A run that is continued by its file ----
printf 'name: f\ntasks: {a: {run: "test -e fine"}}\n' >f.yaml
exits 1 cairn run f.yaml
echo 'tasks: {b: {needs: a, run: echo b >>ran}}' >b.yaml
exits 0 cairn add "$(sed -n 's/^run \([0-9]*\) failed.*/\1/p' err)" b.yaml
is "$(planned f.yaml)" 'a' 'the plan by its file'
touch fine
: >ran
exits 0 cairn run f.yaml
is "$(ran)" 'b ' 'a run that goes on by its file has them'

# ---- All or nothing ----
exits 0 cairn run w.yaml --fresh
run_n=$(sed -n 's/^run \([0-9]*\) completed.*/\1/p' err)
bad() { # TEXT, what is said
    printf '%s\n' "$1" >bad.yaml
    exits 3 cairn add "$run_n" bad.yaml
    says "$2" "said: $2"
}
bad 'tasks: {a: {run: x}, b: {needs: nowhere, run: x}}' 'bad.yaml:1:'
bad 'tasks: {a: {run: x}, build: {run: x}}' 'build'
bad 'tasks: {a: {needs: b, run: x}, b: {needs: a, run: x}}' 'a'
bad 'a: {run: x}' 'among added tasks'
bad 'tasks: {}' 'no tasks are added'
bad 'tasks: [a]' '`tasks`'
bad 'name: x' 'among added tasks'
bad 'tasks: {a: {run: x, colour: red}}' 'bad.yaml:1:21'
bad '# nothing' 'the file is empty'
exits 10 cairn add 99 more.yaml
exits 10 cairn add "$run_n" missing.yaml
is "$(planned --run "$run_n")" '' 'nothing of it was added'
echo '{"tasks": {"j": {"needs": "build", "run": "echo json >>ran"}}}' >json
tap_last='cairn add -'
ok 'JSON on stdin' sh -c "cairn add $run_n - --by ada <json >out 2>err"
is "$(planned --run "$run_n")" 'last j' 'it is there'
echo '{"tasks": {"k": {"needs": "j", "run": "echo k >>ran"}}}' >json
ok 'one that needs an added one' sh -c "cairn add $run_n - --json <json >out 2>err"
json_ok 'the answer as JSON'
is "$(json_get .tasks) $(json_get .live)" '1 false' 'what it says'
echo '{"tasks": {"k": {"run": "true"}}}' >json
exits 3 cairn add "$run_n" json
exits 0 cairn add "$run_n" more.yaml
exits 0 cairn add "$run_n" more.yaml
says 'they are in run' 'the same text again adds nothing'
: >ran
exits 0 cairn resume "$run_n"
is "$(ran)" 'each 1 each 2 json k last more 7 monday ' 'all of them run'
exits 0 cairn events --run "$run_n"
says 'asked to add: by ada' 'who added is recorded'

# ---- By a task whose here-document has expressions ----
cat >here.yaml <<'END2'
name: here
tasks:
  first:
    run: |
      cairn add "$CAIRN_RUN" - <<'E'
      tasks: {second: {needs: first, exec: [echo, "run $${{ run.id }}"], outputs: []}}
      E
END2
exits 0 cairn run here.yaml
exits 0 cairn log second
matches '^run [0-9]+$' 'its text is an expression in the added task'

# ---- Behind earlier additions, of which only those that are named are read ----
mkdir behind && cd behind || exit 1
printf 'name: p\ntasks:\n  build: {run: echo build >>ran}\n' >p.yaml
exits 0 cairn run p.yaml
run_n=$(sed -n 's/^run \([0-9]*\) of p.*/\1/p' err)
add() { # TEXT
    printf '%s\n' "$1" | tr @ "'" >text
    exits 0 cairn add "$run_n" text
}
refused() { # TEXT, what is said
    printf '%s\n' "$1" | tr @ "'" >text
    exits 3 cairn add "$run_n" text
    says "$2" "said: $2"
}
add 'tasks: {a.b: {needs: build, run: "echo v=7 >>$CAIRN_OUTPUT"}}'
add 'tasks: {c: {needs: a.b, env: {V: "${{ tasks[@a.b@].outputs.v }}"}, run: "echo c $V >>ran"}}'
add 'tasks: {g: {needs: c, foreach: {n: [1, 2]}, run: "echo v=$n >>$CAIRN_OUTPUT"}}'
add 'tasks: {h: {needs: ["g[n=${{ n }}]"], foreach: {n: [1, 2]}, run: "echo h $n >>ran"}}'
add 'tasks: {i: {needs: h, env: {V: "${{ tasks[@a.b@].outputs.v }}"}, run: "echo i $V >>ran"}}'
refused 'tasks: {k: {needs: ["g[n=3]"], run: x}}' 'has no member'
refused 'tasks: {k: {needs: a, run: x}}' 'which does not exist'
refused 'tasks: {k: {needs: h, env: {V: "${{ tasks.i.outputs.v }}"}, run: x}}' 'does not need'
refused 'tasks: {k: {run: x}, g: {run: x}}' 'there is a task `g` already, by addition 3 to run'
refused 'tasks: {k: {run: x}, build: {run: x}}' 'there is a task `build` already'
add 'tasks: {"\x6c": {needs: "\x69", run: echo l >>ran}}'
is "$(planned --run "$run_n")" 'a.b c g[n=1] g[n=2] h[n=1] h[n=2] i l' 'all of it is in the plan'
# An edited file is looked at with all of them.
sed -i 's/^  build:/  built:/' p.yaml
refused 'tasks: {k: {run: x}}' 'needs `build`, which does not exist'
sed -i 's/^  built:/  build:/' p.yaml
: >ran
exits 0 cairn resume "$run_n"
is "$(ran)" 'c 7 h 1 h 2 i 7 l ' 'and all of it runs'
cd .. || exit 1

# ---- Withdrawn ----
mkdir back && cd back || exit 1
printf 'name: back\ntasks:\n  build: {run: echo build >>ran}\n' >back.yaml
exits 0 cairn run back.yaml
run_n=$(sed -n 's/^run \([0-9]*\) of back.*/\1/p' err)
add 'tasks: {one: {needs: build, run: "echo one >>ran; echo x >one.out", outputs: [one.out]}, two: {needs: one, run: "echo two >>ran"}}'
add 'tasks: {three: {needs: one, foreach: {n: [1, 2]}, run: "echo three >>ran"}}'
exits 3 cairn add --withdraw "$run_n" one
says 'needs `one`, which does not exist' 'what others need is not withdrawn'
exits 3 cairn add --withdraw "$run_n" one two
exits 10 cairn add --withdraw "$run_n" build
says 'taken out there' 'nor what stands in the file'
exits 2 cairn add --withdraw "$run_n" 'three[n=1]'
says 'as a whole' 'nor a member alone'
exits 10 cairn add --withdraw "$run_n" three nothing
is "$(planned --run "$run_n")" 'one two three[n=1] three[n=2]' 'all or nothing'
exits 2 cairn add --withdraw "$run_n"
exits 2 cairn add "$run_n" text text
exits 0 cairn add --withdraw "$run_n" three --by ada --json
json_ok 'the answer as JSON'
is "$(planned --run "$run_n")" 'one two' 'it is gone'
exits 10 cairn add --withdraw "$run_n" three
refused 'tasks: {four: {needs: three, run: x}}' 'needs `three`, which does not exist'
refused 'tasks: {four: {needs: two, run: x}, five: {needs: three, run: x}}' 'which does not exist'
exits 0 cairn resume "$run_n"
exits 0 cairn events --run "$run_n"
says 'asked to withdraw: by ada: three' 'who withdrew is recorded'
add 'tasks: {three: {needs: one, foreach: {n: [1, 2]}, run: "echo three >>ran"}}'
says '2 tasks added' 'the same can be added again'
exits 0 cairn add --withdraw "$run_n" three
# A part of what one text added; also by the long way, with another file.
exits 0 cairn add --withdraw "$run_n" two
refused 'tasks: {one: {needs: build, run: x}, two: {needs: one, run: x}}' 'there is a task `one` already'
sed -i 's/echo build/echo built/' back.yaml
refused 'tasks: {four: {needs: two, run: x}}' 'needs `two`, which does not exist'
add 'tasks: {two: {needs: one, run: "echo again >>ran"}}'
is "$(planned --run "$run_n")" 'build one two' 'of that name another one'
: >ran
exits 0 cairn resume "$run_n"
is "$(ran)" 'again built one ' 'which runs'
# What it made is stale then.
add 'tasks: {six: {run: "true"}}'
exits 0 cairn add --withdraw "$run_n" two
add 'tasks: {two: {run: "true"}}'
exits 0 cairn status "$run_n"
says '2 added tasks wait' 'another one of a name that was done waits, too'
exits 0 cairn add --withdraw "$run_n" six
exits 0 cairn status "$run_n"
says '1 added task waits' 'and none that was withdrawn'
exits 0 cairn add --withdraw "$run_n" two one two
says "2 withdrawn from run $run_n" 'each name counts once'
exits 0 cairn plan --run "$run_n"
says 'one.out' 'the output of a task that is gone is named'
exits 0 cairn clean --stale --run "$run_n" --yes
ok 'and removed' test ! -e one.out
# Many, of several texts.
add "tasks: {$(seq -f 'm%g: {run: x}' -s ', ' 1 100)}"
add "tasks: {$(seq -f 'n%g: {run: x}' -s ', ' 1 100)}"
# shellcheck disable=SC2046
exits 0 cairn add --withdraw "$run_n" $(seq -f m%g 1 100) $(seq -f n%g 1 100) m1
says "200 withdrawn from run $run_n" 'more than a few are withdrawn at once'
is "$(planned --run "$run_n")" '' 'and are gone'
# shellcheck disable=SC2046
exits 2 cairn add --withdraw "$run_n" $(seq 1 2000)
says 'at most 1024 operands' 'the limit is named'
# After a rename the error says how they are taken back.
add 'tasks: {fix: {needs: build, run: echo fix >>ran}}'
sed -i 's/^  build:/  built:/' back.yaml
exits 3 cairn resume "$run_n"
says "cairn add --withdraw $run_n fix" 'the remedy'
exits 3 cairn plan --run "$run_n"
says "cairn add --withdraw $run_n fix" 'of a plan, too'
exits 0 cairn add --withdraw "$run_n" fix
exits 0 cairn resume "$run_n"
# From under an owner: what has not started.
cat >held.yaml <<'END2'
name: held
tasks: {slow: {run: "touch started; while [ ! -e go ]; do sleep 0.02; done"}}
END2
held() { # Sets run_n, the live run, and pid.
    rm -f started go
    cairn run held.yaml --fresh -j 1 >log 2>&1 &
    pid=$!
    wait_for 20 test -e started
    run_n=$(sed -n 's/^run \([0-9]*\) of held.*/\1/p' log)
}
held
rm -f ran
add 'tasks: {late: {needs: slow, run: echo late >>ran}, later: {needs: late, run: echo later >>ran}}'
add 'tasks: {g: {needs: slow, foreach: {n: [1, 2]}, run: "echo g $n >>ran"}}'
add 'tasks: {stays: {needs: slow, run: echo stays >>ran}}'
exits 3 cairn add --withdraw "$run_n" late
says 'needs `late`, which does not exist' 'of a live run, too, what others need is not withdrawn'
exits 10 cairn add --withdraw "$run_n" g nothing
exits 0 cairn add --withdraw "$run_n" late later g --by ada
says "3 withdrawn from run $run_n" 'what has not started is'
exits 10 cairn add --withdraw "$run_n" late
refused 'tasks: {x: {needs: late, run: x}}' 'needs `late`, which does not exist'
touch go
wait $pid
is "$? $(ran)" '0 stays ' 'the run completes without'
ok 'and says so' grep -q 'late.*it was withdrawn' log
exits 0 cairn events --run "$run_n"
says 'by ada: g late later' 'who withdrew is recorded'
says 'later: skipped: it was withdrawn' 'and what became of the tasks'
exits 0 cairn resume "$run_n"
is "$(ran)" 'stays ' 'and they are not in it when it is resumed'
exits 0 cairn checkpoint verify
# What has started, with what has not: none of it.
held
add 'tasks: {second: {needs: slow, run: "touch second; while [ ! -e go2 ]; do sleep 0.02; done"}, third: {needs: second, run: echo third >>ran}}'
rm -f second go2
touch go
ok 'it runs' wait_for 20 test -e second
exits 6 cairn add --withdraw "$run_n" third second
says 'task `second`' 'what has started is not withdrawn, by name'
is "$(planned --run "$run_n")" 'second third' 'and nothing that was named with it is'
exits 0 cairn add --withdraw "$run_n" third
add 'tasks: {third: {needs: second, run: echo another >>ran}}'
touch go2
rm -f ran
wait $pid
is "$? $(ran)" '0 another ' 'a name that was withdrawn can be added again'
# Ready, but there is no place.
held
rm -f ran
add 'tasks: {ready: {run: echo ready >>ran}, other: {run: echo other >>ran}}'
run cairn add --withdraw "$run_n" ready
ready=$status
touch go
wait $pid
case "$ready $(ran)" in
'0 other ' | '6 other ready ') ready=fine ;;
esac
is "$ready" fine 'what is ready is withdrawn, or it runs'
# The owner is killed, before it answers or after that.
held
add 'tasks: {late: {needs: slow, run: echo late >>ran}}'
rm -f ran
stop_between_writes "$pid"
cairn add --withdraw "$run_n" late >asked 2>&1 &
asker=$!
asks() {
    "$BUILD/tests/tools/sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM command WHERE verb = 7 AND taken = 0' | grep -qx 1
}
ok 'its owner is asked' wait_for 20 asks
kill -9 "$pid"
wait $pid 2>/dev/null
wait $asker
is "$?" 0 'who asks withdraws itself where the owner is gone'
touch go
exits 0 cairn resume "$run_n"
ok 'it has not run' test ! -e ran
cd .. || exit 1

# ---- By several at once ----
rm -f said.*
# Of many tasks, so that they are all looked at at the same time.
cat >big.yaml <<'END'
name: big
tasks:
  g: {foreach: {n: {range: [1, 4000]}}, if: "false", run: x}
END
exits 0 cairn run big.yaml -q
run_n=$(cairn runs --limit 1 --json | sed -n 's/.*"run":\([0-9]*\).*/\1/p' | head -n 1)
for i in 1 2 3 4 5 6; do
    echo "{\"tasks\": {\"one\": {\"run\": \"echo one $i >>ran\"}}}" >"one.$i"
    { cairn add "$run_n" "one.$i" >"said.$i" 2>&1 && echo added >>"said.$i"; } &
done
wait
is "$(cat said.* | grep -c '^added$')" 1 'of six that add a task of one name, one does'
exits 0 cairn resume "$run_n"

# ---- To a run that is live; from a task of it ----
cat >l.yaml <<'END'
name: l
tasks:
  slow: {run: 'touch started; while [ ! -e go ]; do sleep 0.02; done; echo slow >>ran'}
  after: {needs: slow, run: 'echo after >>ran'}
END
rm -f ran
cairn run l.yaml >log 2>&1 &
pid=$!
ok 'it runs' wait_for 10 test -e started
live=$(sed -n 's/^run \([0-9]*\) of l.*/\1/p' log)
echo 'tasks: {new: {run: echo new >>ran}, late: {needs: [new, after], run: echo late >>ran}}' >live.yaml
exits 0 cairn add "$live" live.yaml
says "2 tasks added to run $live, which goes on with them" 'the owner has taken them'
exits 0 cairn add "$live" live.yaml --json
is "$(json_get .same) $(json_get .live)" 'true true' 'the same text again to a live run'
ok 'what can run does so beside what runs' wait_for 10 grep -q new ran
echo 'tasks: {next: {needs: new, run: echo next >>ran}}' >next.yaml
exits 0 cairn add "$live" next.yaml
ok 'also what needs an added one' wait_for 10 grep -q next ran
touch go
wait $pid
is "$?" 0 'it completes'
is "$(ran)" 'after late new next slow ' 'with all of them, each once'
exits 0 cairn resume "$live"
says 'nothing to do' 'a resume finds them as they are'
ok 'it says why' grep -q "tasks were added: run $live continues" log
cat >t.yaml <<'END'
name: t
tasks:
  split:
    run: |
      for i in 1 2 3; do
        touch at$i
        echo "{\"tasks\": {\"part$i\": {\"needs\": \"split\", \"run\": \"echo part$i >>ran\"}}}" | cairn add "$CAIRN_RUN" -
      done
      touch at4
      echo split >>ran
END
rm -f ran
exits 0 cairn run t.yaml
is "$(ran)" 'part1 part2 part3 split ' 'a task adds to its own run'

# ---- What it has to be opened again for ----
cat >alone.yaml <<'END'
name: alone
pools: {gpu: {slots: 1, scope: store}}
tasks: {slow: {run: 'touch started; while [ ! -e go ]; do sleep 0.02; done'}}
END
cat >holds.yaml <<'END'
name: holds
pools: {gpu: {slots: 1, scope: store}}
tasks: {holds: {pool: gpu, run: 'touch held; while [ ! -e free ]; do sleep 0.02; done'}}
END
rm -f started go held
timeout 100 cairn run holds.yaml >log 2>&1 &
holder=$!
wait_for 60 test -e held
timeout 100 cairn run alone.yaml >log 2>&1 &
pid=$!
wait_for 60 test -e started
live=$(sed -n 's/^run \([0-9]*\) of alone.*/\1/p' log)
echo 'tasks: {uses: {pool: gpu, run: echo}}' >uses.yaml
exits 0 cairn add "$live" uses.yaml
touch go
waits() { cairn status "$live" --waiting | grep -q 'uses  waits for a place in pool gpu: held by'; }
ok 'an added task shares the pool, though none did before' wait_for 20 waits
touch free
wait $pid; is $? 0 'and has its place afterwards'
wait $holder
rm -f started go held
timeout 20 cairn run alone.yaml --fresh --memory 1G >log 2>&1 &
pid=$!
wait_for 60 test -e started
live=$(sed -n 's/^run \([0-9]*\) of alone.*/\1/p' log)
echo 'tasks: {large: {memory: 2G, run: echo}}' >large.yaml
exits 0 cairn add "$live" large.yaml
touch go
wait $pid; is $? 2 'nor does it wait for memory that there is not'
ok 'it says so' grep -q 'task large takes 2048M of memory' log
exits 0 cairn resume "$live"
rm -f started go ran
cat >soft.yaml <<'END'
name: soft
tasks:
  bad: {run: "false"}
  lost: {needs: bad, run: 'echo lost >>ran'}
  slow: {run: 'touch started; while [ ! -e go ]; do sleep 0.02; done'}
END
timeout 100 cairn run soft.yaml -k >log 2>&1 &
pid=$!
wait_for 60 test -e started
live=$(sed -n 's/^run \([0-9]*\) of soft.*/\1/p' log)
echo 'tasks: {soft: {needs: [{task: lost, soft: true}], run: echo soft >>ran}}' >more.yaml
exits 0 cairn add "$live" more.yaml
touch go
wait $pid
exits 1 cairn resume "$live" -k
is "$(ran)" 'soft ' 'what softly needs one that is skipped again stays done, as if it had been in the file'
rm -f started go

# ---- A name that the run had before ----
cat >former.yaml <<'END'
name: former
tasks: {x: {once: true, run: echo x >>ran}, a: {run: "true"}}
END
rm -f ran held go
exits 0 cairn run former.yaml
live=$(sed -n 's/^run \([0-9]*\) of former.*/\1/p' err)
cat >former.yaml <<'END'
name: former
tasks: {a: {run: "true"}, h: {run: "touch held; while [ ! -e go ]; do sleep 0.02; done"}}
END
cairn resume "$live" >log 2>&1 &
pid=$!
ok 'it runs' wait_for 10 test -e held
echo 'tasks: {x: {once: true, run: echo x >>ran}}' >x.yaml
exits 0 cairn add "$live" x.yaml
# By several at once, to a live run.
for i in 1 2 3 4 5 6; do
    echo "tasks: {m$i: {run: echo m$i >>ran}}" >"m.$i"
    { cairn add "$live" "m.$i" >"said.$i" 2>&1 && echo added >>"said.$i"; } &
done
ok 'six add at once' wait_for 30 sh -c 'test "$(cat said.* | grep -c ^added$)" = 6'
touch go
wait "$pid"
is "$?" 8 'what must not run twice is asked about'
is "$(ran)" 'm1 m2 m3 m4 m5 m6 x ' 'and has not run again; each of the others has run once'
exits 0 cairn resolve "$live" x "done"
exits 0 cairn checkpoint verify
rm -f said.*

# A run that completes without what was added at its end.
printf 'name: e\ntasks: {a: {run: "true"}}\nfinally: {last: {run: "cairn add $CAIRN_RUN live.yaml"}}\n' >e.yaml
echo 'tasks: {new: {run: echo new >>ran}}' >live.yaml
exits 0 cairn run e.yaml
exits 0 cairn status
says '1 added task waits: cairn resume' 'is shown to have it left'

# ---- Killed anywhere: what was added is there ----
for at in at1 at2 at3 at4; do
    rm -f ran at?
    killed_at $at cairn run t.yaml --fresh -j 1
    run cairn resume "$(sed -n 's/^run \([0-9]*\) of t.*/\1/p' killed.out)"
    is "$status $(sort -u ran | tr '\n' ' ')" '0 part1 part2 part3 split ' "killed at $at: all of it in the end"
done
rm -f ran
printf 'name: s\nsecrets: [TOKEN]\ntasks: {a: {run: "true", secrets: [TOKEN]}}\n' >s.yaml
TOKEN=abcdefgh exits 0 cairn run s.yaml
n=$(sed -n 's/^run \([0-9]*\) completed.*/\1/p' err)
echo 'tasks: {b: {run: echo abcdefgh}}' >secret.yaml
TOKEN=abcdefgh run cairn add "$n" secret.yaml
ok 'a value of a secret is refused' test "$status" -ne 0
ok 'and not stored' sh -c '! grep -q abcdefgh .cairn/cairn.db .cairn/cairn.db-wal 2>/dev/null'
exits 2 env -u TOKEN cairn add "$n" secret.yaml
says 'the secret TOKEN is not given' 'nor can it be looked for where it is not known'
says '--secrets-fd' 'with the remedy'
ok 'nothing of it is stored' sh -c '! grep -q abcdefgh .cairn/cairn.db .cairn/cairn.db-wal 2>/dev/null'
tap_last='cairn add --secrets-fd'
ok 'given by a descriptor it is found' sh -c "! echo TOKEN=abcdefgh | cairn add $n secret.yaml --secrets-fd 0 2>err"
says 'the value of the secret TOKEN is in the text' 'and named'
echo 'tasks: {b: {run: echo harmless}}' >harmless.yaml
ok 'and what is harmless is added' sh -c "echo TOKEN=abcdefgh | cairn add $n harmless.yaml --secrets-fd 0 >out 2>err"
echo 'tasks: {good: {run: echo good >>ran}}' >harmless2.yaml
echo 'tasks: {c: {needs: b, run: echo c >>ran}}' >needs.yaml
# A value that is another one for the owner: it leaves the addition, and goes on.
printf 'name: other\nsecrets: [TOKEN]\ntasks:\n  a: {run: "touch asked; while [ ! -e on ]; do sleep 0.02; done", secrets: [TOKEN]}\n  after: {needs: a, run: "echo after >>ran"}\n' >other.yaml
TOKEN=abcdefgh cairn run other.yaml >log 2>&1 &
pid=$!
ok 'it runs' wait_for 10 test -e asked
n=$(sed -n 's/^run \([0-9]*\) of other.*/\1/p' log)
TOKEN=notthatone exits 0 cairn add "$n" harmless2.yaml
# Both before the owner looks: what is behind it may need it.
stop_between_writes "$pid"
TOKEN=notthatone cairn add "$n" secret.yaml >out.b 2>&1 &
adds_b=$!
wait_for 20 sh -c "TOKEN=notthatone cairn plan --run $n | grep -q ' b'"
TOKEN=notthatone cairn add "$n" needs.yaml >out.c 2>&1 &
adds_c=$!
wait_for 20 sh -c "TOKEN=notthatone cairn plan --run $n | grep -q ' c'"
ok 'until then it is stored' sh -c 'cat .cairn/cairn.db .cairn/cairn.db-wal | grep -q abcdefgh'
kill -CONT "$pid"
wait $adds_b
is "$?" 2 'who added it is told'
wait $adds_c
TOKEN=notthatone exits 3 cairn add "$n" needs.yaml
touch on
wait $pid
is "$? $(ran)" '0 after good ' 'a live run goes on without what has the value of a secret'
ok 'it says so' grep -q "are refused" log
ok 'and the value is not stored any more' sh -c '! cat .cairn/cairn.db* | grep -q abcdefgh'
TOKEN=abcdefgh exits 3 cairn resume "$n"
says "cairn add --withdraw $n c" 'a resume names what needs it'
exits 0 cairn add --withdraw "$n" c
rm ran
TOKEN=abcdefgh exits 0 cairn resume "$n"
says 'nothing to do' 'and without it nothing is left'
exits 0 cairn checkpoint verify
rm w.yaml
exits 2 cairn add 1 b.yaml
says 'is gone' 'without the file nothing can be added'

# The same id again: who has it already is named.
mkdir twice && cd twice || exit 1
printf 'name: twice\ntasks:\n  a: {run: echo a}\n' >twice.yaml
exits 0 cairn run twice.yaml
run=$(sed -n 's/^run \([0-9]*\) of twice.*/\1/p' err)
echo 'tasks: {x: {needs: a, run: echo x}}' >x.yaml
exits 0 cairn add "$run" x.yaml
echo 'tasks: {x: {needs: a, run: echo y}}' >x.yaml
exits 3 cairn add "$run" x.yaml
says "there is a task \`x\` already, by addition 1 to run $run"
cd .. || exit 1
done_testing
