# status --tasks: large groups in one row, filters, orders; status --timing.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: rows
on_failure: continue
tasks:
  first: {run: 'sleep 0.3; echo k=v >>"$CAIRN_OUTPUT"'}
  many: {needs: first, foreach: {n: {range: [1, 30]}}, run: 'test $n != 7'}
  few: {foreach: {n: [1, 2]}, run: 'true'}
  last: {needs: few, run: 'true'}
  after: {needs: many, run: 'true'}
END2
exits 1 cairn run flow.yaml
exits 0 cairn status --tasks
matches '^     30 tasks  many  29 completed, 1 failed  [0-9.]+s to [0-9.]+s$' 'a large group is one row'
matches '^  completed    few\[n=1\]' 'a small one is not'
says 'every task: cairn status 1 --tasks --all'
exits 0 cairn status --tasks --all
is "$(grep -c '  many\[n=' out)" 30 '--all: every member'
exits 0 cairn status --tasks --state failed,skipped
is "$(grep -E '^  [a-z]+ +[a-z]' out | awk '{ print $1, $2 }' | tr '\n' ';')" 'failed many[n=7];skipped after;' '--state'
exits 0 cairn status --tasks --sort=duration
is "$(grep -E '^  completed' out | head -n 1 | awk '{ print $2 }')" first 'the slowest first'
exits 0 cairn status --tasks --sort=name --state completed
is "$(grep -E '^  completed' out | head -n 1 | awk '{ print $2 }')" 'few[n=1]' 'by name'
exits 0 cairn status --tasks --sort=started
is "$(grep -E '^  [a-z]+ ' out | tail -n 1 | awk '{ print $2 }')" after 'what did not start comes last'
exits 0 cairn status --tasks --json --state completed --sort=name
json_ok 'status --tasks --json, sorted'
is "$(json_get '.tasks[2].task') $(json_get '.tasks[2].values.k')" 'first v' 'values are with their task'
exits 2 cairn status --tasks --state finished
says "cannot be 'finished'"
ok 'the choices are all that is said' test "$(wc -l <err)" -eq 1
exits 2 cairn status --tasks --state ''
exits 0 cairn status --state failed
is "$(grep -c '^  failed ' out)" "$(cairn status --tasks --state failed | grep -c '^  failed ')" '--state lists tasks by itself'
exits 2 cairn status --state failed --waiting
exits 2 cairn status --tasks --timing

exits 0 cairn status --timing
matches '^critical path: [0-9.]+s of work in [0-9.]+s$' '--timing: the critical path'
is "$(sed '1,/^critical/d' out | head -n 1 | awk '{ print $NF }')" first 'it begins with what the others waited for'
ok 'and continues with a member of the group' grep -qE '  many\[n=[0-9]+\]$' out
is "$(sed -n '2p' out | awk '{ print $2 }')" first 'the slowest task'
exits 0 cairn status --timing --json
json_ok 'status --timing --json'
is "$(json_get '.critical_path[0].task') $(json_get '.slowest[0].task')" 'first first' 'the same as JSON'
exits 0 cairn plan flow.yaml --fresh
says 'run   many      30 tasks, the first: it never ran' 'plan: a large group is one row'
says 'run   few[n=2]  it never ran' 'and a small one is not'
exits 0 cairn plan flow.yaml --fresh --all
is "$(grep -c '^run   many\[n=' out)" 30 'plan --all: every member'
mkdir parts && cd parts || exit 75
cat >parts.yaml <<'END2'
name: parts
jobs: 8
tasks:
  g: {foreach: {a: {range: [1, 21]}, b: [x, y, z]}, run: ': $a $b'}
END2
exits 0 cairn run parts.yaml -q
exits 0 cairn plan --rerun 'g[b=y]'
is "$(cat out)" 'run   g  21 of 63 tasks, the first ([a=1,b=y]): it was asked to run again' 'a large part of a group is one row, too'
exits 0 cairn plan --rerun 'g[b=y]' --all
is "$(grep -c . out)" 63 '--all lists each'
cd .. || exit 75
exits 0 cairn run flow.yaml --fresh few
exits 0 cairn status --timing
is "$(sed '1,/^critical/d' out | wc -l)" 1 'of a part of a run'

# ---- The critical path and `finally`, and all attempts of a task ----
cat >path.yaml <<'END2'
name: path
tasks:
  flaky: {run: 'sleep 0.3; test "$CAIRN_ATTEMPT" -ge 3', retries: {max: 2, delay: 200ms}}
  b: {needs: flaky, run: 'sleep 0.2'}
  quick: {run: 'true'}
finally:
  n: {run: 'true'}
  m: {needs: n, run: 'true'}
END2
exits 0 cairn run path.yaml
run_path=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
exits 0 cairn status --timing
is "$(sed '1,/^critical/d' out | sed 's/.*s  //' | tr '\n' ';')" 'flaky (3 attempts);b;n;m;' 'a task of finally follows on the ordinary ones'
is "$(sed -n 2p out | sed 's/.*s  //')" 'flaky (3 attempts)' 'the slowest counts all its attempts'
is "$(sed -n 's/^critical path: \(.*\)s of work in \(.*\)s$/\1 \2/p' out |
    awk '{ print ($1 >= 1.1), ($2 - $1 >= 0.3) }')" '1 1' 'work of all attempts, and pauses in the time'
exits 0 cairn status --timing --json
json_ok 'status --timing --json with attempts'
is "$(json_get '.critical_path[0].task') $(json_get '.critical_path[1].task') $(json_get '.critical_path[2].task')" 'flaky b n' 'the same path as JSON'
is "$(json_get '.critical_path[0].attempts') $(json_get '.critical_path[1].attempts')" '3 1' 'how many attempts'
ok 'their time' test "$(json_get '.critical_path[0].attempts_ms')" -ge 900
ok 'the newest alone as before' test "$(json_get '.critical_path[0].duration_ms')" -lt 900
ok 'when the first began' sh -c '[ "$1" \< "$2" ]' sh "$(json_get '.critical_path[0].first_started')" "$(json_get '.critical_path[0].started')"
is "$(json_get '.slowest[0].task')" flaky 'the slowest'
exits 0 cairn status --tasks
matches '^  completed    flaky  (0\.9[0-9]|1\.[0-9]+)s in 3 attempts$' 'status --tasks: the time of all attempts'
exits 0 cairn status --tasks --sort=duration
is "$(grep '^  completed' out | awk 'NR == 1 { print $2 }')" flaky 'by which it sorts'
exits 0 cairn status --tasks --json
ok 'status --tasks --json: their time' test "$(json_get '.tasks[0].attempts_ms')" -ge 900
is "$(json_get '.tasks[0].attempts')" 3 'beside how many'
# What ran long ago and completed is no part of how long it took now.
sleep 1
exits 0 cairn rerun flaky --run "$run_path"
exits 0 cairn status --timing "$run_path"
matches '^critical path: 0\.[5-9][0-9]?s of work in 0\.[5-9][0-9]?s$' 'an attempt before the last completed one does not count'

# ---- A checkpoint ----
id=$(cairn checkpoint list --run 1 --limit 1 --json | sed 's/.*"id":"\([^"]*\)".*/\1/')
exits 0 cairn checkpoint show "$id" --tasks
matches '^  +30 tasks  many  ' 'checkpoint show --tasks: a large group is one row'
is "$(grep -c 'many\[' out)" 0 'and not a row for each'
says 'few[n=2]' 'a small one is not'
says "every task: cairn checkpoint show $id --tasks --all" 'how to see them'
exits 0 cairn checkpoint show "$id" --tasks --all
is "$(grep -c 'many\[' out)" 30 '--all: every member'
exits 0 cairn checkpoint show "$id" --tasks --json
is "$(grep -o '"task":"many' out | wc -l)" 30 'JSON has them all'

# ---- Columns ----
printf 'name: columns\ntasks:\n  a: {run: "true"}\n  longer-name: {run: "true"}\n' >columns.yaml
exits 0 cairn run columns.yaml
exits 0 cairn status --tasks
matches '^  completed    a            [0-9.]+s$' 'times stand below each other'
matches '^  completed    longer-name  [0-9.]+s$'
ok 'no row ends with blanks' sh -c '! grep -q " $" out'

# ---- Runs by their state ----
cat >ends.yaml <<'END'
name: ends
params: {how: "0"}
tasks:
  a: {run: 'exit "$how"'}
END
for how in 0 1 0 1 1; do
    cairn run ends.yaml --fresh --param how=$how >out 2>err
done
exits 0 cairn runs --workflow ends --state failed
is "$(awk 'NR > 1 { print $2 }' out | sort -u)" failed 'runs: only those in the state'
says '3 of 3 runs'
exits 0 cairn runs --workflow ends --state completed,failed
says '5 of 5 runs'
exits 0 cairn runs --workflow ends --state failed --limit 1 --offset 1 --json
json_ok 'runs --state --json'
second=$(cairn runs --workflow ends --state failed | awk 'NR == 3 { print $1 }')
is "$(json_get '.runs[0].run') $(json_get .total) $(json_get .limit)" "$second 3 1" 'a page of those in the state'
exits 0 cairn runs --workflow ends --state failed --sort started --limit 1
is "$(awk 'NR == 2 { print $1 }' out)" "$(cairn runs --workflow ends --state failed | awk 'END { print $1 }')" 'the oldest first'
exits 0 cairn runs --workflow ends --state waiting
says '0 of 0 runs'
exits 2 cairn runs --state 'done'
says "--state cannot be 'done': give some of running,waiting,interrupted,completed,failed,cancelled,undone"
ok 'in one line' test "$(wc -l <err)" -eq 1


exits 2 cairn status --state zzz
silent_on out

# ---- A page of the tasks ----
cat >many.yaml <<'END'
name: many
tasks:
  m: {foreach: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}, run: 'exit $((n % 2))'}
END
run cairn run many.yaml --keep-going
exits 0 cairn status --tasks --json
cp out all
offset=0
while [ $offset -lt 23 ]; do
    cairn status --json --limit 5 --offset $offset >out
    grep -o '"task":"[^"]*"' out
    offset=$((offset + 5))
done >pages
grep -o '"task":"[^"]*"' all >whole
is "$(cmp whole pages && wc -l <pages | tr -d ' ')" 23 'pages together are all tasks, each once'
json_ok 'a page of tasks'
is "$(json_get .matching) $(json_get .limit) $(json_get .offset)" '23 5 20' 'with how many there are'
is "$(grep -c '"matching"' all)" 0 'without a page nothing is new'
exits 0 cairn status --state failed --sort name --limit 3 --offset 1
says '3 of 12 tasks' 'for people, of those in a state'
is "$(grep -c '^  failed' out)" 3 'as many rows'
exits 0 cairn status --offset 99 --json
is "$(json_get .matching) $(grep -c '"task"' out)" '23 0' 'behind the last one'
exits 2 cairn status --limit 0
exits 2 cairn status --waiting --limit 1

# ---- One line, for a prompt ----
newest=$(cairn runs --json --limit 1 | sed -n 's/.*"workflow":"\([^"]*\)".*/\1/p')
exits 0 cairn status --line
is "$(wc -l <out | tr -d ' ')" 1 'one line'
matches "^$newest (completed|failed) [0-9]+/[0-9]+" 'of the newest run'
exits 0 cairn status 1 --line
is "$(cat out)" 'rows failed 33/35, 1 failed' 'of one that is named'
exits 10 cairn status 99 --line
exits 0 cairn session start slow-lexer
exits 0 cairn status 1 --line
is "$(cat out)" 'rows failed 33/35, 1 failed; slow-lexer/main' 'with the session'
exits 2 cairn status --line --json
mkdir nothing && cd nothing || exit 1
CAIRN_STORE=$PWD/.cairn
export CAIRN_STORE
exits 0 cairn status --line
silent_on out
silent_on err
exits 0 cairn session start alone
exits 0 cairn status --line
is "$(cat out)" alone/main 'a session without a run'
done_testing
