# cairn session export and import: sessions in a file, to another store and back (T-121,
# T-122).
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
home=$CAIRN_STORE

board() { # everything on the board of a session, now or as told by the arguments
    for kind in hypothesis evidence belief note; do
        cairn $kind list --sort number --limit 100 --json "$@"
    done
    cairn gap list --all --limit 100 --json "$@" | sed 's/"score":[^,]*,//g'
    cairn belief dependencies --sort number --limit 100 --json "$@"
}
at() { # DIRECTORY COMMAND...: in the store there
    at_store=$PWD/$1/.cairn
    shift
    CAIRN_STORE=$at_store "$@"
}
# The checkpoint that was imported as this one.
imported() { # DIRECTORY ID
    at "$1" cairn checkpoint list --limit 100 --json | tr '{' '\n' | sed -n "s/.*\"id\":\"\(debug:[^\"]*\)\".*from:$2.*/\1/p" | head -n 1
}

# Two sessions: branches, a restore, an item that was removed, a failed task, an end.
exits 0 cairn session start "it's *slow*"
exits 0 cairn hypothesis add 'The cache is stale' --prior 0.3 --tag cache
exits 0 cairn evidence add h1 'slow on two hosts' --strength 0.25
exits 0 cairn belief add 'it was cold' --confidence 0.9 --subject cache --claim warm --denied
exits 0 cairn belief add 'the probe is right' --confidence 0.6
exits 0 cairn belief depend b1 b2
exits 0 cairn gap add 'which hosts?' --criticality high --hypothesis h1
exits 0 cairn note add 'to be removed'
exits 0 cairn checkpoint create 'the first
of several lines' --tag a,b
first=$(cat out)
exits 0 cairn note remove n1
exits 0 cairn hypothesis test h1
exits 0 cairn checkpoint create 'the second'
second=$(cat out)
exits 0 cairn checkpoint restore "$first" --yes
exits 0 cairn note add 'on the other branch'
exits 0 cairn checkpoint create 'on the other branch'
third=$(cat out)
exits 0 cairn branch start side
exits 0 cairn branch switch main-2
exits 0 cairn branch abandon side --reason 'led nowhere'
exits 0 cairn note add 'not in any checkpoint'
cat >failing.yaml <<'END'
name: failing
tasks: {convert: {run: 'echo no such part >&2; exit 3'}}
END
exits 0 cairn session start other
exits 1 cairn run failing.yaml
exits 0 cairn session end
exits 0 cairn session switch "it's *slow*"

# ---- Into a new store ----
exits 0 cairn session export --all all.cairn
is "$(ls -- *.cairn*)" all.cairn 'one file'
json_ok 'it is NDJSON' all.cairn
mkdir new
exits 0 at new cairn session import "$PWD/all.cairn"
is "$(cat out)" "it's *slow*
other" 'both sessions are made, under their names'
says 'no session is current; to continue in one: `cairn session switch other' 'with what comes next'
exits 0 at new cairn checkpoint verify
exits 0 at new cairn doctor
board --session 1 >want
at new board --session 1 >got
ok 'the present state is the same' cmp -s want got
for id in "$first" "$second" "$third"; do
    there=$(imported new "$id")
    board --at "$id" >want
    at new board --at "$there" >got
    ok "$id: the state is the same" cmp -s want got
    cairn checkpoint show "$id" --json | sed 's/.*"time":"\([^"]*\)".*"message":\("[^]]*"\).*/\1 \2/' >want
    at new cairn checkpoint show "$there" --json | sed "s/,\{0,1\}\"from:$id\"//" |
        sed 's/.*"time":"\([^"]*\)".*"message":\("[^]]*"\).*/\1 \2/' >got
    is "$(cat got)" "$(cat want)" "$id: time, message and tags"
done
cairn branch list --session 1 | awk 'NR > 1 { print $NF, $1, $2 }' >want
at new cairn branch list --session 1 | awk 'NR > 1 { print $NF, $1, $2 }' >got
is "$(wc -l <got)" "$(wc -l <want)" 'all branches'
exits 0 at new cairn branch list --session 1
says 'led nowhere'
exits 0 at new cairn session show 1 --json
is "$(json_get .branch)" main-2 'work continues on the branch that was current'
exits 0 at new cairn session show 2 --json
ok 'the other one has ended' test "$(json_get .ended)" != null
exits 0 at new cairn note add another --session 1
is "$(cat out)" "$(cairn note add another --session 1 2>/dev/null)" 'numbers go on where they were'
exits 0 at new cairn checkpoint list --session 2 --json
is "$(json_get '.checkpoints[0].message')" 'Auto: task failed: convert (run 1, attempt 1)' 'the message names the task'
exits 0 at new cairn checkpoint recover --session 2
ok 'but a run of the other store is not resumed here' sh -c '! grep -q resume out'

# ---- Again ----
exits 0 at new cairn session import "$PWD/all.cairn" --json
json_ok 'as JSON'
is "$(json_get .checkpoints) $(json_get '.sessions[0].name')" '0 ' 'what is there is not made again'
ok 'but skipped' test "$(json_get .skipped)" -gt 4
exits 0 cairn session import all.cairn
silent_on out
exits 0 at new cairn session export - --session 1
cp out again.cairn
exits 5 cairn session import again.cairn
silent_on out
says 'not all that it has is here' 'what was added there is not skipped without a word'
mkdir third
run sh -c "CAIRN_STORE=$PWD/third/.cairn cairn session import - <again.cairn"
is "$status $(cat out)" "0 it's *slow*" 'from stdin'
exits 0 at third cairn session import all.cairn
is "$(cat out)" other 'of a file with both only the one that is not there'
exits 0 at third cairn session start free
exits 0 cairn session start other-2
exits 0 cairn session export --session other-2 empty.cairn
exits 0 at third cairn session import empty.cairn
is "$(cat out)" other-2 'one without checkpoints'
mkdir taken
exits 0 at taken cairn session start other
exits 0 at taken cairn session import all.cairn
says 'other-2' 'a name that is taken gets a number'
exits 0 at taken cairn session show
says 'other' 'the current session stays'

# ---- A file that was changed ----
exits 0 cairn session export clean.cairn --session 1
lines=$(wc -l <clean.cairn)
line_of() { grep -n "\"id\":\"$1\"" clean.cairn | cut -d : -f 1; }
n=$(line_of "$second")
# One character of the record: its message, say.
sed "${n}s/\(\"record\":\".\{200\}\)./\1-/" clean.cairn >changed.cairn
mkdir changed
exits 5 at changed cairn session import changed.cairn
says "$second" 'the changed checkpoint is named'
is "$(imported changed "$second")" '' 'and refused'
ok 'the others are there' test -n "$(imported changed "$first")" -a -n "$(imported changed "$third")"
exits 0 at changed cairn checkpoint verify
board --session 1 >want
at changed board --session 1 >got
ok 'with the present state' cmp -s want got
exits 0 at changed cairn session import clean.cairn
ok 'the sound file brings it' test -n "$(imported changed "$second")"

# Content: all checkpoints that need it are refused, and no others.
n=$(grep -n '"type":"object"' clean.cairn | tail -n 1 | cut -d : -f 1)
sed "${n}s/\"content\":\"..../\"content\":\"AAAA/" clean.cairn >object.cairn
mkdir object
exits 5 at object cairn session import object.cairn
matches 'the content [0-9a-f]{12} is damaged'
matches 'is missing'
exits 0 at object cairn checkpoint verify
ok 'what does not need it is there' test -n "$(imported object "$first")"

# A name, which has no digest of its own.
sed 's/"name":"main-2"/"name":"mine"/' clean.cairn >name.cairn
mkdir name
exits 5 at name cairn session import name.cairn
says 'not as it was written'
exits 0 at name cairn branch list --session 1
says 'mine'

# An unknown line, a missing line, an end that is missing, a line in the middle of which the file ends.
sed '3i{"type":"surprise","n":1}' clean.cairn >unknown.cairn
mkdir unknown
exits 5 at unknown cairn session import unknown.cairn
says "'surprise' is not known"
ok 'everything else is imported' test -n "$(imported unknown "$third")"
sed "$(line_of "$first")d" clean.cairn >missing.cairn
mkdir missing
exits 5 at missing cairn session import missing.cairn
for cut in 1 2 5 $((lines - 1)); do
    mkdir "cut$cut"
    head -n "$cut" clean.cairn >cut.cairn
    exits 5 at "cut$cut" cairn session import cut.cairn
    says 'ends early'
    exits 0 at "cut$cut" cairn checkpoint verify
done
size=$(wc -c <clean.cairn)
for part in 3 5 7; do
    mkdir "part$part"
    head -c $((size * part / 8)) clean.cairn >part.cairn
    exits 5 at "part$part" cairn session import part.cairn
    exits 0 at "part$part" cairn checkpoint verify
done

# A number of a message for which millions of rows would stand.
exits 0 cairn session start far
for n in 1 2 3; do run cairn session message add "message $n"; done
exits 0 cairn session export far.cairn
sed '/"type":"message"/s/"n":3,/"n":9000000000000000000,/' far.cairn >farther.cairn
mkdir far
exits 5 at far cairn session import farther.cairn
says 'message 9000000000000000000: its number is far beyond those before it'
exits 0 at far cairn session message list --session far
says 'message 2' 'the others are there'
exits 0 at far cairn checkpoint verify
exits 0 cairn session switch "it's *slow*"

# ---- What is no export ----
exits 2 cairn session import failing.yaml
says 'is not a file of'
exits 2 cairn session import /dev/null
(
    head -c 20000000 /dev/zero 2>head.err
    echo $? >ended
) | cairn session import - >out 2>err
is "$?" 2 'a file without a line break is refused'
ok 'and not read to its end' test "$(cat ended)" != 0
says 'is not a file of'
sed 's/"version":2/"version":3/' clean.cairn >newer.cairn
exits 75 cairn session import newer.cairn
exits 10 cairn session import nothing.cairn
exits 10 cairn session export --session nobody x.cairn
exits 10 cairn session export no/such/directory/x.cairn
ok 'nothing is left of it' test ! -e x.cairn
exits 2 cairn session export

# ---- A damaged store ----
seq=$(echo "$second" | sed 's/debug:\([0-9]*\)-.*/\1/')
"$sql" "$home/cairn.db" "UPDATE checkpoint SET record = flip(record, length(record) - 3) WHERE seq = $seq" >sql.out
exits 5 cairn session export --session 1 damaged.cairn
says "debug:$seq" 'the damaged one is named'
mkdir damaged
exits 0 at damaged cairn session import damaged.cairn
ok 'the rest was exported' test -n "$(imported damaged "$third")"

# Contents of files, which several checkpoints may need, and bodies of messages.
mkdir contents contents/p contents/there
CAIRN_STORE=$PWD/contents/.cairn
run cairn session start contents
run cairn session config files contents/p
for n in 1 2 3 4; do
    echo "a $n" >contents/p/a
    test $n != 2 || mkdir contents/p/d
    test $n = 1 || echo "the same since the second" >contents/p/d/b
    test $n != 4 || rm -r contents/p/d
    run cairn checkpoint create "at $n"
    head -c 200000 /dev/zero | tr '\0' $n >body
    cairn session message add - <body >out 2>err
done
run cairn note add 'the present state'
exits 0 cairn session export whole.cairn
digest=$(printf 'the same since the second\n' | sha256sum | cut -c1-64)
"$sql" "$CAIRN_STORE/cairn.db" "UPDATE object SET data = x'00' WHERE digest = x'$digest'" >sql.out
"$sql" "$CAIRN_STORE/cairn.db" "DELETE FROM object WHERE digest = (SELECT object FROM message WHERE n = 2)" >sql.out
exits 5 cairn session export contents.cairn
says 'checkpoint debug:2: its files' 'a checkpoint whose files have damaged content is named'
says 'checkpoint debug:3: its files' 'and the next one that has it, too'
says 'message 2:' 'so is the message without its body'
says '1 session and 2 checkpoints were written'
is "$(grep -c '"type":"message"' contents.cairn)" "$(($(grep -c '"type":"message"' whole.cairn) - 1))" \
    'all other messages are written'
is "$(grep -o '"type":"object","digest":"[^"]*"' contents.cairn | sort | uniq -d)" '' 'no content is written twice'
exits 5 cairn session export --all contents.cairn
exits 0 at contents/there cairn session import "$PWD/contents.cairn"
is "$(at contents/there cairn checkpoint list --json | grep -o '"from:' | wc -l)" 2 'the rest can be imported'
exits 0 at contents/there cairn checkpoint verify
exits 0 at contents/there cairn note list --session contents
says 'the present state'
cairn session export - >/dev/full 2>err
is "$?" 75 'an export that cannot be written fails'
ok 'and says why' grep -q "cannot write to stdout" err
CAIRN_STORE=$home

# ---- Killed in the middle ----
mkdir killed
mkfifo feed
CAIRN_STORE=$PWD/killed/.cairn cairn session import - <feed >out 2>err &
pid=$!
exec 3>feed
head -n $((lines / 2)) clean.cairn >&3
ok 'an import waits for the rest of the file' wait_for 20 test -e killed/.cairn/cairn.db
sleep 0.5
kill -9 $pid
wait $pid 2>/dev/null
exec 3>&-
exits 0 at killed cairn checkpoint verify
exits 0 at killed cairn session list --json
is "$(json_get .total)" 0 'nothing of a session whose import was killed is there'
exits 0 at killed cairn session import clean.cairn
is "$(cat out)" "it's *slow*" 'and it can be imported then'
# ---- Merges: known in the other store as here ----
merges() { # exports the session `merging`, imports it into the store in DIRECTORY, and is there then
    exits 0 cairn session export --session merging "$1.cairn"
    mkdir "$1"
    exits 0 at "$1" cairn session import "$1.cairn"
    exits 0 at "$1" cairn session switch merging
    exits 0 at "$1" cairn checkpoint verify
}
note() { # DIRECTORY ID: the text of a note there, or nothing
    at "$1" cairn note show "$2" --json >doc.json 2>/dev/null && json_get .text doc.json
}
merges_c() { # DIRECTORY: c alone has changed these since b was merged
    exits 0 at "$1" cairn branch merge c --json
    is "$(json_get '.conflicts[0]') $(json_get .base_lost) $(json_get .merge_lost)" ' null null' "$1: both changed nothing"
    is "$(note "$1" n2)" 'changed by c' "$1: as c has it"
    is "$(note "$1" n3)" '' "$1: and what it removed"
}
mkdir merging
home=$CAIRN_STORE
CAIRN_STORE=$PWD/merging/.cairn
export CAIRN_STORE
run cairn session start merging
run cairn note add 'of both'
run cairn branch start b
run cairn note add 'of b, later changed by c'
run cairn note add 'of b, later removed by c'
run cairn branch switch main
exits 0 cairn branch merge b
run cairn branch switch b
run cairn note add 'of b, later than that'
run cairn branch start c
exits 0 cairn note update n2 --text 'changed by c'
exits 0 cairn note remove n3
run cairn branch switch main
merges copy
merges_c copy
# Of the copy of a copy, and after checkpoints of it were pruned.
CAIRN_STORE=$PWD/merging/.cairn
merges first
exits 0 at first cairn checkpoint prune --session merging --keep-last 1
CAIRN_STORE=$PWD/first/.cairn
merges second
merges_c second
# The log is lost, and repaired.
cp -R "$PWD/merging" lost
CAIRN_STORE=$PWD/lost/.cairn
"$sql" lost/.cairn/cairn.db 'DELETE FROM session_log' >sql.out
exits 5 cairn doctor --repair
merges repaired
merges_c repaired
# Neither the head that was merged nor what came of it is in the file.
cp -R "$PWD/merging" gone
CAIRN_STORE=$PWD/gone/.cairn
"$sql" gone/.cairn/cairn.db 'DELETE FROM checkpoint WHERE seq IN (2, 3)' >sql.out
merges without
exits 0 at without cairn branch merge c --take theirs
is "$(note without n2)" 'changed by c' 'it is taken as it was asked for'
# Lines that cannot be.
CAIRN_STORE=$home
for merge in '"branch":2,"head":2,"into":2,"made":3' '"branch":3,"head":2,"into":99,"made":3' '"branch":3,"head":2,"into":2'; do
    sed "s/{\"type\":\"merge\".*/{\"type\":\"merge\",$merge}/" copy.cairn >bad.cairn
    rm -rf bad
    mkdir bad
    exits 5 at bad cairn session import bad.cairn
    matches 'this merge is not complete|a merge: branch 99 is not in the file'
    exits 0 at bad cairn checkpoint verify
done
# An older cairn writes none: that is said.
grep -v '"type":"merge"' copy.cairn >old.cairn
mkdir old
exits 5 at old cairn session import old.cairn
exits 0 at old cairn branch merge c --session merging
says 'it is not known any more which state of branch b was merged'
# What came later is added to the session, and what was pruned here stays so.
CAIRN_STORE=$PWD/merging/.cairn
run cairn branch switch c
exits 0 cairn note add 'later, of c'
run cairn branch switch main
exits 0 cairn note add 'later, of main'
run cairn checkpoint create later
exits 0 cairn session export --session merging later.cairn
exits 0 at first cairn session import later.cairn
matches 'skipped: [0-9]+ that are here already, or were deleted here'
exits 0 at first cairn session switch merging
merges_c first
is "$(note first n5)$(note first n6)" 'later, of clater, of main' 'with both'
CAIRN_STORE=$home

# ---- What a file takes the place of ----
CAIRN_STORE=$PWD/placed/.cairn
mkdir placed
exits 0 cairn session start placed
printf 'older\n' >real.cairn
chmod 664 real.cairn
ln -s real.cairn link.cairn
exits 0 cairn session export --all link.cairn
ok 'a link stays one' test -L link.cairn
is "$(stat -c %a real.cairn) $(head -c 23 real.cairn)" '664 {"type":"cairn-export",' 'the file that it leads to is replaced, and keeps its mode'
ln -s nowhere.cairn dangling.cairn
exits 10 cairn session export --all dangling.cairn
ok 'a link to nothing stays one, too' test -L dangling.cairn
mkfifo fifo
exits 2 cairn session export --all fifo
says 'fifo is not a file: - is stdout'
ok 'a pipe stays one' test -p fifo
is "$(find . -maxdepth 1 -name "*.cairn.*" -o -name "fifo.*")" "" "nothing else is left"
# A file that cannot be read makes no store.
mkdir unread
for file in none.cairn .; do
    run at unread cairn session import "$file"
    is "$(ls -A unread)" '' "$file makes no store"
done
is "$status" 75 'a directory is not a file'
# Whoever has read enough need not read all.
dd if=/dev/urandom bs=3000 count=100 2>dd.err | od -An -tx1 -v | tr -d ' \n' | fold -w 50000 >long
while IFS= read -r line || [ -n "$line" ]; do
    cairn note add "$line" >note.out 2>&1
done <long
tap_last='cairn session export --all - | head -n 1'
{
    cairn session export --all - 2>err
    echo $? >ended
} | head -n 1 >out
is "$(cat ended) $(grep -c 'cairn: ' err)" '0 0' 'export ends well where its reader goes away'

# ---- Which one is current ----
mkdir chosen
exits 0 at chosen cairn session import "$PWD/all.cairn"
says 'no session is current' 'an import chooses none'
exits 0 at chosen cairn session switch other
exits 0 at chosen cairn session import "$PWD/all.cairn"
is "$(grep -c 'is current' err)" 0 'said only where none is'
done_testing
