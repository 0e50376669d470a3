# make: long
# Every key and default of the workflow file, but those of a task (t-task-keys.sh), and
# those that make many tasks of one: changing it changes what happens.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/keys.sh"

# ---- The top level ----
again='go; sed -i "s/exit 1/exit 0/; s/^name: two/name: three/" w.yaml; cairn run w.yaml >o 2>&1; cairn runs --json >runs; json_get .total runs'
key name "$again" \
    'exit 1 1' 'name: one
tasks: {a: {run: exit 1}}' \
    'exit 1 2' 'name: two
tasks: {a: {run: exit 1}}'
key params go \
    'exit 0 1' 'params: {n: 1}
tasks: {a: {run: echo $n >>log}}' \
    'exit 0 2' 'params: {n: 2}
tasks: {a: {run: echo $n >>log}}'
named='go; cairn validate w.yaml 2>&1 | grep -oE "w(\[n=1\])? is valid" | sort -u'
key concurrency "$named" \
    'exit 0 w is valid' 'concurrency: workflow
params: {n: 1}
tasks: {a: {run: "true"}}' \
    'exit 0 w[n=1] is valid' 'concurrency: params
params: {n: 1}
tasks: {a: {run: "true"}}'
default concurrency "$named" \
    'exit 0 w is valid' 'params: {n: 1}
tasks: {a: {run: "true"}}' \
    'exit 0 w[n=1] is valid' 'concurrency: params
params: {n: 1}
tasks: {a: {run: "true"}}'
twice='go; cairn run w.yaml >o 2>&1; grep -c . log'
key again "$twice" \
    'exit 0 1 2' 'again: always
tasks: {a: {run: echo $CAIRN_RUN >>log}}' \
    'exit 0 1 1' 'again: never
tasks: {a: {run: echo $CAIRN_RUN >>log}}'
default again "$twice" \
    'exit 0 1 2' 'tasks: {a: {run: echo $CAIRN_RUN >>log}}' \
    'exit 0 1 1' 'again: never
tasks: {a: {run: echo $CAIRN_RUN >>log}}'
key param.default go \
    'exit 0 1' 'params: {n: {default: 1}}
tasks: {a: {run: echo $n >>log}}' \
    'exit 0 2' 'params: {n: {default: 2}}
tasks: {a: {run: echo $n >>log}}' \
    'exit 2' 'params: {n: {type: int}}
tasks: {a: {run: echo $n >>log}}'
key param.type 'go --param n=1.5' \
    'exit 0' 'params: {n: {type: number}}
tasks: {a: {run: ":"}}' \
    'exit 2' 'params: {n: {type: int}}
tasks: {a: {run: ":"}}' \
    'exit 2' 'params: {n: {type: bool}}
tasks: {a: {run: ":"}}'
default param.type 'go --param n=text' \
    'exit 0' 'params: {n: {default: 1}}
tasks: {a: {run: ":"}}' \
    'exit 2' 'params: {n: {type: int, default: 1}}
tasks: {a: {run: ":"}}' \
    'exit 0' 'params: {n: {type: string, default: 1}}
tasks: {a: {run: ":"}}'
key param.choices 'go --param n=3' \
    'exit 2' 'params: {n: {choices: [1, 2]}}
tasks: {a: {run: ":"}}' \
    'exit 0' 'params: {n: {choices: [1, 3]}}
tasks: {a: {run: ":"}}'
key env go \
    'exit 0 x' 'env: {E: x}
tasks: {a: {run: echo $E >>log}}' \
    'exit 0 y' 'env: {E: y}
tasks: {a: {run: echo $E >>log}}'
key secrets go \
    'exit 0 none' 'secrets: [TOKEN]
tasks: {a: {run: "echo ${TOKEN-none} >>log"}}' \
    'exit 0 of-the-caller' 'secrets: [OTHER]
tasks: {a: {run: "echo ${TOKEN-none} >>log"}}'
key defaults go \
    'exit 1' 'defaults: {}
tasks: {a: {run: "test $CAIRN_ATTEMPT = 2"}}' \
    'exit 0' 'defaults: {retries: 1}
tasks: {a: {run: "test $CAIRN_ATTEMPT = 2"}}'
key defaults.timeout go \
    'exit 1' 'defaults: {timeout: 50ms}
tasks: {a: {run: sleep 60}}' \
    'exit 0' 'defaults: {timeout: 1h}
tasks: {a: {run: sleep 0.5}}'
key defaults.retries go \
    'exit 0 1 2' 'defaults: {retries: 1}
tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}' \
    'exit 1 1' 'defaults: {retries: 0}
tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}'
key defaults.shell go \
    'exit 0 on' 'defaults: {shell: [sh, -c]}
tasks: {a: {run: "false; echo on >>log"}}' \
    'exit 1' 'defaults: {shell: [sh, -ec]}
tasks: {a: {run: "false; echo on >>log"}}'
key defaults.check go \
    'exit 1' 'defaults: {check: {}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.5}"}}' \
    'exit 0' 'defaults: {check: {min: 0.5}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.5}"}}'
key defaults.check.min go \
    'exit 0' 'defaults: {check: {min: 0.5}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.55}"}}' \
    'exit 1' 'defaults: {check: {min: 0.6}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.55}"}}'
key defaults.check.warn warned \
    'exit 0 1' 'defaults: {check: {warn: 0.95}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.9}"}}' \
    'exit 0 0' 'defaults: {check: {warn: 0.8}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.9}"}}'
reuse='tasks: {a: {run: echo a >>log; echo v=1 >>"$CAIRN_OUTPUT"}}'
key defaults.reuse twice \
    'exit 0 a' "defaults: {reuse: true}
$reuse" \
    'exit 0 a a' "defaults: {reuse: false}
$reuse"
key defaults.stale 'go; sed -i "s/a, b/a/" w.yaml; cairn run w.yaml >out 2>&1; [ -e b ] && echo there' \
    'exit 0 there' 'defaults: {stale: warn}
tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"]}}' \
    'exit 0' 'defaults: {stale: remove}
tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"]}}'
kept='tasks: {a: {run: echo a >>log; echo o >o, outputs: [o]}}'
key defaults.reuse 'cairn run w.yaml >/dev/null 2>&1; rm o; cairn run w.yaml --fresh >/dev/null 2>&1; echo "exit $?"; cat log' \
    'exit 0 a' "defaults: {reuse: {keep: 1h}}
$kept" \
    'exit 0 a a' "defaults: {reuse: true}
$kept"
key defaults.params go \
    'exit 0 1' 'params: {n: 1}
tasks: {a: {run: "echo ${n-none} >>log"}}' \
    'exit 0 none' 'params: {n: 1}
defaults: {params: []}
tasks: {a: {run: "echo ${n-none} >>log"}}' \
    'exit 0 1' 'params: {n: 1}
defaults: {params: []}
tasks: {a: {params: [n], run: "echo ${n-none} >>log"}}'
default defaults.reuse twice \
    'exit 0 a a' "defaults: {timeout: 1m}
$reuse" \
    'exit 0 a' "defaults: {reuse: true}
$reuse"
two='{a: {run: "sh ./meet a b"}, b: {run: "sh ./meet b a"}}'
key jobs go \
    'exit 0 alone alone' "jobs: 1
tasks: $two" \
    'exit 0 together together' "jobs: 2
tasks: $two"
if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
    default jobs go \
        'exit 0 together together' "tasks: $two" \
        'exit 0 alone alone' "jobs: 1
tasks: $two"
else
    echo jobs >>defaults.tried
    skip 'the default of jobs' 'needs two processors'
fi
key pools go \
    'exit 0 alone alone' 'jobs: 2
pools: {p: 1}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: p}}' \
    'exit 0 together together' 'jobs: 2
pools: {p: 2}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: p}}'
key pool_limit.slots go \
    'exit 0 alone alone' 'jobs: 2
pools: {p: {slots: 1}}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: p}}' \
    'exit 0 together together' 'jobs: 2
pools: {p: {slots: 2}}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: p}}'
# Another run beside the task that has the place of its pool.
printf 'name: other\npools: {p: {slots: 1, scope: store}}\ntasks: {i: {pool: p, run: "echo other >>log"}}\n' >other.yaml
# shellcheck disable=SC2016
beside='cp "$top/other.yaml" .
{ wait_for 60 test -e held; cairn run other.yaml -q; } & go >ended
wait; head -n 1 ended; cat log'
holder() {
    # shellcheck disable=SC2016
    printf 'pools: {p: %s}
tasks:
  a:
    pool: p
    run: |
      touch held
      until test -e log || cairn status --waiting 2>&1 | grep -q "held by"; do sleep 0.05; done
      test -e log || echo waits >>log' "$1"
}
key pool_limit.scope "$beside" \
    'exit 0 other' "$(holder '{slots: 1, scope: run}')" \
    'exit 0 waits other' "$(holder '{slots: 1, scope: store}')"
default pool_limit.scope "$beside" \
    'exit 0 other' "$(holder '{slots: 1}')" \
    'exit 0 waits other' "$(holder '{slots: 1, scope: store}')"
weighs='{a: {run: "sh ./meet a b", memory: 600M}, b: {run: "sh ./meet b a", memory: 600M}}'
key memory go \
    'exit 0 alone alone' "jobs: 2
memory: 1G
tasks: $weighs" \
    'exit 0 together together' "jobs: 2
memory: 1200M
tasks: $weighs"
key defaults.memory go \
    'exit 0 alone alone' "jobs: 2
memory: 1G
defaults: {memory: 600M}
tasks: $two" \
    'exit 0 together together' "jobs: 2
memory: 1G
defaults: {memory: 500M}
tasks: $two"
key deadline go \
    'exit 7' 'deadline: 100ms
tasks: {a: {run: "sleep 60; echo a >>log"}}' \
    'exit 0 a' 'deadline: 1h
tasks: {a: {run: "sleep 0.5; echo a >>log"}}'
fails='tasks:
  a: {run: echo a >>log, undo: echo ua >>log}
  b: {needs: a, run: echo b >>log; exit 1, undo: echo ub >>log}
  c: {needs: a, run: echo c >>log, undo: echo uc >>log, priority: -1}'
key on_failure 'go -j 1' \
    'exit 1 a b' "on_failure: stop
$fails" \
    'exit 1 a b c' "on_failure: continue
$fails" \
    'exit 1 a b ub' "on_failure: undo
$fails"
other() { # STEPS of a, which ends with all of them or a signal; b fails when a has begun
    printf 'tasks: {a: {run: "trap \\"echo ended >>log; exit 1\\" TERM; touch at; for i in $(seq %s); do sleep 0.05; done; echo all >>log"}, b: {run: "while [ ! -e at ]; do sleep 0.02; done; exit 1"}}' "$1"
}
key on_failure 'go -j 2' \
    'exit 1 ended' "on_failure: cancel
$(other 1000)" \
    'exit 1 all' "on_failure: stop
$(other 10)"
default on_failure 'go -j 1' \
    'exit 1 a b' "$fails" \
    'exit 1 a b c' "on_failure: continue
$fails"
early=$(printf '%s\n' "$fails" | sed 's/-1/9/')
key on_failure.undo 'go -j 1' \
    'exit 1 a c b ub' "on_failure: {undo: failed}
$early" \
    'exit 1 a c b ub ua' "on_failure: {undo: ancestors}
$early"
key on_failure.undo 'go -j 1' \
    'exit 1 a c b ub ua' "on_failure: {undo: ancestors}
$early" \
    'exit 1 a c b uc ub ua' "on_failure: {undo: all}
$early"
key on_crash crash \
    'exit 0 begins begins ends' "on_crash: kill
tasks: $held" \
    'exit 0 begins ends' "on_crash: adopt
tasks: $held"
default on_crash crash \
    'exit 0 begins begins ends' "tasks: $held" \
    'exit 0 begins ends' "on_crash: adopt
tasks: $held"
key tasks go \
    'exit 0 a' 'tasks: {a: {run: "echo $CAIRN_TASK >>log"}}' \
    'exit 0 b' 'tasks: {b: {run: "echo $CAIRN_TASK >>log"}}'
key finally 'go -j 1' \
    'exit 1 last failed' 'tasks: {a: {run: exit 1}}
finally: {last: {run: "echo $CAIRN_TASK $CAIRN_RUN_STATUS >>log"}}' \
    'exit 1' 'tasks: {a: {run: exit 1}}
finally: {}'
key description described \
    'exit 0 see this' 'description: see this
tasks: {a: {run: "true"}}' \
    'exit 0 see that' 'description: see that
tasks: {a: {run: "true"}}'
part='printf "params: {p: z}\ntasks: {b: {run: echo b-\$p >>log}}" >p.yaml; sed s/b-/c-/ p.yaml >q.yaml; go; cairn status --tasks | grep -o "[a-z]*/b"'
key include "$part" \
    'exit 0 a' 'tasks: {a: {run: echo a >>log}}' \
    'exit 0 b-z a m/b' 'include: [{file: p.yaml, as: m}]
tasks: {a: {run: echo a >>log, needs: m}}'
key included.file "$part" \
    'exit 0 b-z a m/b' 'include: [{file: p.yaml, as: m}]
tasks: {a: {run: echo a >>log, needs: m}}' \
    'exit 0 c-z a m/b' 'include: [{file: q.yaml, as: m}]
tasks: {a: {run: echo a >>log, needs: m}}'
key included.as "$part" \
    'exit 0 b-z a n/b' 'include: [{file: p.yaml, as: n}]
tasks: {a: {run: echo a >>log, needs: n}}' \
    'exit 0 b-z a o/b' 'include: [{file: p.yaml, as: o}]
tasks: {a: {run: echo a >>log, needs: o}}'
late() { # STEPS in which a waits for the other task
    printf 'tasks: {a: {run: "for i in $(seq %s); do [ -s log ] || sleep 0.05; done; echo a >>log"}}' "$1"
}
key included.needs "$part" \
    'exit 0 b-z a m/b' "include: [{file: p.yaml, as: m}]
$(late 400)" \
    'exit 0 a b-z m/b' "include: [{file: p.yaml, as: m, needs: a}]
$(late 10)"
key included.params "$part" \
    'exit 0 b-1 a m/b' 'include: [{file: p.yaml, as: m, params: {p: 1}}]
tasks: {a: {run: echo a >>log, needs: m}}' \
    'exit 0 b-y a m/b' 'include: [{file: p.yaml, as: m, params: {p: y}}]
tasks: {a: {run: echo a >>log, needs: m}}'
key templates go \
    'exit 0 one' 'templates: {t: {run: echo one >>log}}
tasks: {a: {extends: t}}' \
    'exit 0 two' 'templates: {t: {run: echo two >>log}}
tasks: {a: {extends: t}}'
key defaults.cwd 'mkdir d e; go; ls d e' \
    'exit 0 d: f  e:' 'defaults: {cwd: d}
tasks: {a: {run: touch f}}' \
    'exit 0 d:  e: f' 'params: {p: e}
defaults: {cwd: "${{ params.p }}"}
tasks: {a: {run: touch f}, b: {run: "true", cwd: d}}'
key defaults.pool go \
    'exit 0 alone alone' 'jobs: 2
pools: {p: 1}
defaults: {pool: p}
tasks: {a: {run: sh ./meet a b}, b: {run: sh ./meet b a}}' \
    'exit 0 together together' 'jobs: 2
pools: {p: 2}
defaults: {pool: p}
tasks: {a: {run: sh ./meet a b}, b: {run: sh ./meet b a}}'

# ---- Lists: many tasks of one ----
key task.foreach 'go -j 1' \
    'exit 0 x y' 'tasks: {a: {foreach: {v: [x, y]}, run: echo $v >>log}}' \
    'exit 0 z' 'tasks: {a: {foreach: {v: [z]}, run: echo $v >>log}}'
key task.exclude 'go -j 1' \
    'exit 0 x' 'tasks: {a: {foreach: {v: [x, y]}, exclude: [{v: y}], run: echo $v >>log}}' \
    'exit 0 y' 'tasks: {a: {foreach: {v: [x, y]}, exclude: [{v: x}], run: echo $v >>log}}'
key task.include 'go -j 1' \
    'exit 0 x y' 'tasks: {a: {foreach: {v: [x]}, include: [{v: y}], run: echo $v >>log}}' \
    'exit 0 x z' 'tasks: {a: {foreach: {v: [x]}, include: [{v: z}], run: echo $v >>log}}'
key foreach_key.range 'go -j 1' \
    'exit 0 1 2' 'tasks: {a: {foreach: {v: {range: [1, 2]}}, run: echo $v >>log}}' \
    'exit 0 1 2 3' 'tasks: {a: {foreach: {v: {range: [1, 3]}}, run: echo $v >>log}}'
key foreach_key.glob 'touch 1.x 2.x 1.y; go -j 1' \
    'exit 0 1.x 2.x' 'tasks: {a: {foreach: {v: {glob: "*.x"}}, run: echo $v >>log}}' \
    'exit 0 1.y' 'tasks: {a: {foreach: {v: {glob: "*.y"}}, run: echo $v >>log}}'
key foreach_key.lines 'seq 2 >f; seq 3 >g; go -j 1' \
    'exit 0 1 2' 'tasks: {a: {foreach: {v: {lines: f}}, run: echo $v >>log}}' \
    'exit 0 1 2 3' 'tasks: {a: {foreach: {v: {lines: g}}, run: echo $v >>log}}'
m='m: {run: "echo l=p >>$CAIRN_OUTPUT; echo k=q >>$CAIRN_OUTPUT"}, n: {run: "echo l=r >>$CAIRN_OUTPUT"}'
key foreach_key.from 'go -j 1' \
    'exit 0 p' "tasks: {$m, a: {foreach: {v: {from: m, value: l}}, run: 'echo \$v >>log'}}" \
    'exit 0 r' "tasks: {$m, a: {foreach: {v: {from: n, value: l}}, run: 'echo \$v >>log'}}"
key foreach_key.value 'go -j 1' \
    'exit 0 p' "tasks: {$m, a: {foreach: {v: {from: m, value: l}}, run: 'echo \$v >>log'}}" \
    'exit 0 q' "tasks: {$m, a: {foreach: {v: {from: m, value: k}}, run: 'echo \$v >>log'}}"
m='m: {run: "echo p >f; echo q >g; echo r >1.x; echo s >1.y"}'
key foreach_key.lines 'go -j 1' \
    'exit 0 p' "tasks: {$m, a: {foreach: {v: {from: m, lines: f}}, run: 'echo \$v >>log'}}" \
    'exit 0 q' "tasks: {$m, a: {foreach: {v: {from: m, lines: g}}, run: 'echo \$v >>log'}}"
key foreach_key.glob 'go -j 1' \
    'exit 0 1.x' "tasks: {$m, a: {foreach: {v: {from: m, glob: '*.x'}}, run: 'echo \$v >>log'}}" \
    'exit 0 1.y' "tasks: {$m, a: {foreach: {v: {from: m, glob: '*.y'}}, run: 'echo \$v >>log'}}"
m='m: {run: "for w in l\\<\\<E p q E; do echo $w; done >>$CAIRN_OUTPUT"}'
key foreach_key.max 'go -j 1' \
    'exit 1' "tasks: {$m, a: {foreach: {v: {from: m, value: l, max: 1}}, run: 'echo \$v >>log'}}" \
    'exit 0 p q' "tasks: {$m, a: {foreach: {v: {from: m, value: l, max: 2}}, run: 'echo \$v >>log'}}"
default foreach_key.max 'go -j 1' \
    'exit 0 p q' "tasks: {$m, a: {foreach: {v: {from: m, value: l}}, run: 'echo \$v >>log'}}" \
    'exit 1' "tasks: {$m, a: {foreach: {v: {from: m, value: l, max: 1}}, run: 'echo \$v >>log'}}"
key foreach_key.allow_empty go \
    'exit 0' 'tasks: {a: {foreach: {v: {glob: "*.z", allow_empty: true}}, run: ":"}, b: {run: ":"}}' \
    'exit 3' 'tasks: {a: {foreach: {v: {glob: "*.z", allow_empty: false}}, run: ":"}, b: {run: ":"}}'
default foreach_key.allow_empty go \
    'exit 3' 'tasks: {a: {foreach: {v: {glob: "*.z"}}, run: ":"}, b: {run: ":"}}' \
    'exit 0' 'tasks: {a: {foreach: {v: {glob: "*.z", allow_empty: true}}, run: ":"}, b: {run: ":"}}'
# Rows of a sheet that a task makes, and of all of `foreach`.
m='m: {run: "printf \"v,w\\np,1\\nq,2\\n\" >f"}, n: {run: "printf \"v,w\\nr,3\\n\" >g"}'
for of in 'foreach_key.@{v: {@}}' 'task.foreach.@{@, key: v}'; do
    made() { echo "tasks: {$m, a: {foreach: $(echo "$of" | sed "s/^[^@]*@//; s/@/$1/"), run: 'echo \$v \$w >>log'}}"; }
    of_key=${of%%@*}
    key "${of_key}from" 'go -j 1' \
        'exit 0 p 1 q 2' "$(made 'from: m, csv: f')" 'exit 0 r 3' "$(made 'from: n, csv: g')"
    key "${of_key}max" 'go -j 1' \
        'exit 1' "$(made 'from: m, csv: f, max: 1')" 'exit 0 p 1 q 2' "$(made 'from: m, csv: f, max: 2')"
done
default task.foreach.max 'go -j 1' \
    'exit 0 p 1 q 2' "$(made 'from: m, csv: f')" 'exit 1' "$(made 'from: m, csv: f, max: 1')"
# Sheets: where the members are rows of a file, and of all of `foreach`.
sheets='printf "a,b\nx,1\ny,2\n" >s; printf "a,b\nx,3\n" >t; tr , "\t" <s >s.tsv; tr , "\t" <t >t.tsv
    echo "[{\"a\":\"x\",\"b\":1}]" | tee s.json | tr -d "[]" >s.jsonl
    echo "[{\"a\":\"z\",\"b\":1}]" | tee t.json | tr -d "[]" >t.jsonl; go -j 1'
sheet() { printf 'tasks: {a: {foreach: %s, run: "echo $a $b >>log"}}' "$1"; }
for of in 'foreach_key.@{a: {@}}' 'task.foreach.@{@, key: a}'; do
    form() { sheet "$(printf '%s' "$of" | sed "s/^[^@]*@//; s/@/$1/")"; }
    of_key=${of%%@*}
    key "${of_key}csv" "$sheets" \
        'exit 0 x 1 y 2' "$(form 'csv: s')" 'exit 0 x 3' "$(form 'csv: t')"
    key "${of_key}tsv" "$sheets" \
        'exit 0 x 1 y 2' "$(form 'tsv: s.tsv')" 'exit 0 x 3' "$(form 'tsv: t.tsv')"
    key "${of_key}json" "$sheets" \
        'exit 0 x 1' "$(form 'json: s.json')" 'exit 0 z 1' "$(form 'json: t.json')"
    key "${of_key}jsonl" "$sheets" \
        'exit 0 x 1' "$(form 'jsonl: s.jsonl')" 'exit 0 z 1' "$(form 'jsonl: t.jsonl')"
    key "${of_key}columns" "$sheets" \
        'exit 0 a b x 3' "$(form 'csv: t, columns: [a, b]')" \
        'exit 0 b a 3 x' "$(form 'csv: t, columns: [b, a]')"
done
key foreach_key.key "$sheets" \
    'exit 0 x 3' "$(sheet '{c: {csv: t, key: b}}' | sed 's/\$b/$c/')" \
    'exit 0 3 x' "$(sheet '{c: {csv: t, key: a}}' | sed 's/\$a/$b/; s/\$b >/$c >/')"
key task.foreach.key "$sheets; cairn status --tasks | awk 'END { print \$2 }'" \
    'exit 0 x 3 a[a=x]' "$(sheet '{csv: t, key: a}')" \
    'exit 0 x 3 a[b=3]' "$(sheet '{csv: t, key: b}')"
key task.foreach.where "$sheets" \
    'exit 0 x 1' "$(sheet '{csv: s, key: a, where: b < 2}')" \
    'exit 0 y 2' "$(sheet '{csv: s, key: a, where: b > 1}')"
key task.foreach.allow_empty "$sheets" \
    'exit 0' "$(sheet '{csv: s, key: a, where: b > 9, allow_empty: true}' | sed 's/}$/, b: {run: ":"}}/')" \
    'exit 3' "$(sheet '{csv: s, key: a, where: b > 9, allow_empty: false}' | sed 's/}$/, b: {run: ":"}}/')"
default task.foreach.allow_empty "$sheets" \
    'exit 3' "$(sheet '{csv: s, key: a, where: b > 9}' | sed 's/}$/, b: {run: ":"}}/')" \
    'exit 0' "$(sheet '{csv: s, key: a, where: b > 9, allow_empty: true}' | sed 's/}$/, b: {run: ":"}}/')"

all_tried workflow
done_testing
