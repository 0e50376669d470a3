# make: long
# Every key and default of a task, but those of lists (t-workflow-keys.sh): changing it
# changes what happens.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/keys.sh"

# ---- A task: what it does ----
key task.description described \
    'exit 0 see this   description: see this' 'tasks: {a: {run: "true", description: see this}}' \
    'exit 0 see that   description: see that' 'tasks: {a: {run: "true", description: see that}}'
key task.extends go \
    'exit 0 one' 'templates: {t: {run: echo one >>log}, u: {run: echo two >>log}}
tasks: {a: {extends: t}, b: {extends: u, run: "true"}}' \
    'exit 0 two' 'templates: {t: {run: echo one >>log}, u: {run: echo two >>log}}
tasks: {a: {extends: [t, u]}}'
key task.run go \
    'exit 0 a' 'tasks: {a: {run: echo a >>log}}' \
    'exit 0 b' 'tasks: {a: {run: echo b >>log}}'
called='"$BUILD/examples/callbacks" begin w.yaml | head -n 1'
key task.call "$called" \
    'fetch x' 'tasks: {a: {call: fetch, with: {url: x}}}' \
    'failed' 'tasks: {a: {call: report, with: {url: x}}}'
key task.with "$called" \
    'fetch x' 'tasks: {a: {call: fetch, with: {url: x}}}' \
    'fetch y' 'tasks: {a: {call: fetch, with: {url: y}}}'
key task.exec go \
    'exit 0' 'tasks: {a: {exec: ["true"]}}' \
    'exit 1' 'tasks: {a: {exec: ["false"]}}' \
    'exit 0' 'tasks: {a: {exec: ["true", "; false"]}}'
gone='go; sed -i "s/a, b/a/" w.yaml; cairn run w.yaml >out 2>&1; grep -c gone out; ls b 2>&1'
key task.stale "$gone" \
    'exit 0 1 b' 'tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"], stale: warn}}' \
    "exit 0 1 ls: cannot access 'b': No such file or directory" 'tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"], stale: remove}}' \
    'exit 0 0 b' 'tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"], stale: keep}}'
default task.stale "$gone" \
    'exit 0 1 b' 'tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"]}}' \
    'exit 0 0 b' 'tasks: {m: {foreach: {i: [a, b]}, run: "echo >$i", outputs: ["${{ i }}"], stale: keep}}'
key task.args go \
    'exit 0 1 a b' 'tasks: {a: {args: a b, run: "echo $# $* >>log"}}' \
    'exit 0 2 a b' 'tasks: {a: {args: [a, b], run: "echo $# $* >>log"}}' \
    'exit 0 a b' 'tasks: {a: {args: [a, b], run: "exit 3", fallback: echo $* >>log}}'
default task.args go \
    'exit 0 0' 'tasks: {a: {run: "echo $# $* >>log"}}' \
    'exit 0 1 a' 'tasks: {a: {args: a, run: "echo $# $* >>log"}}'
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
key task.fallback go \
    'exit 0 f b' 'tasks: {a: {run: exit 9, fallback: echo f >>log}, b: {run: echo b >>log, needs: a}}' \
    'exit 1 f' 'tasks: {a: {run: exit 9, fallback: echo f >>log; exit 8}, b: {run: echo b >>log, needs: a}}'
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
key task.memory go \
    'exit 0 alone alone' 'jobs: 2
memory: 1G
tasks: {a: {run: "sh ./meet a b", memory: 513M}, b: {run: "sh ./meet b a", memory: 512M}}' \
    'exit 0 together together' 'jobs: 2
memory: 1G
tasks: {a: {run: "sh ./meet a b", memory: 512M}, b: {run: "sh ./meet b a", memory: 512M}}'
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
stored='go; cairn artifact list 2>/dev/null | wc -l'
key task.artifacts "$stored" \
    'exit 0 1' 'tasks: {a: {run: "touch f g", artifacts: f}}' \
    'exit 0 2' 'tasks: {a: {run: "touch f g", artifacts: [f, g]}}'
key task.artifacts.files "$stored" \
    'exit 0 1' 'tasks: {a: {run: "touch f g", artifacts: {files: f}}}' \
    'exit 0 2' 'tasks: {a: {run: "touch f g", artifacts: {files: [f, g]}}}'
key task.artifacts.keep 'go; sleep 0.02; cairn gc >/dev/null 2>&1; cairn artifact list 2>/dev/null | wc -l' \
    'exit 0 0' 'tasks: {a: {run: "touch f", artifacts: {files: f, keep: 1ms}}}' \
    'exit 0 1' 'tasks: {a: {run: "touch f", artifacts: {files: f, keep: 1d}}}'
key task.artifacts.none go \
    'exit 0' 'tasks: {a: {run: "true", artifacts: {files: f, none: warn}}}' \
    'exit 1' 'tasks: {a: {run: "true", artifacts: {files: f, none: fail}}}'
key task.artifacts.when "$stored" \
    'exit 0 1' 'tasks: {a: {run: "touch f", artifacts: {files: f, when: always}}}' \
    'exit 1 1' 'tasks: {a: {run: "touch f; exit 1", artifacts: {files: f, when: always}}}' \
    'exit 0 0' 'tasks: {a: {run: "touch f", artifacts: {files: f, when: failure}}}' \
    'exit 1 1' 'tasks: {a: {run: "touch f; exit 1", artifacts: {files: f, when: failure}}}'
default task.artifacts.when "$stored" \
    'exit 1 0' 'tasks: {a: {run: "touch f; exit 1", artifacts: {files: f}}}' \
    'exit 1 1' 'tasks: {a: {run: "touch f; exit 1", artifacts: {files: f, when: always}}}'
default task.artifacts.none go \
    'exit 0' 'tasks: {a: {run: "true", artifacts: {files: f}}}' \
    'exit 1' 'tasks: {a: {run: "true", artifacts: {files: f, none: fail}}}'
default task.artifacts.keep "$stored" \
    'exit 0 1' 'tasks: {a: {run: "touch f", artifacts: {files: f}}}' \
    'exit 0 0' 'tasks: {a: {run: "touch g", artifacts: {files: f, keep: 1d}}}'
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
    'exit 1' 'tasks: {a: {timeout: 50ms, run: sleep 60}}' \
    'exit 0' 'tasks: {a: {timeout: 1h, run: sleep 0.5}}'
key timeout.after go \
    'exit 1' 'tasks: {a: {timeout: {after: 50ms}, run: sleep 60}}' \
    'exit 0' 'tasks: {a: {timeout: {after: 1h}, run: sleep 0.5}}'
stubborn() { # PAUSE before it ends: time enough to begin, and then as long as it is let
    printf 'run: '"'trap \"sleep %s; echo in time >>log; exit 1\" TERM; while :; do sleep 0.02; done'" "$1"
}
key timeout.grace go \
    'exit 1' "tasks: {a: {timeout: {after: 500ms, grace: 50ms}, $(stubborn 60)}}" \
    'exit 1 in time' "tasks: {a: {timeout: {after: 2s, grace: 60s}, $(stubborn 0.2)}}"
default timeout.grace go \
    'exit 1 in time' "tasks: {a: {timeout: 2s, $(stubborn 0.2)}}" \
    'exit 1' "tasks: {a: {timeout: {after: 500ms, grace: 0s}, $(stubborn 60)}}"
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
ended='"$BUILD/examples/callbacks" begin w.yaml | tail -n 1'
key task.check.call "$ended" \
    'completed' 'tasks: {a: {call: fetch, with: {url: long}, check: {call: inspect}}}' \
    'failed' 'tasks: {a: {call: fetch, with: {url: long}, check: {call: report}}}'
undone='"$BUILD/examples/callbacks" begin w.yaml | grep -c withdraw'
key task.undo.call "$undone" \
    '1' 'on_failure: undo
tasks: {a: {call: report, with: {title: x}, undo: {call: withdraw}}}' \
    '0' 'on_failure: undo
tasks: {a: {call: report, with: {title: x}, undo: {call: inspect}}}'
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
key task.check.warn warned \
    'exit 0 1' "$(sure 0.9 ', warn: 0.901')" \
    'exit 0 0' "$(sure 0.9 ', warn: 0.9')"
default check_warn warned \
    'exit 0 0' "$(sure 0.85 '')" \
    'exit 0 1' "$(sure 0.85 ', warn: 0.851')"
default check_warn warned \
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
key task.reuse twice \
    'exit 0 a' "$(reuse ', reuse: true')" \
    'exit 0 a a' "$(reuse ', reuse: false')"
default reuse twice \
    'exit 0 a a' "$(reuse '')" \
    'exit 0 a' "$(reuse ', reuse: true')"
kept() { printf 'tasks: {a: {run: echo a >>log; echo o >o, outputs: [o]%s}}' "$1"; }
again='cairn run w.yaml >/dev/null 2>&1; rm o; sleep 0.02; cairn run w.yaml --fresh >/dev/null 2>&1; echo "exit $?"; cat log'
key reuse.keep "$again" \
    'exit 0 a' "$(kept ', reuse: {keep: 1h}')" \
    'exit 0 a a' "$(kept ', reuse: {keep: 1ms}')"
cutoff() { printf 'tasks: {a: {run: echo a >>log; echo o >o, outputs: [o], inputs: [i]%s}, b: {needs: a, run: echo b >>log}}' "$1"; }
changed='echo 1 >i; cairn run w.yaml >/dev/null 2>&1; echo 2 >i; cairn resume >/dev/null 2>&1; cat log'
key task.cutoff "$changed" \
    'a b a' "$(cutoff ', cutoff: true')" \
    'a b a b' "$(cutoff ', cutoff: false')"
default task.cutoff "$changed" \
    'a b a b' "$(cutoff '')" \
    'a b a' "$(cutoff ', cutoff: true')"

# ---- Services ----
# A service that is up when it has been asked once, or never, with more fields; its user
# notes itself.
serve() { # FIELDS
    printf 'tasks: {a: {run: "while [ ! -e asked ]; do sleep 0.02; done; touch up; sleep 30", %s}, b: {run: echo b >>log, needs: a}}' "$1"
}
ask='{ test -e up || { touch asked; exit 1; }; }'
key task.service go \
    'exit 0 b' 'tasks: {a: {service: true, ready: "true", run: sleep 30}, b: {run: echo b >>log, needs: a}}' \
    'exit 0 a b' 'tasks: {a: {service: false, run: echo a >>log}, b: {run: echo b >>log, needs: a}}'
default task.service go \
    'exit 0 a b' 'tasks: {a: {run: echo a >>log}, b: {run: echo b >>log, needs: a}}' \
    'exit 0 b' 'tasks: {a: {service: true, ready: test -s log, run: echo a >>log; sleep 30}, b: {run: ": >log; echo b >>log", needs: a}}'
key task.ready go \
    'exit 0 b' "$(serve "service: true, ready: '$ask'")" \
    'exit 1' "$(serve 'service: true, ready: {run: exit 1, within: 100ms}')"
key task.ready.run go \
    'exit 0 b' "$(serve "service: true, ready: {run: '$ask'}")" \
    'exit 0 ready b' "$(serve "service: true, ready: {run: '$ask; echo ready >>log'}")"
key task.ready.within go \
    'exit 0 b' "$(serve "service: true, ready: {run: '$ask', within: 20s}")" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 50ms}')"
default task.ready.within go \
    'exit 0 b' "$(serve "service: true, ready: {run: '$ask'}")" \
    'exit 1' "$(serve 'service: true, ready: {run: test -e up, within: 50ms}')"
key task.ready.every go \
    'exit 0 b' "$(serve "service: true, ready: {run: '$ask', within: 20s, every: 50ms}")" \
    'exit 1' "$(serve "service: true, ready: {run: '$ask', within: 1s, every: 5s}")"
default task.ready.every go \
    'exit 0 b' "$(serve "service: true, ready: {run: '$ask', within: 20s}")" \
    'exit 1' "$(serve "service: true, ready: {run: '$ask', within: 1s, every: 5s}")"
key task.restart go \
    'exit 0 b' 'tasks: {a: {service: true, restart: 1, ready: test -e up, run: "test -e n || { touch n; exit 1; }; touch up; sleep 30"}, b: {run: echo b >>log, needs: a}}' \
    'exit 1' 'tasks: {a: {service: true, restart: 0, ready: test -e up, run: "test -e n || { touch n; exit 1; }; touch up; sleep 30"}, b: {run: echo b >>log, needs: a}}'
ported='go >seen; sed -n "s/^p[1-9][0-9]*$/a port/p; s/^exit 1/none/p" seen'
key task.port "$ported" \
    'a port' 'tasks: {a: {service: true, port: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}' \
    'none' 'tasks: {a: {service: true, port: false, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}'
key task.port "$ported" \
    'a port' 'tasks: {a: {service: true, port: [x, y], ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A_Y" >>log, needs: a}}' \
    'none' 'tasks: {a: {service: true, port: [x, z], ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A_Y" >>log, needs: a}}'
default task.port "$ported" \
    'none' 'tasks: {a: {service: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}' \
    'a port' 'tasks: {a: {service: true, port: true, ready: "true", run: sleep 30}, b: {run: echo "p$CAIRN_PORT_A" >>log, needs: a}}'
slowly() { # PAUSE when it is to end, FIELDS
    printf 'tasks: {a: {service: true, ready: test -e up, run: "trap '"'sleep %s; echo in time >>log; exit'"' TERM; touch up; sleep 30 & wait", %s}, b: {run: echo b >>log, needs: a}}' "$1" "$2"
}
key service_timeout.grace go \
    'exit 0 b' "$(slowly 60 'timeout: {grace: 20ms}')" \
    'exit 0 b in time' "$(slowly 0.2 'timeout: {grace: 60s}')"
default service_timeout.grace go \
    'exit 0 b in time' "$(slowly 0.2 'priority: 0')" \
    'exit 0 b' "$(slowly 60 'timeout: {grace: 0s}')"

all_tried task
done_testing
