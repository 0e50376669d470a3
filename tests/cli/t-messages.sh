# make: sanitize
# Messages of sessions: added, imported from transcripts again and again, at checkpoints and
# across restores and branches. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
texts() { # the texts of a list, in order
    cairn session message list --last 0 --json "$@" >doc.json 2>doc.err
    "$BUILD/tests/tools/json" flat doc.json | sed -n 's/^\.messages\[[0-9]*\]\.text\t//p' | tr '\n' ' '
}
said() { # UUID TEXT: a line by the user
    printf '{"type":"user","uuid":"%s","timestamp":"2025-01-20T14:30:00.5Z","message":{"role":"user","content":"%s"}}\n' "$1" "$2"
}
answered() { # UUID ID IN OUT TEXT: a line of an answer
    printf '{"type":"assistant","uuid":"%s","message":{"id":"%s","role":"assistant","model":"m-9","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":%d,"cache_read_input_tokens":9999,"output_tokens":%d}}}\n' "$1" "$2" "$5" "$3" "$4"
}

# ---- Refused ----
exits 10 cairn session message add x
exits 0 cairn session start first
exits 2 cairn session message add
says 'there is no text'
exits 2 cairn session message add ''
exits 2 cairn session message add --role nobody x
exits 2 cairn session message add --jsonl x
exits 2 cairn session message add --tokens-in 1099511627776 x
exits 2 cairn session message
exits 2 cairn session message show x
exits 10 cairn session message show 1
says 'has no message 1'
exits 10 cairn session message show 0
exits 10 cairn session message import missing.jsonl
exits 0 cairn session message list
says '0 messages'
is "$(get .total cairn session message list)" 0 'nothing of that added one'

# ---- Adding ----
exits 0 cairn session message add 'Why is it slow?'
is "$(cat out)" 1 'a message has a number, which is printed'
exits 0 cairn session message add --role assistant --model m-1 --tokens-in 100 --tokens-out 20 'I look.'
printf 'from stdin\nwith \377 and \000\n' >text
cairn session message add --role tool - <text >out 2>err
is "$(cat out)" 3 'one from stdin'
exits 0 cairn session message add --json --role system 'four'
is "$(get .messages[2].role cairn session message list)" tool 'its role'
exits 0 cairn session message show 3
says 'with \xff and' 'odd bytes are shown as what they are'
exits 0 cairn session message show 2
says 'm-1' 'its model'
matches '^tokens +in 100, out 20; so far in 100, out 20' 'its tokens'
is "$(get .messages cairn session show)" 4 'session show counts messages'
is "$(get .tokens_in cairn session show)" 100 'and tokens'
exits 0 cairn session message list --last 2
is "$(wc -l <out)" 2 'the last two'
is "$(texts)" 'Why is it slow? I look. from stdin\nwith \xff and \x00 four ' 'all of them, in order'
exits 0 cairn session log
matches 'added .*message 4' 'each is one event'
exits 0 cairn note add 'before the message'
exits 0 cairn session message add 'five'
exits 0 cairn session undo
says 'taken back: n1' 'undo is about the board'
is "$(get .total cairn session message list)" 5 'messages stay'

# ---- Large bodies are in the content pool ----
head -c 200000 /dev/zero | tr '\0' x >large
cairn session message add - <large >out 2>err
is "$(cat out)" 6 'a large one'
is "$("$BUILD/tests/tools/sql" $db 'SELECT length(body), length(object) FROM message WHERE n = 6')" "$(printf '0\t32')" 'it is in the content pool'
exits 0 cairn gc
exits 0 cairn session message show 6 --raw
ok 'and stays there when garbage is collected' cmp -s out large
exits 0 cairn checkpoint verify
head -c 16777217 /dev/zero | tr '\0' x >huge
cairn session message add - <huge >out 2>err
is $? 2 'more than 16 MiB is refused'
says '16 MiB'
rm huge

# ---- Transcripts ----
exits 0 cairn session start agent
{
    echo '{"type":"summary","summary":"About the cache","leafUuid":"x"}'
    said u1 'The \u201cfirst\u201d prompt'
    echo '{"type":"assistant","uuid":"u2","message":{"id":"a1","role":"assistant","model":"m-8","content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":70,"cache_creation_input_tokens":30,"output_tokens":4}},"usage":{"input_tokens":70,"cache_creation_input_tokens":30,"output_tokens":4}}'
    echo '{"type":"assistant","uuid":"u3","message":{"id":"a1","role":"assistant","model":"m-8","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":70,"cache_creation_input_tokens":30,"output_tokens":9}}}'
    echo '{"type":"user","uuid":"u4","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"total 0"}]}]}}'
    echo '{"type":"file-history-snapshot","messageId":"u4","snapshot":{"deep":[[[{"a":{}}]]]},"isSnapshotUpdate":false}'
    echo '{"type":"user","uuid":"u5","isSidechain":true,"message":{"role":"user","content":"to another agent"}}'
    printf 'no \377 JSON\n'
    echo
    echo '{"role":"user","content":"same"}'
    echo '{"role":"user","content":"same"}'
    printf '%s' '{"type":"user","uuid":"u6","message":{"role":"user","con'
} >t.jsonl
exits 0 cairn session message import t.jsonl
says '10 messages were added' 'what is complete is taken'
says 'line 8 of t.jsonl is not a JSON object' 'an unreadable line is named'
says 'line 12 of t.jsonl, the last, is not complete' 'a torn line is waited for'
is "$(get .tokens_in cairn session show)" 100 'tokens at two levels, and of two parts, count once'
is "$(get .tokens_out cairn session show)" 9 'those that came out, too'
exits 0 cairn session message show 2
says 'The “first” prompt' 'escapes are read'
exits 0 cairn session message show 4
says '[tool_use Bash] {"command":"ls"}' 'the use of a tool'
exits 0 cairn session message show 5
says 'by the tool' 'what it gave is not by the user'
says 'total 0'
is "$(get .role cairn session message show 6)" other 'a type that is not known'
exits 0 cairn session message show 8 --raw
printf 'no \377 JSON' >want
ok 'the unreadable line is kept as bytes' cmp -s out want
is "$(get .form cairn session message show 8)" unreadable 'and said to be'
exits 0 cairn session message show 3 --raw
sed -n 3p t.jsonl | tr -d '\n' >want
ok 'the line is kept whole' cmp -s out want
exits 0 cairn session message show 2 --json
matches '2025-01-20T14:30:00.500' 'its time'
exits 0 cairn session message import t.jsonl --json
json_ok 'as JSON'
is "$(json_get .added out) $(json_get .skipped out) $(json_get .torn out)" '0 10 12' 'again: nothing is new'
printf '%s\n' 'tent":"the last prompt"}}' >>t.jsonl
answered u7 a2 5 6 'done' >>t.jsonl
exits 0 cairn session message import t.jsonl
says '2 messages were added, the last is 12' 'then the end of the torn line'
exits 0 cairn checkpoint create one
exits 0 cairn checkpoint show 1
matches '^messages +12, the last is 12; tokens in 105, out 15' 'a checkpoint says where the line ended'
matches '^prompt +the last prompt' 'the last prompt of the user, not the first (D-61)'
matches '^model +m-9' 'and the last model'
is "$(get .messages.prompt cairn checkpoint show 1)" 'the last prompt' 'in JSON, too'
is "$(get .messages.tokens_in cairn checkpoint show 1)" 105 'its tokens'
said v1 'in a copy of the file' >copy.jsonl
cat t.jsonl >>copy.jsonl
exits 0 cairn session message import copy.jsonl --json
is "$(json_get .added out) $(json_get .skipped out)" '6 7' 'lines with an id are known in any file, others by the file'

# ---- Lines that are too large; a file that is none ----
{
    said w1 'before'
    printf '{"type":"user","uuid":"w2","message":{"role":"user","content":"'
    head -c 17000000 /dev/zero | tr '\0' y
    printf '"}}\n'
    said w3 'behind'
} >large.jsonl
exits 0 cairn session message import large.jsonl
says 'line 2 of large.jsonl has more than 16 MiB' 'a line that is too large is named'
says '3 messages were added'
n=$(get .last cairn session message list)
exits 0 cairn session message show $((n - 1))
says '[left out: a line of 170000' 'and its size is kept'
is "$("$BUILD/tests/tools/sql" $db "SELECT lower(hex(object)) FROM message WHERE session = 2 AND n = $((n - 1))")" \
    "$(sed -n 2p large.jsonl | tr -d '\n' | sha256sum | cut -d ' ' -f 1)" 'with its digest'
exits 0 cairn session message import large.jsonl
says 'skipped: 3' 'once'
exits 0 cairn checkpoint verify
exits 0 cairn gc
exits 0 cairn session message list
rm large.jsonl
mkdir directory
exits 75 cairn session message import directory
head -c 50000 /dev/urandom | tr '\000' '\012' >noise
exits 0 cairn session message import noise -q
exits 0 cairn session message import noise
says 'no message was added' 'even noise is taken once'
exits 0 cairn session message list --last 0
exits 0 cairn checkpoint verify
: >empty
exits 0 cairn session message import empty
says 'no message was added'

# ---- JSON lines on stdin ----
exits 0 cairn session start lines
printf '%s\n' '{"role":"user","content":"a"}' '{"role":"user","content":"a"}' '{"role":"assistant","model":"m","content":"b","tokens_in":3,"tokens_out":4}' >in.jsonl
cairn session message add --jsonl <in.jsonl >out 2>err
says '3 messages were added' 'each is new'
cairn session message add --jsonl --json <in.jsonl >out 2>err
is "$(json_get .last out) $(json_get .tokens_in out)" '6 3' 'and again'
is "$(get .tokens_out cairn session show)" 8 'with their tokens'

# ---- Secrets ----
exits 0 cairn session start secrets
exits 0 cairn session config redact WORD
# shellcheck disable=SC2089,SC2090 # the quotes are part of it
export WORD='pass"word\one'
exits 0 cairn session message add 'it is pass"word\one and ghp_0123456789abcdefghijABCDEFGHIJ012345'
printf '%s\n' '{"role":"user","content":"it is pass\"word\\one here"}' \
    '{"role":"user","content":"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"}' \
    '{"aws_secret_access_key":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}' \
    '{"role":"user","content":"-----BEGIN PRIVATE KEY-----\nMIIEwithout"}' >secret.jsonl
exits 0 cairn session message import secret.jsonl
unset WORD
is "$(grep -c 'word.*one\|ghp_0\|MIIE\|wJalr' $db $db-wal | tr '\n' ' ')" "$db:0 $db-wal:0 " 'no secret is in the store'
exits 0 cairn session message show 2
says 'it is [REDACTED] here' 'escaped ones are found'
is "$(get .form cairn session message show 2)" json 'and the line can still be read'

# ---- Restore, branches, merge ----
exits 0 cairn session start moves
for word in a b c; do exits 0 cairn session message add $word; done
exits 0 cairn checkpoint create at-c --json
at_c=$(json_get .id out)
exits 0 cairn checkpoint create again --json
is "$("$BUILD/tests/tools/sql" $db "SELECT count(DISTINCT digest) FROM object WHERE digest = x'$("$BUILD/tests/tools/sql" $db "SELECT lower(hex(chain)) FROM message WHERE session = 5 AND n = 3")'")" 0 'a message is no object'
for word in d e; do exits 0 cairn session message add $word --tokens-in 10; done
exits 0 cairn checkpoint diff
says '2 messages added' 'what came since'
matches '^tokens +in \+20, out \+0' 'and what it cost'
is "$(get .messages_added cairn checkpoint diff) $(get .tokens_in cairn checkpoint diff)" '2 20' 'in JSON'
exits 0 cairn checkpoint restore "$at_c" --yes
matches '^messages +3, before 5' 'a restore puts the end of the line back'
is "$(texts)" 'a b c ' 'to where it was'
exits 0 cairn session message add x
is "$(cat out)" 6 'numbers are not used again'
is "$(texts)" 'a b c x ' 'the line continues from there'
exits 0 cairn session message show 5
says 'e' 'what came later is still there'
exits 0 cairn checkpoint undo-restore
is "$(texts)" 'a b c d e ' 'the restore is taken back'
exits 0 cairn session message add f
exits 0 cairn branch switch main-2
is "$(texts)" 'a b c x ' 'a branch has its own line'
exits 0 cairn branch switch main
is "$(texts)" 'a b c d e f ' 'and the other one its own'
exits 0 cairn branch merge main-2
is "$(texts)" 'a b c d e f ' 'a merge leaves the line'
is "$(texts --at "$at_c")" 'a b c ' 'a list at a checkpoint'
exits 0 cairn session message add g
newest=$(get .checkpoints[0].id cairn checkpoint list --limit 1)
exits 0 cairn checkpoint diff "$newest" "$at_c"
says '3 messages removed' 'a comparison the other way round'
exits 0 cairn checkpoint create unchanged
is "$(get .messages.count cairn checkpoint show "$at_c")" 3 'an old checkpoint says what it said'
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint verify "$at_c"

# ---- Into another store ----
exits 0 cairn session export moves.cairn
exits 0 cairn --store other session import moves.cairn
is "$(cairn --store other session message list --session moves --json | json_get .total /dev/stdin)" 7 'they go along'

CAIRN_STORE=other texts --at 1 >there
is "$(cat there)" 'a b c ' 'with the lines of checkpoints'
exits 0 cairn --store other checkpoint verify
exits 0 cairn --store other session switch moves
exits 0 cairn --store other session message add h
is "$(cat out)" 9 'and numbers go on'
exits 0 cairn --store other session import moves.cairn
is "$(get .total cairn --store other session list)" 1 'once'
sed 's/\("type":"message","n":4,.*"tokens_in":\)10/\111/' moves.cairn >damaged.cairn
ok 'one message is damaged' test "$(cmp -s moves.cairn damaged.cairn; echo $?)" = 1
exits 5 cairn --store third session import damaged.cairn
says 'message 4' 'the damaged one is named'
exits 0 cairn --store third checkpoint verify
exits 0 cairn --store third session message list --session moves --last 0
says '[lost:' 'and stands for what is lost'
exits 0 cairn --store third session message add --session moves h

# ---- Parts of a restore ----
exits 0 cairn note add 'only the board'
exits 0 cairn checkpoint restore "$at_c" --yes --board-only
is "$(texts)" 'a b c d e f g ' 'a restore of the board alone leaves the line'
exits 10 cairn note show n1
is "$(get .messages cairn checkpoint restore "$at_c" --yes --board-only) $(texts)" '7 a b c d e f g ' 'and says so'

# ---- The end ----
exits 0 cairn session end
exits 2 cairn session message add z
says 'has ended'
exits 2 cairn session message import t.jsonl

# ---- A byte order mark before a text from outside ----
exits 0 cairn session start marked
printf '\357\273\277a note\n' | cairn note add - --json >out
printf '\357\273\277a message\n' | cairn session message add --role user - >/dev/null
printf '\357\273\277{"role":"user","content":"a line"}\n' | cairn session message add --jsonl --quiet >/dev/null 2>marked.err
is "$(cairn note show n1 --json | sed 's/.*"text":"\([^"]*\)".*/\1/')" 'a note' 'of an item'
is "$(cairn session message show 1 --raw)" 'a message' 'of a message'
exits 0 cairn session message list
ok 'of lines of messages' test ! -s marked.err
{ printf '\357\273\277'; head -c 16777217 /dev/zero | tr '\0' x; } | cairn session message add - >out 2>err
is $? 2 'it does not hide that a message is too large'
{ printf '\357\273\277'; head -c 65537 /dev/zero | tr '\0' x; } | cairn note add - >out 2>err
is $? 2 'nor that a text is'
{ printf '\357\273\277'; head -c 65536 /dev/zero | tr '\0' x; echo; } | cairn note add - >out 2>err
is $? 0 'one of just the size is taken'
done_testing
