# Whole rows of sessions, and of labels and notes, are removed by another program, or lost
# with a page: they are missed, nothing is read or written as if that were the state, and a
# repair makes again what the log or a checkpoint has. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

fresh() {
    rm -rf .cairn
    cp -r whole .cairn
}
all() { # every item there is, but for times that go on
    for kind in hypothesis evidence note gap; do
        cairn $kind list --json
    done 2>&1 | grep -v generated
}
removed() { # SQL...
    fresh
    for text; do
        "$sql" $db "$text"
    done
}

exits 0 cairn session start first
exits 0 cairn hypothesis add 'it is the disk'
exits 0 cairn hypothesis add 'it is the cache'
exits 0 cairn evidence add h1 'it is full' --strength 0.5
exits 0 cairn note add 'one'
exits 0 cairn checkpoint create 'so far'
exits 0 cairn note add 'two'
exits 0 cairn note add 'three'
exits 0 cairn note remove n2
exits 0 cairn note update n1 --text 'one, again'
exits 0 cairn checkpoint label 1 keep
exits 0 cairn checkpoint note 1 'for later'
exits 0 cairn branch start side
exits 0 cairn branch switch main
exits 0 cairn session start second
exits 0 cairn note add 'of another session'
exits 0 cairn session switch first
cp -r .cairn whole
all >known
ok 'there are items' grep -q 'one, again' known
exits 0 cairn checkpoint verify

missed() { # what, TEXT: an item is missing
    for command in 'note list' 'note show n1' 'command list' 'evidence update e1 --text x' 'checkpoint create x' 'session show'; do
        # shellcheck disable=SC2086 # words
        exits 5 cairn $command
        says 'missing' "$1: $command says so"
    done
    says "$2" "$1: what is missing"
    exits 5 cairn checkpoint verify
    says "$2" "$1: verify misses it"
    exits 5 cairn doctor
    says "$2" "$1: the doctor misses it"
    exits 0 cairn note list --session second
    exits 5 cairn note list --json
    json_ok "$1: as JSON"
}
made_again() { # what
    exits 0 cairn doctor --repair
    says 'lost: 0' "$1: nothing is lost"
    all >now
    ok "$1: all items are as they were" cmp known now
    exits 0 cairn checkpoint verify
    exits 0 cairn note add 'continues'
    is "$(cat out)" n4 "$1: and work continues"
    exits 0 cairn checkpoint create 'continues'
}

# ---- Items ----

removed 'DELETE FROM item WHERE session = 1 AND kind = 2'
missed 'one item' '1 of the 5 items of session 1 is missing'
says 'e1 is missing' 'every command says which'
exits 5 cairn checkpoint verify
says ': kind 2, number 1' 'and verify'
made_again 'one item'

# A change that does not need it goes on, and what is missing stays missed.
removed 'DELETE FROM item WHERE session = 1 AND kind = 2'
exits 5 cairn evidence add h1 'more of it' --strength 0.5
says 'missing' 'what names a hypothesis must all be there'
exits 5 cairn hypothesis update h1 --prior 0.1
exits 0 cairn note add 'meanwhile'
exits 5 cairn note list
says 'e1 is missing' 'it is missed as before'
exits 0 cairn doctor --repair
says 'lost: 0' 'and made again'
exits 0 cairn evidence list
says e1 'with all there is'
exits 0 cairn evidence add h1 'more of it' --strength 0.5
exits 0 cairn checkpoint verify

removed 'DELETE FROM item WHERE session = 1'
missed 'all items' '5 of the 5 items of session 1 are missing'
made_again 'all items'

removed 'DELETE FROM item WHERE session = 1 AND n = 1' 'DELETE FROM session_log WHERE session = 1 AND kind = 2'
missed 'an item of which the log has nothing' '3 of the 5 items'
exits 5 cairn doctor --repair
says 'of the log of session 1' 'that the log has lost something is said'
ok 'the checkpoint has the items' sh -c '! grep -q "items of session" out err'
all >now
ok 'all items are as they were' cmp known now

# Nothing has it: it is lost, and that is said once.
removed "DELETE FROM item WHERE session = 1 AND kind = 2" 'DELETE FROM session_log WHERE session = 1 AND kind = 2' \
    'DELETE FROM session_log WHERE session = 1 AND verb = 4'
exits 5 cairn doctor --repair
says '1 of the 5 items of session 1 is missing' 'what cannot be made again is named'
exits 0 cairn checkpoint verify
exits 0 cairn doctor
exits 0 cairn evidence add h1 'it is full' --strength 0.5
is "$(cat out)" e2 'its number is not used again'

# What a restore put there is in no row of the log.
fresh
exits 0 cairn note add 'not for long'
exits 0 cairn checkpoint restore 1 --yes
all >before
"$sql" $db 'DELETE FROM item WHERE session = 1 AND kind < 3'
exits 5 cairn hypothesis list
exits 0 cairn doctor --repair
all >now
ok 'what was restored is made again from the checkpoint' cmp before now

# A checkpoint has files and messages, too.
fresh
mkdir kept
echo content >kept/file
exits 0 cairn session config files kept
exits 0 cairn evidence add h1 'only here' --strength 0.5
exits 0 cairn session message add --role user 'what next?'
exits 0 cairn checkpoint create 'with files'
all >before
"$sql" $db 'DELETE FROM item WHERE session = 1' 'DELETE FROM session_log WHERE session = 1 AND kind = 2'
exits 5 cairn doctor --repair
says 'of the log of session 1' 'that the log has lost something is said'
ok 'no item is lost' sh -c '! grep -q "items of session" out err'
all >now
ok 'items are made again from a checkpoint with files and messages' cmp before now

# An older row in the place of the newest.
fresh
"$sql" $db 'CREATE TABLE old AS SELECT * FROM item WHERE session = 1 AND kind = 2'
exits 0 cairn evidence update e1 --text 'it is quite full'
"$sql" $db 'INSERT OR REPLACE INTO item SELECT * FROM old' 'DROP TABLE old'
exits 5 cairn evidence list
says 'the items of session 1 are not those that cairn has put there last' 'an older row is noticed'
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 0 cairn evidence list

# What says how many there must be.
removed "DELETE FROM meta WHERE key = 'rows item 1'"
exits 5 cairn note list
exits 5 cairn checkpoint verify
says 'the number of the items of session 1 is missing: there are 5' 'the count is missed, too'
exits 5 cairn doctor --repair
all >now
ok 'with all items' cmp known now

# ---- The log ----

removed 'DELETE FROM session_log WHERE session = 1 AND turn = 3'
for command in 'session log' 'session undo' 'checkpoint verify' doctor; do
    # shellcheck disable=SC2086 # words
    exits 5 cairn $command
    says '1 of the' "$command misses a row of the log"
done
exits 0 cairn note list
exits 5 cairn doctor --repair
says 'rows of the log of session 1 is missing' 'a row of the log is lost for good'
exits 0 cairn session log
exits 0 cairn note add 'continues'
exits 0 cairn session undo
exits 0 cairn checkpoint verify

# ---- Branches ----

removed "DELETE FROM branch WHERE name = 'side'"
for command in 'branch list' 'branch switch side' 'checkpoint verify' doctor; do
    # shellcheck disable=SC2086 # words
    exits 5 cairn $command
    says 'of the 3 branches of sessions is missing' "$command misses the branch"
done
exits 5 cairn doctor --repair
says 'branches of sessions is missing' 'the branch is named as lost'
exits 0 cairn branch list
exits 0 cairn branch start again

# ---- Labels and notes ----

removed 'DELETE FROM annotation WHERE kind = 1'
for command in 'checkpoint show 1' 'checkpoint prune --keep-last 1' 'checkpoint restore 1 --yes' \
    'checkpoint verify' doctor; do
    # shellcheck disable=SC2086 # words
    exits 5 cairn $command
    says '1 of the 2 labels and notes of checkpoints is missing' "$command misses the label"
done
exits 5 cairn doctor --repair
says 'labels and notes of checkpoints is missing' 'it is named as lost'
exits 0 cairn checkpoint show 1
exits 0 cairn checkpoint label 1 keep
exits 0 cairn checkpoint label 1 keep --remove
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint delete 1 --yes
exits 0 cairn checkpoint verify
done_testing
