# make: sanitize
# Rows of debugging sessions are damaged: commands name them and use nothing of them, and a
# repair leaves everything else where it was. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

fresh() {
    rm -rf .cairn
    cp -r whole .cairn
}
counters() { # what a session's row says, but for names, times and settings
    cairn session show "$1" --json >doc.json 2>/dev/null
    for field in items branches checkpoints; do
        json_get ".$field" doc.json
    done | tr '\n' ' '
}

exits 0 cairn session start first
exits 0 cairn hypothesis add 'it is the disk'
exits 0 cairn hypothesis add 'it is the cache'
exits 0 cairn note add 'nothing in the log'
exits 0 cairn note remove n1
exits 0 cairn note add 'nothing in the journal'
exits 0 cairn note add 'the last one is taken away'
exits 0 cairn note remove n3
exits 0 cairn checkpoint create 'so far'
exits 0 cairn session start second
exits 0 cairn note add 'of another session'
exits 0 cairn session switch first
cp -r .cairn whole
known=$(counters 1)

# ---- An item ----
exits 0 cairn hypothesis update h1 --prior 0.3
"$sql" $db "UPDATE item SET body = flip(body, 9) WHERE session = 1 AND kind = 1 AND n = 2"
exits 5 cairn hypothesis list
says 'the item of session 1, kind 1, number 2 is damaged' 'the item is named, and not shown'
exits 5 cairn note list
says 'kind 1, number 2 is damaged' 'by who looks at others, too'
exits 5 cairn checkpoint create 'what is it'
exits 5 cairn checkpoint verify
exits 0 cairn note list --session second
cp -r .cairn damaged
exits 0 cairn doctor --repair
says 'lost: 0' 'it is made again from the log'
exits 0 cairn doctor
exits 0 cairn hypothesis show h2
says 'it is the cache' 'as it was'
exits 0 cairn checkpoint restore debug:1 --yes
exits 0 cairn hypothesis list
says '0.50' 'the first change may be to go back'
exits 0 cairn doctor
exits 0 cairn hypothesis add 'it is the network'
is "$(cat out)" h3 'and work continues'
# ... which the log has no more, and no checkpoint.
rm -rf .cairn
mv damaged .cairn
"$sql" $db 'DELETE FROM session_log WHERE session = 1 AND kind = 1 AND number = 2'
"$sql" $db 'DELETE FROM session_log WHERE session = 1 AND verb = 4'
exits 5 cairn doctor --repair
says 'the item of session 1, kind 1, number 2' 'what is lost is named'
exits 0 cairn doctor
exits 0 cairn hypothesis show h1
exits 10 cairn hypothesis show h2
exits 0 cairn hypothesis add 'it is the network'
is "$(cat out)" h3 'the number of the lost one is not used again'

# ---- The row of the session ----
for damage in "UPDATE session SET name = 'another' WHERE session = 1" \
    'DELETE FROM session WHERE session = 1'; do
    fresh
    "$sql" $db "$damage"
    run cairn session show
    ok 'the session cannot be used' test "$status" -ne 0
    exits 5 cairn checkpoint verify
    exits 5 cairn doctor --repair
    says 'it is recovered-1 now' 'and has a name again'
    exits 0 cairn doctor
    exits 0 cairn session show
    says 'recovered-1' 'it is still the current one'
    is "$(counters 1)" "$known" 'with the same counters'
    exits 0 cairn hypothesis show h2
    says 'it is the cache'
    exits 0 cairn note add 'after the repair'
    is "$(cat out)" n4 'and no number is used again'
    exits 0 cairn checkpoint create 'after the repair'
    exits 0 cairn note list --session second
    says 'of another session'
done

# ---- The row of its branch ----
fresh
"$sql" $db 'DELETE FROM branch WHERE branch = (SELECT branch FROM session WHERE session = 1)'
exits 5 cairn checkpoint verify
matches 'the row of branch [0-9]+ is missing: session 1 names it' 'its branch is missed'
exits 5 cairn doctor --repair
matches 'branch [0-9]+ of session 1: it is recovered-[0-9]+ now' 'and made again'
exits 0 cairn session show
exits 0 cairn checkpoint create 'continues'
exits 0 cairn checkpoint list
says 'so far' 'the checkpoints of before are on it'

# ---- Which one is current ----
fresh
"$sql" $db "UPDATE meta SET value = '2' WHERE key = 'session'"
exits 5 cairn note add 'to whom'
says 'the setting session' 'the wrong session gets nothing'
exits 0 cairn session switch second
exits 0 cairn note add 'to the second'

# ---- A damaged checkpoint among those that are pruned ----
rm -rf .cairn whole
exits 0 cairn session start pruned
exits 0 cairn session config tool-call on
for n in 1 2 3 4 5 6 7 8 9; do
    run cairn note add "note $n"
    run cairn checkpoint create --trigger tool-call
done
cp -r .cairn whole
for damaged in '1' '2' '3' '5' '6' '2, 4' '3, 4'; do
    fresh
    "$sql" $db "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq IN ($damaged)"
    exits 0 cairn checkpoint prune --session pruned --keep-last 3
    exits 5 cairn doctor --repair
    says 'lost: ' "what was lost is named, with $damaged damaged"
    exits 0 cairn checkpoint verify
    exits 0 cairn note add 'after the repair'
    exits 0 cairn checkpoint restore 7 --yes
    exits 0 cairn checkpoint verify
done

# ---- A checkpoint of which nothing is left ----
rm -rf .cairn whole
exits 0 cairn session start vanished
for n in 1 2 3 4 5 6; do
    run cairn note add "note $n"
    run cairn checkpoint create "at $n"
done
cp -r .cairn whole
"$sql" $db 'DELETE FROM checkpoint WHERE seq = 2'
exits 5 cairn doctor
exits 5 cairn doctor --repair
says 'checkpoint 2: nothing is left of it' 'it is named'
says 'lost: 1' 'and counted'
exits 0 cairn doctor
exits 0 cairn checkpoint restore 3 --yes
fresh
"$sql" $db 'DELETE FROM checkpoint WHERE seq IN (2, 3, 5)'
exits 5 cairn doctor --repair
says 'checkpoints 2 to 3: nothing is left of them' 'so are several'
says 'checkpoint 5: nothing is left of it'
exits 0 cairn checkpoint verify
# Where a deleted range of another session has its number, too.
rm -rf .cairn
exits 0 cairn session start one
run cairn session config tool-call on
exits 0 cairn session start other
for n in 1 2 3 4 5 6; do
    run cairn note add "note $n" --session one
    run cairn checkpoint create --trigger tool-call --session one
    run cairn note add "note $n" --session other
    run cairn checkpoint create "at $n" --session other
done
exits 0 cairn checkpoint prune --session one --keep-last 1
says 'deleted 5 of 6'
"$sql" $db 'DELETE FROM checkpoint WHERE seq = 4'
exits 5 cairn doctor
exits 5 cairn doctor --repair
matches '1 checkpoint of branch [0-9]+ before checkpoint 6' \
    'one whose number is in a deleted range of another session is named, too'
exits 0 cairn doctor
done_testing
