# shellcheck shell=sh disable=SC2154
# An edit makes a finished task one that does not run: what was made of how it ended
# counts no more. A resumed run ends as a fresh one does.
. "${TESTS:?}/cli/tap.sh"

write() { # IF-OF-A
    cat >w.yaml <<END
name: w
on_failure: continue
tasks:
  a: {${1}run: 'echo v=42 >>"\$CAIRN_OUTPUT"'}
  join:
    needs: a
    when: always
    exec: [sh, -c, 'echo "\$0" >joined', "\${{ tasks.a.status }} \${{ default(tasks.a.outputs.v, 'none') }}"]
  next: {needs: a, run: 'echo next >>log'}
  last: {needs: next, run: 'echo last >>log; test -e ok'}
  other: {run: 'echo other >>log; test -e ok'}
END
}
write ''
exits 1 cairn run w.yaml
is "$(cat joined)" 'completed 42' 'it used how a ended'
touch ok
rm log
write 'if: "false", '
exits 0 cairn plan w.yaml
matches 'run +join +a, which it needs, does not run now' 'plan says why'
matches 'run +other ' 'and what runs besides'
is "$(grep -c 'run *last' out)" 0 'what needs a skipped task does not run'
exits 0 cairn explain join
says 'a, which it needs, does not run now' 'explain, too'
exits 0 cairn resume
is "$(cat joined)" 'skipped none' 'it ran again, with how a ends now'
is "$(cat log)" other 'nothing else that was finished did'
cairn status --tasks --json | grep -o '"task":"[a-z]*","state":"[a-z]*"' >resumed
exits 0 cairn resume
says 'nothing to do' 'then it is at rest'
mkdir fresh
cp w.yaml ok fresh
exits 0 cairn run --store "$PWD/fresh/.cairn" fresh/w.yaml
cairn status --store "$PWD/fresh/.cairn" --tasks --json | grep -o '"task":"[a-z]*","state":"[a-z]*"' >fresh/ended
ok 'a fresh run ends the same' cmp resumed fresh/ended
is "$(cat fresh/joined)" "$(cat joined)" 'with the same result'

# The edit is taken back.
write ''
exits 0 cairn resume
is "$(cat joined)" 'completed 42' 'and so is what followed from it'
is "$(sort log | tr '\n' ' ')" 'last next other ' 'what was skipped runs'

# A failure that is none any more needs no handler.
cat >f.yaml <<'END'
name: f
on_failure: continue
tasks:
  a: {run: 'exit 1'}
  rollback: {needs: a, when: failed, run: 'echo rolled back'}
  ship: {needs: rollback, run: 'echo shipped'}
  z: {run: 'exit 1'}
END
exits 1 cairn run f.yaml
sed -i "s/a: {run/a: {if: 'false', run/; s/z: {run: 'exit 1'/z: {run: 'true'/" f.yaml
exits 0 cairn resume
exits 0 cairn status --tasks
says 'tasks       4: 1 completed, 3 skipped' 'a, its handler and what needs that are skipped'

# ---- A condition sees a task that does not run now as skipped ----
for op in '!=' '=='; do
    rm -rf .cairn log
    for off in '' ", if: 'false'"; do
        cat >cond.yaml <<END
name: cond
on_failure: continue
tasks:
  x: {run: 'false'$off}
  e: {needs: x, when: always, if: "tasks.x.status $op 'failed'", run: 'echo e >>log'}
END
        [ -n "$off" ] || cairn run cond.yaml >run.out 2>&1
    done
    : >log
    exits 0 cairn plan --run 1
    planned=$(grep -c '^run  *e ' out)
    exits 0 cairn resume
    is "$(grep -c e log)" "$planned" "$op: plan says what resume does"
    is "$planned" "$([ "$op" = '!=' ] && echo 1 || echo 0)" "$op: with the status that it has now"
done

# ---- A step that is skipped does not hide what lies before it ----
between() { # TEXT-OF-END
    rm -rf .cairn log x.out here
    cat >between.yaml <<END
name: between
params: {extra: {type: bool, default: false}}
tasks:
  x: {run: 'sleep 0.2; cp in x.out; echo "v=\$(cat in)" >>"\$CAIRN_OUTPUT"', inputs: in, outputs: x.out}
  m: {needs: x, if: params.extra, run: 'echo extra'}
  n: {needs: m, run: 'echo extra'}
  e: {needs: n, when: always, env: {V: "\${{ tasks.x.outputs.v }}"}, run: '$1'}
END
}
one='echo "e $V $(cat x.out)" >>log; touch here; test ! -e hold || sleep 60'
echo 1 >in
between "$one"
exits 0 cairn run between.yaml
echo 2 >in
exits 0 cairn plan
matches 'run +e +something that n waits for runs again' 'what comes behind two skipped steps runs, and why'
exits 0 cairn resume
is "$(tail -n 1 log)" 'e 2 2' 'with the new value'
exits 0 cairn plan
says '0 of 4' 'and then all is settled'
is "$(cairn status --json | grep -o '"skipped":[0-9]*')" '"skipped":2' 'the two are skipped as before'

between "$one"
touch hold
killed_at here cairn run between.yaml
rm hold log
echo 3 >in
exits 0 cairn resume
is "$(cat log)" 'e 3 3' 'an interrupted one waits for what runs before the skipped steps'

# Nothing runs, but a task is skipped now: `finally` runs, as it does in a new run.
mkdir finally && cd finally || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >f.yaml <<'END'
name: f
tasks:
  a: {run: echo a >a, outputs: [a]}
  b: {needs: a, run: 'true'}
finally:
  last: {env: {s: '${{ tasks.a.status }}', f: "${{ default(tasks.a.files, 'no file') }}"}, run: 'echo "$s, $f" >>ran'}
  seldom: {if: "tasks.b.status == 'skipped'", run: echo seldom >>ran}
END
exits 0 cairn run f.yaml
sed -i "s/  a: {/&if: 'false', /" f.yaml
exits 0 cairn plan
matches '^run +last +. does not run now, and it runs after that' 'plan says so'
matches '^may +seldom ' 'of one whose condition may be met now, too'
exits 0 cairn explain last
says 'does not run now, and it runs after that' 'so does explain'
exits 0 cairn resume
exits 0 cairn resume
says 'nothing to do' 'then all is settled'
sort ran >sorted
exits 0 cairn run f.yaml --fresh
is "$(tail -n 2 ran | sort)" "$(grep -v '^completed' sorted)" 'the same as of a new run'
grep -v '^completed' sorted >anew
is "$(cat anew)" "$(printf 'seldom\nskipped, no file')" 'with what holds now'
done_testing
