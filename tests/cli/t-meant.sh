# make: sanitize
# What people type who know other tools, and what cairn says to that.
. "$TESTS/cli/tap.sh"

# ---- Commands and options ----
while IFS='|' read -r typed meant; do
    # shellcheck disable=SC2086
    exits 2 cairn $typed
    says "$meant" "$typed: $meant"
done <<'END'
list|cairn status --tasks
runs -o json|did you mean --json?
status --format json|did you mean --json?
status --output json|did you mean --json?
plan --target a|cairn plan FILE TASK
plan --out f|cairn plan >FILE
graph --dot|did you mean --format dot?
graph -o f|cairn graph >FILE
checkpoint restore -f|did you mean --yes?
rerun --dry-run a|cairn plan --rerun FILE TASK
events --after 1h|--since TIME
log --since 1h|--timestamps
log --previous a|--attempt N
run --parallel 3|-j N
run --workdir d|cairn run DIR/cairn.yaml
run --config f|cairn run FILE
run -r|continues the unfinished run
run --fail-fast|unless -k is given
run --skip a|cairn run FILE TASK...
run --check|cairn plan
run --background|setsid cairn run FILE
cancel --force|is killed anyway
gc --all|does not ask
clean --all|cairn gc
clean --dry|did you mean --dry-run?
resume -f f|cairn resume FILE
monitor|cairn watch
trace|cairn events
ps|cairn status
start|cairn run
retry|cairn resume
logs|cairn log TASK
stop|cairn cancel
test|cairn run test
all|cairn run
tail|cairn log TASK --follow
commit|cairn checkpoint create MESSAGE
checkout|cairn branch switch NAME
attach|cairn watch
unlock|cairn resume
view|cairn status RUN
rm|cairn checkpoint delete ID
hypothesis refute|did you mean `cairn hypothesis reject`?
hypothesis delete|`cairn hypothesis remove`
hypothesis new|`cairn hypothesis add`
hypothesis accept|`cairn hypothesis confirm`
session stop|`cairn session end`
session new|`cairn session start`
session ls|`cairn session list`
session attach|`cairn session switch`
checkpoint save|`cairn checkpoint create`
checkpoint commit|`cairn checkpoint create`
checkpoint rollback|`cairn checkpoint restore`
checkpoint rm|`cairn checkpoint delete`
checkpoint tag|`cairn checkpoint label`
branch checkout|`cairn branch switch`
branch create|`cairn branch start`
branch delete|`cairn branch abandon`
gap close|`cairn gap fill`
session message new|`cairn session message add`
hypothesis rejct|`cairn hypothesis reject`
flow.yaml|to run that file: cairn run flow.yaml
run --dry-run|cairn plan
run --forceall|cairn run FILE --fresh
run --rerun-incomplete|runs again what was interrupted anyway
run --until|cairn run FILE TASK
run -R|cairn rerun TASK
run --cores 4|-j N
run -i|-k continues
run -C dir|cairn run DIR/cairn.yaml
run -d|cairn watch
run -n|cairn plan
run -f flow.yaml|the workflow file comes without it: cairn run FILE
resume --dry-run|cairn plan --run RUN
status --follow|cairn watch
run -p a=1|set with --param NAME=VALUE
run --set a=1|set with --param NAME=VALUE
run --day 2|set with --param day=VALUE
plan --day=2|set with --param day=VALUE
run day=2|set with --param day=2
run --force|cairn run FILE --fresh
run --deadline 1s|`deadline: 10m` in the workflow file
resume --max-time 1s|`deadline: 10m` in the workflow file
rerun --deadline=1s a|`deadline: 10m` in the workflow file
resume --timeout 1s|`timeout` and `retries` are keys of a task
run --on-failure undo|`on_failure` is a key of the workflow file
run -V|cairn --version
-v|cairn --version
completion bash|is installed with cairn
undo --yes|it does not ask for confirmation
undo -y|it does not ask for confirmation
branch switch main --yes|it does not ask for confirmation
prune --yes|`cairn checkpoint prune`
checkpoint prune --yes|it does not ask for confirmation
session prune --yes|cairn checkpoint prune --session NAME --keep-last N
--yes undo|cairn COMMAND --yes
evidence add x --hypothesis h1|cairn evidence add HYPOTHESIS TEXT
checkpoint delete 1 --force|did you mean --yes?
session delete s -f|did you mean --yes?
clean --force|did you mean --yes?
clean -n|did you mean --dry-run?
log --last|the newest run is the default
log --tail 20|cairn log TASK | tail -n 20
log -n 20|cairn log TASK | tail -n 20
log -f|did you mean --follow?
events -f|did you mean --follow?
events --tail 5|cairn events | tail -n 20
validate --lint|makes all checks
validate --strict|makes all checks
plan --dry-run|runs nothing
status -w|cairn watch
status --failed|--state failed
runs --all|--limit N
runs -n 5|did you mean --limit?
runs --status failed|did you mean --state?
checkpoint list -n 5|did you mean --limit?
checkpoint list --last 5|did you mean --limit?
checkpoint restore 1 -y|did you mean --yes?
checkpoint create -m x|cairn checkpoint create MESSAGE
checkpoint diff --name-only|did you mean --stat?
checkpoint prune --older-than 7d|did you mean --keep-days?
session list -n 5|did you mean --limit?
session start --name x|cairn session start NAME
session switch -c x|cairn session start NAME
branch switch -c x|cairn branch start NAME
note add -m x|cairn note add TEXT
hypothesis reject h1 -m x|did you mean --reason?
fail 1 x -m y|did you mean --message?
graph --mermaid|did you mean --format mermaid?
graph --svg|dot -Tsvg
init --force|cairn init FILE
shell -it x|a shell is interactive anyway
shell x -c ls|cairn shell TASK -- COMMAND
claim x --worker w|did you mean --holder?
claim --next|did you mean --any?
gc --keep 5|did you mean --keep-runs?
doctor --fix|did you mean --repair?
search x --limit 5|did you mean --hits?
mcp --port 80|did you mean --listen
apply -f x|cairn run FILE
cron|from cron or a timer
export|did you mean `cairn checkpoint export` or `cairn session export`?
END
# An option of another command, or a flag, says nothing of what is meant here.
for typed in 'run --limit 3' 'stats --all' 'cancel --force' 'gc --hits x' 'session list --all' \
    'run --debug' 'validate --tree' 'graph --tree x' 'complete --status ok'; do
    # shellcheck disable=SC2086
    exits 2 cairn $typed
    ok "$typed: nothing is guessed" sh -c '! grep -q "belongs\|mean\|--param" err'
done
for typed in 'loop' 'run --dya 2' 'run --only-this' 'hypothesis forget'; do # no letters in common
    # shellcheck disable=SC2086
    exits 2 cairn $typed
    ok "$typed: nothing is guessed" sh -c '! grep -q "did you mean" err'
done
exits 0 cairn -V
says 'cairn ' 'the version'
exits 2 cairn run --frehs
says 'did you mean --fresh?' 'two letters swapped'
ok 'no such command made a store' test ! -e .cairn

# ---- Files, runs and tasks ----
exits 10 cairn run nosuch.yaml
says 'cairn init nosuch.yaml' 'a file that is not there: how to have one written'
cat >flow.yaml <<'END'
name: flow
tasks:
  first: {run: 'test -e ready'}
  work: {needs: [first], run: 'true'}
END
exits 10 cairn status flow.yaml
sed 's/name: flow/name: other/' flow.yaml >other.yaml
exits 1 cairn run flow.yaml
exits 10 cairn resume other.yaml
says 'other.yaml has no run yet; to start one: `cairn run other.yaml`' 'a file without a run'
touch ready
exits 0 cairn resume flow.yaml
exits 0 cairn status flow.yaml
matches '^run 1 .*completed' 'resume FILE went on with its run'
for number in 1 2 3 4 5 6 7 8 9 10 11; do
    cairn run other.yaml --fresh >out 2>&1
done
exits 0 cairn status flow.yaml
matches '^run 1 ' 'also where many others have run since'
exits 2 cairn resume nosuch.yaml
exits 10 cairn explain wrok
says 'did you mean work?' 'a mistyped task'
exits 10 cairn log z
says 'its tasks: first, work' 'nothing is near: all are named'

# ---- Params ----
cat >params.yaml <<'END'
name: params
params: {env: {choices: [dev, staging, prod], default: dev}}
tasks: {a: {run: 'true'}}
END
exits 2 cairn plan params.yaml --param env=test
says 'the param `env` must be dev, staging or prod, not `test`' 'all choices are named'
exits 2 cairn plan params.yaml --param env=test --param x=1 --param y=2
says '3 mistakes' 'all that were given wrong'
printf 'name: w\nparams: {a: yes, b: 010, d: ~}\ntasks: {x: {run: "true"}}\n' >three.yaml
exits 3 cairn validate three.yaml
says '3 mistakes' 'and all that are written wrong'

written_param() { # KEY VALUE of a param
    printf 'name: w\nparams: {a: {%s}}\ntasks: {x: {run: "true"}}\n' "$1" >three.yaml
    exits 3 cairn validate three.yaml
}
for key in enum options allowed values; do
    written_param "default: x, $key: [x, y]"
    says 'did you mean `choices`?' "$key of a param"
done
for key in 'required: true' 'optional: false'; do
    written_param "$key"
    says 'a param without `default` is required, any other one is not' "$key"
done
mkdir -p below/wf
exits 2 cairn run below/wf
says 'below/wf is a directory: a workflow must be a regular file' 'a directory'
cp three.yaml below/wf/cairn.yaml
exits 2 cairn run below/wf
says 'below/wf is a directory: give the workflow file in it, below/wf/cairn.yaml' 'with the file in it'

# ---- Keys of other tools ----
written() { # TEXT... of the lines under `tasks`, or whole files: the answer
    printf '%s\n' "$@" >written.yaml
    exits 3 cairn validate written.yaml
}
task() { # KEY VALUE: in a task
    written 'name: w' 'tasks:' '  a:' "    $1" '    run: "true"'
}
written 'name: w' 'tasks: {a: {run: [echo, hi]}}'
says 'exec: [cmd, "arg 1"]' 'run with a list'
says 'run: |' 'or a block'
written 'name: w' 'tasks:' 'a:' '  run: echo'
says '3:1: unknown key `a` at the top level; if it is a task, indent it under `tasks`'
while IFS='|' read -r key meant; do
    task "$key"
    says "$meant" "$key: $meant"
done <<'END'
if: always()|`when: always`
if: failure()|`when: failed`
continue-on-error: true|may_fail: true
concurrency: 2|write `pool: NAME`
rescue: x|write `fallback: CMD`
on_error: x|write `fallback: CMD`
timeout-minutes: 10|`timeout: 10m`
uses: actions/checkout|write the command under `run`
steps: []|make a task of each with `needs`
depends_on: [b]|did you mean `needs`?
after: [b]|did you mean `needs`?
prune: true|did you mean `stale`?
arguments: [b]|did you mean `args`?
argv: [b]|did you mean `args`?
dependency_file: x.d|did you mean `depfile`?
max_receive_count: 3|did you mean `lost_claims`?
strategy: {matrix: {os: [a]}}|`foreach: {os: [a, b]}`
services: {db: {image: x}}|`service: true` and `ready: CMD`
daemon: true|`service: true` and `ready: CMD`
healthcheck: {test: x}|`ready: {run: CMD, within: 30s, every: 200ms}`
cache: {paths: [x]}|`inputs` and `outputs`
container: alpine|`run: docker run ...`
image: alpine|`run: docker run ...`
schedule: daily|from cron or a timer
threads: 4|`pool: {NAME: 1}`
resources: {mem: 4}|`pool: {NAME: 1}`
before_script: x|write these lines first
shard: 4|`foreach: {part: {range: [1, 4]}}`
only: master|`if: params.NAME
until: x|`repeat: {until: EXPR
while: x|`repeat: {until: EXPR
repeat_policy: {max: 2}|did you mean `repeat`?
repeat: {condition: x, max: 2}|did you mean `until`?
repeat: {until: outputs.x, limit: 2}|did you mean `max`?
repeat: {until: outputs.x, max: 2, interval: 2s}|did you mean `delay`?
loop: [1]|`foreach: {item: [a, b]}`
expand: x|`foreach: {item: {from: TASK, value: NAME}}`
checkpoint: x|`foreach: {item: {from: TASK, value: NAME}}`
if: "fromJSON(params.x)"|`foreach: {item: {from: TASK, value: NAME}}`
samplesheet: x.csv|`foreach: {csv: FILE, key: COLUMN}`
foreach: {a: {csv: x, header: [a]}}|did you mean `columns`?
foreach: {csv: x, key: a, filter: b}|did you mean `where`?
retries: {max_delay: 9s, max: 2}|did you mean `cap`?
name: x|a task is named by its key
working-directory: x|`cwd`
retryPolicy: {limit: 2}|did you mean `retries`?
retry: {delay: 5s}|`retries: {max: 3, delay: 5s}`
retry_delay: 5s|`retries: {max: 3, delay: 5s}`
retryInterval: 5s|`retries: {max: 3, delay: 5s}`
max_retries: 2|did you mean `retries`?
timeout_sec: 10s|did you mean `timeout`?
publishDir: x|did you mean `outputs`?
continueOn: {failure: true}|`may_fail: true`
errorStrategy: retry|`retries: 2`
maxForks: 2|`pools: {NAME: 2}`
queue: x|`pools: {NAME: {slots: 2, scope: store}}`
mem_mb: 2000|`memory: 2G`
mem: 2G|`memory: 2G`
uses: ./.github/workflows/x.yml|`include: [{file: x.yaml, as: x}]`
preconditions: [test -e x]|write `if: EXPR`
mailOn: {failure: true}|`if: run.status == 'failed'`
END
task 'resources: {mem: 4}'
ok 'no mistake about a guessed key follows' sh -c '! grep -q "mistakes\|mean" err'
task 'only: master'
ok 'nor here' sh -c '! grep -q "mistakes\|mean" err'
task 'strategy: {matrix: {os: [a]}}'
ok 'nor about its matrix' sh -c '! grep -q "mistakes\|mean" err'
for key in services schedule cache; do
    written 'name: w' "$key: x" 'tasks: {a: {run: "true"}}'
    matches "unknown key .$key. at the top level; [a-z]" "$key at the top: what there is"
done
while IFS='|' read -r key meant; do
    written 'name: w' "$key" 'tasks: {a: {run: "true"}}'
    says "$meant" "$key at the top: $meant"
    ok 'one mistake' sh -c '! grep -q "mistakes" err'
done <<'END'
timeout: 10m|`defaults: {timeout: 10m}` for each task, or `deadline: 10m` for the whole run
retries: 3|`retries` is a key of a task; for all tasks: `defaults: {retries: ...}`
shell: bash|for all tasks: `defaults: {shell: ...}`
inputs: [a]|at the top level; `inputs` is a key of a task
run: make|at the top level; `run` is a key of a task
handlerOn: {exit: {command: x}}|write a task under `finally`
precondition: test -e x|write `if: EXPR`
max_active_steps: 2|did you mean `jobs`?
timeoutSec: 10s|did you mean `deadline`?
END
while IFS='|' read -r key meant; do
    task "$key"
    says "$meant" "$key in a task: $meant"
    ok 'one mistake' sh -c '! grep -q "mistakes" err'
done <<'END'
finally: true|`finally` stands beside `tasks` at the top level: `finally: {NAME: {run: CMD}}`
deadline: 10m|`timeout: 10m`
jobs: 2|`jobs` is a key of the top level
on_failure: continue|`may_fail: true`
on_crash: adopt|`on_crash` is a key of the top level
pools: {x: 1}|`pools: {NAME: 2}` at the top
END
written 'name: w' 'defaults: {inputs: [x]}' 'tasks: {a: {run: "true"}}'
says 'in `defaults`; `inputs` is a key of a task' 'in defaults'
written 'name: w' 'defaults: {deadline: 1m}' 'tasks: {a: {run: "true"}}'
says 'in `defaults`; `deadline` is a key of the top level' 'or of the top level'
for key in script cmds commands; do
    written 'name: w' "tasks: {a: {$key: x}}"
    says 'did you mean `run`?' "$key: run"
done
written 'name: w' 'jobs:' '  build:' '    runs-on: ubuntu-latest' '    steps: [{run: make}]'
says 'written.yaml:2:1: `jobs` is the number of tasks that run at the same time; a job of GitHub Actions is a task here: `tasks: {build: {needs: [OTHER], run: CMD}}`; docs/coming-from.md' 'jobs of GitHub'
ok 'jobs of GitHub: one mistake' sh -c '! grep -q "mistakes" err'
written 'name: w' 'jobs: {a: {runs-on: x}, b: {needs: a}}' 'tasks: {a: {run: "true"}}'
says '2:1: `jobs` is the number of tasks' 'beside tasks'
while IFS='|' read -r expression meant; do
    task "check: 'echo \${{ $expression }}'"
    says "so write $meant" "$expression: $meant"
done <<'END'
params.day|"$day"
part|"$part"
env.HOME|"$HOME"
tasks.a.outputs.y|`env: {y: "${{ tasks.a.outputs.y }}"}` in the task, and "$y" in `check`
needs.a.outputs.y|`env: {y: "${{ tasks.a.outputs.y }}"}` in the task, and "$y" in `check`
run.id|`env: {id: "${{ run.id }}"}` in the task, and "$id" in `check`
default(tasks.a.outputs.y, 0)|`env: {name: "${{ default(tasks.a.outputs.y, 0) }}"}` in the task, and "$name" in `check`
params.day == "x"|`env: {name: '${{ params.day == "x" }}'}` in the task
END
task "check: 'echo \${{'"
says 'never rewritten' 'no expression'
written 'name: w' 'tasks:' '  a: {run: "true"}' '  b:' '    needs: [a]' '    run: echo ${{ tasks.a.outputs.y }}'
says 'env: {y: "${{ tasks.a.outputs.y }}"}` in the task, and "$y" in `run`' 'run'
printf 'name: w\ntasks:\n  a: {run: "true"}\n  b: {needs: [a], env: {y: "${{ tasks.a.outputs.y }}"}, run: "true"}\n' >written.yaml
exits 0 cairn validate written.yaml # that form
written 'name: w' 'on: push' 'tasks: {a: {run: "true"}}'
says 'leave it out' 'on'

# ---- What only a shell would do ----
warned() { # LINES of a task: the warnings
    printf 'name: w\nparams: {x: 1}\ntasks:\n  a:\n' >written.yaml
    printf '    %s\n' "$@" >>written.yaml
    exits 0 cairn validate written.yaml
}
while IFS='|' read -r key meant; do
    warned 'run: "true"' "$key"
    matches "warning: written.yaml:6:[0-9]+: " "$key: a warning with its place"
    says "$meant" "$key: $meant"
done <<'END'
cwd: ~/x|`~` is not expanded in `cwd`
cwd: $HOME|`$HOME` is not expanded in `cwd`: write the path itself
outputs: ['*.o']|`*.o` is the name of one file, and no pattern
outputs: [~/x]|`~` is not expanded in `outputs`
outputs: [$x/y]|`$` stays as it is in `outputs`: write ${{ NAME }}
inputs: ['${HOME}/x']|`${HOME}` is not expanded in `inputs`
env: {PATH: '$HOME/bin:$PATH'}|set it in `run`, as in `PATH="$HOME/bin:$PATH"`
env: {A: ~/x}|set it in `run`, as in `A="$HOME/x"`
env: {A: '$(date +%F)'}|`$(date +%F)` stays as it is: nothing expands the values of `env`; set it in `run`, as in `A="$(date +%F)"`
env: {A: 'x `date`'}|: `date` stays as it is: nothing expands the values of `env`
cwd: 'a/$(uname -m)'|`$(uname -m)` is not expanded in `cwd`: write the path itself
outputs: ['`hostname`.log']|: `hostname` is not expanded in `outputs`
inputs: ['$(echo $(echo x)).c']|`$(echo $(echo x))` is not expanded in `inputs`
END
for default in '$(date +%F)' '{default: $(date +%F)}'; do
    printf 'name: w\nparams: {day: %s}\ntasks: {a: {run: "true"}}\n' "$default" >written.yaml
    exits 0 cairn validate written.yaml
    says 'warning: written.yaml:2:' "$default: a warning with its place"
    says '`$(date +%F)` stays as it is: nothing expands the values of `params`; give it when the run begins: --param day="$(date +%F)"' "$default: what helps"
done
printf 'name: w\nparams: {a: "a$b", b: "$5 (five)", c: "`", d: "$(x", e: "(x) $", f: "``"}\nenv: {A: "`date`"}\ntasks: {a: {run: "true"}}\n' >written.yaml
exits 0 cairn validate written.yaml
is "$(grep -c 'written.yaml:2:.*stays as it is' err)" 0 'params with a dollar and a backquote'
says 'written.yaml:3:' 'the env of a workflow'

for values in '{x: [1, $(date +%F)]}' '{x: [1]}, include: [{x: $(date +%F)}]'; do
    printf 'name: w\ntasks:\n  a: {run: "true", foreach: %s}\n' "$values" >written.yaml
    exits 0 cairn validate written.yaml
    says '`$(date +%F)` stays as it is: nothing expands the values of `foreach`' "$values"
done

while IFS='|' read -r key meant; do
    warned "$key"
    matches "warning: written.yaml:5:[0-9]+: " "$key: a warning with its place"
    says "$meant" "$key: $meant"
done <<'END'
exec: [ls -l]|write each word as an item, or `run: ls -l`
exec: [ls, '*.c']|`*.c` is not expanded in `exec`
exec: [echo, $HOME]|`$HOME` is not expanded in `exec`
exec: [echo, 'x$(date)']|`$(date)` is not expanded in `exec`
exec: [cd, /tmp]|`cd` is a word of the shell and no program: use `run`, or `cwd: DIR`
exec: [source, x]|`source` is a word of the shell
run: if [[ -f x ]]; then echo; fi|5:13: `[[` is of bash, and `sh` may not have it
END
for fine in "exec: [find, ., -name, '*.c']" "exec: [sh, -c, '\$HOME']" "exec: [sh, -c, 'x \$(y)']" "exec: [say, 'see \`x\`']" "exec: ['./my prog', a]" \
    'run: grep "[[ x" f' "exec: [echo, '\${{ params.x }}*']"; do
    warned "$fine"
    ok "$fine: no warning" sh -c '! grep -q warning err'
done
warned 'run: "[[ a ]]"' 'shell: bash' "env: {A: 'a\$b', B: '^x\$', C: '\$5'}"
ok 'nor for bash, and values with a dollar' sh -c '! grep -q warning err'
task "if: \$x == 1"
says 'names stand here without `$`'
task 'if: not params.x'
says '`not` is written !'
task "if: '[ 1 = 1 ]'"
says 'this is an expression and no command'
task "needs: 'z, z2'"
says 'several are a list, as in [a, b]'

# ---- Values that were not set ----
cat >values.yaml <<'END'
name: values
on_failure: continue
tasks:
  a: {run: 'printf "one=1\ntwo=2\n" >"$CAIRN_OUTPUT"'}
  none: {run: 'true'}
  b: {needs: [a], exec: [echo, '${{ tasks.a.outputs.three }}']}
  c: {needs: [none], exec: [echo, '${{ tasks.none.outputs.k }}']}
END
exits 1 cairn run values.yaml
says 'tasks.a.outputs.three was not set (a set one, two)' 'what is set is named'
says 'tasks.none.outputs.k was not set (none set no value in $CAIRN_OUTPUT)' 'or that nothing is'

# ---- The first line of a script ----
printf '#!/bin/sh\r\necho\r\n' >dos
printf '#!/usr/bin/env python3\r\nprint(1)\r\n' >dos-env
printf '#!/nosuch/interp\n' >orphan
printf '#!/usr/bin/env nosuch-program\n' >orphan-env
chmod +x dos dos-env orphan orphan-env
cat >scripts.yaml <<'END'
name: scripts
on_failure: continue
tasks:
  words: {run: ./dos}
  shell: {run: 'true && ./dos-env'}
  missing: {run: 'true; ./orphan'}
  env: {run: ./orphan-env}
  argv: {exec: [./orphan-env]}
  absent: {run: 'nosuch-program && true'}
END
exits 1 cairn run scripts.yaml --jobs 1
says 'cannot execute ./dos: the first line of ./dos ends with a carriage return' 'CRLF'
says 'cannot execute ./dos-env: the first line of ./dos-env ends with' 'CRLF behind env, in a shell'
says 'the interpreter /nosuch/interp that the first line of ./orphan names is missing' 'no interpreter'
is "$(grep -c 'the interpreter nosuch-program that the first line of ./orphan-env names' err)" 2 'no program for env'
says 'exit 127, command not found' 'what is not there is not found'

# ---- The number of a run: as an operand, and as --run ----
mkdir numbers
cd numbers || exit 1
CAIRN_STORE=$PWD/.cairn
printf 'name: n\ntasks:\n  a: {run: "echo hi"}\n  b: {external: x}\n' >cairn.yaml
exits 7 cairn run --no-wait
exits 7 cairn run --no-wait --fresh
for typed in 'status 1' 'log 1 a' 'log 1' 'values 1' 'events 1' 'plan 1' 'graph 1' 'explain 1 a' 'next 1' \
    'checkpoint head 1' 'status --run 1' 'log a --run 1' 'log --run 1' 'values --run 1' 'events --run 1' \
    'plan --run 1' 'graph --run 1' 'explain a --run 1' 'next --run 1' 'checkpoint head --run 1' \
    'cancel --run 1' 'cancel 2' 'shell --run 1 a -- true' 'shell 1 a -- true'; do
    # shellcheck disable=SC2086
    exits 0 cairn $typed
done
exits 0 cairn status --run 1 --json
is "$(json_get .run)" 1 'that run'
exits 7 cairn resume --run 2 --no-wait
exits 0 cairn rerun 2 a --no-wait --only
exits 0 cairn complete --run 2 b
# The number behind the task, in the other order.
exits 7 cairn run --no-wait --fresh
for typed in 'explain a 1' 'log a 1' 'values a 1' 'shell a 1 -- true' 'claim b 3' 'rerun a 1 --only --no-wait'; do
    # shellcheck disable=SC2086
    exits 0 cairn $typed
done
mkdir b # a directory of the name of a task is no workflow file
exits 6 cairn complete b 3
says 'has task b' 'complete: the claim'
exits 2 cairn resolve b 1 rerun
says 'the outcome of task b is not unknown' 'a directory is no workflow file'
rmdir b
exits 2 cairn undo b 1
says 'task b cannot be undone'
exits 10 cairn explain a 6
says 'there is no run 6' 'explain: the run'
exits 10 cairn resume a 1 --no-wait
says '--run 1' 'resume: how a run is named'
exits 2 cairn claim b x
says "'b' is neither the number of a run nor a workflow file: cairn claim RUN TASK"
for typed in status watch events next 'checkpoint head'; do
    # shellcheck disable=SC2086
    exits 2 cairn $typed a
    says 'for a task: cairn explain a' "$typed: what shows a task"
done
exits 2 cairn status 1 --run 1
says 'give the number of the run only once'
exits 10 cairn plan 0
exits 10 cairn log 0 a
printf 'name: n\ntasks:\n  1: {run: "echo one"}\n  2: {run: "echo two"}\n' >digits.yaml
exits 0 cairn run digits.yaml --store digits
exits 0 cairn log 1 --store digits
says one 'a task of this name comes first'

# ---- Options that others have ----
exits 0 cairn session start tags --store tags
exits 0 cairn hypothesis add h --tags a,b --store tags
exits 0 cairn hypothesis list --tags b --store tags
says 'h1' '--tags is --tag'
exits 0 cairn checkpoint create one --store tags
exits 0 cairn note add n --store tags
exits 0 cairn checkpoint restore 1 --yes --store tags
exits 0 cairn checkpoint undo-restore --yes --store tags
exits 0 cairn checkpoint redo-restore --yes --store tags

# ---- Quiet ----
for typed in 'run -q --no-wait --fresh' 'run -q --no-wait'; do
    # shellcheck disable=SC2086
    exits 7 cairn $typed
    silent_on out
    silent_on err
done
exits 0 cairn run digits.yaml -q --store digits --fresh
silent_on err
printf 'name: f\ntasks:\n  f: {run: "false"}\n' >failing.yaml
exits 1 cairn run failing.yaml -q
says 'FAILED' 'what fails is not kept quiet'

for command in graph validate plan; do
    exits 10 cairn $command rotate
    ok "$command TASK: no file of that name is offered" sh -c "! grep -q \"cairn init\" err"
done
done_testing
