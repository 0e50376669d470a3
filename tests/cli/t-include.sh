# Workflow files that are parts of others.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

mkdir -p ci/sub
cat >w.yaml <<'EOF'
name: w
params: {day: monday}
env: {MAIN: m}
include:
  - {file: ci/lint.yaml, as: lint, params: {day: "${{ params.day }}!", level: 3}}
  - {file: ci/lint.yaml, as: again}
tasks:
  first: {run: 'echo first >>ran'}
  last:
    run: echo "last $n" >>ran
    needs: [first, lint]
    env: {n: "${{ tasks['lint/count'].outputs.n }}"}
EOF
cat >ci/lint.yaml <<'EOF'
name: lint
params: {day: x, level: {type: int, default: 1}, live: {type: bool, default: true}}
env: {WHO: lint}
defaults: {cwd: ., retries: 1}
pools: {db: 1}
on_failure: stop
include: [{file: sub/more.yaml, as: more}]
x-any: &any {pool: db}
tasks:
  count:
    <<: *any
    run: |
      echo "n=$day/$level/$live/$WHO/${MAIN-none}" >>"$CAIRN_OUTPUT"
      echo "$CAIRN_TASK" >>../ran
    outputs: []
  show:
    exec: [sh, -c, 'echo "show $0 $1" >>../ran; pwd', "${{ tasks.count.outputs.n }}", "${{ params.level }}"]
    needs: [count, more]
    if: tasks.count.outputs.n != '' && params.level > 0
  make: {run: 'echo "$level" >out.$level', cwd: sub, params: [level], outputs: ['out.${{ params.level }}']}
  each:
    foreach: {f: {glob: "sub/*.txt"}}
    run: echo "each $f" >>../ran
finally:
  bye: {run: echo bye >>../ran}
EOF
echo 'tasks: {a: {run: pwd}}' >ci/sub/more.yaml
touch ci/sub/one.txt ci/sub/two.txt
ran() { LC_ALL=C sort ran | tr '\n' ' '; }

# ---- Two of one file, one inside ----
exits 0 cairn validate w.yaml
exits 0 cairn run w.yaml -j 4
is "$(ran)" 'again/count bye bye each sub/one.txt each sub/one.txt each sub/two.txt each sub/two.txt first last monday!/3/true/lint/none lint/count show monday!/3/true/lint/none 3 show x/1/true/lint/none 1 ' \
    'names, params, env and files are those of the included file'
is "$(cairn log lint/show)" "$PWD/ci" 'it runs in the directory of its file'
is "$(cairn log lint/more/a)" "$PWD/ci/sub" 'and one inside it in that of its own'
ok 'a cwd goes on from there' test -e ci/sub/out.3
is "$(cairn values lint/count --json | grep -o 'monday![^"]*')" 'monday!/3/true/lint/none' 'values by the whole id'
run cairn explain lint/show
says 'lint/show will not run' 'explain takes the id'
is "$(cairn graph w.yaml --format json | grep -o '"[a-z/]*/bye"' | sort -u | tr '\n' ' ')" '"again/bye" "lint/bye" ' 'the graph has them'
is "$(cairn shell lint/count -- sh -c 'echo $level $day $MAIN')" '3 monday!' 'a shell has the params of its file'
run cairn log lint
says 'lint/more/a' 'the name of the file stands for its tasks'
is "$(planned)" '' 'nothing is left to do'

# ---- An edit of an included file is an edit of the workflow ----
: >ran
sed -i 's/default: 1/default: 2/' ci/lint.yaml
is "$(planned)" 'again/count again/make again/each[f=sub/one.txt] again/each[f=sub/two.txt] lint/bye again/bye' \
    'only what takes the param'
run cairn explain again/count
says 'param level changed' 'explain says what'
exits 0 cairn resume
is "$(planned)" '' 'and it is done'
sed -i 's/pwd/echo other; pwd/' ci/sub/more.yaml
is "$(planned)" 'last lint/show again/show lint/more/a again/more/a lint/bye again/bye' 'of the innermost, too'
sed -i 's/level: 3/level: 4/' w.yaml
run cairn explain lint/make
says 'old: 3' 'what the file gives is part of it'
exits 0 cairn resume
run cairn runs --json
is "$(cairn runs --json | grep -o '"params":{[^}]*}' | sort -u)" '"params":{"day":"monday"}' 'params of included files make no other run'

# ---- Chosen, run again, killed ----
: >ran
exits 0 cairn run w.yaml --fresh lint
is "$(ran)" 'each sub/one.txt each sub/two.txt lint/count show monday!/4/true/lint/none 4 ' 'the tasks of one included file'
: >ran
exits 0 cairn rerun lint/count --only
is "$(ran)" 'lint/count ' 'one task of it'
sed -i 's/^  count:/  wait: {run: "test ! -e ..\/hold || { touch ..\/at; sleep 20; }"}\n  count:/; s/needs: \[count, more\]/needs: [count, more, wait]/' ci/lint.yaml
: >ran
: >hold
killed_at at cairn run w.yaml --fresh -j 1
rm -f hold
exits 0 cairn resume
is "$(ran)" 'again/count bye bye each sub/one.txt each sub/one.txt each sub/two.txt each sub/two.txt first last monday!/4/true/lint/none lint/count show monday!/4/true/lint/none 4 show x/2/true/lint/none 2 ' \
    'killed and resumed: everything once'
# Without the files the run goes on as it is stored.
mv w.yaml away.yaml
exits 0 cairn rerun last --only
mv away.yaml w.yaml

# ---- Mistakes are told of the file that has them ----
refuses() { # FILE TEXT SAYS
    printf '%s\n' "$2" >"$1"
    run cairn validate w2.yaml
    is "$status" 3 "refused: $3"
    says "$3" "$3"
}
main='name: w2
include: [{file: ci/x.yaml, as: x}]
tasks: {a: {run: "true", needs: x}}'
echo "$main" >w2.yaml
refuses ci/x.yaml 'tasks:
  b: {run: "true", nedds: c}' 'ci/x.yaml:2:20: unknown key `nedds` in task `x/b`; did you mean `needs`?'
says '2 |   b: {run: "true", nedds: c}' 'with its line'
refuses ci/x.yaml 'tasks: {b: {run: "true", needs: a}}' 'ci/x.yaml:1:33: task `x/b` needs `a`, which does not exist'
refuses ci/x.yaml 'tasks: {build: {run: "true"}, c: {run: "true", needs: biuld}}' 'did you mean `build`?'
refuses ci/x.yaml 'tasks: {b: {exec: [echo, "${{ params.day }}"]}}' 'ci/x.yaml:1:31: unknown name `params.day`'
refuses ci/x.yaml 'tasks: {b: {exec: [echo, "${{ tasks.a.status }}"]}}' 'ci/x.yaml:1:31: there is no task `a`'
refuses ci/x.yaml 'params: {p: {type: int}}
tasks: {b: {run: "true"}}' 'w2.yaml:2:11: the param `p` of the included file has no default'
refuses ci/x.yaml 'tasks: {b: {run: "true", needs: c}, c: {run: "true", needs: b}}' 'x/b'
refuses ci/x.yaml 'tasks: {}' 'ci/x.yaml:1:8: no tasks'
refuses ci/x.yaml 'jobs: many
tasks: {b: {run: "true"}}' 'ci/x.yaml:1:7: `jobs` must be a whole number'
refuses ci/x.yaml 'include: [{file: ../w2.yaml, as: y}]
tasks: {b: {run: "true"}}' 'a circle of included files: w2.yaml includes ci/x.yaml, which includes w2.yaml'
refuses ci/x.yaml 'include: [{file: sub/../x.yaml, as: y}]
tasks: {b: {run: "true"}}' 'the file includes itself'
refuses ci/x.yaml 'tasks: {b: {run: "true", cwd: "${{ run.id }}"}}' 'write "./${{ run.id }}"'
refuses ci/x.yaml 'tasks: {b/c: {run: "true"}}' 'must be made of'
rm ci/x.yaml
refuses w2.yaml "$main" 'w2.yaml:2:18: there is no file `ci/x.yaml`'
mkfifo ci/x.yaml
refuses w2.yaml "$main" 'w2.yaml:2:18: `ci/x.yaml` cannot be included'
rm ci/x.yaml
mkdir ci/x.yaml
refuses w2.yaml "$main" 'cannot be included'
rmdir ci/x.yaml
printf 'params: {p: {type: int, default: 1}}\ntasks: {b: {run: "true"}}\n' >ci/x.yaml
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, params: {p: many}}]
tasks: {a: {run: "true"}}' 'w2.yaml:2:48: the value given for the param `p` must be an int'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, params: {q: 1}}]
tasks: {a: {run: "true"}}' 'w2.yaml:2:45: the included file has no param `q`'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x}, {file: ci/x.yaml, as: x}]
tasks: {a: {run: "true"}}' 'another file is included as `x` already'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x}]
tasks: {x: {run: "true"}}' '`x` is the name of an included file, too'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x}]
tasks: {a: {exec: [echo, "${{ tasks.x.status }}"], needs: x}}' 'it is an included file, which has no values of its own'
refuses w2.yaml 'name: w2
includes: [{file: ci/x.yaml, as: x}]
tasks: {a: {run: "true"}}' 'did you mean `include`?'
# Nine deep, and a hundred and one.
for i in 1 2 3 4 5 6 7 8 9; do
    printf 'include: [{file: d%d.yaml, as: d}]\ntasks: {a: {run: "true"}}\n' $((i + 1)) >ci/d$i.yaml
done
echo 'tasks: {a: {run: "true"}}' >ci/d10.yaml
printf 'name: w2\ninclude: [{file: ci/d2.yaml, as: d}]\ntasks: {a: {run: "true"}}\n' >w2.yaml
run cairn validate w2.yaml
is "$status" 3 'nine deep'
says 'files are included more than 8 deep' 'it is refused'
sed -i s/d2/d3/ w2.yaml
exits 0 cairn validate w2.yaml
{
    echo 'name: w2'
    echo 'include:'
    for i in $(seq 100); do echo " - {file: ci/x.yaml, as: i$i}"; done
} >w2.yaml
echo 'tasks: {a: {run: "true"}}' >>w2.yaml
exits 0 cairn validate w2.yaml
sed -i 's/^tasks/ - {file: ci\/x.yaml, as: more}\ntasks/' w2.yaml
run cairn validate w2.yaml
says 'more than 100 files are included' 'a hundred and one'

# A workflow that is named by a link.
mkdir -p far
printf 'name: w2\ninclude: [{file: far.yaml, as: x}]\ntasks: {a: {run: "true"}}\n' >far/w.yaml
echo 'tasks: {a: {rum: "true"}}' >far/far.yaml
ln -s far/w.yaml link.yaml
run cairn validate link.yaml
says "$PWD/far/far.yaml:1:13: unknown key" 'the place of the file is where it is'
run cairn validate far/w.yaml
says 'cairn: far/far.yaml:1:13: unknown key' 'and short where the name leads to it'

# ---- Whole-run keys, secrets ----
cat >w3.yaml <<'EOF'
name: w3
include: [{file: ci/s.yaml, as: s}]
tasks: {a: {run: 'echo "a ${TOKEN-none}" >>seen'}}
EOF
cat >ci/s.yaml <<'EOF'
secrets: [TOKEN]
deadline: 3s
tasks: {b: {run: 'echo "b $TOKEN"; echo "b ${#TOKEN}" >>../seen', secrets: [TOKEN]}}
EOF
# An included file that waits for tasks of the file that includes it.
cat >w6.yaml <<'EOF'
name: w6
include:
  - {file: ci/w.yaml, as: w, needs: [build, {task: note, soft: true}]}
  - {file: ci/w.yaml, as: v, needs: w}
tasks:
  build: {foreach: {n: [1, 2]}, run: 'test ! -e no; echo "build $n" >>ran'}
  note: {run: 'echo note >>ran; exit 1', may_fail: true}
  pack: {needs: v, run: echo pack >>ran}
EOF
cat >ci/w.yaml <<'EOF'
include: [{file: deep.yaml, as: deep, needs: a}]
tasks:
  a: {run: 'echo "$CAIRN_TASK" >>../ran', needs: up}
  up: {service: true, run: 'echo "$CAIRN_TASK" >>../ran; exec sleep 60', ready: 'grep -qx "$CAIRN_TASK" ../ran'}
finally:
  end: {run: 'echo "$CAIRN_TASK" >>../ran'}
EOF
echo 'tasks: {d: {run: '"'"'echo "$CAIRN_TASK" >>../ran'"'"'}}' >ci/deep.yaml
rm -f ran
exits 0 cairn run w6.yaml -j 1
is "$(sort ran | tr '\n' ' ')" 'build 1 build 2 note pack v/a v/deep/d v/end v/up w/a w/deep/d w/end w/up ' 'all of it'
is "$(grep -v 'end\|note\|build' ran | tr '\n' ' ')" 'w/up w/a w/deep/d v/up v/a v/deep/d pack ' 'in the order of the needs'
is "$(grep -n 'w/up' ran | cut -d: -f1)" 4 'all behind what is needed, the service too'
rm -f ran && touch no
exits 1 cairn run w6.yaml --fresh -k -j 3
is "$(sort ran | tr '\n' ' ')" 'note v/end w/end ' 'what is needed fails: nothing of the file but its end'
rm no
exits 0 cairn resume
is "$(grep -c . ran)" 14 'and then the rest'
is "$(planned)" '' 'nothing is left'
sed -i 's/, needs: w}/}/' w6.yaml
is "$(planned)" 'pack v/a v/up v/deep/d w/end v/end' 'such a need is part of the tasks'
echo 'tasks: {b: {run: "true"}, c: {run: "true"}}' >ci/x.yaml
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: b}]
tasks: {a: {run: "true"}}' 'w2.yaml:2:43: task `x/b` needs `b`, which does not exist'
is "$(grep -c 'does not exist' err)" 1 'it is said once'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: ["a[n=${{ params.n }}]"]}]
tasks: {a: {run: "true", foreach: {n: [1]}}}' 'w2.yaml:2:49: ${{ }} cannot stand in `needs` of an included file'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: a}]
tasks: {a: {run: "true", needs: x}}' 'need each other in a circle'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: x}]
tasks: {a: {run: "true", needs: x}}' 'w2.yaml:2:43: task `x/b` needs itself'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: [a, a]}]
tasks: {a: {run: "true"}}' '`a` is needed twice'
is "$(grep -c 'needed twice' err)" 1 'it is said once'
refuses w2.yaml 'name: w2
include: [{file: ci/x.yaml, as: x, needs: end}]
tasks: {a: {run: "true"}}
finally: {end: {run: "true"}}' 'which is under `finally`'
# Services of a file, as those of any other.
cat >w4.yaml <<'EOF'
name: w4
include: [{file: ci/v.yaml, as: v}, {file: ci/only.yaml, as: only}, {file: ci/sub.yaml, as: sub}]
tasks:
  a: {run: 'test -e ci/up && test "$CAIRN_PORT_ONLY_DB" -gt 0 && echo a >>ran', needs: [only/db, v]}
  b: {run: 'echo b >>ran', needs: [only, sub]}
EOF
cat >ci/only.yaml <<'EOF'
tasks:
  db: {service: true, port: true, run: 'touch up; exec sleep 60', ready: 'test -e up -a "$CAIRN_PORT_DB" = "$CAIRN_PORT"'}
  of-it: {run: 'test "$CAIRN_PORT_DB" -gt 0', needs: db}
EOF
echo 'tasks: {db: {service: true, run: exec sleep 60, ready: "true"}}' >ci/sub.yaml
cat >ci/v.yaml <<'EOF'
tasks:
  db: {service: true, run: 'exec sleep 60', ready: 'true'}
  use: {run: echo use >>../ran, needs: db}
EOF
: >ran
exits 0 cairn run w4.yaml -j 3
is "$(ran)" 'a b use ' 'services of included files'
is "$(cairn graph w4.yaml | grep -c -- '->')" 6 'a file with other tasks is needed without its services'
# Lists that a task of the file makes, and one of the outer file.
cat >w5.yaml <<'EOF'
name: w5
include: [{file: ci/l.yaml, as: l}]
tasks:
  again:
    foreach: {p: {from: l/split, value: parts}}
    run: echo "again $p" >>ran
EOF
cat >ci/l.yaml <<'EOF'
tasks:
  split: {run: 'echo "parts=[\"x\", \"y\"]" >>"$CAIRN_OUTPUT"; printf "m\nn\n" >names', outputs: [names]}
  each: {foreach: {p: {from: split, value: parts}}, run: 'echo "each $p" >>../ran'}
  line: {foreach: {p: {from: split, lines: names}}, run: 'echo "line $p" >>../ran'}
EOF
: >ran
exits 0 cairn run w5.yaml -j 3
is "$(ran)" 'again x again y each x each y line m line n ' 'lists of tasks of included files'
export TOKEN=verysecret
run cairn run w3.yaml
is "$status" 0 'with a secret of an included file'
says 'ci/s.yaml:2:1: `deadline`' 'what holds for a whole run is that of the outer file'
is "$(sort seen | tr '\n' ' ')" 'a none b 10 ' 'only the task that lists it has it'
is "$(cairn log s/b)" 'b [REDACTED]' 'and it is not stored'
done_testing
