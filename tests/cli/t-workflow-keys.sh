# make: long
# Every key of the workflow file and every default: changing it changes what happens. The
# list of what was tried here is held against the schema, so that no key comes without.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
top=$PWD
unset CAIRN_STORE
export TOKEN=of-the-caller

# Two tasks that look for each other: `together` if they ran at the same time.
cat >meet <<'END'
touch "$1.on"
for i in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -e "$2.on" ] || { echo together >>log; exit 0; }
    sleep 0.05
done
rm "$1.on"
echo alone >>log
END

# What a look is: prints what happened, in a directory with w.yaml.
go() { # OPTION...
    cairn run w.yaml --json "$@" >events 2>err
    echo "exit $?"
    cat log 2>/dev/null
}
events() { # FIELD: its values in the events of the run
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" events
}
# Kills cairn while a task runs, then continues.
crash() {
    : >hold
    cairn run w.yaml >/dev/null 2>&1 &
    crashed=$!
    wait_for 20 test -e at || echo 'it did not start'
    kill -KILL $crashed
    wait $crashed 2>/dev/null
    rm hold
    cairn resume >/dev/null 2>&1
    echo "exit $?"
    cat log
}

observe() { # LOOK FILE: one line
    rm -rf "$top/try"
    mkdir "$top/try" && cd "$top/try" || exit 1
    cp ../meet .
    printf '%s\n' "$2" >w.yaml
    case $2 in name:*) ;; *) printf 'name: w\n%s\n' "$2" >w.yaml ;; esac
    eval "$1" 2>&1 | tr '\n' ' ' | sed 's/ *$//'
    cd "$top" || exit 1
}
# key NAME LOOK, then SEEN FILE for each value that is tried. What is seen must differ.
: >keys.tried
: >defaults.tried
key() {
    echo "$1" >>keys.tried
    try "$@"
}
# The same where the first file does not have the key.
default() {
    echo "$1" >>defaults.tried
    try "$@"
}
try() {
    tried=$1
    look=$2
    shift 2
    is "$(printf '%s\n' "$1" "$3" | sort -u | wc -l)" 2 "$tried: the values make a difference"
    number=0
    while [ $# -gt 0 ]; do
        number=$((number + 1))
        is "$(observe "$look" "$2")" "$1" "$tried ($number)"
        shift 2
    done
}

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
tasks: {a: {run: sleep 0.5}}' \
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
warned='go; grep -c "check warns" events'
key defaults.check.warn "$warned" \
    'exit 0 1' 'defaults: {check: {warn: 0.95}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.9}"}}' \
    'exit 0 0' 'defaults: {check: {warn: 0.8}}
tasks: {a: {run: ":", check: "echo {\\\"confidence\\\": 0.9}"}}'
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
key deadline go \
    'exit 7' 'deadline: 100ms
tasks: {a: {run: "sleep 1; echo a >>log"}}' \
    'exit 0 a' 'deadline: 1h
tasks: {a: {run: "sleep 1; echo a >>log"}}'
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
key on_failure 'go -j 2' \
    'exit 1 ended' 'on_failure: cancel
tasks: {a: {run: "trap \"echo ended >>log; exit 1\" TERM; touch at; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; echo all >>log"}, b: {run: "while [ ! -e at ]; do sleep 0.02; done; exit 1"}}' \
    'exit 1 all' 'on_failure: stop
tasks: {a: {run: "trap \"echo ended >>log; exit 1\" TERM; touch at; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; echo all >>log"}, b: {run: "while [ ! -e at ]; do sleep 0.02; done; exit 1"}}'
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
held='{a: {run: "echo begins >>log; touch at; while [ -e hold ]; do sleep 0.02; done; echo ends >>log"}}'
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

# ---- A task: what it does ----
described='go; cairn graph w.yaml --format json | grep -o "see [a-z]*"; cairn explain a 2>/dev/null | grep description'
key description "$described" \
    'exit 0 see this' 'description: see this
tasks: {a: {run: "true"}}' \
    'exit 0 see that' 'description: see that
tasks: {a: {run: "true"}}'
key task.description "$described" \
    'exit 0 see this   description: see this' 'tasks: {a: {run: "true", description: see this}}' \
    'exit 0 see that   description: see that' 'tasks: {a: {run: "true", description: see that}}'
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
key task.extends go \
    'exit 0 one' 'templates: {t: {run: echo one >>log}, u: {run: echo two >>log}}
tasks: {a: {extends: t}, b: {extends: u, run: "true"}}' \
    'exit 0 two' 'templates: {t: {run: echo one >>log}, u: {run: echo two >>log}}
tasks: {a: {extends: [t, u]}}'
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
key task.run go \
    'exit 0 a' 'tasks: {a: {run: echo a >>log}}' \
    'exit 0 b' 'tasks: {a: {run: echo b >>log}}'
key task.exec go \
    'exit 0' 'tasks: {a: {exec: ["true"]}}' \
    'exit 1' 'tasks: {a: {exec: ["false"]}}' \
    'exit 0' 'tasks: {a: {exec: ["true", "; false"]}}'
key task.external 'go --no-wait; cairn next 2>/dev/null' \
    'exit 7 a  do this' 'tasks: {a: {external: do this}}' \
    'exit 7 a  do that' 'tasks: {a: {external: do that}}'
lost='go --no-wait; for i in 1 2 3; do cairn claim 1 a --lease 1ms >/dev/null 2>&1; echo $?; sleep 0.01; done'
key task.lost_claims "$lost" \
    'exit 7 0 2 2' 'tasks: {a: {external: x, lost_claims: 1}}' \
    'exit 7 0 0 2' 'tasks: {a: {external: x, lost_claims: 2}}'
default task.lost_claims "$lost" \
    'exit 7 0 0 0' 'tasks: {a: {external: x}}' \
    'exit 7 0 0 2' 'tasks: {a: {external: x, lost_claims: 2}}'
key task.shell go \
    'exit 0 on' 'tasks: {a: {shell: [sh, -c], run: "false; echo on >>log"}}' \
    'exit 1' 'tasks: {a: {shell: [sh, -ec], run: "false; echo on >>log"}}'
default shell go \
    'exit 1' 'tasks: {a: {run: "false; echo on >>log"}}' \
    'exit 0 on' 'tasks: {a: {shell: [sh, -uc], run: "false; echo on >>log"}}'
default shell go \
    'exit 1' 'tasks: {a: {run: "$unset; echo on >>log"}}' \
    'exit 0 on' 'tasks: {a: {shell: [sh, -ec], run: "$unset; echo on >>log"}}'
key task.cwd 'mkdir -p d; go; ls d' \
    'exit 0 made' 'tasks: {a: {cwd: d, run: "touch made"}}' \
    'exit 0' 'tasks: {a: {cwd: ., run: "touch made"}}'
key task.env go \
    'exit 0 x' 'tasks: {a: {env: {E: x}, run: echo $E >>log}}' \
    'exit 0 y' 'env: {E: z}
tasks: {a: {env: {E: y}, run: echo $E >>log}}'
key task.secrets go \
    'exit 0 of-the-caller' 'secrets: [TOKEN]
tasks: {a: {secrets: [TOKEN], run: "echo ${TOKEN-none} >>log"}}' \
    'exit 0 none' 'secrets: [TOKEN]
tasks: {a: {secrets: [], run: "echo ${TOKEN-none} >>log"}}'
key task.params go \
    'exit 0 1 none' 'params: {n: 1, m: 2}
tasks: {a: {params: [n], run: "echo ${n-none} ${m-none} >>log"}}' \
    'exit 0 none 2' 'params: {n: 1, m: 2}
tasks: {a: {params: [m], run: "echo ${n-none} ${m-none} >>log"}}' \
    'exit 0 1 2' 'params: {n: 1, m: 2}
tasks: {a: {run: "echo ${n-none} ${m-none} >>log"}}'
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

# ---- When it runs ----
key task.needs 'go -j 1' \
    'exit 0 b a' 'tasks: {a: {needs: [b], run: echo a >>log}, b: {run: echo b >>log}}' \
    'exit 0 a b' 'tasks: {a: {needs: [], run: echo a >>log}, b: {run: echo b >>log}}'
when() { # the file with that `when`, behind a task that ends so
    printf 'tasks: {a: {run: "exit %s"}, b: {needs: a, run: "echo b >>log"%s}}' "$2" "$1"
}
key task.when go \
    'exit 1' "$(when ', when: success' 1)" \
    'exit 0 b' "$(when ', when: failed' 1)" \
    'exit 1 b' "$(when ', when: always' 1)"
key task.when go \
    'exit 0 b' "$(when ', when: success' 0)" \
    'exit 0' "$(when ', when: failed' 0)" \
    'exit 0 b' "$(when ', when: always' 0)"
default task.when go \
    'exit 0 b' "$(when '' 0)" \
    'exit 0' "$(when ', when: failed' 0)"
default task.when go \
    'exit 1' "$(when '' 1)" \
    'exit 1 b' "$(when ', when: always' 1)"
all() { # a group of which one member is left out
    printf 'tasks: {g: {foreach: {v: [1, 2]}, if: "v == 1", run: "true"}, b: {needs: g, run: "echo b >>log"%s}}' "$1"
}
orders='go -j 1; sed -i "s/ echo a/ echo  a/" w.yaml; cairn resume >/dev/null 2>&1; cat log | tr -d "\n"'
key task.needs "$orders" \
    'exit 1 a b abab' 'tasks: {b: {run: echo b >>log, needs: [{task: a}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}' \
    'exit 1 a b aba' 'tasks: {b: {run: echo b >>log, needs: [{task: a, order: true}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}'
key need_order.task go \
    'exit 0 a' 'on_failure: continue
tasks: {c: {run: "true", needs: {task: a, order: true}}, a: {run: echo a >>log}, b: {run: "true"}}' \
    'exit 1 a' 'on_failure: continue
tasks: {c: {run: "true", needs: {task: b, order: true}}, a: {run: echo a >>log}, b: {run: exit 1}}'
key need_order.order "$orders" \
    'exit 1 a b abab' 'tasks: {b: {run: echo b >>log, needs: [{task: a, order: false}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}' \
    'exit 1 a b aba' 'tasks: {b: {run: echo b >>log, needs: [{task: a, order: true}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}'
key need_order.soft go \
    'exit 1 b' 'on_failure: continue
tasks: {a: {run: exit 1}, b: {run: echo b >>log, needs: [{task: a, soft: true}]}}' \
    'exit 1' 'on_failure: continue
tasks: {a: {run: exit 1}, b: {run: echo b >>log, needs: [{task: a, soft: false}]}}'
default need_order.soft go \
    'exit 1' 'on_failure: continue
tasks: {a: {run: exit 1}, b: {run: echo b >>log, needs: [{task: a}]}}' \
    'exit 1 b' 'on_failure: continue
tasks: {a: {run: exit 1}, b: {run: echo b >>log, needs: [{task: a, soft: true}]}}'
key task.skip_exit go \
    'exit 0' 'tasks: {a: {run: exit 9, skip_exit: 9}, b: {run: echo b >>log, needs: a}}' \
    'exit 1' 'tasks: {a: {run: exit 9, skip_exit: 8}, b: {run: echo b >>log, needs: a}}'
key task.may_fail 'go -j 2' \
    'exit 0 b' 'tasks: {a: {run: until test -e at; do sleep 0.02; done; exit 1, may_fail: true}, b: {run: touch at; sleep 0.2; echo b >>log}}' \
    'exit 1 b' 'tasks: {a: {run: until test -e at; do sleep 0.02; done; exit 1, may_fail: false}, b: {run: touch at; sleep 0.2; echo b >>log}}'
default task.may_fail 'go -j 2' \
    'exit 1 b' 'tasks: {a: {run: until test -e at; do sleep 0.02; done; exit 1}, b: {run: touch at; sleep 0.2; echo b >>log}}' \
    'exit 0 b' 'tasks: {a: {run: until test -e at; do sleep 0.02; done; exit 1, may_fail: true}, b: {run: touch at; sleep 0.2; echo b >>log}}'
default need_order.order "$orders" \
    'exit 1 a b abab' 'tasks: {b: {run: echo b >>log, needs: [{task: a}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}' \
    'exit 1 a b aba' 'tasks: {b: {run: echo b >>log, needs: [{task: a, order: true}]}, a: {run: echo a >>log}, z: {run: exit 1, needs: b}}'
key task.needs_all go \
    'exit 0 b' "$(all ', needs_all: false')" \
    'exit 0' "$(all ', needs_all: true')"
default task.needs_all go \
    'exit 0 b' "$(all '')" \
    'exit 0' "$(all ', needs_all: true')"
key task.if go \
    'exit 0 a' 'tasks: {a: {if: 1 < 2, run: echo a >>log}}' \
    'exit 0' 'tasks: {a: {if: 2 < 1, run: echo a >>log}}'
key task.slots go \
    'exit 0 alone alone' 'jobs: 2
tasks: {a: {run: "sh ./meet a b", slots: 2}, b: {run: "sh ./meet b a"}}' \
    'exit 0 together together' 'jobs: 2
tasks: {a: {run: "sh ./meet a b", slots: 1}, b: {run: "sh ./meet b a"}}'
default task.slots go \
    'exit 0 together together' 'jobs: 2
tasks: {a: {run: "sh ./meet a b"}, b: {run: "sh ./meet b a"}}' \
    'exit 0 alone alone' 'jobs: 2
tasks: {a: {run: "sh ./meet a b", slots: 2}, b: {run: "sh ./meet b a"}}'
key task.nice go \
    "exit 0 $(($(nice) + 7))" 'tasks: {a: {run: "nice >>log", nice: 7}}' \
    "exit 0 $(nice)" 'tasks: {a: {run: "nice >>log", nice: 0}}'
default task.nice go \
    "exit 0 $(nice)" 'tasks: {a: {run: "nice >>log"}}' \
    "exit 0 $(($(nice) + 7))" 'tasks: {a: {run: "nice >>log", nice: 7}}'
key task.pool go \
    'exit 0 alone alone' 'jobs: 2
pools: {p: 1, q: 1}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: p}}' \
    'exit 0 together together' 'jobs: 2
pools: {p: 1, q: 1}
tasks: {a: {run: "sh ./meet a b", pool: p}, b: {run: "sh ./meet b a", pool: q}}'
key task.priority 'go -j 1' \
    'exit 0 b a' 'tasks: {a: {run: echo a >>log}, b: {priority: 1, run: echo b >>log}}' \
    'exit 0 a b' 'tasks: {a: {run: echo a >>log}, b: {priority: -1, run: echo b >>log}}'
default task.priority 'go -j 1' \
    'exit 0 a b c' 'tasks: {a: {priority: 1, run: echo a >>log}, b: {run: echo b >>log}, c: {priority: -1, run: echo c >>log}}' \
    'exit 0 b a c' 'tasks: {a: {priority: 1, run: echo a >>log}, b: {priority: 2, run: echo b >>log}, c: {priority: -1, run: echo c >>log}}'

# ---- What counts as its success, and what follows ----
key input_glob.glob 'echo 1 >1.f; echo 1 >1.g; go; echo 2 >2.f; cairn resume >/dev/null 2>&1; cat log | wc -l' \
    'exit 1 a 2' 'tasks: {a: {inputs: {glob: "*.f"}, run: echo a >>log}, b: {needs: a, run: exit 1}}' \
    'exit 1 a 1' 'tasks: {a: {inputs: {glob: "*.g"}, run: echo a >>log}, b: {needs: a, run: exit 1}}'
key task.inputs 'echo 1 >f; echo 1 >g; go; echo 2 >f; cairn resume >/dev/null 2>&1; cat log | wc -l' \
    'exit 0 a 2' 'tasks: {a: {inputs: f, run: echo a >>log}}' \
    'exit 0 a 1' 'tasks: {a: {inputs: g, run: echo a >>log}}'
key task.outputs go \
    'exit 0' 'tasks: {a: {outputs: f, run: touch f}}' \
    'exit 1' 'tasks: {a: {outputs: g, run: touch f}}'
reads='echo "o: f" >f.d; echo "o: g" >g.d; echo 1 >f; echo 1 >g; go; echo 2 >f; cairn resume >/dev/null 2>&1; cat log | wc -l'
key task.depfile "$reads" \
    'exit 1 a 2' 'tasks: {a: {run: "touch *.d; echo a >>log", depfile: f.d}, z: {needs: a, run: exit 1}}' \
    'exit 1 a 1' 'tasks: {a: {run: "touch *.d; echo a >>log", depfile: g.d}, z: {needs: a, run: exit 1}}'
rounds='echo "n=$CAIRN_ROUND" >>$CAIRN_OUTPUT; echo $CAIRN_ROUND >>log'
key task.repeat go \
    'exit 0 1 2' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3}}}" \
    'exit 0 1' "tasks: {a: {run: 'CAIRN_ROUND=1; $rounds'}}"
key task.repeat.until go \
    'exit 0 1 2' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3}}}" \
    'exit 0 1 2 3' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 3, max: 3}}}"
key task.repeat.max go \
    'exit 0 1 2' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3}}}" \
    'exit 1 1' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 1}}}"
between='go; events next_ms'
key task.repeat.delay "$between" \
    'exit 0 1 2 20' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3, delay: 20ms}}}" \
    'exit 0 1 2 30' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3, delay: 30ms}}}"
default task.repeat.delay "$between" \
    'exit 0 1 2 0' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3}}}" \
    'exit 0 1 2 10' "tasks: {a: {run: '$rounds', repeat: {until: outputs.n == 2, max: 3, delay: 10ms}}}"
key task.timeout go \
    'exit 1' 'tasks: {a: {timeout: 50ms, run: sleep 0.5}}' \
    'exit 0' 'tasks: {a: {timeout: 1h, run: sleep 0.5}}'
key timeout.after go \
    'exit 1' 'tasks: {a: {timeout: {after: 50ms}, run: sleep 0.5}}' \
    'exit 0' 'tasks: {a: {timeout: {after: 1h}, run: sleep 0.5}}'
stubborn='trap "sleep 0.5; echo in time >>log; exit 1" TERM; while :; do sleep 0.02; done'
key timeout.grace go \
    'exit 1' "tasks: {a: {timeout: {after: 100ms, grace: 50ms}, run: '$stubborn'}}" \
    'exit 1 in time' "tasks: {a: {timeout: {after: 100ms, grace: 9s}, run: '$stubborn'}}"
default timeout.grace go \
    'exit 1 in time' "tasks: {a: {timeout: 100ms, run: '$stubborn'}}" \
    'exit 1' "tasks: {a: {timeout: {after: 100ms, grace: 0s}, run: '$stubborn'}}"
key task.retries go \
    'exit 0 1 2' 'tasks: {a: {retries: 1, run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}' \
    'exit 1 1' 'tasks: {a: {retries: 0, run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}'
default retries go \
    'exit 1 1' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}' \
    'exit 0 1 2' 'tasks: {a: {retries: 1, run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2"}}'
pauses='go; events next_ms'
key retries.max "$pauses" \
    'exit 1 0' 'tasks: {a: {run: exit 1, retries: {max: 1}}}' \
    'exit 1 0 0' 'tasks: {a: {run: exit 1, retries: {max: 2}}}'
key retries.delay "$pauses" \
    'exit 1 20' 'tasks: {a: {run: exit 1, retries: {max: 1, delay: 20ms}}}' \
    'exit 1 30' 'tasks: {a: {run: exit 1, retries: {max: 1, delay: 30ms}}}'
default retries.delay "$pauses" \
    'exit 1 0' 'tasks: {a: {run: exit 1, retries: {max: 1, factor: 2}}}' \
    'exit 1 10' 'tasks: {a: {run: exit 1, retries: {max: 1, factor: 2, delay: 10ms}}}'
key retries.factor "$pauses" \
    'exit 1 10 20' 'tasks: {a: {run: exit 1, retries: {max: 2, delay: 10ms, factor: 2}}}' \
    'exit 1 10 15' 'tasks: {a: {run: exit 1, retries: {max: 2, delay: 10ms, factor: 1.5}}}'
default retries.factor "$pauses" \
    'exit 1 10 10' 'tasks: {a: {run: exit 1, retries: {max: 2, delay: 10ms}}}' \
    'exit 1 10 11' 'tasks: {a: {run: exit 1, retries: {max: 2, delay: 10ms, factor: 1.1}}}'
varied='go; [ "$(events next_ms | tr "\n" " ")" = "40 40 40 " ] && echo as given || echo varied'
key retries.jitter "$varied" \
    'exit 1 varied' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 40ms, jitter: true}}}' \
    'exit 1 as given' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 40ms, jitter: false}}}'
default retries.jitter "$varied" \
    'exit 1 as given' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 40ms}}}' \
    'exit 1 varied' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 40ms, jitter: true}}}'
key retries.cap "$pauses" \
    'exit 1 10 15 15' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 10ms, factor: 2, cap: 15ms}}}' \
    'exit 1 10 20 25' 'tasks: {a: {run: exit 1, retries: {max: 3, delay: 10ms, factor: 2, cap: 25ms}}}'
key retries.on go \
    'exit 0 1 2' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2 || exit 5", retries: {max: 1, on: [timeout, 5]}}}' \
    'exit 1 1' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2 || exit 5", retries: {max: 1, on: [timeout, 6]}}}'
key retries.on_exit go \
    'exit 0 1 2' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2 || exit 5", retries: {max: 1, on_exit: [5]}}}' \
    'exit 1 1' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2 || exit 5", retries: {max: 1, on_exit: [6]}}}' \
    'exit 0 1 2' 'tasks: {a: {run: "echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 2 || exit 5", retries: {max: 1}}}'
key task.check go \
    'exit 0' 'tasks: {a: {run: ":", check: test -e w.yaml}}' \
    'exit 1' 'tasks: {a: {run: ":", check: test -e none}}'
key task.check.run go \
    'exit 0' 'tasks: {a: {run: ":", check: {run: test -e w.yaml}}}' \
    'exit 1' 'tasks: {a: {run: ":", check: {run: test -e none}}}'
sure() { # CONFIDENCE BOUNDS: the file
    printf 'tasks: {a: {run: ":", check: {run: "echo {\\\\\\"confidence\\\\\\": %s}"%s}}}' "$1" "$2"
}
key task.check.min go \
    'exit 0' "$(sure 0.3 ', min: 0.3')" \
    'exit 1' "$(sure 0.3 ', min: 0.301')"
default check_min go \
    'exit 0' "$(sure 0.7 '')" \
    'exit 1' "$(sure 0.7 ', min: 0.701')"
default check_min go \
    'exit 1' "$(sure 0.699 '')" \
    'exit 0' "$(sure 0.699 ', min: 0.699')"
key task.check.warn "$warned" \
    'exit 0 1' "$(sure 0.9 ', warn: 0.901')" \
    'exit 0 0' "$(sure 0.9 ', warn: 0.9')"
default check_warn "$warned" \
    'exit 0 0' "$(sure 0.85 '')" \
    'exit 0 1' "$(sure 0.85 ', warn: 0.851')"
default check_warn "$warned" \
    'exit 0 1' "$(sure 0.849 '')" \
    'exit 0 0' "$(sure 0.849 ', warn: 0.849')"
key task.undo go \
    'exit 1 one' 'on_failure: undo
tasks: {a: {run: exit 1, undo: echo one >>log}}' \
    'exit 1 two' 'on_failure: undo
tasks: {a: {run: exit 1, undo: echo two >>log}}' \
    'exit 1' 'on_failure: undo
tasks: {a: {run: exit 1}}'
streams="cairn run w.yaml --json >events 2>err; cairn log a 2>/dev/null"
key task.stderr "$streams" \
    'out' "tasks: {a: {run: 'echo out; echo err >&2', stderr: apart}}" \
    'out err' "tasks: {a: {run: 'echo out; echo err >&2', stderr: merged}}"
default task.stderr "$streams" \
    'out err' "tasks: {a: {run: 'echo out; echo err >&2'}}" \
    'out' "tasks: {a: {run: 'echo out; echo err >&2', stderr: apart}}"
once() { printf '%s' "tasks: $held" | sed "s/a: {/a: {$1/"; }
key task.once crash \
    'exit 8 begins' "$(once 'once: true, ')" \
    'exit 0 begins begins ends' "$(once 'once: false, ')"
default task.once crash \
    'exit 0 begins begins ends' "$(once '')" \
    'exit 8 begins' "$(once 'once: true, ')"

reuse() { printf 'tasks: {a: {run: echo a >>log; echo v=1 >>"$CAIRN_OUTPUT"%s}}' "$1"; }
twice='cairn run w.yaml >/dev/null 2>&1; go'
key task.reuse "$twice" \
    'exit 0 a' "$(reuse ', reuse: true')" \
    'exit 0 a a' "$(reuse ', reuse: false')"
default task.reuse "$twice" \
    'exit 0 a a' "$(reuse '')" \
    'exit 0 a' "$(reuse ', reuse: true')"
key defaults.reuse "$twice" \
    'exit 0 a' "defaults: {reuse: true}
$(reuse '')" \
    'exit 0 a a' "defaults: {reuse: false}
$(reuse '')"
default defaults.reuse "$twice" \
    'exit 0 a a' "defaults: {timeout: 1m}
$(reuse '')" \
    'exit 0 a' "defaults: {reuse: true}
$(reuse '')"
cutoff() { printf 'tasks: {a: {run: echo a >>log; echo o >o, outputs: [o], inputs: [i]%s}, b: {needs: a, run: echo b >>log}}' "$1"; }
changed='echo 1 >i; cairn run w.yaml >/dev/null 2>&1; echo 2 >i; cairn resume >/dev/null 2>&1; cat log'
key task.cutoff "$changed" \
    'a b a' "$(cutoff ', cutoff: true')" \
    'a b a b' "$(cutoff ', cutoff: false')"
default task.cutoff "$changed" \
    'a b a b' "$(cutoff '')" \
    'a b a' "$(cutoff ', cutoff: true')"

# ---- Services ----
# A service that touches `up` after a moment, with more fields; its user notes itself.
serve() { # FIELDS
    printf 'tasks: {a: {run: "sleep 0.2; touch up; sleep 30", %s}, b: {run: echo b >>log, needs: a}}' "$1"
}
key task.service go \
    'exit 0 b' 'tasks: {a: {service: true, ready: "true", run: sleep 30}, b: {run: echo b >>log, needs: a}}' \
    'exit 0 a b' 'tasks: {a: {service: false, run: echo a >>log}, b: {run: echo b >>log, needs: a}}'
default task.service go \
    'exit 0 a b' 'tasks: {a: {run: echo a >>log}, b: {run: echo b >>log, needs: a}}' \
    'exit 0 b' 'tasks: {a: {service: true, ready: "true", run: echo a >>log; sleep 30}, b: {run: ": >log; echo b >>log", needs: a}}'
key task.ready go \
    'exit 0 b' "$(serve 'service: true, ready: test -e up')" \
    'exit 1' "$(serve 'service: true, ready: {run: exit 1, within: 100ms}')"
key task.ready.run go \
    'exit 0 b' "$(serve 'service: true, ready: {run: test -e up}')" \
    'exit 0 ready b' "$(serve 'service: true, ready: {run: test -e up; echo ready >>log}')"
key task.ready.within go \
    'exit 0 b' "$(serve 'service: true, ready: {run: test -e up, within: 20s}')" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 50ms}')"
default task.ready.within go \
    'exit 0 b' "$(serve 'service: true, ready: {run: test -e up}')" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 50ms}')"
key task.ready.every go \
    'exit 0 b' "$(serve 'service: true, ready: {run: test -e up, within: 5s, every: 50ms}')" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 1s, every: 5s}')"
default task.ready.every go \
    'exit 0 b' "$(serve 'service: true, ready: {run: test -e up, within: 5s}')" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 1s, every: 5s}')"
key task.restart go \
    'exit 0 b' 'tasks: {a: {service: true, restart: 1, ready: test -e up, run: "test -e n || { touch n; exit 1; }; touch up; sleep 30"}, b: {run: echo b >>log, needs: a}}' \
    'exit 1' 'tasks: {a: {service: true, restart: 0, ready: test -e up, run: "test -e n || { touch n; exit 1; }; touch up; sleep 30"}, b: {run: echo b >>log, needs: a}}'
ported='go >seen; sed -n "s/^p[1-9][0-9]*$/a port/p; s/^exit 1/none/p" seen'
key task.port "$ported" \
    'a port' 'tasks: {a: {service: true, port: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}' \
    'none' 'tasks: {a: {service: true, port: false, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}'
default task.port "$ported" \
    'none' 'tasks: {a: {service: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}' \
    'a port' 'tasks: {a: {service: true, port: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}'
slowly() { # FIELDS
    printf 'tasks: {a: {service: true, ready: test -e up, run: "trap '"'sleep 0.3; echo in time >>log; exit'"' TERM; touch up; sleep 30 & wait", %s}, b: {run: echo b >>log, needs: a}}' "$1"
}
key service_timeout.grace go \
    'exit 0 b' "$(slowly 'timeout: {grace: 20ms}')" \
    'exit 0 b in time' "$(slowly 'timeout: {grace: 9s}')"
default service_timeout.grace go \
    'exit 0 b in time' "$(slowly 'priority: 0')" \
    'exit 0 b' "$(slowly 'timeout: {grace: 0s}')"

# ---- Nothing was left out ----
schema=$root/docs/workflow.schema.json
"$BUILD/tests/tools/json" flat "$schema" >schema.flat
# .$defs.retries.oneOf[1].properties.delay.default is the key retries.delay. What only
# narrows a key that stands elsewhere (allOf) makes no key.
cut -f 1 schema.flat | grep -v '\.allOf\[' |
    sed -n 's/^\(.*\.properties\.[a-z_]*\)\(\..*\)\{0,1\}$/\1/p' |
    sed 's/\$defs\.//; s/\.oneOf\[[0-9]*\]//g; s/\.properties\./\./g; s/^\.//' |
    while IFS= read -r path; do
        # A key with keys of its own is one, too.
        while [ -n "$path" ]; do
            echo "$path"
            case $path in *.*) path=${path%.*} ;; *) path= ;; esac
        done
    done | grep -vx 'task\|param\|timeout\|service_timeout\|retries\|foreach_key\|input_glob\|need_order\|included\|whole_task' | sort -u >keys.known
sort -u keys.tried >keys.seen
is "$(comm -23 keys.known keys.seen | tr '\n' ' ')" '' 'every key of the schema has been tried'
is "$(comm -13 keys.known keys.seen | tr '\n' ' ')" '' 'and every key that was tried is in it'
ok 'they are as many as there should be' test "$(wc -l <keys.known)" -gt 50
grep '\.default\(\[[0-9]*\]\)\{0,1\}	' schema.flat | cut -f 1 | grep -v '\.allOf\[' |
    sed 's/\.default\(\[[0-9]*\]\)\{0,1\}$//; s/\$defs\.//; s/\.oneOf\[[0-9]*\]//g; s/\.*properties\././g; s/^\.*//' |
    sort -u >defaults.known
sort -u defaults.tried >defaults.seen
is "$(comm -23 defaults.known defaults.seen | tr '\n' ' ')" '' 'every default of the schema has been tried'
done_testing
