# shellcheck shell=sh disable=SC2016
# Reuse between runs (`reuse`), and early cut-off (`cutoff`). Each task that runs leaves a
# line in a log beside, so that what ran is counted by what it did.
. "$TESTS/cli/tap.sh"

ran() { # the tasks that ran since the last call, sorted
    [ ! -f ran.log ] || sort ran.log | tr '\n' ' '
    rm -f ran.log
}

# ---- A second run ----
cat >flow.yaml <<'END'
name: flow
defaults: {reuse: true}
tasks:
  src: {run: 'echo src >>ran.log; cat in.txt >a.txt; echo made a', inputs: [in.txt], outputs: [a.txt]}
  up:
    needs: src
    run: |
      echo up >>ran.log; tr a-z A-Z <a.txt >b.txt
      echo "n=$(wc -c <b.txt)" >>"$CAIRN_OUTPUT"
    inputs: [a.txt]
    outputs: [b.txt]
  value: {needs: up, run: 'echo value >>ran.log; echo "v=$n" >>"$CAIRN_OUTPUT"', env: {n: '${{ tasks.up.outputs.n }}'}}
  part:
    foreach: {n: [1, 2]}
    needs: up
    run: echo "part$n" >>ran.log; cat b.txt >"c.$n"
    outputs: ['c.${{ n }}']
  join: {needs: part, run: 'echo join >>ran.log; cat c.1 c.2 >all.txt', outputs: [all.txt]}
  test: {needs: join, run: 'echo test >>ran.log; grep -q O all.txt'}
finally:
  end: {run: 'echo end >>ran.log', outputs: []}
END
echo hello >in.txt
is "$(planned flow.yaml)" "src up value part[n=1] part[n=2] join test end" 'at first all tasks will run'
exits 0 cairn run flow.yaml
is "$(ran)" "end join part1 part2 src test up value " 'and do'
run cairn plan --all flow.yaml
matches '^keep +src +run 1 has done it with all of the same$'
matches '^keep +part\[n=2\] +run 1 has done it with all of the same$'
is "$(planned flow.yaml)" "test end" 'a new run will run what leaves neither outputs nor values, and finally'
exits 0 cairn run flow.yaml
matches '^ok +src .* reused from run 1$'
is "$(ran)" "end test " 'and does'
exits 0 cairn status --tasks
matches 'completed +up .* reused from run 1'
exits 0 cairn log src
says 'made a' 'the log is that of the first run'
run cairn explain src
matches 'attempt 1 +completed .*reused from run 1'
run cairn events --run 2
says 'src: completed (attempt 1): reused from run 1'
exits 0 cairn values value
says '6' 'and so are the values'
exits 0 cairn run flow.yaml
matches '^ok +src .* reused from run 1$' 'the third run names the first one, which ran it'
ran >/dev/null
exits 0 cairn checkpoint verify
run cairn plan flow.yaml
matches '^run +test +run 3 did it, but it left neither outputs nor values$'
run cairn stats
grep -A 2 '^tasks_reused' out | tr '\n' ' ' >line
matches_line() { grep -qE 'flow +12( |$)' line; }
ok 'and stats count the tasks that were reused' matches_line

# ---- What differs runs ----
echo other >in.txt
run cairn plan --all flow.yaml
matches '^run +src +run 3 did it with another content of in.txt$'
run cairn explain src flow.yaml
says 'reason: run 3 did it with another content of in.txt'
run cairn plan --all flow.yaml
matches '^may +up +unless it can be reused once what it needs has ended'
exits 0 cairn run flow.yaml
is "$(ran)" "end join part1 part2 src test up value " 'another input: all run'
is "$(cat all.txt)" "OTHER
OTHER" 'with what it makes'
echo x >>c.1
run cairn plan --all flow.yaml
matches '^run +part\[n=1\] +run 4 did it, but its output c.1 is another one by now$'
mv c.1 c.away
run cairn plan --all flow.yaml
matches '^run +part\[n=1\] +run 4 did it, but its output c.1 is missing$'
mv c.away c.1
exits 0 cairn run flow.yaml
is "$(ran)" "end part1 test " 'an output was changed: its task runs, and makes what was there before'
is "$(cat all.txt)" "OTHER
OTHER" 'and it is right again'
echo hello >in.txt
exits 0 cairn run flow.yaml
is "$(ran)" "end join part1 part2 src test up " 'the older attempts are known: values are there, files are not'
sed 's/made a/made A/' flow.yaml >f2 && mv f2 flow.yaml
run cairn plan flow.yaml
matches '^run +src +run 6 did it with another definition \(command\)$'
exits 0 cairn run flow.yaml
is "$(ran)" "end join part1 part2 src test up value " 'an edit reaches what comes after it'

# ---- On demand ----
is "$(planned flow.yaml --no-reuse)" "src up value part[n=1] part[n=2] join test end" '--no-reuse: all will run'
exits 0 cairn run --no-reuse flow.yaml
is "$(ran)" "end join part1 part2 src test up value " 'and do'
exits 0 cairn run flow.yaml
is "$(ran)" "end test " 'what they made is used after that'
exits 0 cairn rerun up
is "$(ran)" "end join part1 part2 test up value " 'what is named by rerun runs, with what comes after it'

# ---- A failure is no reason to take the work of another run ----
cat >flaky.yaml <<'END'
name: flaky
tasks:
  a: {run: 'echo a >>ran.log; [ ! -e bad ]; echo v=1 >>"$CAIRN_OUTPUT"', reuse: true}
END
exits 0 cairn run flaky.yaml
touch bad
exits 1 cairn run --no-reuse flaky.yaml
ran >/dev/null
exits 1 cairn run flaky.yaml
is "$(ran)" "a " 'a task that failed in this run is tried again'
exits 1 cairn run flaky.yaml --fresh
is "$(ran)" "a " 'in a new run, too: what has failed since is done by nobody'

# ---- What a task is given ----
cat >given.yaml <<'END'
name: given
params: {p: "1"}
tasks:
  lint: {run: 'echo lint >>ran.log'}
  redis: {run: 'echo redis >>ran.log'}
  gen: {run: 'echo gen >>ran.log; cat in.txt >g.txt; echo const >k.txt', inputs: [in.txt], outputs: [k.txt], reuse: true}
  reads: {needs: gen, run: 'echo reads >>ran.log; cat g.txt >r.txt', outputs: [r.txt], reuse: true}
  build: {needs: lint, run: 'echo build >>ran.log; echo b >b.out', outputs: [b.out], reuse: true}
  ordered: {needs: [{task: redis, order: true}], params: [], run: 'echo ordered >>ran.log; echo o >o.out', outputs: [o.out], reuse: true}
  param: {run: 'echo param >>ran.log; echo "$p" >p.out', outputs: [p.out], params: [p], reuse: true}
  number: {exec: [sh, -c, 'echo number >>ran.log; echo "$1" >n.out', sh, '${{ run.id }}'], outputs: [n.out], reuse: true}
END
exits 0 cairn run given.yaml
ran >/dev/null
run cairn plan given.yaml
matches '^run +number +run [0-9]+ did it with another value in its command: [$][{][{] run.id [}][}]$' 'which value it was is said'
run cairn plan given.yaml
matches '^may +build ' 'what needs something that runs may turn out to be done'
exits 0 cairn run given.yaml
is "$(ran)" "build lint number redis " 'needs that leave nothing run, and what needs them not only for the order'
echo more >>in.txt
exits 0 cairn run given.yaml
is "$(ran)" "build gen lint number reads redis " 'what comes after a task sees what that was given, though its outputs are the same'
is "$(cat r.txt)" "$(cat in.txt)" 'since it may read what is not declared'
exits 0 cairn run given.yaml --param p=2
is "$(ran)" "build gen lint number param reads redis " 'another param runs what takes it'
sed 's/outputs: \[k.txt\]/&, cutoff: true/' given.yaml >g2 && mv g2 given.yaml
exits 0 cairn run given.yaml
ran >/dev/null
echo more >>in.txt
exits 0 cairn run given.yaml
is "$(ran)" "build gen lint number redis " 'behind a cut-off only outputs and values count'

# ---- Beside others ----
cat >beside.yaml <<'END'
name: beside
jobs: 1
tasks:
  split: {run: 'echo split >>ran.log; echo "parts=[1, 2]" >>"$CAIRN_OUTPUT"', reuse: true}
  part: {foreach: {n: {from: split, value: parts}}, run: 'echo part >>ran.log; echo "$n" >"n.$n"', outputs: ['n.${{ n }}'], reuse: true}
  join: {needs: part, run: 'echo join >>ran.log; cat n.* >j.out', inputs: '${{ tasks.part.files }}', outputs: [j.out], reuse: true}
  many:
    foreach: {n: {range: [1, 9]}}
    run: 'if [ "$n" -lt 5 ]; then echo "m$n" >>ran.log; fi; echo "$n" >"m.$n"'
    outputs: ['m.${{ n }}']
    params: []
    reuse: true
END
exits 0 cairn run beside.yaml
is "$(ran)" "join m1 m2 m3 m4 part part split " 'a list that a task makes, a join'
exits 0 cairn run beside.yaml
is "$(ran)" "" 'nothing runs again'
rm m.2
is "$(planned beside.yaml)" "many[n=2]" 'one of them is to be made'
exits 0 cairn run beside.yaml
is "$(ran)" "m2 " 'and is'
rm m.1
exits 0 cairn run beside.yaml
ok 'what is done is settled first' test "$(grep -n '^ok *many.n=1' err | cut -d: -f1)" -gt "$(grep -n '^ok *many.n=9' err | cut -d: -f1)"

ran >/dev/null
cat >service.yaml <<'END'
name: service
tasks:
  redis: {run: 'echo redis >>ran.log; touch up; exec sleep 60', service: true, port: true, ready: test -e up}
  uses: {needs: redis, run: 'echo uses >>ran.log; echo u >u.out', outputs: [u.out], reuse: true}
END
exits 0 cairn run service.yaml
is "$(ran)" "redis uses " 'a task and its service'
exits 0 cairn run service.yaml
is "$(ran)" "" 'what needs it is reused, so it is not started'
says 'skipped redis: nothing that needs it runs' 'and it says why'

# ---- Early cut-off in a run that goes on ----
cat >cut.yaml <<'END'
name: cut
tasks:
  gen: {run: "echo gen >>ran.log; grep -v '^#' in.txt >h.txt", inputs: [in.txt], outputs: [h.txt], cutoff: true}
  use: {needs: gen, run: 'echo use >>ran.log; [ ! -e kill ] || { rm kill; kill -9 $PPID; sleep 5; }'}
  out: {needs: use, run: 'echo out >>ran.log; cat h.txt >out.txt', outputs: [out.txt]}
  side: {needs: gen, run: 'echo side >>ran.log', once: true, check: 'exit 0'}
END
exits 0 cairn run cut.yaml
ran >/dev/null
echo '# a note' >>in.txt
is "$(planned)" "gen" 'the task whose input has changed will run'
run cairn plan
matches '^may +use +unless what it needs comes out as it was; gen, which it needs, runs again'
exits 0 cairn resume
matches '^ok +use .* what it needs came out the same'
is "$(ran)" "gen " 'what comes after it stays done'
run cairn events
says 'out: what it needs came out the same: it stays done'
says 'side: what it needs came out the same: it stays done' 'nor is one asked about that must not run twice'
exits 0 cairn explain use
matches 'attempt 1 +completed'
echo change >>in.txt
touch kill
run cairn resume
is "$(ran)" "gen use " 'cairn was killed while the second task ran'
exits 0 cairn resume
is "$(ran)" "out use " 'the rest runs when it is resumed'
is "$(cat out.txt)" "$(grep -v '^#' in.txt)" 'and is right'
echo junk >out.txt
echo '# another note' >>in.txt
exits 0 cairn resume
is "$(ran)" "gen out " 'an output that was changed is made again all the same'
exits 0 cairn checkpoint verify

# ---- What can be reused ----
for key in 'once: true' 'undo: "true"' 'when: always' 'service: true, ready: "true"'; do
    cat >bad.yaml <<END
name: bad
tasks:
  a: {run: 'true', reuse: true, $key}
END
    exits 3 cairn validate bad.yaml
    matches 'bad.yaml:3:.*`reuse` has no meaning for (task|the service) `a`'
done
cat >bad.yaml <<'END'
name: bad
defaults: {reuse: true}
tasks:
  a: {run: 'true', once: true}
  b: {external: do it}
  c: {run: 'true', undo: 'true'}
finally:
  d: {run: 'true'}
END
exits 0 cairn validate bad.yaml
sed 's/external: do it/external: do it, reuse: true/' bad.yaml >b2.yaml
exits 3 cairn validate b2.yaml
says '`reuse` has no meaning for task `b`, which is `external`'
ok 'and that is all' [ "$(grep -c 'has no meaning' err)" = 1 ]

# ---- A secret ----
cat >secret.yaml <<'END'
name: secret
secrets: [TOKEN]
tasks:
  a: {run: 'echo a >>ran.log; echo v=1 >>"$CAIRN_OUTPUT"', secrets: [TOKEN], reuse: true}
END
TOKEN=first123456 run cairn run secret.yaml
ran >/dev/null
TOKEN=first123456 run cairn run secret.yaml
is "$(ran)" "" 'the same secret'
TOKEN=second123456 run cairn plan secret.yaml
says 'did it with another value of TOKEN'
TOKEN=second123456 run cairn run secret.yaml
is "$(ran)" "a " 'another one'

# ---- Files that a depfile names ----
cat >dep.yaml <<'END'
name: dep
tasks:
  cc: {run: 'echo cc >>ran.log; cat a.c a.h >a.o; echo "a.o: a.c a.h" >a.d', inputs: [a.c], outputs: [a.o], depfile: a.d, reuse: true}
END
echo c >a.c
echo h >a.h
sleep 0.05
exits 0 cairn run dep.yaml
ran >/dev/null
exits 0 cairn run dep.yaml
is "$(ran)" "" 'nothing that it read has changed'
echo h2 >>a.h
exits 0 cairn run dep.yaml
is "$(ran)" "cc " 'the header has'

# ---- A run that goes on after a kill ----
cat >kill.yaml <<'END'
name: kill
tasks:
  a: {run: 'echo a >>ran.log; echo a >a.out', outputs: [a.out], reuse: true}
  b: {needs: a, run: 'echo b >>ran.log; [ ! -e kill ] || { rm kill; kill -9 $PPID; sleep 5; }'}
  c: {needs: a, run: 'echo c >>ran.log; cat a.out >c.out', outputs: [c.out], reuse: true}
END
exits 0 cairn run kill.yaml
ran >/dev/null
touch kill
run cairn run kill.yaml
is "$(ran)" "b " 'cairn was killed in a run that reuses'
exits 0 cairn resume
is "$(ran)" "b " 'what was reused is done, the rest runs'
run cairn status --tasks
matches 'completed +c .* reused from run'

# ---- Old runs go ----
exits 0 cairn gc --keep-runs 1
exits 0 cairn run kill.yaml
is "$(ran)" "b " 'what the newest run of a workflow reused stays known'
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# ---- The project moves ----
mkdir -p before/p
cat >before/p/move.yaml <<'END'
name: move
tasks:
  a: {run: 'echo a >>ran.log; echo v=1 >>"$CAIRN_OUTPUT"', reuse: true}
END
cd before/p || exit 1
unset CAIRN_STORE
exits 0 cairn run --store .cairn move.yaml
ran >/dev/null
cd ../.. && mv before after && cd after/p || exit 1
exits 0 cairn run --store .cairn move.yaml
is "$(ran)" "" 'a project that was moved with its store goes on'
mkdir ../other && cp move.yaml ../other
exits 0 cairn run --store .cairn ../other/move.yaml
is "$(cat ../other/ran.log)" "a" 'a copy beside it has done nothing'

mkdir ../soft && cd ../soft || exit 1
# What was not cut off before a kill is not after it either.
cat >soft.yaml <<'END'
name: soft
jobs: 1
tasks:
  made: {run: 'echo made >>ran.log; echo x >made.out', outputs: [made.out]}
  between: {needs: made, run: 'echo between >>ran.log; [ ! -e kill ] || { rm kill; kill -9 $PPID; sleep 5; }'}
  wants: {needs: [{task: made, soft: true}, {task: between, order: true}], run: 'echo wants >>ran.log'}
END
exits 0 cairn run soft.yaml
ran >/dev/null
echo y >made.out
run cairn plan
matches '^run +wants +made, which it needs, runs again'
touch kill
run cairn resume
is "$(ran)" "between made " 'killed before the task that needs it softly'
exits 0 cairn resume
is "$(ran)" "between wants " 'which runs, since what it needs has run again'
# What was edited, or never ran, is not in doubt because of a soft need.
sed -i 's/echo wants/echo also wants/; s/echo between/echo again between/' soft.yaml
run cairn plan
matches '^run +wants '
exits 0 cairn resume
ran >/dev/null
cat >>soft.yaml <<'END'
  added: {needs: [{task: made, soft: true}, {task: between, order: true}], run: 'echo added >>ran.log'}
END
sed -i 's/echo again between/echo between/' soft.yaml
run cairn plan
matches '^run +added '

# ---- The run that did it is deleted ----
cat >gone.yaml <<'END'
name: gone
tasks:
  clean: {exec: [sh, clean.sh]}
  made: {run: 'echo made >>ran.log; echo "n=of run 1" >>"$CAIRN_OUTPUT"', reuse: true}
  reads: {needs: [made, {task: clean, order: true}], run: 'echo reads >>ran.log; echo "$n" >read.txt', env: {n: '${{ tasks.made.outputs.n }}'}}
END
: >clean.sh
exits 0 cairn run gone.yaml
first_run=$(cat out err | sed -n 's,^run \([0-9]*\) of gone.*,\1,p')
is "$(ran)" "made reads " 'a value is made'
# What is reused is in the store before the task that needs nothing starts.
echo 'cairn gc --keep-runs 1 --any-params >gc.out' >clean.sh
exits 0 cairn run gone.yaml --fresh
says "reused from run $first_run" 'and its row is used'
is "$(ran)" "reads " 'by what reads it'
exits 10 cairn status "$first_run"
is "$(cat read.txt)" "of run 1" 'which has the value, though the run that made it is deleted'
exits 0 cairn values made
says 'of run 1' 'it belongs to the later run'
exits 0 cairn run gone.yaml --fresh
is "$(ran)$(cat read.txt)" "reads of run 1" 'which is reused in turn'
exits 0 cairn checkpoint verify

done_testing
