# External steps: next, claim, complete, fail; waiting and not waiting; a whole workflow
# of such steps driven by a shell loop; status --waiting.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: steps
tasks:
  prepare: {run: 'echo title=Cairn >>"$CAIRN_OUTPUT"'}
  write: {needs: prepare, external: "Write about ${{ tasks.prepare.outputs.title }}"}
  review: {needs: write, external: "Review ${{ tasks.write.outputs.file }}"}
  publish:
    needs: review
    if: tasks.review.outputs.verdict == 'ok'
    run: touch published
END2

exits 2 cairn run flow.yaml --secrets-fd 77
says 'cannot read descriptor 77'
exits 7 cairn run flow.yaml --no-wait
says '1 waiting, 2 not run' 'the last line counts what waits'
says 'cairn next 1' 'and tells what to do'
exits 0 cairn next
says 'write  Write about Cairn' 'next: the text has its values'
exits 0 cairn next 1 --json
json_ok 'next --json'
is "$(json_get '.next[0].task')" write 'its task'
is "$(json_get '.next[0].text')" 'Write about Cairn' 'its text'
is "$(json_get '.next[0].claimed')" false 'nobody has it'
exits 10 cairn next 2
exits 0 cairn status
says 'waiting' 'status: the run waits'
says '1 external task can be done: cairn next 1'
exits 0 cairn status --waiting
says 'write  waits for somebody to do it: Write about Cairn  (2 behind it)'
exits 0 cairn status --waiting --json
json_ok 'status --waiting --json'
is "$(json_get '.waiting[0].waits_for')" external 'what it waits for'
is "$(json_get '.waiting[0].behind')" 2 'how much is behind it'
exits 2 cairn status --waiting --tasks

exits 2 cairn claim 1
exits 2 cairn claim x write
exits 10 cairn claim 1 wrote
says 'did you mean write?'
exits 2 cairn claim 1 prepare
says 'not external'
exits 2 cairn claim 1 review
says 'it needs write'
for lease in 0s 5 10x 1s1m 400d ''; do
    run cairn claim 1 write --lease "$lease"
    is $status 2 "a lease of '$lease' is refused"
done
exits 0 cairn claim 1 write --lease 1h30m --holder somebody
silent_on err
token=$(cat out)
ok 'the token is alone on stdout' grep -qxE '[0-9a-f]{32}' out
exits 6 cairn claim 1 write
says 'somebody has task write'
says 'cairn next 1 --claimed' 'where to look'
exits 0 cairn next --json
is "$(json_get '.next[0].task')" '' 'what is claimed is not listed'
exits 0 cairn next
says 'all that can be done in run 1 now is claimed: cairn next 1 --claimed'
exits 0 cairn status
says '1 external task claimed: cairn next 1 --claimed'
exits 0 cairn status --waiting
matches 'write  is claimed by somebody for another 1h.*: Write about Cairn  .2 behind it'
exits 0 cairn status --waiting --json
is "$(json_get '.waiting[0].holder')" somebody 'who has it'
exits 0 cairn next --claimed
says '(claimed by somebody for another 1h'
silent_on err
exits 6 cairn complete 1 write
exits 6 cairn complete 1 write --token 0123
exits 2 cairn complete 1 write --token "$token" --output 1=x
exits 2 cairn complete 1 write --token "$token" --output x
exits 0 cairn complete 1 write --token "$token" --output file=draft --output file=ch1.md
says 'write is completed'
exits 2 cairn complete 1 write --token "$token"
exits 0 cairn next
says 'review  Review ch1.md' 'what was passed on is in the next text'
exits 0 cairn claim 1 review --json
json_ok 'claim --json'
is "$(json_get '.lease_ms')" 600000 'ten minutes by default'
token=$(json_get '.token')
exits 0 cairn status --waiting --json
is "$(json_get '.waiting[0].holder')" "$(id -un)@$(uname -n)" 'who, unless it is said'
exits 0 cairn fail 1 review --token "$token" --message 'not good'
exits 0 cairn status
matches 'review .*not good' 'status: the message'
exits 2 cairn complete 1 review
says 'cairn resume 1 --no-wait'
exits 7 cairn resume --no-wait
exits 0 cairn complete 1 review --output verdict=ok --json
json_ok 'complete --json'
says '"resume":true'
exits 0 cairn status --waiting
says 'publish  is ready'
says 'continue with: cairn resume 1' 'nobody runs it'
exits 0 cairn next
says 'continue with: cairn resume 1'
exits 0 cairn resume
ok 'what came after has run' test -e published
exits 2 cairn complete 1 review
says 'it is completed'
exits 0 cairn explain review
matches 'attempt [0-9]+  completed from outside'

# A run that waits is woken by whoever completes its steps.
rm -f published
cairn run flow.yaml --fresh >run.out 2>&1 &
pid=$!
offered() { [ "$(cairn next --json 2>/dev/null | grep -c "\"task\":\"$1\"")" = 1 ]; }
ok 'the waiting run offers its step' wait_for 20 offered write
exits 0 cairn status --waiting
says 'running'
exits 0 cairn complete 2 write --output file=x
ok 'and the next one' offered review
exits 0 cairn complete 2 review --output verdict=no
wait $pid
is $? 0 'it ends well'
ok 'a condition looked at the value' test ! -e published
exits 0 cairn status --tasks
matches 'skipped +publish .*(condition)' 'status: why it was skipped'

# After a stop, steps cannot be done before the run continues.
cairn run flow.yaml --fresh >run.out 2>&1 &
pid=$!
ok 'it waits again' wait_for 20 offered write
kill -TERM $pid
wait $pid
is "$(grep -c 'can be done' run.out)" 0 'a stopped run offers nothing'
exits 0 cairn next
says 'run 3 is cancelled; continue it first: cairn resume 3 --no-wait'
exits 7 cairn resume --no-wait -q
exits 0 cairn complete 3 write --output file=x
is "$(grep -c 'continue with' err)" 0 'the next step is offered at once'
exits 0 cairn fail 3 review
matches 'cairn resume 3' 'what a failed step needs'

# A claim is of the question that was asked: not of what is asked after something before
# it ran again.
mkdir asked && cd asked || exit 1
cat >asked.yaml <<'END2'
name: asked
tasks:
  a: {run: 'echo v=$(cat in) >>"$CAIRN_OUTPUT"', inputs: in}
  other: {external: "Something else"}
  r: {needs: a, external: "Approve ${{ tasks.a.outputs.v }}"}
  p: {needs: r, run: 'echo $(cat in) >>published'}
END2
echo 1 >in
CAIRN_STORE=$PWD/.cairn
exits 7 cairn run asked.yaml --no-wait
exits 0 cairn claim 1 other --lease 1h
kept=$(cat out)
exits 0 cairn claim 1 r --lease 1h
token=$(cat out)
exits 7 cairn resume --no-wait
exits 6 cairn claim 1 r
says 'has task r' 'as long as nothing before it runs again the claim stands'
echo 2 >in
exits 7 cairn resume --no-wait
exits 0 cairn events 1
says 'the claim is void' 'then it is void, which its log says'
exits 0 cairn next
says 'Approve 2' 'the new question can be taken by anybody'
exits 6 cairn complete 1 r --token "$token"
exits 0 cairn claim 1 r
exits 0 cairn complete 1 r --token "$(cat out)"
exits 0 cairn complete 1 other --token "$kept"
exits 0 cairn resume
is "$(cat published)" 2 'only the answer to the new question counts'

# ---- What the text names is edited ----
for keep in '' --on-change=keep; do
    rm -rf .cairn
    cat >env.yaml <<'END5'
name: env
env: {TARGET: staging, OTHER: '1'}
tasks:
  a: {run: 'true'}
  r: {needs: a, external: "Deploy to ${{ env.TARGET }}"}
END5
    exits 7 cairn run env.yaml --no-wait
    exits 0 cairn claim 1 r --lease 1h
    token=$(cat out)
    sed -i 's/staging/prod/' env.yaml
    exits 7 cairn resume --no-wait $keep
    exits 6 cairn complete 1 r --token "$token"
    exits 0 cairn next
    says 'Deploy to prod' 'another env, another question'
done

# The same after an edit: of what is before it, of its own text, and where the task before
# it does not run any more.
for edit in 's/v=1/v=2/' 's/Approve/Refuse/' 's/  a: {/  a: {if: "false", /'; do
    rm -rf .cairn
    cat >asked.yaml <<'END2'
name: asked
tasks:
  a: {run: 'echo v=1 >>"$CAIRN_OUTPUT"'}
  other: {external: "Something else"}
  r: {needs: a, when: always, external: "Approve ${{ default(tasks.a.outputs.v, 'none') }}"}
END2
    exits 7 cairn run asked.yaml --no-wait
    exits 0 cairn claim 1 other --lease 1h
    kept=$(cat out)
    exits 0 cairn claim 1 r --lease 1h
    token=$(cat out)
    sed -i "$edit" asked.yaml
    exits 7 cairn resume --no-wait
    exits 6 cairn complete 1 r --token "$token"
    exits 0 cairn claim 1 r
    exits 0 cairn complete 1 other --token "$kept"
done
cd ..
CAIRN_STORE=$PWD/.cairn

# The middle of the loop in the guide; two of them, and one is killed.
cat >loop.yaml <<'END2'
name: loop
tasks:
  plan: {external: plan}
  part: {needs: plan, foreach: {n: {range: [1, 6]}}, external: "part ${{ n }}"}
  join: {needs: part, external: join}
END2
cat >drive.sh <<'END2'
while :; do
    cairn resume "$1" --no-wait --quiet 2>/dev/null
    [ $? = 0 ] && exit 0
    task=$(cairn next "$1" --json 2>/dev/null | sed -n 's/.*"task":"\([^"]*\)".*/\1/p')
    [ -n "$task" ] || { sleep 0.05; continue; }
    token=$(cairn claim "$1" "$task" --lease 2s 2>/dev/null) || continue
    echo "$task" >>finished
    cairn complete "$1" "$task" --token "$token" --output "who=$2" 2>/dev/null
done
END2
exits 7 cairn run loop.yaml --no-wait
sh drive.sh 4 one &
one=$!
sh drive.sh 4 two &
two=$!
wait_for 20 test -s finished
kill -9 $one
wait $one 2>/dev/null
wait $two
is $? 0 'the other continues to the end'
exits 0 cairn status 4
says '8 completed'
is "$(sort -u finished | wc -l)" 8 'every step was done'
exits 0 cairn events 4
is "$(grep -c 'asked to complete: completed' out)" 8 'and each was completed once'
# ---- What is said to whoever waits, has claimed, or has failed ----
cat >texts.yaml <<'END'
name: texts
tasks:
  prep: {run: 'true'}
  review: {needs: prep, external: "Review it"}
  other: {needs: prep, external: "Also this"}
  after: {needs: [review, other], run: 'true'}
END
exits 7 cairn run texts.yaml --no-wait
texts=$(sed -n 's/^run \([0-9]*\) of texts.*/\1/p' err)
is "$(grep -c 'cairn complete' err)" 0 'with --no-wait the end says what to type'
exits 0 cairn claim "$texts" review --holder somebody
token=$(cat out)
exits 0 cairn status "$texts" --tasks
matches '^tasks +4: 1 completed, 1 claimed, 1 waiting, 1 not run$' 'claimed and waiting ones are counted'
matches '^  claimed +review  \(by somebody for another ' 'a claimed one is shown as claimed'
matches '^  waiting +other +\(for somebody to do it\)$' 'one that can be done as waiting'
matches '^  not run +after$' 'and the rest as not run'
exits 0 cairn fail "$texts" review --token "$token" --message bad
says "run $texts: review has failed"
says "what else waits can still be done: \`cairn next $texts\`; review is done again once the run has ended: cairn resume $texts"
exits 1 cairn resume "$texts" --no-wait
says "nothing was run: a failure that was reported before has ended the run; \`cairn resume $texts --no-wait\` runs what failed again"
cairn resume "$texts" >wait.out 2>wait.err &
pid=$!
ok 'a run that waits says what to type' wait_for 20 grep -q "when it is done: cairn complete $texts [a-z]*; what waits: cairn next $texts" wait.err
ok 'once' test "$(grep -c 'cairn complete' wait.err)" -eq 1
exits 0 cairn status "$texts" --tasks
matches '^  waiting +review  ' 'of a live run, too'
cairn complete "$texts" review >out 2>err
cairn complete "$texts" other >out 2>err
wait $pid
is $? 0 'it ends when both are done'


# ---- A file in the place of RUN ----
cat >by-file.yaml <<'END2'
name: by-file
tasks:
  build: {run: 'true', undo: 'true'}
  ask: {external: 'Say'}
  tell: {external: 'Say'}
END2
exits 7 cairn run by-file.yaml --no-wait
cairn status by-file.yaml --json >by-file.json 2>err
by_file=$(json_get .run by-file.json)
exits 0 cairn status --can-resume by-file.yaml --json
is "$(json_get .run)" "$by_file" 'status --can-resume'
touch never-ran.yaml
exits 10 cairn status --can-resume never-ran.yaml
says 'the workflow has no run yet'
exits 0 cairn claim by-file.yaml ask
token=$(cat out)
exits 0 cairn renew by-file.yaml ask --token "$token"
exits 0 cairn complete by-file.yaml ask --token "$token"
says "run $by_file: ask is completed"
exits 0 cairn fail by-file.yaml tell
says "run $by_file: tell has failed"
exits 0 cairn shell by-file.yaml build -- true
exits 0 cairn checkpoint head by-file.yaml
matches "^run $by_file seq"
exits 2 cairn resolve by-file.yaml build rerun
says 'the outcome of task build is not unknown' 'resolve takes it, too'
exits 0 cairn undo by-file.yaml
says 'undone build'
exits 10 cairn complete never-ran.yaml ask
says 'has no run yet'
exits 2 cairn complete no-such-file ask
says 'is neither the number of a run'

# ---- A step that ends each of its workers -----------------------------------------
mkdir lost && cd lost || exit 1
cat >flow.yaml <<'Y'
name: deadly
tasks:
  kill: {external: 'kills who does it'}
  other: {external: 'something else'}
Y
mine="--store $PWD/.cairn"
# shellcheck disable=SC2086 # several words
{
    run cairn run flow.yaml --no-wait $mine
    exits 0 cairn claim 1 kill --lease 1ms --holder w1 $mine
    first=$(cat out)
    exits 0 cairn claim 1 kill --lease 1h --holder w2 $mine
    ok 'the token says how many leases ran out' grep -qxE '[0-9a-f]{32}\.1' out
    token=$(cat out)
    exits 6 cairn renew 1 kill --token "$first" $mine
    exits 0 cairn status 1 --tasks $mine
    matches 'claimed +kill +\(by w2 for another .*, since 20[0-9-]* [0-9:]*; 1 lease ran out before\)' 'status: who has it, since when, and what went before'
    exits 0 cairn status --waiting $mine
    says '; 1 lease ran out before' 'so does status --waiting'
    exits 0 cairn next --claimed --json $mine
    json_ok 'next'
    is "$(json_get '.next[0].leases_lost')" 1 'and next'
    ok 'with its time' test -n "$(json_get '.next[0].since')"
    exits 0 cairn renew 1 kill --token "$token" --lease 1ms $mine
    i=2
    while [ $i -lt 10 ]; do
        i=$((i + 1))
        run cairn claim 1 kill --lease 1ms --holder "w$i" $mine
    done
    is "$status" 0 'the tenth'
    sleep 0.01
    exits 0 cairn next $mine
    says 'kill  kills who does it  (10 leases ran out)' 'all are counted'
    exits 0 cairn claim --any --json --lease 1h $mine
    is "$(json_get .task)" other 'the eleventh who takes any task gets another one'
    token=$(json_get .token)
    exits 2 cairn claim 1 kill $mine
    says 'it is failed' 'for that one has failed'
    exits 0 cairn log --failed --run 1 $mine
    says '10 leases on it ran out before anybody reported, the last one of w10' 'and says why'
    run cairn resume 1 --no-wait $mine # the run ends
    run cairn resume 1 --no-wait $mine
    exits 0 cairn claim 1 kill --lease 1h $mine
    ok 'offered again, its leases count from the beginning' grep -qxE '[0-9a-f]{32}' out
    sleep 1.1
    exits 0 cairn complete 1 kill --token "$(cat out)" $mine
}
# shellcheck disable=SC2086
run cairn status 1 --tasks $mine
matches 'completed +kill +[1-9]\.[0-9]s' 'its time is that since it was claimed'
cd ..

# ---- How many claims may be lost is for the task to say ----
mkdir few && cd few || exit 1
printf 'name: few\ntasks:\n  w: {external: do it, lost_claims: 1}\n' >flow.yaml
mine="--store $PWD/.cairn"
# shellcheck disable=SC2086 # several words
{
    exits 7 cairn run flow.yaml --no-wait $mine
    exits 0 cairn claim 1 w --lease 1ms $mine
    sleep 0.01
    exits 2 cairn claim 1 w --lease 1ms $mine
    says '1 lease on it ran out before anybody reported' 'one is enough where the task says so'
    sed -i 's/lost_claims: 1/lost_claims: 12/' flow.yaml
    run cairn resume 1 --no-wait $mine # the run ends
    exits 7 cairn resume 1 --no-wait $mine
    i=0
    while [ $i -lt 12 ]; do
        i=$((i + 1))
        run cairn claim 1 w --lease 1ms $mine
        sleep 0.002
    done
    is "$status" 0 'after an edit, the twelfth'
    exits 2 cairn claim 1 w $mine
    says '12 leases on it ran out' 'and no more'
}
cd ..

# ---- What is given back has not run out ---------------------------------------------
mkdir back && cd back || exit 1
printf 'name: back\ntasks:\n  w: {external: do it}\n' >flow.yaml
# shellcheck disable=SC2086 # several words
{
    mine="--store $PWD/.cairn"
    run cairn run flow.yaml --no-wait $mine
    run cairn claim 1 w --lease 1ms $mine
    sleep 0.01
    for i in 1 2 3 4 5 6 7 8 9 10; do
        rm -f began
        cairn claim --any --exec 'echo >began; exec sleep 60' $mine >back.out 2>back.err &
        worker=$!
        wait_for 10 test -s began
        kill -TERM $worker
        wait $worker
    done
    says_back() { grep -qF 'stopped; task w is given back' back.err; }
    ok 'a command that is stopped gives its task back' says_back
    exits 0 cairn next $mine
    says 'w  do it  (1 lease ran out)' 'only the lease that ran out is counted'
    exits 0 cairn claim 1 w $mine
    ok 'nor does the token count what was given back' grep -qxE '[0-9a-f]{32}\.1' out
    exits 0 cairn renew 1 w --token "$(cat out)" --lease 1ms $mine
    sleep 0.01
    exits 0 cairn next $mine
    says '(2 leases ran out)' 'one that runs out later is counted again'
}
cd ..

# ---- What a printed resume carries of the call ----
mkdir again && cd again || exit 1
printf 'name: again\ntasks:\n  a: {run: "true"}\n  b: {external: do it}\n' >again.yaml
exits 7 cairn run again.yaml -k -j2 --no-wait --on-change=keep --sync normal --output none
matches 'resume with: cairn resume [0-9]+ .*--jobs 2 --on-change keep --sync normal --keep-going --no-wait$' \
    'what the run was asked for, and not how it is shown'
printed=$(sed -n 's/.*resume with: //p' err)
run sh -c "$printed"
is "$status" 7 'the printed command does not wait either'
cd .. || exit 1

done_testing
