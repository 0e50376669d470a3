# Checkpoints of debugging sessions: made by hand and automatically, found by time, compared,
# restored. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
board() { # everything on the board, now or as told by the arguments
    for kind in hypothesis evidence belief note; do
        cairn $kind list --sort number --limit 100 --json "$@"
    done
    cairn gap list --all --limit 100 --json "$@" | sed 's/"score":[^,]*,//g'
    cairn belief dependencies --sort number --limit 100 --json "$@"
}
run_script() { # COMMAND: on a terminal, with the answers of stdin
    TERM=dumb script -qec "$1" /dev/null 2>&1
}
# Was the command right, and did it print an id of a checkpoint alone?
made() {
    matches '^debug:[0-9]+-[0-9a-f]{12}$' "$tap_last prints the id"
    id=$(cat out)
}

exits 0 cairn session start first
exits 0 cairn hypothesis add 'The cache is stale' --prior 0.3 --tag cache
exits 0 cairn hypothesis add 'The clocks differ'
exits 0 cairn evidence add h1 'slow on two hosts' --strength 0.25
exits 0 cairn belief add 'it was cold' --confidence 0.9 --subject cache --claim warm --denied
exits 0 cairn belief add 'the probe is right' --confidence 0.6
exits 0 cairn belief depend b1 b2 --kind measurement
exits 0 cairn gap add 'which hosts?' --criticality high --hypothesis h1
exits 0 cairn note add 'both run 2.4.1' --about h1 --tag hosts

# ---- Making one (T-01, T-30, T-36) ----
board >before
exits 0 cairn checkpoint create 'before emptying it' --tag risky,cache
made
first=$id
seq=${first#debug:}
seq=${seq%-*}
exits 0 cairn checkpoint show "$first"
matches '^trigger +manual$'
matches '^message +before emptying it$'
matches '^tags +risky, cache$'
matches '^items +8: 2 hypotheses, 1 evidence, 2 beliefs, 1 dependency, 1 gap, 1 note$' 'what it holds'
exits 0 cairn checkpoint show "$first" --json
json_ok 'the same as JSON'
is "$(json_get .trigger) $(json_get .message) $(json_get '.tags[1]') $(json_get .items) $(json_get .counts.hypotheses)" \
    'manual before emptying it cache 8 2' 'with the same content'
exits 2 cairn checkpoint create
exits 2 cairn checkpoint create ''
exits 2 cairn checkpoint create x --trigger magic
printf 'two\nlines\n' >message
cairn checkpoint create - <message >out 2>err
id=$(cat out)
exits 0 cairn checkpoint show "$id"
matches '^message +two$' 'a message from stdin'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    cairn checkpoint create "again $i"
done >ids 2>err
is "$(sort -u ids | wc -l)" 20 'manual ones are never refused, even where nothing has changed'
is "$(sed 's/debug:\([0-9]*\)-.*/\1/' ids | sort -n | tr '\n' ' ')" "$(seq $((seq + 2)) $((seq + 21)) | tr '\n' ' ')" 'numbers follow each other'
last=$(tail -n 1 ids)

# ---- Triggers (T-31 to T-33) ----
exits 0 cairn checkpoint create --trigger significant-time
silent_on out
says 'no checkpoint was made: too soon' 'a throttled one says why'
exits 0 cairn checkpoint create --trigger compaction-warning
silent_on out
says 'unchanged' 'an automatic one is not stored where nothing has changed'
exits 0 cairn checkpoint create --trigger tool-call --json
is "$(json_get .made) $(json_get .why) $(json_get .id)" "false off $last" 'one that is off names the last one'
exits 0 cairn note add 'something new'
exits 0 cairn checkpoint create --trigger significant-time
says 'too soon' 'a change alone is not enough'
exits 0 cairn checkpoint create --trigger compaction-warning
made
is "$(echo "$id" | sed 's/debug:\([0-9]*\)-.*/\1/')" $((seq + 22)) 'one that was not made took no number'
exits 0 cairn checkpoint show "$id"
matches '^message +Auto: compaction warning$' 'the message names the trigger (T-04)'
matches '^tags +auto, compaction-warning$' 'so do the tags (T-05)'
exits 0 cairn note add 'more'
exits 0 cairn checkpoint create --trigger compaction-warning
made
exits 0 cairn session config interval 1s
exits 0 cairn note add 'and more'
later() { [ -n "$(cairn checkpoint create --trigger significant-time 2>/dev/null)" ]; }
ok 'significant time: once the last one is old enough' wait_for 20 later
exits 0 cairn session config interval 5m
exits 0 cairn note add 'and more again'
exits 0 cairn checkpoint create --trigger significant-time
says 'too soon' 'and not again after that'

# ---- By time, number, id (T-60 to T-64) ----
exits 0 cairn session start times
exits 10 cairn checkpoint at now
says 'had no checkpoint' 'before the first one there is none'
for n in 1 2 3; do
    exits 0 cairn note add "note $n"
    exits 0 cairn checkpoint create "number $n" --tag "t$n,all"
    eval "c$n=\$(cat out)"
    eval "t$n=\$(get .time cairn checkpoint show $(cat out))"
    # A moment that is neither this one nor the next.
    exits 0 cairn belief add "between $n"
    eval "b$n=\$(get .created cairn belief show b$n)"
done
# shellcheck disable=SC2154
for case in "$t1 $c1" "$b1 $c1" "$t2 $c2" "$b2 $c2" "$t3 $c3" "$b3 $c3"; do
    is "$(get .checkpoint.id cairn checkpoint at "${case% *}")" "${case#* }" "at ${case% *}: the newest at that time or before"
done
exits 10 cairn checkpoint at '2020-01-01 00:00'
exits 10 cairn checkpoint at '1 hour ago'
is "$(get .checkpoint.id cairn checkpoint at now)" "$c3" 'now'
is "$(get .checkpoint.id cairn checkpoint at '0 seconds ago')" "$c3" 'a time ago'
number=${c2#debug:}
number=${number%-*}
is "$(get .checkpoint.id cairn checkpoint at --seq "$number")" "$c2" 'by number'
is "$(get .checkpoint.id cairn checkpoint at "$number")" "$c2" 'the same as an operand'
is "$(get .checkpoint.id cairn checkpoint at "$c2")" "$c2" 'by id'
is "$(get .checkpoint.id cairn checkpoint at "${c2#*-}")" "$c2" 'by digits'
is "$(get .checkpoint.id cairn checkpoint at now --tag t2)" "$c2" 'only with a tag'
exits 10 cairn checkpoint at now --tag t
is "$(get .checkpoint.id cairn checkpoint at now --tag all)" "$c3" 'a tag matches as a whole (T-43)'
exits 10 cairn checkpoint at --seq 999999
exits 10 cairn checkpoint at debug:999999
exits 10 cairn checkpoint at "$first"
says 'not one of session' 'one of another session is none here'
exits 2 cairn checkpoint at
exits 2 cairn checkpoint at now --seq 1
for garbage in '' '2 fortnights ago' '2025-13-01 00:00' '25:00' '2025-01-20 14:30 maybe'; do
    exits 2 cairn checkpoint at "$garbage"
done
says 'position' 'what is wrong with a time is told with its position'
exits 0 cairn checkpoint at "$c2"
matches '^n2 .*note 2$'
ok 'the state of that time' test "$(grep -c 'note 3\|between 2' out)" -eq 0
exits 0 cairn checkpoint at "$c2" --section beliefs
is "$(grep -c 'note' out) $(grep -c 'between 1' out)" '1 1' 'one part of it, with what the checkpoint says of itself'
exits 0 cairn checkpoint at "$c2" --section beliefs --json
json_ok 'as JSON'
is "$(json_get '.items[0].statement')|$(json_get '.items[1].statement')" 'between 1|' 'only those'
is "$(get .total cairn note list --at "$c2")" 2 'lists as they were'
is "$(get .total cairn note list)" 3 'beside lists as they are'
exits 10 cairn note show n3 --at "$c2"
exits 0 cairn note show n2 --at "$c2"
# A time means the branch that was current then, the present the board as it is.
exits 0 cairn session start given-up
exits 0 cairn belief add 'it rains' --confidence 0.8
exits 0 cairn checkpoint create A --tag first
a=$(cat out)
exits 0 cairn belief update b1 --confidence 0.2
exits 0 cairn checkpoint create B
b=$(cat out)
moment() { # one between what was done before and what comes
    sleep 0.05
    moment=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
    sleep 0.05
}
believed() { # WHEN
    run cairn checkpoint at "$1" --section beliefs --json
    json_get '.items[0].confidence'
}
moment
before=$moment
exits 0 cairn checkpoint restore "$a" --yes
is "$(believed now)" 0.8 'after a restore the present is what was restored'
is "$(believed '0 seconds ago')" 0.8 'also by a time'
is "$(believed "$before")" 0.2 'before the restore it was what was given up'
is "$(get .checkpoint.id cairn checkpoint at "$before")" "$b" 'by its checkpoint'
moment
restored=$moment
exits 0 cairn checkpoint undo-restore
is "$(believed now)" 0.2 'after an undo it is the present again'
is "$(believed "$restored")" 0.8 'and the restored state was current between'
moment
undone=$moment
exits 0 cairn branch start other
exits 0 cairn belief update b1 --confidence 0.5
exits 0 cairn checkpoint create C
c=$(cat out)
moment
other=$moment
exits 0 cairn branch switch main
is "$(believed now)" 0.2 'after a switch the present is that branch'
is "$(believed "$other")" 0.5 'and the other one was current before'
is "$(believed "$undone")" 0.2 'as main was before that'
is "$(get .checkpoint.id cairn checkpoint at "$other")" "$c" 'with its own checkpoint'
is "$(get .checkpoint.id cairn checkpoint at "$other" --tag first)" "$a" 'or one that it comes from'
exits 0 cairn belief update b1 --confidence 0.3
is "$(believed now)" 0.3 'the present is the board as it is'
is "$(believed "$undone")" 0.2 'what was is as it was'
exits 0 cairn checkpoint at now
says 'the board as it is now'
# A session that came from another store: its log does not say, so the newest one counts.
exits 0 cairn session export given-up.session
CAIRN_STORE=$PWD/other exits 0 cairn session import given-up.session
CAIRN_STORE=$PWD/other exits 0 cairn session switch given-up
is "$(CAIRN_STORE=$PWD/other believed "$other")" 0.5 'what was known then is found after an import, too'
is "$(CAIRN_STORE=$PWD/other believed now)" 0.3 'and the present is the branch that it was on'
exits 0 cairn session switch times
TZ=UTC-5
export TZ
is "$(get .checkpoint.id cairn checkpoint at "$t2")" "$c2" 'a zone in the time counts'
exits 0 cairn checkpoint at "$(date -d '2 seconds' '+%Y-%m-%d %H:%M:%S')"
says "$c3" 'without one it is local time'
TZ=UTC+5
exits 0 cairn checkpoint at "$(date -d '2 seconds' '+%Y-%m-%d %H:%M:%S')"
says "$c3" 'wherever that is'
unset TZ

# ---- Hypotheses, evidence, beliefs, gaps, notes as they were (T-11 to T-14, T-17, T-64) ----
exits 0 cairn session switch first
is "$(board --at "$first")" "$(cat before)" 'a checkpoint shows the whole board as it was'
exits 0 cairn hypothesis test h1
exits 0 cairn evidence update e1 --strength 0.5
exits 0 cairn belief undepend d1
exits 0 cairn belief update b2 --confidence 0.2
exits 0 cairn gap fill g1 'web-3 and web-4'
exits 0 cairn note update n1 --text 'both run 2.4.2'
exits 0 cairn hypothesis remove h2
is "$(board --at "$first")" "$(cat before)" 'whatever happens later'
is "$(get .status cairn hypothesis show h1) $(get .status cairn hypothesis show h1 --at "$first")" 'testing proposed' 'one item now and then'
board >after

# ---- Comparing (T-70 to T-73) ----
exits 0 cairn checkpoint create 'after it'
second=$(cat out)
exits 0 cairn checkpoint diff "$first" "$second"
cp out diff.out
matches '^~ h1 +hypothesis +The cache is stale$'
matches '^ +status +proposed -> testing$' 'a change of status'
matches '^ +confidence +0\.5[0-9]* -> 0\.79[0-9]*$' 'a change of confidence'
matches '^~ e1 +evidence' 'evidence'
matches '^ +strength +0\.25 -> 0\.5$' 'the field of it, old and new'
matches '^~ g1 +gap +which hosts\?$'
matches '^ +resolution +- -> web-3 and web-4$' 'a gap that was filled'
matches '^~ b2 +belief'
matches '^- d1 +dependency +b1 -> b2, measurement$' 'a removal (T-71)'
matches '^- h2 +hypothesis +The clocks differ$'
matches '^\+ n[0-9]+ +note +something new$' 'a note that was added'
matches '^[0-9]+ .*; .* later$' 'and a line that sums it up'
exits 0 cairn checkpoint diff "$second" "$first"
matches '^\+ h2 +hypothesis' 'the other way round: what was removed is added'
matches '^- n[0-9]+ +note +something new$' 'what was added is removed'
matches '^ +status +testing -> proposed$' 'and fields change back'
matches ' earlier$'
is "$(grep -c '^[-+~]' out)" "$(grep -c '^[-+~]' diff.out)" 'as many items'
exits 0 cairn checkpoint diff "$first" "$second" --json
json_ok 'as JSON'
between=$(json_get .between_ms)
is "$(json_get .from) $(json_get .to)" "$first $second" 'from and to'
is "$(json_get .added) $(json_get .changed) $(json_get .removed)" \
    "$(grep -c '^+' diff.out) $(grep -c '^~' diff.out) $(grep -c '^-' diff.out)" 'the counts are those of the text'
is "$(grep -o '"change":' out | wc -l)" "$(grep -c '^[-+~]' diff.out)" 'and so many items are listed'
exits 0 cairn checkpoint diff "$second" "$first" --json
is "$(json_get .between_ms)" "-$between" 'the time between is negative then (T-72)'
for same in "$second" ''; do
    # shellcheck disable=SC2086
    exits 0 cairn checkpoint diff "$second" $same
    is "$(grep -c '^[-+~]' out)" 0 'equal states have no difference'
done
exits 0 cairn note add 'since then'
exits 0 cairn checkpoint diff "$second"
is "$(grep -c '^[-+~]' out) $(grep -c '^+ n.* since then$' out)" '1 1' 'without TO: until now'
exits 0 cairn checkpoint diff "$second" --json
is "$(json_get .to)" null 'which is no checkpoint'
exits 10 cairn checkpoint diff "$first" 999999
exits 0 cairn checkpoint diff
cp out since.newest
exits 0 cairn checkpoint diff "$(cairn session show --json 2>/dev/null | sed 's/.*"last_checkpoint":{"id":"\([^"]*\)".*/\1/')"
ok 'without operands it is since the newest checkpoint' sh -c 'sed "s/; .*//" out >a; sed "s/; .*//" since.newest | cmp -s - a'
exits 0 cairn checkpoint diff now
ok 'a time is that of the newest one then' sh -c 'sed "s/; .*//" out >a; sed "s/; .*//" since.newest | cmp -s - a'
exits 10 cairn checkpoint diff '3 hours ago'
exits 10 cairn checkpoint diff 'some time'
exits 0 cairn checkpoint diff 1 now
exits 10 cairn hypothesis list --at '3 hours ago'
exits 10 cairn hypothesis show h1 --at 'some time'
exits 0 cairn hypothesis list --at now
cp out a
exits 0 cairn hypothesis list --at "$(cairn checkpoint at now --json | sed 's/.*"checkpoint":{"id":"\([^"]*\)".*/\1/')"
ok 'a list of an earlier time' cmp -s out a
cairn session start without-checkpoint --no-switch >no.out 2>&1
exits 10 cairn checkpoint diff --session without-checkpoint
says 'has no checkpoint'

# ---- Restoring (T-47, T-80, T-82) ----
exits 2 cairn checkpoint restore "$first"
says '--yes' 'restoring without a terminal needs --yes'
count=$(get .checkpoints cairn session show)
board >now
exits 0 cairn checkpoint restore "$first" --yes
matches "^restored +$first, of [0-9-]+ [0-9:]+: before emptying it\$" 'the report names it, its time and message'
matches '^branch +[^ ]+ \(it was main\)$' 'and the branches'
is "$(board)" "$(cat before)" 'the board is what it was'
is "$(get .checkpoints cairn session show)" $((count + 1)) 'the state before was made a checkpoint'
saved=$(sed -n 's/^before *//p' out)
is "$(board --at "$saved")" "$(cat now)" 'which has that state'
exits 0 cairn checkpoint undo-restore
is "$(board)" "$(cat now)" 'one command takes it back'
is "$(get .branch cairn session show)" main 'on the branch it was on'
exits 2 cairn checkpoint undo-restore
exits 0 cairn checkpoint restore "$first" --yes --json
json_ok 'as JSON'
is "$(json_get .restored) $(json_get .message) $(json_get .old_branch)" "$first before emptying it main" 'the same report'
exits 0 cairn note add 'a new way'
is "$(tail -n 1 out)" "n$(($(get .total cairn note list --at "$saved") + 1))" 'numbers of items go on, also those that are not there'
exits 0 cairn checkpoint create 'on the new branch'
fork=$(cat out)
is "$(get .parent cairn checkpoint show "$fork")" "$seq" 'its parent is the restored one'
exits 0 cairn branch switch main
is "$(board)" "$(cat now)" 'the old line is reachable'
if command -v script >/dev/null; then
    echo n | run_script "cairn checkpoint restore $first" >asked
    ok 'on a terminal it asks' grep -q 'Restore it?' asked
    ok 'and says what would change' grep -q 'from now to then: .*note' asked
    is "$(board)" "$(cat now)" 'no: nothing is restored'
    echo y | run_script "cairn checkpoint restore $first" >asked
    is "$(board)" "$(cat before)" 'yes: it is'
    exits 0 cairn checkpoint undo-restore
else
    skip 'restoring on a terminal' 'there is no program script'
fi
exits 10 cairn checkpoint restore 999999 --yes
exits 0 cairn session switch times
run cairn checkpoint restore "$first" --yes
ok 'a checkpoint of another session is not restored' test "$status" -ne 0
exits 0 cairn session switch first
is "$(board)" "$(cat now)" 'and nothing was changed'

# ---- Branches (T-16) ----
exits 0 cairn branch start without-cache --from "$first"
is "$(board)" "$(cat before)" 'a branch from a checkpoint has its state'
exits 0 cairn note add 'only here'
exits 0 cairn branch list
matches '^current .* without-cache$'
exits 2 cairn branch start without-cache
exits 2 cairn branch switch without-cache
exits 10 cairn branch switch nobody
exits 2 cairn branch abandon without-cache --reason x
exits 0 cairn branch switch main
is "$(board)" "$(cat now)" 'each branch has its own state'
exits 0 cairn checkpoint list --session first --limit 100
matches 'first/without-cache  Auto: branch switch: main  \[auto,branch-switch\]' 'what was left is in a checkpoint'
exits 2 cairn branch abandon without-cache
says '--reason' 'a reason is required'
exits 0 cairn branch abandon without-cache --reason 'the cache is not involved'
exits 0 cairn branch list --json
json_ok 'branches as JSON'
ok 'with the reason' grep -qF '"reason":"the cache is not involved"' out
exits 2 cairn branch switch without-cache
is "$(get .message cairn checkpoint show "$fork")" 'on the new branch' 'checkpoints of other branches stay'

# ---- Deleting one (T-46, T-96) ----
exits 0 cairn session start deleting
for i in 1 2 3; do
    cairn note add "step $i" >/dev/null
    cairn checkpoint create "step $i"
done >made.ids 2>err
middle=$(sed -n 2p made.ids)
newest=$(sed -n 3p made.ids)
exits 2 cairn checkpoint delete "$middle"
exits 0 cairn checkpoint delete "$middle" --yes
exits 10 cairn checkpoint show "$middle"
exits 10 cairn checkpoint at "$middle"
is "$(get .total cairn note list --at "$newest")" 3 'the others have what they had'
exits 0 cairn checkpoint delete "$newest" --yes
exits 0 cairn checkpoint create 'after that'
was=${newest#debug:}
is_now=$(sed 's/debug:\([0-9]*\)-.*/\1/' out)
ok 'the number of the newest one is not used again' test "$is_now" -gt "${was%-*}"
exits 0 cairn checkpoint verify

# ---- Pruning by rules (T-90 to T-94) ----
exits 0 cairn session start pruning
exits 0 cairn session config tool-call on
for i in 1 2 3 4 5 6; do
    cairn note add "step $i" >/dev/null
    tag=$((i % 3))
    cairn checkpoint create --trigger tool-call --tag "rest-$tag"
done >made.ids 2>err
is "$(wc -l <made.ids)" 6 'six automatic ones'
exits 0 cairn checkpoint create 'by hand'
by_hand=$(cat out)
exits 0 cairn note add 'one more'
exits 0 cairn checkpoint create --trigger tool-call
newest=$(cat out)
left() { cairn checkpoint list --session pruning --limit 100 --quiet | awk 'NR > 1 { print $1 }' | sort; }
left >all
exits 0 cairn checkpoint prune --session pruning
matches '^deleted 0 of 8 ' 'the usual rules keep all of today'
exits 0 cairn checkpoint prune --keep-last 2 --keep-tag rest-0 --dry-run
ok 'which ones' grep -Eq '^these: debug:[0-9]+(, [0-9]+){3}$' err
matches '^would delete 4 of 8 '
is "$(left)" "$(cat all)" 'a dry run deletes nothing'
exits 0 cairn checkpoint prune --keep-last 2 --keep-tag rest-0
matches '^deleted 4 of 8 ' 'which deletes as many'
{
    sed -n '3p;6p' made.ids
    echo "$by_hand"
    echo "$newest"
} | sort >wanted
is "$(left)" "$(cat wanted)" 'the newest two, those with the tag, the manual one'
exits 0 cairn checkpoint prune --keep-last 2 --keep-tag rest-0
matches '^deleted 0 of 4 ' 'a second time there is nothing to delete'
exits 0 cairn checkpoint prune --keep-last 1 --json
is "$(json_get .total) $(json_get .kept) $(json_get .deleted)" '4 2 2' 'the manual one always stays'
exits 0 cairn checkpoint verify
exits 2 cairn checkpoint prune --keep-last 1 --keep 3
exits 2 cairn checkpoint prune --session pruning --run 1
exits 2 cairn checkpoint prune --keep-last 0
exits 10 cairn checkpoint prune --session nobody
exits 10 cairn checkpoint list --session nobody
ok 'the list of one session has none of another (T-42)' test "$(left | wc -l)" -eq 2
exits 0 cairn session switch first

# ---- Both namespaces in one store ----
cat >fails.yaml <<'END'
name: fails
tasks: {a: {run: "echo the reason; exit 3"}}
END
exits 1 cairn run fails.yaml
exits 0 cairn checkpoint list --session first --limit 1
exits 0 cairn checkpoint show "$(awk 'NR == 2 { print $1 }' out)"
matches '^trigger +task-failed$' 'a failed task is noted in the session'
matches '^failure +a of run 1, attempt 1: exit 3$' 'with run, attempt and exit status'
matches '^  \| the reason$' 'and the end of its output (T-19)'
cat >one.yaml <<'END'
name: one
tasks: {a: {run: "true"}}
END
exits 0 cairn run one.yaml
exits 0 cairn checkpoint verify
exits 0 cairn doctor
exits 0 cairn gc
is "$(board)" "$(cat now)" 'the collection of garbage leaves the board'
is "$(board --at "$first")" "$(cat before)" 'and the checkpoints'
exits 0 cairn checkpoint verify
run cairn checkpoint restore workflow:999 --yes
ok 'a checkpoint of a run is not restored' test "$status" -ne 0
run cairn checkpoint diff "workflow:$("$sql" .cairn/cairn.db 'SELECT max(seq) FROM checkpoint WHERE namespace = 1')"
ok 'nor compared with a session' test "$status" -ne 0

# ---- Damage (T-44, T-81): named, before anything is changed ----
exits 10 cairn checkpoint show debug:999999
cp -r .cairn whole
"$sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) - 3) WHERE seq = $seq" >sql.out
exits 5 cairn checkpoint restore "$first" --yes
is "$(board)" "$(cat now)" 'a damaged record: nothing has changed'
exits 5 cairn checkpoint show "$first"
exits 5 cairn checkpoint at "$first"
exits 5 cairn checkpoint diff "$first"
exits 5 cairn note list --at "$first"
exits 5 cairn checkpoint verify
says "$seq" 'verify names it'
exits 0 cairn checkpoint restore "$second" --yes
exits 0 cairn checkpoint undo-restore
# One section: all or nothing.
rm -rf .cairn
cp -r whole .cairn
"$sql" .cairn/cairn.db 'UPDATE object SET data = flip(data, length(data) - 1) WHERE id = (SELECT min(id) FROM object WHERE size > 20)' >sql.out
broken=0
for id in "$first" "$second" "$saved"; do
    cp -r .cairn copy
    run cairn checkpoint restore "$id" --yes
    if [ "$status" -eq 5 ]; then
        broken=$((broken + 1))
        is "$(board)" "$(cat now)" 'a damaged part: nothing of it was restored'
    fi
    rm -rf .cairn
    mv copy .cairn
done
ok "at least one of three needed that part ($broken)" test "$broken" -ge 1
exits 5 cairn checkpoint verify

done_testing
