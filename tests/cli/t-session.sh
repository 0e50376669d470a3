# Sessions: start, switch, several at once, settings, counters, log, undo. Every command is
# a process of its own, so everything is read back from the store.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}

# ---- Without a store, without a session ----
exits 10 cairn session show
says 'cairn session start' 'without a store: what makes one'
exits 10 cairn hypothesis list
ok 'looking makes no store' test ! -e .cairn
cat >one.yaml <<'END'
name: one
tasks: {a: {run: "true"}}
END
exits 0 cairn run one.yaml
exits 10 cairn note add x
says 'cairn session start' 'without a session: how to start one'
exits 0 cairn session list
says '0 of 0 sessions'

# ---- Starting ----
exits 0 cairn session start
is "$(cat out)" session-1 'a session has a name, which is printed'
exits 0 cairn session start 'slow login'
is "$(cat out)" 'slow login' 'or the one that it is given'
is "$(get .name cairn session show)" 'slow login' 'it is the current one, in the next process'
is "$(get .branch cairn session show)" main 'on the branch main'
for name in '' 7 ' x' 'x ' "$(printf 'a\nb')" "$(head -c 200 /dev/zero | tr '\0' x)"; do
    exits 2 cairn session start "$name"
done
exits 2 cairn session start session-1
says 'cairn session switch' 'a name that is taken: what to do'
exits 2 cairn session start a b
is "$(get .total cairn session list)" 2 'nothing of that made one'
exits 0 cairn session start side --no-switch
is "$(get .name cairn session show)" 'slow login' '--no-switch leaves the current one'
exits 0 cairn session list
says '3 of 3 sessions'
is "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" '3 2 1 ' 'the newest is first'
exits 0 cairn session list --limit 1 --offset 1
says 'slow login' 'a page'

# ---- The start is kept (T-10) ----
started=$(get .started cairn session show)
exits 0 cairn note add 'something happens'
exits 0 cairn checkpoint create one
exits 0 cairn checkpoint create two
is "$(get .started cairn session show)" "$started" 'the start is the same after all that'
ok 'and it is not the time of the question' test "$(get .started cairn session show 1)" != "$started"
exits 0 cairn session show
matches '^started +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}$' 'for people it is local time'

# ---- Switching; several at once ----
exits 10 cairn session switch nobody
exits 0 cairn session switch 1
is "$(get .name cairn session show)" session-1 'by its number'
exits 0 cairn session switch 'slow login'
is "$(get .session cairn session show)" 2 'by its name'
is "$(get .name cairn session show side)" side 'one that is named is shown'
is "$(get .name cairn session show --session side)" side 'the same by --session'
exits 2 cairn session show side --session side
exits 0 cairn note add 'of the side' --session side
is "$(get .total cairn note list --session side)" 1 '--session says where'
is "$(get .total cairn note list)" 1 'and the current one has only its own'
is "$(get '.items[0].text' cairn note list)" 'something happens' 'which is another'
CAIRN_SESSION=side
export CAIRN_SESSION
is "$(get .name cairn session show)" side '$CAIRN_SESSION names the session of this terminal'
exits 0 cairn note add 'by the variable'
is "$(get .total cairn note list)" 2 'commands go there'
is "$(get .name cairn session show --session session-1)" session-1 '--session goes before it'
exits 0 cairn session switch session-1
says 'CAIRN_SESSION is set' 'switching says that the variable still holds'
CAIRN_SESSION=nobody
exits 10 cairn note list
CAIRN_SESSION=
exits 0 cairn note list
unset CAIRN_SESSION
is "$(get .name cairn session show)" session-1 'an empty one is none'

# Two agents write side by side, each into its own session: nothing is lost or mixed.
exits 0 cairn session start agent-a --no-switch
exits 0 cairn session start agent-b --no-switch
for agent in agent-a agent-b; do
    (
        CAIRN_SESSION=$agent
        export CAIRN_SESSION
        for i in 1 2 3 4 5 6 7 8; do
            cairn note add "$agent $i" >>"$agent.ids" 2>>"$agent.err" || echo "failed $i" >>"$agent.err"
        done
    ) &
done
wait
for agent in agent-a agent-b; do
    is "$(tr '\n' ' ' <$agent.ids)" 'n1 n2 n3 n4 n5 n6 n7 n8 ' "$agent: ids in order"
    cairn note list --session $agent --json >doc.json
    is "$(json_get .total doc.json) $(grep -o "\"$agent [1-8]\"" doc.json | sort -u | wc -l)" '8 8' "$agent has its own eight"
done

# Two processes on one session: no number twice, nothing lost.
exits 0 cairn session start both
for process in p q; do
    (for i in 1 2 3 4 5 6 7 8; do
        cairn note add "$process $i" >>both.ids 2>>both.err
    done) &
done
wait
is "$(sort -u both.ids | wc -l)" 16 'two processes on one session: every id once'
is "$(get .total cairn note list)" 16 'and every note is there'
is "$(get .items cairn session show)" 16 'the session counts them'

# Checkpoints of two sessions at once: one series of numbers, none twice (T-120).
for agent in agent-a agent-b; do
    (for i in 1 2 3 4 5 6 7 8; do
        cairn checkpoint create "$agent $i" --session $agent >>$agent.made 2>>$agent.err
    done) &
done
wait
is "$(cat agent-a.made agent-b.made | sed 's/debug:\([0-9]*\)-.*/\1/' | sort -u | wc -l)" 16 'sixteen checkpoints have sixteen numbers'
for agent in agent-a agent-b; do
    sed 's/debug:\([0-9]*\)-.*/\1/' $agent.made >numbers
    is "$(cat numbers)" "$(sort -n numbers)" "$agent: they ascend (T-03)"
    cairn checkpoint list --session $agent --limit 100 --quiet >list
    is "$(grep -c "$agent" list) $(awk 'NR > 1' list | wc -l)" '8 8' 'and the list of one has none of the other (T-42)'
done

# ---- Ending ----
exits 0 cairn session end
exits 2 cairn note add late
says 'session switch' 'a session that has ended refuses changes and says what to do'
exits 2 cairn checkpoint create late
exits 0 cairn note list
says '10 of 16 notes' 'and is still shown'
ok 'its end is told' test "$(get .ended cairn session show)" != null
spent=$(get .spent_ms cairn session show)
is "$(get .spent_ms cairn session show)" "$spent" 'its time does not go on'
exits 0 cairn session switch both
exits 0 cairn note add again
is "$(tail -n 1 out)" n17 'after that it continues'

# ---- Settings (T-35): they are kept, and have their effect ----
exits 0 cairn session config
matches '^interval +5m +\(default\)' 'the defaults are marked'
exits 0 cairn session config interval 2m
exits 0 cairn session config interval
matches '^(2m|120s)$' 'a setting is read back'
exits 0 cairn session config hypothesis-status off
exits 0 cairn session config --json
json_ok 'settings are JSON'
exits 0 cairn hypothesis add x
exits 0 cairn hypothesis test h1
is "$(get .checkpoints cairn session show)" 0 'a trigger that is off makes no checkpoint'
exits 0 cairn session config hypothesis-status on
exits 0 cairn hypothesis confirm h1
is "$(get .checkpoints cairn session show)" 1 'on again: one'
exits 2 cairn session config nothing
exits 2 cairn session config nothing on
exits 2 cairn session config interval never
exits 2 cairn session config contradiction maybe
exits 0 cairn session config --session side hypothesis-status
is "$(cat out)" on 'the settings of another session are its own'

# On a schedule: with the first command after it is due, however many times were missed.
exits 0 cairn session start scheduled
exits 0 cairn session config schedule 1s
due() {
    cairn note add tick >tick.out 2>&1
    cairn checkpoint list --session scheduled --limit 100 --quiet | grep -q 'Scheduled.*\[scheduled\]'
}
ok 'a command makes the checkpoint that is due' wait_for 20 due
exits 0 cairn session config schedule off

# ---- Counters (T-20), derived from the store, right in every process ----
exits 0 cairn session start counting
counters() {
    cairn session show --json >doc.json
    for path in checkpoints hypotheses_tested gaps_filled items; do
        printf '%s ' "$(json_get .$path doc.json)"
    done
}
is "$(counters)" '0 0 0 0 ' 'nothing has been done'
for i in 1 2 3 4 5; do
    cairn checkpoint create "number $i" >/dev/null 2>&1
done
is "$(counters)" '5 0 0 0 ' 'five checkpoints'
exits 0 cairn hypothesis add 'A'
exits 0 cairn hypothesis add 'B'
exits 0 cairn hypothesis test h1
exits 0 cairn hypothesis confirm h1
exits 0 cairn hypothesis reject h2
exits 0 cairn gap add 'what?'
exits 0 cairn gap fill g1 'that'
is "$(counters)" '9 2 1 3 ' 'two tested, one filled, and four checkpoints by themselves'
exits 0 cairn session show
matches '^hypotheses confirmed or rejected +2$'

# ---- A key leaves no store behind ----
exits 2 cairn --store keyed.cairn --key no-key session start keyed
says 'sessions have no key'
ok 'no store was made' test ! -e keyed.cairn

# ---- Log and undo ----
exits 0 cairn session start undoing
exits 0 cairn hypothesis add 'first' --prior 0.5
exits 0 cairn note add 'a note'
exits 0 cairn hypothesis update h1 --prior 0.9
exits 0 cairn session undo
is "$(get .prior cairn hypothesis show h1)" 0.5 'undo takes back the last change'
exits 0 cairn session undo
exits 10 cairn note show n1
exits 0 cairn note add 'another'
is "$(cat out)" n2 'a number that was undone is not used again'
exits 0 cairn checkpoint create here
exits 0 cairn session undo
is "$(get .checkpoints cairn session show)" 1 'a checkpoint in between stays'
exits 10 cairn note show n2
exits 0 cairn branch start other
exits 2 cairn session undo
matches 'branched|branch' 'what is no change of the board is not undone, and is named'
exits 0 cairn session log
for what in started added changed undone checkpoint; do
    matches "^ +[0-9]+ +[0-9-]+ [0-9:]+ +$what " "the log has $what"
done
exits 0 cairn session log --json
json_ok 'the log is JSON'
turn=$(get '.events[1].turn' cairn session log)
is "$(get '.events[0].turn' cairn session log --after "$turn")" "$((turn + 1))" '--after: only what came later'

# A command that changes many items is undone as one.
exits 0 cairn session start whole
exits 0 cairn hypothesis add 'sure'
exits 0 cairn gap add 'open?' --hypothesis h1
exits 0 cairn evidence add h1 'one' --strength 1 --kind experiment
exits 0 cairn evidence add h1 'two' --strength 1 --kind experiment
is "$(get .status cairn gap show g1)" closed 'evidence closed the gap'
exits 0 cairn session undo
says 'taken back: e2 added: two; g1: status open to closed' 'undo says what it took back'
is "$(get .status cairn gap show g1)" open 'the gap is open again'
exits 10 cairn evidence show e2

# ---- Errors and JSON ----
exits 0 cairn session start j --json
json_ok 'a new session as JSON'
is "$(json_get .name)" j 'with its name'
exits 0 cairn session end --json
json_ok 'an ended one, too'
for command in 'session show' 'session list' 'session config' 'session log' 'branch list'; do
    # shellcheck disable=SC2086
    exits 0 cairn $command --json
    json_ok "$command prints JSON"
    silent_on err
done
exits 10 cairn session show nobody --json
is "$(json_get .error.code)" 'not found' 'an error is a document'
head -c 32 /dev/urandom >key
chmod 600 key
exits 2 cairn session start keyed --key key
says 'key' 'sessions have no key, and that is said'
CAIRN_KEY=$PWD/key
export CAIRN_KEY
exits 0 cairn session start unkeyed
exits 0 cairn note add 'the key of the environment is for runs'
unset CAIRN_KEY

# A number that takes the place of another setting is noticed.
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE meta SET value = '99999' WHERE key = 'session'" >sql.out
run cairn note list
ok 'a current session that is not there is an error, never another one' test "$status" -eq 5 -o "$status" -eq 10
exits 0 cairn note list --session unkeyed
exits 0 cairn session switch unkeyed
exits 0 cairn note list

done_testing
