# Killed, failed, edited: what runs again on resume, and that plan and explain say it.
. "$TESTS/cli/tap.sh"

# Each task adds its name to `ran` when it ends, and waits while a file named hold-ID is there.
cat >flow.yaml <<'END'
name: held
jobs: 2
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "touch at-b; while [ -e hold ]; do sleep 0.02; done; echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
  d: {run: "echo d >>ran", needs: [c]}
END
: >ran
touch hold
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'the run gets to b' wait_for 20 test -e at-b
kill -9 $pid
wait $pid 2>/dev/null
gone() { ! lives 'touch at-b;'; }
ok 'the running task ends with cairn' wait_for 10 gone

exits 0 cairn status
matches 'interrupted|unfinished' 'status: the run is not finished'
says '3 not run (1 interrupted)' 'and how many tasks were running'
exits 2 cairn status b
says 'cairn status --help' 'what is not a run number: the help of the command'
exits 0 cairn status --can-resume
is "$(planned)" 'b c d' 'plan: what is left'
exits 0 cairn explain a
says 'will not run'
exits 0 cairn explain b
says 'interrupted' 'explain: started, no end recorded'
exits 0 cairn explain c
says 'will run'
rm -f hold at-b
exits 0 cairn resume
says 'run 1 completed'
is "$(tr '\n' ' ' <ran)" 'a b c d ' 'each task ran once'
exits 0 cairn resume
says 'nothing to do'

# How long an interrupted attempt took is not known: the next run only finds it.
exits 0 cairn explain b
says 'attempt 1  no end recorded  started' 'explain gives no duration'
exits 0 cairn explain b --json
says '"attempt":1,"open":true,"outcome":null' 'of that one'
is "$(grep -o '"ended":null' out | grep -c .)" 1 'it has no end'
exits 0 cairn status --tasks --json
is "$(sed 's/.*"task":"b"//; s/.*"attempts_ms":\([0-9]*\).*/\1/; s/^[0-9]$\|^[0-9][0-9]$/short/' out | head -n 1)" short \
    'the time of its attempts is that of the second one'
exits 0 cairn stats
matches 'attempts_interrupted' 'stats count it'
matches '^ *held +1$' 'by workflow'
ok 'without a duration' sh -c '! grep -q "interrupted .*mean" out'

# `run FILE` continues with an unfinished run by itself.
: >ran
rm -f at-b
touch hold
cairn run --fresh flow.yaml >run.out 2>&1 &
pid=$!
ok 'the next run gets to b' wait_for 20 test -e at-b
kill -9 $pid
wait $pid 2>/dev/null
rm -f hold
is "$(planned flow.yaml)" 'b c d' 'plan FILE: what is left of run 2'
exits 0 cairn run flow.yaml
says 'run 2 completed'
is "$(tr '\n' ' ' <ran)" 'a b c d ' 'each task ran once here, too'

# Failure, then mending it.
cat >broken.yaml <<'END'
name: broken
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran; test -e mended", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
END
: >ran
exits 1 cairn run broken.yaml
exits 0 cairn explain b
says 'failed' 'explain: it failed last time'
is "$(planned)" 'b' 'plan: the failed task runs'
exits 0 cairn plan
says 'unless b fails again' 'plan: what needs it may run'
touch mended
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a b b c ' 'only those ran'

# Editing a finished workflow.
sed 's/echo b >>ran/echo B >>ran/' broken.yaml >x && mv x broken.yaml
: >ran
is "$(planned)" 'b c' 'plan after an edit: the changed task and what is downstream'
exits 0 cairn explain b
says 'changed' 'explain: its definition changed'
exits 0 cairn explain c
says 'b' 'explain: because of b'
exits 4 cairn resume --on-change=refuse
says 'cairn plan' 'with the command that names what changed'
is "$(cat ran)" '' 'and nothing ran'
cp broken.yaml edited.yaml
sed 's/echo B >>ran/echo K >>ran/' edited.yaml >broken.yaml
exits 0 cairn resume --on-change=keep
is "$(cat ran)" '' 'keep: finished stays finished'
cp edited.yaml broken.yaml
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'B c ' 'rerun: just those ran'
# Tuning is no change.
sed 's/needs: \[a\]/needs: [a], timeout: 5m, retries: 1, priority: 3/' broken.yaml >x && mv x broken.yaml
is "$(planned)" '' 'timeouts, retries and priorities do not count as changes'
# A task goes, a task comes.
: >ran
sed 's/^  c: .*/  e: {run: "echo e >>ran", needs: [b]}/' broken.yaml >x && mv x broken.yaml
is "$(planned)" 'e' 'plan: the new task only'
exits 0 cairn resume
is "$(cat ran)" e 'which ran'
# The file is gone: the stored definition is used.
rm -f broken.yaml
exits 0 cairn resume
says 'gone' 'resume without the file says so'

# Outputs.
cat >outputs.yaml <<'END'
name: outputs
tasks:
  make: {run: "echo made >product; echo make >>ran", outputs: [product]}
  use: {run: "cat product; echo use >>ran", needs: [make]}
END
: >ran
exits 0 cairn run outputs.yaml
rm product
is "$(planned)" 'make use' 'plan: a missing output is made again'
exits 0 cairn explain make
says 'output'
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'make use make use ' 'and what needs it runs again'
echo other >product
is "$(planned)" 'make use' 'a changed output counts'
is "$(planned --check-outputs=content)" 'make use' 'and with --check-outputs=content'
is "$(planned --check-outputs=exist)" '' 'with --check-outputs=exist it is enough that it is there'
for check in changed exist content; do
    rm product
    ln -s product product
    is "$(planned --check-outputs=$check)" 'make use' "a link to itself is no output ($check)"
    exits 1 cairn resume --check-outputs=$check
    rm product
    exits 0 cairn resume
done

# Names with more slashes than they need, in the workflow's directory and not in /.
mkdir etc sub
cat >slashes.yaml <<END
name: slashes
tasks:
  a: {run: "echo x >etc/passwd", outputs: ["$PWD//etc/passwd"]}
  b: {run: "echo x >o", cwd: "$PWD//sub", outputs: [o]}
  c: {run: "echo x >o.c", outputs: ["$PWD/./o.c"]}
  d: {run: "echo x >etc/o.d", outputs: [etc//o.d]}
END
exits 0 cairn run slashes.yaml
is "$(planned)" '' 'they are there'
rm etc/passwd
is "$(planned)" a 'one is missing'
rm sub/o o.c etc/o.d
is "$(planned | tr ' ' '\n' | sort | tr '\n' ' ')" 'a b c d ' 'all are missing'

# From a checkpoint in the middle: a new run, just the later tasks.
cat >chain.yaml <<'END'
name: chain
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
  d: {run: "echo d >>ran", needs: [c]}
END
: >ran
exits 0 cairn run chain.yaml
run=$(cairn status --json | tee out >/dev/null; json_get .run)
cairn checkpoint list --run "$run" --sort seq --json >list
"$BUILD/tests/tools/json" flat list | awk -F '\t' '$1 ~ /\.id$/ { print $2 }' >ids
for id in $(cat ids); do
    cairn checkpoint show "$id" --json >out
    if [ "$(json_get .completed)" = 2 ]; then
        middle=$id
    fi
done
ok 'there is a checkpoint with two tasks done' test -n "${middle-}"
: >ran
is "$(planned --from "$middle")" 'c d' 'plan --from: the later tasks'
exits 0 cairn resume --from "$middle"
says "run $((run + 1)) completed" 'a new run'
is "$(tr '\n' ' ' <ran)" 'c d ' 'just the later tasks ran'
exits 0 cairn checkpoint timeline
exits 10 cairn resume --from 999999
exits 2 cairn resume --from nonsense
ok 'nothing else ran' test "$(wc -l <ran)" -eq 2

# Failures under `on_failure: stop`: the first to start keeps all after it from running.
cat >two.yaml <<'END'
name: two
tasks:
  a: {run: "sleep 0.2; test -e ok2"}
  b: {run: "sleep 0.2; test -e ok2"}
  t: {foreach: {i: {range: [1, 20]}}, run: 'true $i'}
END
exits 1 cairn run -q --jobs 2 two.yaml
exits 0 cairn plan two.yaml
says 'run   a        it failed last time' 'plan: nothing stops the one that starts first'
says 'may   b        unless a fails again; it failed last time' 'its failure can stop the other task'
ok 'no condition is told of where none is' sh -c '! grep -q condition out err'
touch ok2
exits 0 cairn resume
matches 'continuing run [0-9]+: 1 to [0-9]+ of 22 tasks to run' 'resume: one is sure to run, all may'
ok 'not: 0 tasks to run' sh -c '! grep -q " 0 of 22" out err'
cat >two.yaml <<'END'
name: two
tasks:
  a: {run: "test -e ok3"}
  b: {run: "true", needs: [a]}
  c: {run: "test -e ok3", needs: [b]}
  d: {run: "true", needs: [c]}
END
exits 1 cairn run -q --fresh two.yaml
touch ok3
exits 0 cairn resume
says ': 1 to 4 of 4 tasks to run' 'resume: one is sure to run, all may'

# What comes first does not start if the other task fails before it would: because of its
# condition, or of an input that is missing.
for field in 'inputs: [missing]' 'if: "params.p > 3"'; do
    cat >two.yaml <<END
name: two
params: {p: x}
tasks:
  a: {run: "true"}
  b: {run: "true", $field}
END
    exits 1 cairn run -q --fresh two.yaml
    sed -i 's/a: {run: "true"/a: {run: "true edited"/' two.yaml
    exits 0 cairn plan
    matches 'may   a +unless b fails again' "a task may not run: $field"
done
exits 1 cairn resume -q
exits 0 cairn status --tasks
matches 'not run +a' 'nor did it'

# A task that was skipped because of another, and then by its own condition.
mkdir skip && cd skip || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >skip.yaml <<'END'
name: skip
params: {p: one}
tasks:
  a: {run: 'test -e mended'}
  n: {needs: [a], if: params.p == 'two', run: 'true'}
  m: {needs: [n], run: 'true'}
END
exits 1 cairn run skip.yaml
touch mended
exits 0 cairn resume
exits 0 cairn status --json
is "$(json_get .excluded)" 1 'after a resume it is skipped by its condition, as in a run that never broke'
is "$(json_get .skipped)" 2 'what needs it is skipped, too'
exits 0 cairn resume
says 'nothing to do' 'and that is settled'

# An edit of the params that the run was begun with: it is refused, with what helps.
cat >params.yaml <<'END'
name: params
params: {a: 1, b: 2}
tasks: {t: {run: 'echo "$a" >a.out; test -e go'}}
END
exits 1 cairn run params.yaml
touch go
for params in 'a: 1' 'a: 1, c: 2' 'a: 1, b: {choices: [5, 6]}' 'a: 1, b: 2, c: {}'; do
    sed -i "s/^params.*/params: {$params}/" params.yaml
    exits 2 cairn resume 2
    says 'run 2 continues with the params that it has: take back that edit, or begin a new run' "$params"
done
sed -i 's/^params.*/params: {a: 1}/' params.yaml
exits 2 cairn resume 2
sed -n 's/.*new run with `\(.*\)`.*/\1/p' err >hinted
exits 0 sh ./hinted

# ---- A default that was edited: the run keeps its value, and that is said ----
mkdir default && cd default || exit 1
export CAIRN_STORE="$PWD/store"
cat >w.yaml <<'END'
name: w
params: {day: 1, size: 3, depth: 5}
tasks:
  a: {run: 'echo "$day $size" >>log; test -e ok'}
END
exits 1 cairn run w.yaml --param size=3 --param depth=6
sed 's/day: 1, size: 3, depth: 5/day: 2, size: 4, depth: 7/' w.yaml >new && cat new >w.yaml
exits 0 cairn plan --run 1
says "param day: run 1 continues with '1'; the default in the file is '2': \`cairn run $PWD/w.yaml --fresh\` begins a run with it" 'plan names the edited default'
is "$(grep -c 'param ' err)" 1 'and none that --param has given'
exits 1 cairn resume 1
says "param day: run 1 continues with '1'; the default in the file is '2'" 'so does resume'
exits 1 cairn resume 1
is "$(grep -c 'param day' err)" 0 'once for an edit'
touch ok
exits 0 cairn run w.yaml --fresh
is "$(cat log)" "$(printf '1 3\n1 3\n1 3\n2 4')" 'the values that tasks had'
exits 0 cairn resume --from 1
sed 's/size: 4/size: 8/' w.yaml >new && cat new >w.yaml
exits 0 cairn plan --run 3
says 'param day: run 3 ' 'a run that began at a checkpoint has its values from the other one'
is "$(grep -c 'param ' err)" 1 'and remembers what --param gave to that'
cd .. || exit 1
# ---- A number of an attempt is used once in a run, also behind an edit ----
numbers() { # NEEDS of p, lines of tasks
    printf 'name: numbers\ntasks:\n  p: {%srun: "echo $CAIRN_ATTEMPT >>numbers; touch at; sleep 60"}\n%s' "$1" "$2" >n.yaml
}
numbers '' ''
killed_at at cairn run n.yaml
numbers 'needs: a, ' '  a: {run: "touch begun; sleep 60"}
'
killed_at begun cairn resume
sed -i 's/sleep 60/:/' n.yaml
exits 0 cairn resume
is "$(tr '\n' ' ' <numbers)" '1 2 ' 'killed between an edit and the next attempt'
# ---- ... behind a skip, and where a task was taken out ----
mkdir skips && cd skips || exit 1
cat >cairn.yaml <<'END'
name: skips
tasks:
  a: {inputs: [x], run: 'test $(cat x) != bad; echo "x=$(cat x)" >>$CAIRN_OUTPUT'}
  b: {needs: a, run: 'echo "b $CAIRN_ATTEMPT $(cat x)"'}
  s: {service: true, needs: a, run: 'echo $CAIRN_ATTEMPT >>starts; exec sleep 100', ready: 'true'}
  d: {needs: [a, s], run: ':'}
  w: {needs: a, if: "tasks.a.outputs.x != 'no'", run: 'echo "w $CAIRN_ATTEMPT $(cat x)"'}
  c: {run: 'true'}
END
step() { # CODE, what is in x, text in the command of c
    echo "$2" >x
    sed -i "s/c: .*/c: {run: 'true $3'}/" cairn.yaml
    exits "$1" cairn resume
}
echo one >x
exits 0 cairn run
step 1 bad '1'
step 0 two '1'
is "$(cairn log b --attempt 1; cairn log b --attempt 2)" "$(printf 'b 1 one\nb 2 two')" \
    'a task that was skipped after an edit goes on counting'
is "$(tr '\n' ' ' <starts)" '1 2 ' 'and so does a service'
step 0 no '1'
step 0 three '1'
is "$(cairn log w --attempt 3)" 'w 3 three' \
    'a task whose condition did not hold in a run that has completed'
step 0 no '2'
step 0 four '3'
is "$(cairn log w --attempt 4)" 'w 4 four' 'also after edits'
sed '/^  b:/d' cairn.yaml >without
cp cairn.yaml with
cp without cairn.yaml
exits 0 cairn resume
cp with cairn.yaml
exits 0 cairn resume
is "$(cairn log b --attempt 7)" 'b 7 four' 'and a task that was taken out and put back'
cd .. || exit 1
# ---- `again: never`: a completed run goes on ----
mkdir again && cd again || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >cairn.yaml <<'END'
name: again
again: never
params: {n: 1}
tasks:
  a: {run: 'cat in >a.out; echo a >>ran', inputs: in, outputs: a.out}
  b: {run: 'echo b >>ran'}
END
echo 1 >in
exits 0 cairn run
exits 0 cairn run
says 'run 1: nothing to do (2 completed)' 'a completed run is looked at'
echo 2 >in
exits 0 cairn plan cairn.yaml
says 'again, run 1: 1 of 2 tasks will run' 'plan says it, too'
exits 0 cairn run
is "$(sort ran | tr '\n' ' ')" 'a a b ' 'what has changed runs in the same run'
exits 0 cairn run --param n=2
says 'run 2 of again: 2 tasks' 'other params are another run'
exits 0 cairn run --fresh
says 'run 3 of again: 2 tasks' 'as is a fresh one'
printf 'name: outer\ntasks: {in: {run: cairn run cairn.yaml}}\n' >outer.yaml
exits 0 cairn run outer.yaml
is "$(wc -l <ran)" 7 'a task that runs it looks at that run, too'
sed -i 's/^again: never/again: always/' cairn.yaml
exits 0 cairn run
says 'a new run begins: `cairn resume 3` runs only what has changed' \
    'without it another run begins, and says what would not'
cd .. || exit 1
done_testing
