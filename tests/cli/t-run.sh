# The main path: run, look, and look again in JSON.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END'
name: main
params: {who: world}
env: {GREETING: hello}
tasks:
  greet:
    run: echo "$GREETING $who"; echo careful >&2
  count:
    foreach: {n: {range: [1, 3]}}
    needs: [greet]
    run: echo "$n" >"out.$n"
    outputs: ["out.${{ n }}"]
  sum:
    needs: [count]
    exec: [sh, -c, "cat out.* >sum", "${{ params.who }}"]
    outputs: [sum]
END

exits 0 cairn validate flow.yaml
says '5 tasks' 'validate counts the tasks, members included'
exits 0 cairn plan flow.yaml
is "$(grep -c '^run ' out)" 5 'plan before the first run: everything'
ok 'neither made a store' test ! -e .cairn

exits 0 cairn run flow.yaml
says 'run 1 completed: 5 completed'
is "$(cat sum)" "1
2
3" 'the tasks did their work, in order'
ok 'the store is there, mode 0700' test "$(stat -c %a .cairn)" = 700
is "$(cat .cairn/.gitignore)" '*' 'git does not see the store'

exits 0 cairn status
says 'completed' 'status says how the run stands'
exits 0 cairn status --json
is "$(json_get .params.who)" world 'parameters are an object in JSON'
exits 0 cairn run flow.yaml --store other --param who='you  and
me'
exits 0 cairn status --store other
says 'who="you  and\nme"' 'a value with blanks is quoted in text'
exits 0 cairn status 1 --tasks
says 'count[n=2]' 'status --tasks names every task'
exits 0 cairn status --can-resume
exits 0 cairn log greet
is "$(cat out)" 'hello world
careful' 'what a task wrote, both streams'
silent_on err
exits 0 cairn plan flow.yaml
is "$(grep -c '^run ' out)" 5 'a completed run is followed by a new one'
exits 0 cairn plan
is "$(grep -c '^run ' out)" 0 'and has nothing left itself'
exits 0 cairn resume
says 'nothing to do'
exits 0 cairn explain sum
says 'will not run'
exits 0 cairn log count
says 'count[n=1]' 'log of a group: those of its members'
exits 10 cairn log gret
says 'greet' 'log of an unknown task: the nearest is named'
exits 0 cairn explain 'count[n=1]' flow.yaml
says 'will run'
exits 10 cairn explain count
says 'count[n=1]' 'a group is not a task: a member is named'
exits 10 cairn explain gret
says 'greet' 'an unknown task: the nearest is named'

exits 0 cairn run flow.yaml
says 'run 2 completed'
exits 0 cairn run flow.yaml --param who=you --quiet
exits 0 cairn log greet --run 3
is "$(head -n 1 out)" 'hello you' '--param reaches the task'
exits 0 cairn runs
matches '^ *3' 'runs lists the newest'
exits 0 cairn runs --limit 1 --offset 1
ok 'and turns pages' grep -qE '^ *2' out

for run in 4 99; do
    exits 10 cairn resume $run
    says "$run" "the missing run $run is named"
    exits 10 cairn status $run
    exits 10 cairn plan --run $run
    exits 10 cairn log greet --run $run
    exits 10 cairn cancel $run
done
exits 2 cairn status 0
exits 2 cairn status x
exits 10 cairn log nobody
says 'nobody' 'the missing task is named'
exits 10 cairn log greet --attempt 7

for command in 'validate flow.yaml' 'plan flow.yaml' 'plan --all' 'explain sum' 'status' 'status --tasks' \
    'status --can-resume' 'runs' 'log' 'log greet' 'graph flow.yaml' 'graph --format json' 'doctor' \
    'checkpoint list' 'checkpoint show 1' 'checkpoint show 1 --tasks' 'checkpoint timeline' \
    'checkpoint verify' 'checkpoint prune --keep 5 --dry-run' 'gc' 'gc --keep-runs 9 --dry-run' 'help' 'help run' 'version' 'run flow.yaml' \
    'resume' 'watch' 'status 99' 'checkpoint show 999'; do
    # shellcheck disable=SC2086
    run cairn $command --json
    json_ok "cairn $command --json prints JSON"
done
exits 0 cairn run flow.yaml --json
is "$(json_get '[0].type')" run_started 'the first event of a run'
tail -n 1 out >last
is "$(json_get .type last)" run_finished 'the last event of a run'
is "$(json_get .completed last)" 5 'and its counts'
exits 0 cairn status --json
is "$(json_get .state)" completed 'the state in JSON'

mkdir -p sub/deeper
unset CAIRN_STORE
cd sub/deeper || exit 1
exits 0 cairn status
cd ../.. || exit 1
ok 'the store is found from a directory below' test "$status" -eq 0
mkdir elsewhere
exits 0 cairn run flow.yaml --store "$PWD/elsewhere/store"
says 'run 1 completed' '--store names another store'
rm -f sum
exits 0 cairn run flow.yaml --no-checkpoint
says 'cannot be resumed' 'a run without a store says so'

printf 'name: quiet\ntasks:\n  a: {run: "true"}\n' >quiet.yaml
exits 0 cairn run quiet.yaml --quiet
silent_on out
NO_COLOR=1 exits 0 cairn run quiet.yaml
ok 'no colours where nobody looks' sh -c '! grep -q "$(printf "\033")" out err'

done_testing
