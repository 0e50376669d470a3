# cairn checkpoint recover: from which checkpoint to continue, and how (T-83).
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql

bytes() { cat .cairn/cairn.db .cairn/cairn.db-wal 2>/dev/null | sha256sum; }
flip() { # SEQ
    "$sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) - 3) WHERE seq = $1" >sql.out
}
steps() { awk 'NR > 1 { $1 = ""; print substr($0, 2) }' out; }
# The command lines of a kind, without the numbers.
lines() { sed -n "s/^ *[0-9]*  $1 *//p" out; }

exits 10 cairn checkpoint recover
exits 0 cairn session start "it's a session"
exits 10 cairn checkpoint recover
says 'has no checkpoint'

# ---- A state that is the present one ----
exits 0 cairn note add 'something'
exits 0 cairn checkpoint create 'the first one'
first=$(cat out)
before=$(bytes)
exits 0 cairn checkpoint recover
is "$(sed -n 1p out | cut -d ' ' -f 1)" "$first" 'the first line names the checkpoint'
matches "^$first of .*: the first one\$"
is "$(steps | awk '{ print $1 }' | tr '\n' ' ')" 'environment environment ' 'there is nothing to do but to set variables'
is "$(bytes)" "$before" 'nothing was changed'
lines environment >env.sh
is "$(env -u CAIRN_STORE sh -c '. ./env.sh; cd /; cairn session show' | head -n 1)" "$(cairn session show | head -n 1)" 'they lead to the session'
exits 0 cairn checkpoint recover --json
json_ok 'as JSON'
is "$(json_get .checkpoint) $(json_get .message) $(json_get .session)" "$first the first one it's a session" 'with the same checkpoint'
is "$(json_get '.steps[0].kind') $(json_get '.steps[0].text')" "environment export CAIRN_STORE='$PWD/.cairn'" 'and steps'
is "$(json_get '.steps[2].kind')" '' 'two of them'

# ---- What was open, and a state that has changed since ----
exits 0 cairn hypothesis add 'The cache is stale'
exits 0 cairn hypothesis add 'The clocks differ'
exits 0 cairn hypothesis test h2
exits 0 cairn gap add 'which hosts?' --criticality low
exits 0 cairn gap add 'since when?' --criticality high
exits 0 cairn gap add 'who noticed?' --criticality medium
exits 0 cairn gap add 'how often?' --criticality medium
exits 0 cairn checkpoint create "the second
one"
second=$(cat out)
exits 0 cairn note add 'another'
exits 0 cairn checkpoint recover
matches "^$second of .*: the second"
is "$(lines replay)" "cairn checkpoint restore $second" 'the state can be restored'
matches 'manual +h2 was being tested \(confidence 0.50\): The clocks differ$'
matches 'manual +g2 was open: since when\?'
is "$(grep -c 'was open' out)" 3 'the three gaps that matter most'
is "$(grep -c 'g1 was open' out)" 0 'not the one that matters least'
is "$(grep -c 'h1 was' out)" 0 'nor a hypothesis that nobody tests'
lines replay >replay.sh
exits 2 sh -c '. ./replay.sh'
says '--yes' 'what is to be replayed asks, as always'
sed 's/$/ --yes/' replay.sh >yes.sh
exits 0 sh yes.sh
exits 0 cairn checkpoint recover

# ---- Damage ----
exits 0 cairn session start other
exits 10 cairn checkpoint recover
for n in 1 2 3; do
    cairn note add "note $n" >/dev/null 2>&1
    cairn checkpoint create "number $n" >id.$n 2>/dev/null
done
seq_of() { sed 's/debug:\([0-9]*\)-.*/\1/' "id.$1"; }
flip "$(seq_of 3)"
exits 0 cairn checkpoint recover
is "$(sed -n 1p out | cut -d ' ' -f 1)" "$(cat id.2)" 'the newest one that is valid'
ok 'the damaged newer one is named' grep -q "debug:$(seq_of 3)" err
exits 0 cairn checkpoint recover --json
is "$(json_get '.damaged[0].checkpoint') $(json_get .checkpoint)" "debug:$(seq_of 3) $(cat id.2)" 'as JSON, too'
# The record of the second one is sound, but what it holds is not.
"$sql" .cairn/cairn.db 'UPDATE object SET data = flip(data, length(data) - 1) WHERE id = (SELECT max(id) - 1 FROM object)' >sql.out
exits 0 cairn checkpoint recover
is "$(sed -n 1p out | cut -d ' ' -f 1)" "$(cat id.1)" 'the content counts as well'
is "$(grep -c '^cairn: ' err)" 2 'two are named'
flip "$(seq_of 1)"
exits 5 cairn checkpoint recover
says 'is whole'
exits 0 cairn checkpoint recover --session "it's a session"
exits 10 cairn checkpoint recover --session nobody

# ---- A task that failed ----
cat >failing.yaml <<'END'
name: failing
tasks:
  convert:
    foreach: {part: [1, 2]}
    run: test "$part" != 2
END
exits 0 cairn session start pipeline
exits 1 cairn run failing.yaml -j 1
before=$(bytes)
exits 0 cairn checkpoint recover
matches ': Auto: task failed: convert\[part=2\]'
is "$(lines replay | tr '\n' ';')" "cairn shell 1 'convert[part=2]';cairn resume 1;" 'its shell, and resuming the run'
is "$(bytes)" "$before" 'nothing of it was executed'
lines replay | sed -n 's/$/ -- env/; 1p' | sh >given 2>err
is "$(grep '^part=' given)" 'part=2' 'the shell is that of the task'
cp failing.yaml broken.yaml
sed 's/!= 2/!= 3/' broken.yaml >failing.yaml
exits 0 cairn resume 1
exits 0 cairn checkpoint recover
is "$(lines replay)" '' 'a run that has completed is not resumed'
matches 'run 1 has completed since convert\[part=2\] failed: there is nothing to resume$' 'which is told'
cp broken.yaml failing.yaml
exits 1 cairn run failing.yaml -j 1 --fresh
exits 0 cairn session end
exits 0 cairn checkpoint recover --session pipeline
is "$(lines replay | sed -n 1p)" "cairn session switch 'pipeline'" 'a session that has ended continues first'
exits 1 cairn run failing.yaml --fresh
exits 5 cairn gc --keep-runs 1 # 5: for what was damaged above
exits 0 cairn checkpoint recover --session pipeline
ok 'a run that was deleted is not resumed' sh -c '! grep -q resume out'

done_testing
