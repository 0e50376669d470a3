# make: sanitize
# Services: tasks that stay alive beside those that need them.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

# Each service notes its start and its end, and holds a file while it is up.
cat >w.yaml <<'END'
name: w
params: {how: good}
tasks:
  prepare: {run: 'echo prepare >>ran'}
  db:
    needs: prepare
    service: true
    run: |
      rm -f up
      echo "db $CAIRN_ATTEMPT" >>ran
      case $how in
      never) exec sleep 61.5 ;;
      early) exit 3 ;;
      dies) touch up; while test ! -e kill; do sleep 0.02; done; rm up; exit 4 ;;
      esac
      trap 'echo "db ends" >>ran; rm -f up; exit 0' TERM
      touch up
      sleep 61.5 &
      wait
    ready: {run: 'test -e up || { echo not yet; exit 1; }', within: 20s, every: 20ms}
  first: {needs: db, run: 'test -e up; echo first >>ran'}
  second: {needs: [first, db], run: 'test -e up; echo second >>ran; test ! -e fail'}
  last: {needs: second, run: 'while test -e up; do sleep 0.02; done; echo last >>ran', timeout: 20s}
END
ran() { test ! -e ran || tr '\n' ' ' <ran; rm -f ran; }
json_run() { cairn status --json >status.json && json_get .run status.json; }
gone() { ! lives 'sleep 61.5'; }

# ---- As sure as what needs it ----
cat >listed.yaml <<'END'
name: listed
tasks:
  db: {service: true, run: 'exec sleep 61.5', ready: 'true'}
  split: {run: 'echo "l=[1]" >>"$CAIRN_OUTPUT"'}
  part: {needs: db, foreach: {p: {from: split, value: l}}, run: 'true'}
END
is "$(planned listed.yaml)" 'db split part[p=…]' 'members of a list will need it'

# ---- As it should go ----
exits 0 cairn plan w.yaml
exits 0 cairn run w.yaml -j 1
is "$(ran)" 'prepare db 1 first second db ends last ' \
    'behind what it needs, before what needs it, ended before the rest'
says 'db is ready after'
ok 'nothing of it is left' gone
exits 0 cairn log db
exits 0 cairn events
says 'db: ready after' 'the audit log has when it was ready'
exits 0 cairn status --tasks
says '5 completed'
is "$(planned --run 1)" '' 'a service alone is no reason to run'
exits 0 cairn explain db --run 1
says 'nothing that needs it runs'
printf "name: un\ntasks:\n  s: {service: true, run: sleep 60, ready: 'true'}\n  a: {needs: s, if: \"'' != ''\", run: ':'}\n" >un.yaml
exits 0 cairn run un.yaml --store un.store
exits 0 cairn status --tasks --store un.store
says '2 skipped (1 because of a condition, 1 service that nothing needed)' 'status tells a service from a condition'
matches 's +\(nothing that needs it ran\)' 'and of the service why'
rm -r un.yaml un.store
exits 0 cairn resume
is "$(ran)" '' 'nothing runs'

# ---- Again, as far as something needs it ----
exits 0 cairn plan --run 1
sed -i 's/echo second/echo  second/' w.yaml
is "$(planned --run 1)" 'db second last' 'the service of an edited task, but not what is done'
exits 0 cairn explain db --run 1
says 'second, which needs it, runs'
exits 0 cairn resume
is "$(ran)" 'db 2 second db ends last ' 'the run agrees with the plan'
sed -i 's/rm -f up$/rm -f up gone/' w.yaml
is "$(planned --run 1)" '' 'an edit of a service makes nothing run'
exits 0 cairn rerun last --only
is "$(ran)" 'last ' 'it is not started for what does not need it'

# ---- Failures ----
sed 's/within: 20s/within: 500ms/' w.yaml >never.yaml
exits 1 cairn run never.yaml --param how=never
is "$(ran)" 'prepare db 1 ' 'what needs it does not start'
says 'not ready within 0.5 s: not yet'
says 'skipped first (db failed)'
ok 'it was ended' gone
exits 1 cairn run w.yaml --param how=early
is "$(ran)" 'prepare db 1 ' 'one that ends has failed'
says 'ended before it was ready'
touch fail
exits 1 cairn run w.yaml --fresh
is "$(ran)" 'prepare db 1 first second db ends ' 'a task fails: the service is ended'
rm fail
is "$(planned)" 'db second' 'the plan of the resume'
exits 0 cairn resume
is "$(ran)" 'db 2 second db ends last ' 'the resume starts it again'

# One that ends while tasks need it fails those that run with it.
cat >dies.yaml <<'END'
name: dies
tasks:
  db:
    service: true
    run: 'touch up; while test ! -e kill; do sleep 0.02; done; rm up kill; exit 4'
    ready: {run: test -e up, every: 20ms}
  uses: {needs: db, run: 'until test -e begun; do sleep 0.02; done; touch kill; exec sleep 61.5'}
  later: {needs: [db, uses], run: 'echo later >>ran'}
  once: {needs: db, once: true, run: 'touch begun; exec sleep 61.5'}
  other: {run: 'sleep 0.2; echo other >>ran'}
END
exits 8 cairn run dies.yaml -j 4
is "$(ran)" 'other ' 'what does not need it goes on, the rest does not start'
says 'the service db ended while it ran'
says 'ended while tasks needed it'
ok 'its users were ended' gone
exits 0 cairn status --tasks
matches 'unknown +once' 'what must not run twice is unknown'

# ---- Restarts ----
cat >again.yaml <<'END'
name: again
tasks:
  db:
    service: true
    run: |
      echo "db $CAIRN_ATTEMPT" >>ran
      touch up
      while test ! -e kill; do sleep 0.02; done
      rm up kill
    ready: {run: test -e up, every: 20ms}
    restart: 2
  uses: {needs: db, run: 'touch kill; while test -e kill -o ! -e up; do sleep 0.02; done; echo uses >>ran'}
  later: {needs: [db, uses], run: 'test -e up; echo later >>ran'}
END
exits 0 cairn run again.yaml
is "$(ran)" 'db 1 db 2 uses later ' 'it is started again, and what needs it waits'
sed -i 's/restart: 2/restart: 0/' again.yaml
exits 1 cairn run again.yaml --fresh
is "$(ran)" 'db 1 ' 'no restart is left'

# ---- Stops and kills ----
cat >long.yaml <<'END'
name: long
tasks:
  db:
    service: true
    run: trap 'test ! -e busy; echo "db ends" >>ran; exit 0' TERM; echo db >>ran; touch up; sleep 61.5 & wait
    ready: {run: test -e up, every: 20ms}
  uses:
    needs: db
    run: |
      trap 'rm busy; echo "uses ends" >>ran; exit 1' TERM
      test -e up
      touch busy
      test ! -e free || { rm busy; exit 0; }
      sleep 61.5 & wait
  none: {run: 'true'}
END
rm -f up busy free
cairn run long.yaml >out 2>err &
pid=$!
wait_for 10 test -e busy
exits 0 cairn status --tasks
matches 'running +db' 'it is running'
kill -TERM $pid
wait $pid
is $? 7 'stopped'
is "$(ran)" 'db uses ends db ends ' 'a stop ends the service behind its users'
ok 'nothing is left after a stop' gone
is "$(planned)" 'db uses' 'both go on'
for at in up busy; do
    rm -f up busy ran
    killed_at $at cairn resume
    wait_for 10 gone
    ok "killed at $at: nothing of it lives on" gone
    is "$(planned)" 'db uses' "killed at $at: both run again"
done
rm -f up busy ran
touch free
exits 0 cairn resume
is "$(ran)" 'db db ends ' 'resumed'
ok 'nothing is left after the resume' gone

# The service is alive, and nothing that needs it is left, when cairn is killed.
cat >slow.yaml <<'END'
name: slow
tasks:
  db:
    service: true
    run: trap 'touch asked; sleep 61.5' TERM; echo db >>ran; touch up; sleep 61.5 & wait
    ready: {run: test -e up, every: 20ms}
    timeout: {grace: 10m}
  uses: {needs: db, run: 'echo uses >>ran'}
END
rm -f up
killed_at asked cairn run slow.yaml
wait_for 10 gone
is "$(planned)" '' 'nothing is left to run'
exits 0 cairn resume
is "$(ran)" 'db uses ' 'it is not started again'
exits 0 cairn status --tasks
says '2 completed' 'and it ends as in a run that was not killed'
ok 'nothing of it is left' gone

# ---- Who needs it ----
cat >many.yaml <<'END'
name: many
on_failure: continue
params: {without: "0", pg: "16"}
tasks:
  pg:
    foreach: {v: ["15", "16", "17"]}
    if: v != params.without
    service: true
    run: echo "pg $v" >>ran; touch "up$v"; exec sleep 61.5
    ready: {run: 'test -e "up$v"', every: 20ms}
  pool:
    needs: "pg[v=16]"
    service: true
    exec: [sh, -c, 'echo pool >>ran; touch pool; exec sleep 61.5']
    ready: {run: test -e pool, every: 20ms}
  test:
    foreach: {v: ["15", "16"]}
    needs: "pg[v=${{ v }}]"
    run: test -e "up$v"; echo "test $v" >>ran
  all: {needs: pg, run: 'echo all >>ran'}
  asks: {needs: pool, if: "params.pg == '17'", run: 'echo asks >>ran'}
  gate: {needs: pool, run: 'true', check: 'test -e pool; echo gate >>ran'}
END
exits 0 cairn run many.yaml -j 1
is "$(sort ran | tr '\n' ' ')" 'all gate pg 15 pg 16 pg 17 pool test 15 test 16 ' \
    'groups of services, a service that needs one, a gate'
ok 'all were ended' gone
rm -f ran up1? pool
exits 0 cairn run many.yaml --param without=16
is "$(sort ran | tr '\n' ' ')" 'all pg 15 pg 17 test 15 ' \
    'a member that its condition leaves out is not missed by the group'
says 'skipped test[v=16]'
rm -f ran up1? pool
exits 0 cairn run many.yaml --fresh 'test[v=15]'
is "$(sort ran | tr '\n' ' ')" 'pg 15 test 15 ' 'a part of the run starts what that part needs'
rm -f ran up1? pool
exits 0 cairn run many.yaml --fresh asks
is "$(ran)" '' 'excluded: its services are not started'
printf 'name: n\ntasks:\n  db: {service: true, run: "echo db >>ran; sleep 61.5", ready: "true"}\n  a: {run: "true"}\n' >n.yaml
exits 0 cairn run n.yaml
says 'no task needs the service `db`, so it never starts'
is "$(ran)" '' 'nobody needs it: it does not start'

# ---- What is reused, or stays behind a cut-off, starts no service ----
cat >reuse.yaml <<'END'
name: reuse
tasks:
  in: {run: 'echo in >>ran; echo same >in', outputs: in, cutoff: true, inputs: source}
  db: {service: true, run: 'echo db >>ran; exec sleep 61.5', ready: 'true'}
  uses: {needs: [in, db], reuse: true, run: 'echo uses >>ran; echo x >made', outputs: made}
END
echo 1 >source
exits 0 cairn run reuse.yaml
is "$(ran)" 'in db uses ' 'the first run'
echo 2 >source
exits 0 cairn resume
is "$(ran)" 'in ' 'what comes out the same starts no service'
sed -i '/^  in:/d; s/\[in, db\]/db/' reuse.yaml
run cairn run reuse.yaml --fresh
rm -f ran
is "$(planned reuse.yaml)" '' 'the plan of a run that reuses all'
exits 0 cairn run reuse.yaml
is "$(ran)" '' 'which starts no service'
exits 0 cairn status --tasks
matches 'skipped +db|excluded +db' 'it was not needed'

# ---- Ports ----
cat >ports.yaml <<'END'
name: ports
tasks:
  my-db:
    foreach: {v: [a, b]}
    service: true
    port: true
    restart: 1
    run: |
      echo "start $v $CAIRN_PORT" >>ports
      test "$CAIRN_PORT" = "$CAIRN_PORT_MY_DB"
      test -e "early$v" || { touch "early$v"; exit 1; }
      echo "$CAIRN_PORT" >"up$v"
      while test ! -e "kill$v" -o -e "killed$v"; do sleep 0.02; done
      touch "killed$v"
    ready: {run: 'test "$(cat "up$v")" = "$CAIRN_PORT"', every: 20ms}
  uses:
    foreach: {v: [a, b]}
    needs: ["my-db[v=${{ v }}]"]
    run: test "$(cat "up$v")" = "$CAIRN_PORT_MY_DB"; echo "uses $v $CAIRN_PORT_MY_DB" >>ports
    check: test "$(cat "up$v")" = "$CAIRN_PORT_MY_DB"
  none: {needs: uses, run: 'test -z "${CAIRN_PORT_MY_DB-}${CAIRN_PORT-}"'}
END
exits 0 env CAIRN_PORT=1 CAIRN_PORT_MY_DB=2 cairn run ports.yaml -j 4
is "$(awk '$1 == "uses"' ports | wc -l)" 2 'each has the port of its service'
is "$(awk '{ print $3 }' ports | grep -cvx '[1-9][0-9]*')" 0 'ports are numbers'
is "$(awk '$1 == "uses" { print $3 }' ports | sort -u | wc -l)" 2 'two services have two ports'
is "$(awk '$1 == "start" && $2 == "a"' ports | wc -l)" 2 'one that ended before it was ready was started again'
ok 'and got another port' test "$(awk '$1 == "start" && $2 == "a" { print $3 }' ports | sort -u | wc -l)" = 2
sed 's/restart: 1/restart: 2/; s/; echo "uses/; touch "kill$v"; while test ! -e "killed$v"; do sleep 0.02; done; until test "$(grep -c start ports)" = 2; do sleep 0.02; done; echo "uses/' ports.yaml >kept.yaml
rm -f ports up? early?
touch earlya earlyb
exits 0 cairn run kept.yaml --fresh 'uses[v=a]'
is "$(awk '{ print $3 }' ports | sort -u | wc -l)" 1 'one that had been ready keeps its port'

# ---- Several ports, and ports in ${{ }} ----
cat >two.yaml <<'END'
name: two
jobs: 1
tasks:
  web:
    service: true
    port: [http, admin]
    exec: [sh, -c, 'echo "web $1 $2 $CAIRN_PORT $CAIRN_PORT_WEB_HTTP $CAIRN_PORT_WEB_ADMIN $OWN" >>ports; sleep 30', web, '${{ tasks.web.ports.http }}', '${{ tasks.web.ports.admin }}']
    env: {OWN: '${{ tasks.web.ports.admin }}'}
    shell: [sh, -eu, -c]
    ready: 'test "$OWN" = "$CAIRN_PORT_WEB_ADMIN"; grep -q ^web ports'
  one: {service: true, port: true, needs: web, run: 'echo "one $CAIRN_PORT $URL" >>ports; exec sleep 30', env: {URL: 'x:${{ tasks.web.ports.http }}/${{ tasks.one.port }}'}, ready: grep -q ^one ports}
  a: {needs: [web, one], exec: [sh, -c, 'echo "a $*" >>ports; echo $URL >made', a, '${{ tasks.one.port }}', 'h:${{ env.URL }}'], env: {URL: 'http://localhost:${{ tasks.web.ports.http }}'}, shell: [sh, -eu, -c], check: 'test "$URL" = "http://localhost:$CAIRN_PORT_WEB_HTTP"', outputs: made, reuse: true}
  b: {needs: [a, {task: web}], run: 'echo b >>ran; test -e fine'}
END
rm -f ports ran fine
exits 1 cairn run two.yaml
http=$(awk '$1 == "web" { print $2; exit }' ports)
admin=$(awk '$1 == "web" { print $3; exit }' ports)
port=$(awk '$1 == "one" { print $2; exit }' ports)
is "$(sort ports)" "a $port h:http://localhost:$http
one $port x:$http/$port
web $http $admin $http $http $admin $admin" 'each has the ports of what it needs, in its environment and its texts'
is "$(printf '%s\n' "$http" "$admin" "$port" | grep -x '[1-9][0-9]*' | sort -u | wc -l)" 3 'three numbers'
touch fine
rm -f ports
is "$(planned two.yaml)" 'web b' 'other ports make nothing run again'
exits 0 cairn resume two.yaml
is "$(grep -c ^a ports)" 0 'on resume'
is "$(tr '\n' ' ' <ran)" 'b b ' 'which runs what is left'
exits 0 cairn run two.yaml
says 'reused' 'nor in a new run'
is "$(grep -c ^a ports)" 0 'whose ports are others'
exits 0 cairn shell a --print
says 'http://localhost:PORT' 'where no service runs there is no port'

# ---- Adopted runs: what needs a service ends with cairn, and so does that ----
rm -f up busy free
sed 's/^name: long/name: adopts\non_crash: adopt/' long.yaml >adopts.yaml
killed_at busy cairn run adopts.yaml
wait_for 10 gone
ok 'both ended with it' gone
rm -f up busy ran
touch free
exits 0 cairn resume
is "$(ran)" 'db db ends ' 'and both start again'

# ---- What is refused ----
refused() { # the task's fields, words of the error
    printf 'name: r\ntasks:\n  db: {service: true, run: x, ready: "true"}\n  a: {%s}\n' "$1" >r.yaml
    exits 3 cairn validate r.yaml
    says "$2"
}
refused 'service: true, run: x' 'needs `ready`'
refused 'run: x, ready: y' '`ready` is only for a service'
refused 'run: x, restart: 3' 'or write `retries`'
refused 'service: true, run: x, ready: y, retries: 3' 'write `restart`'
refused 'service: true, run: x, ready: y, outputs: z' 'never done'
refused 'service: true, run: x, ready: y, timeout: 5m' 'has no time limit'
refused 'service: true, run: x, ready: {within: 5s}' '`ready` needs `run`'
refused 'service: true, run: x, ready: y, port: 8080' '`port: true` asks for a free port'
refused 'service: true, run: x, ready: y, port: []' '1 to 16 names'
refused 'service: true, run: x, ready: y, port: [http, http]' 'none twice'
refused 'service: true, run: x, ready: y, port: [8080]' 'a fixed port is written in the command'
refused 'service: true, run: x, ready: y, port: [http], env: {P: "${{ tasks.a.port }}"}' 'write tasks.a.ports.NAME'
refused 'service: true, run: x, ready: y, port: [http], env: {P: "${{ tasks.a.ports.htp }}"}' 'did you mean `http`?'
refused 'service: true, run: x, ready: y, port: true, env: {P: "${{ tasks.a.ports.http }}"}' 'write tasks.a.port'
refused 'service: true, run: x, ready: y, port: true, cwd: "${{ tasks.a.port }}"' 'can only stand in `env`, `exec` and `args`'
refused 'service: true, run: x, ready: y, port: true, env: {P: "${{ tasks.a.port }}"}, cwd: "${{ env.P }}"' 'can only stand in `env`, `exec` and `args`'
refused 'service: true, run: x, ready: y, port: true, if: tasks.a.port > 1' 'can only stand in `env`, `exec` and `args`'
refused 'needs: db, exec: [x, "${{ tasks.db.port }}"]' '`db` has no port'
printf 'name: r\ntasks: {db: {service: true, port: true, run: x, ready: y}, u: {needs: db, run: x}, a: {needs: u, exec: [x, "${{ tasks.db.port }}"]}}\n' >r.yaml
exits 3 cairn validate r.yaml
says 'does not need the service `db` itself'
printf 'name: r\ntasks: {db-x: {service: true, port: true, run: x, ready: y}, db: {service: true, port: [x], run: x, ready: y}, a: {needs: [db, db-x], run: x}}\n' >r.yaml
exits 3 cairn validate r.yaml
says 'several ports as $CAIRN_PORT_DB_X'
refused 'run: x, port: true' '`port` is only for a service'
refused 'needs: db, external: x' 'cannot need the service'
refused 'needs: db, run: x, when: always' 'cannot need the service'
refused 'needs: db, run: x, env: {P: "${{ tasks.db.outputs.port }}"}' 'only for the order'
printf 'name: r\ntasks: {a: {run: x}}\nfinally: {db: {service: true, run: x, ready: y}}\n' >r.yaml
exits 3 cairn validate r.yaml
says 'under `finally`'

# ---- A condition that left a task out before its service was skipped ----
mkdir left-out && cd left-out || exit 1
cat >cairn.yaml <<'END'
name: out
tasks:
  gate: {run: 'sleep 0.2; exit 1', may_fail: true}
  db: {service: true, needs: gate, run: exec sleep 600, ready: 'true'}
  out: {needs: db, if: "'a' == 'b'", run: 'true'}
  use: {needs: db, run: 'true'}
END
exits 0 cairn run
run cairn status --tasks
matches '^  skipped +out +\(its condition was not met\)'
printf '  more: {run: "true"}\n' >>cairn.yaml
exits 0 cairn resume
run cairn status --tasks
matches '^  skipped +out +\(its condition was not met\)'
cd ..

# ---- One that its own condition leaves out, beside one that nothing needs ----
mkdir left && cd left || exit 1
cat >cairn.yaml <<'END'
name: left
params: {want: 'no'}
tasks:
  out: {service: true, if: params.want == 'yes', ready: 'true', run: sleep 60}
  idle: {service: true, if: params.want == 'no', ready: 'true', run: sleep 60}
  use: {needs: out, run: 'true'}
  not: {needs: idle, if: params.want == 'yes', run: 'true'}
END
exits 0 cairn run
exits 0 cairn status --tasks
matches '^  skipped +out +\(its condition was not met\)' 'status says that of the one'
matches '^  skipped +idle +\(nothing that needs it ran\)' 'and this of the other'
says '(2 because of a condition, 1 service that nothing needed)' 'and counts both'
cd ..

# ---- The example ----
if python3 -c 'import socket; socket.AF_UNIX' 2>/dev/null; then
    cp -r "$root/examples/services" example && cd example || exit 1
    exits 0 cairn run
    says 'store is ready after'
    is "$(cat report.txt)" tested 'the tests have run'
    run cairn log store
    says 'asked for three' 'the log of the service'
    sed -i 's/test "\$(python3/test  "$(python3/' cairn.yaml
    is "$(planned --run "$(json_run)")" 'store test[word=one] test[word=two] test[word=three] report' \
        'edited tests need it again'
    exits 0 cairn resume
    ok 'it has ended' sh -c '! python3 store.py get store.sock one 2>/dev/null'
    cd ..
else
    skip 'the example' 'there is no python3'
fi
# ---- A list that is known to be bad does not come before a service that cannot run ----
mkdir bad && cd bad || exit 1
cat >bad.yaml <<'END'
name: bad
on_failure: continue
tasks:
  split: {run: "true"}
  first: {run: test -e good, needs: split}
  up: {run: exec sleep 600, service: true, ready: "true", needs: first}
  each: {foreach: {part: {from: split, value: parts}}, run: echo "$part", needs: up}
END
exits 1 cairn run bad.yaml
matches '^skipped each' 'its service cannot run: it is skipped'
exits 0 cairn plan
matches 'may   each.* if up, which it needs, completes' 'the plan says what it depends on'
exits 1 cairn resume
matches '^skipped each' 'skipped again'
touch good
exits 1 cairn resume
matches '^FAILED each.*its list is not known' 'with its service it fails'
exits 0 cairn status --tasks
matches 'completed +up' 'which ran before'
cd ..

done_testing
