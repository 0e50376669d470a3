# What takes room in the store: `cairn session size`, held against the tables of the
# store and against what a collection frees. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql

size() { # PATH [ARGUMENT...]: a scalar of the document
    size_path=$1
    shift
    cairn session size "$@" --json >size.json 2>/dev/null
    json_get "$size_path" size.json
}
pool() { "$sql" "$CAIRN_STORE/cairn.db" 'SELECT ifnull(sum(length(data)), 0) FROM object'; }

mkdir p p/dir
exits 10 cairn session size
exits 0 cairn session start sized
exits 0 cairn session size
says 'PART' 'a session without anything'
is "$(size .total)" 0 'no checkpoints'
is "$(size .all.shared)" 0 'nothing is shared'

# ---- Files: random bytes do not get smaller ----
run cairn session config files p
head -c 100000 /dev/urandom >p/large
head -c 30000 /dev/urandom >p/dir/middle
head -c 2000 /dev/urandom >p/small
cp p/large p/copy
run cairn checkpoint create one
is "$(size .files.logical)" 232000 'what one checkpoint holds'
is "$(size '.largest[0].stored')" 100000 'the largest file'
is "$(size '.largest[0].path')" copy 'a content counts for one path'
is "$(size '.largest[1].path')" dir/middle 'then the next one'
is "$(size '.largest[2].path')" small 'then the others'
is "$(size .paths)" 3 'and no others'
is "$(size .files.stored)" "$(pool)" 'all that the pool has'
one_alone=$(size '.checkpoints[0].alone')
is "$one_alone" "$(size .files.stored)" 'a single checkpoint refers to it alone'
is "$(size '.checkpoints[0].added')" "$one_alone" 'and added it'

run cairn checkpoint create two
is "$(size .files.logical)" 464000 'two checkpoints hold twice as much'
is "$(size .files.stored)" "$(pool)" 'which is stored once'
is "$(size '.checkpoints[0].message')" two 'the newest comes first'
is "$(size '.checkpoints[0].added')" 0 'it has added nothing'
is "$(size '.checkpoints[0].alone')" 0 'nothing is its own'
is "$(size '.checkpoints[1].alone')" 0 'nor of the first one now'

sleep 0.05
head -c 40000 /dev/urandom >p/small
run cairn checkpoint create three
three=$(cat out)
is "$(size .files.stored)" "$(pool)" 'again all of the pool'
ok 'the third added its file' [ "$(size '.checkpoints[0].added')" -ge 40000 ]
is "$(size '.largest[1].path')" small 'a path counts with all of its contents'
is "$(size '.largest[1].contents')" 2 'which are two'
is "$(size '.largest[1].stored')" 42000 'together'
exits 0 cairn session size
says "$three"
says 'HOLDS'
says ' small'
exits 0 cairn session size --limit 1
is "$(grep -c 'debug:' out)" 1 'as many checkpoints as were asked for'
is "$(size .total --limit 1)" 3 'of three'

# ---- A change of a text is stored as that ----
seq 20000 >p/text
run cairn checkpoint create text
sleep 0.05
seq 20000 | sed 's/^777$/changed/' >p/text
run cairn checkpoint create changed
is "$(size .files.stored)" "$(pool)" 'with what is stored as a change of it'
ok 'which takes little' [ "$(size '.checkpoints[0].added')" -lt 2000 ]

# ---- What a collection frees ----
sleep 0.05
head -c 50000 /dev/urandom >p/gone
run cairn checkpoint create gone
gone=$(cat out)
rm p/gone
run cairn checkpoint create back
is "$(size '.checkpoints[1].message')" gone 'the one to be deleted'
alone=$(size '.checkpoints[1].alone')
stored=$(size .files.stored)
run cairn checkpoint delete "$gone" --yes
is "$(size .files.stored)" $((stored - alone)) 'what was its own is not counted any more'
before=$(pool)
run cairn gc
is "$(pool)" $((before - alone)) 'and is what a collection frees'

# ---- Board, messages, log ----
run cairn note add 'it is slow'
run cairn session message add 'it is slow again'
is "$(size .messages.logical)" 16 'a message'
ok 'the log' [ "$(size .log.stored)" -gt 0 ]
ok 'an item of the board' [ "$(size .board.stored)" -gt 0 ]
head -c 200000 /dev/urandom | base64 -w 0 >message
run sh -c 'cairn session message add - <message'
run cairn checkpoint create board
ok 'a large message lies in the pool' [ "$(size .messages.stored)" -gt 100000 ]
ok 'beside the files' [ "$(pool)" -gt $(($(size .files.stored) + 100000)) ]
sum=0
for part in files board messages log records; do
    sum=$((sum + $(size .$part.stored)))
done
is "$(size .all.stored)" "$sum" 'all is the sum of the parts'

# ---- Another session ----
exits 0 cairn session start second
run cairn session config files p
sleep 0.05
rm p/copy p/large
head -c 10000 /dev/urandom >p/new
run cairn checkpoint create other
shared=$(size .files.shared sized)
ok "the first session shares what the second one has, too ($shared)" [ "$shared" -ge 70000 ]
ok 'but not all' [ "$shared" -lt 100000 ]
is "$(size .files.shared)" "$shared" 'and the other way round'
ok 'the new file is its own' [ "$(size '.checkpoints[0].alone')" -ge 10000 ]
ok 'without what is shared' [ "$(size '.checkpoints[0].alone')" -lt 15000 ]
exits 0 cairn session size sized
exits 0 cairn session size --session sized
exits 2 cairn session size sized --session sized
exits 10 cairn session size none
exits 0 cairn session size --json
json_ok 'as JSON'
ok 'the database has more bytes than are stored' [ "$(json_get .store.bytes out)" -gt "$(json_get .all.stored out)" ]

# ---- Damage is counted and named ----
digest=$(sha256sum <p/new | cut -c1-64)
run "$sql" "$CAIRN_STORE/cairn.db" "DELETE FROM object WHERE digest = x'$digest'"
exits 5 cairn session size
says '1 part of the session cannot be read'
says 'run `cairn doctor`'
exits 5 cairn session size --json
json_ok 'the document is whole'
is "$(json_get .damaged out)" 1 'and counts it'
tree=$("$sql" "$CAIRN_STORE/cairn.db" "SELECT max(seq) FROM checkpoint")
"$sql" "$CAIRN_STORE/cairn.db" "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $tree"
exits 5 cairn session size
says 'cannot be read' 'a damaged record'
done_testing
