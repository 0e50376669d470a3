# Messages that are damaged, missing, or whose import is killed; imports at the same time.
# Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

fresh() {
    rm -rf .cairn
    cp -r whole .cairn
}
messages() {
    cairn session message list --last 1 --json >doc.json 2>/dev/null
    json_get .total doc.json
}
lines() { # HOW MANY: of a transcript
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "{\"type\":\"user\",\"uuid\":\"u%d\",\"message\":{\"role\":\"user\",\"content\":\"line %d\"}}\n", i, i }'
}
chain() { # of the last message
    "$BUILD/tests/tools/sql" $db "SELECT lower(hex(chain)) FROM message WHERE session = $1 ORDER BY n DESC LIMIT 1"
}

# ---- Two imports at once, and one that is killed ----
exits 0 cairn session start many
lines 4000 >t.jsonl
cairn session message import t.jsonl >one 2>&1 &
one=$!
cairn session message import t.jsonl >two 2>&1 &
two=$!
wait $one
ok 'the first of two imports ends well' test $? -eq 0
wait $two
ok 'and the second' test $? -eq 0
is "$(messages)" 4000 'each line was taken once'
is "$("$BUILD/tests/tools/sql" $db 'SELECT count(*) FROM message WHERE CAST(body AS TEXT) NOT LIKE printf("%%""line %d""%%", n)')" 0 'in order'
exits 0 cairn checkpoint verify
killed=0
for delay in 0.02 0.05 0.08 0.11 0.14 0.2; do
    exits 0 cairn session start "killed-$delay"
    cairn session message import t.jsonl >out 2>err &
    import=$!
    sleep $delay
    kill -KILL $import 2>/dev/null && killed=$((killed + 1))
    wait $import 2>/dev/null
    exits 0 cairn checkpoint verify
    before=$(messages)
    exits 0 cairn session message import t.jsonl --json
    is "$(json_get .skipped out) $(messages)" "$before 4000" "killed after $delay s: the next one continues with what is left"
done
ok "imports were killed ($killed)" test "$killed" -gt 0
rm -rf .cairn

# ---- Damage ----
exits 0 cairn session start first
for word in a b c d; do exits 0 cairn session message add $word --tokens-in 5; done
exits 0 cairn checkpoint create four
exits 0 cairn session message add e
exits 0 cairn checkpoint restore 1 --yes
exits 0 cairn session message add f
head -c 100000 /dev/zero | tr '\0' x >large
cairn session message add - <large >out 2>err
exits 0 cairn session start second
exits 0 cairn session message add 'of another session'
exits 0 cairn session switch first
exits 0 cairn checkpoint verify
cp -r .cairn whole

damaged() { # WHAT SQL TEXT: of the third message of session 1; what a verification says
    fresh
    "$sql" $db "$2"
    exits 5 cairn session message list
    says 'message 3 of session 1 is' "$1: it is named"
    exits 5 cairn session message show 3
    ok "$1: nothing of it is shown" test ! -s out
    exits 5 cairn session message list --json
    json_ok "$1: as JSON"
    exits 5 cairn checkpoint verify
    says "$3" "$1: by a verification, too"
    exits 5 cairn checkpoint verify 1
    exits 5 cairn doctor
    exits 0 cairn session message list --session second
    exits 5 cairn doctor --repair
    exits 0 cairn doctor
    exits 0 cairn checkpoint verify
    exits 0 cairn session message list
    says '[lost: a repair could not save it]' "$1: its place is kept"
    is "$(messages)" 6 "$1: the line is as long as it was"
    exits 0 cairn session message show 4
    exits 0 cairn checkpoint show 1
    exits 0 cairn session message add g
    is "$(cat out)" 8 "$1: and continues"
    exits 0 cairn checkpoint create later
    exits 0 cairn checkpoint restore 1 --yes
    is "$(messages)" 4 "$1: checkpoints can be restored"
    exits 0 cairn checkpoint verify
}
damaged 'a changed body' "UPDATE message SET body = x'7a' WHERE session = 1 AND n = 3" \
    'the message of session 1, number 3'
damaged 'a changed token' 'UPDATE message SET tokens_in = 6 WHERE session = 1 AND n = 3' \
    'the message of session 1, number 3'
damaged 'a removed row' 'DELETE FROM message WHERE session = 1 AND n = 3' 'missing'

fresh
"$sql" $db 'DELETE FROM message WHERE session = 1 AND n = 7'
exits 5 cairn session message list
says 'message 7 of session 1 is missing' 'the last one is missing'
exits 5 cairn session message add x
exits 5 cairn session show
exits 5 cairn checkpoint create x
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
says '1 of the 7 messages of session 1 is missing' 'a repair says so'
exits 0 cairn checkpoint verify
exits 0 cairn session message add x
is "$(cat out)" 8 'its number is not used again'

fresh
"$sql" $db 'DELETE FROM message WHERE session = 1 AND n = 4'
exits 5 cairn checkpoint restore 1 --yes
says 'debug:1' 'a checkpoint whose line is not there is named'
says 'message 4'
exits 5 cairn checkpoint verify 1
exits 5 cairn doctor --repair
exits 0 cairn checkpoint restore 1 --yes
is "$(messages)" 4 'and fits what stands for it after a repair'

fresh
"$sql" $db 'DELETE FROM message WHERE session = 1 AND n = 5'
exits 0 cairn session message list
exits 5 cairn checkpoint verify
says '1 of the 7 messages of session 1 is missing' 'one of another line is missed'

fresh
"$sql" $db 'DELETE FROM message' "DELETE FROM meta WHERE key GLOB 'rows message*'"
exits 5 cairn checkpoint verify
exits 5 cairn session message list
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
is "$(messages)" 7 'of all of them the places are left'

# Two lines that end the same way.
fresh
exits 0 cairn session start third
for word in a B c d; do exits 0 cairn session message add $word --tokens-in 5; done
ok 'another line has another chain' test "$(chain 3)" != "$(chain 1)"

# ---- The content of a large one ----
fresh
"$sql" $db "DELETE FROM object WHERE size = 100000"
exits 5 cairn session message show 7
says 'the content of message 7 of session 1 is missing' 'it is named'
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint create later
exits 0 cairn session message add h

# ---- The row of the session ----
fresh
"$sql" $db 'DELETE FROM session WHERE session = 1'
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 0 cairn session message list --session 1
exits 0 cairn session message add i --session 1
is "$(cat out)" 8 'numbers go on behind the last one'
exits 0 cairn checkpoint verify

fresh
"$sql" $db 'DELETE FROM session WHERE session = 1' "DELETE FROM message WHERE session = 1 AND n = 7"
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 0 cairn session message add j --session 1
is "$(cat out)" 8 'also behind one that is lost'

# ---- A repair keeps what is large, and an import takes again what was lost ----
fresh
exits 0 cairn session switch second
lines 300 | sed "s/line/$(head -c 30000 /dev/zero | tr '\0' y) line/" >wide.jsonl
exits 0 cairn session message import wide.jsonl
"$BUILD/tests/tools/sql" $db 'SELECT n, lower(hex(chain)) FROM message WHERE session = 2 AND n <> 100' >before
"$sql" $db 'DELETE FROM message WHERE session = 2 AND n = 100' "UPDATE message SET model = 'x' WHERE session = 1 AND n = 2"
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
"$BUILD/tests/tools/sql" $db 'SELECT n, lower(hex(chain)) FROM message WHERE session = 2 AND n <> 100' >after
ok 'every other message is there' cmp -s before after
exits 0 cairn session message import wide.jsonl --json
is "$(json_get .added out) $(json_get .skipped out)" '1 299' 'the lost line is taken again'
exits 0 cairn session message list --last 0
done_testing
