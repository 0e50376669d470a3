# shellcheck shell=sh disable=SC2154
# The index of cairn search cut, damaged, removed, killed in the middle, without room, and
# made anew beside searches: what is found is right, or it is said what is missing.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
db=$CAIRN_STORE/search.db
not() {
    ! "$@"
}

i=0
while [ $i -lt 400 ]; do
    i=$((i + 1))
    echo "{\"role\":\"user\",\"content\":\"message number $i about the weather, at $((i * 7919 % 1000)) metres\"}"
done >lines
exits 0 cairn session start s
exits 0 cairn session message import lines
cairn note add 'marzipan is a note' >/dev/null
search() {
    run cairn search 'marzipan weather number 17' -k 5 --json
}
search
is "$status" 0 'the first search'
cp out whole
size=$(wc -c <"$db")
ok 'there is an index' test "$size" -gt 100000
# Where the index lay does not count.
same() {
    is "$status" 0 "$1: a search"
    sed 's/"in_memory":.*/"in_memory":false,"in_memory_reason":null}/' out >hits
    ok "$1: the same hits" cmp -s hits whole
    [ ! -e core ] || ok "$1: no core" false
}

# ---- Cut ----
cp "$db" sound
for part in 0 1 15 100 1024 4096 8191 8192 8193 40960 $((size / 3)) $((size / 2)) \
    $((size - 8192)) $((size - 1)); do
    head -c "$part" sound >"$db"
    search
    same "cut at $part"
done

# ---- Overwritten: what is told is there, and --rebuild finds all again ----
page=0
while [ $((page * 8192)) -lt "$size" ]; do
    cp sound "$db"
    head -c 3000 /dev/zero | dd of="$db" bs=1 seek=$((page * 8192 + 500)) conv=notrunc 2>/dev/null
    search
    ok "zeros in page $page: a search ends ($status)" test "$status" -eq 0 -o "$status" -eq 5
    if ! cmp -s out whole; then
        run cairn search --rebuild
        search
        same "zeros in page $page, made anew"
    fi
    page=$((page + 4))
done
cp sound "$db"
printf 'no journal' >"$db-journal"
search
same 'a journal of somebody else'
head -c 50000 /dev/zero >"$db"
search
same 'nothing but zeros, as after a loss of power'
silent_on err

# ---- Damage that is met only while a run that was moved is dropped ----
printf 'name: w\ntasks: {t: {run: "echo cumquat"}}\n' >w.yaml
cairn run w.yaml >/dev/null 2>&1
search
is "$status" 0 'a search with a run'
cp out whole
cairn note add 'so that there is something to do' >/dev/null
"$BUILD/tests/tools/sql" "$db" "UPDATE unit SET stamp = x'41', open = 1 WHERE name LIKE 'run/%'"
cp "$db" moved
for table in $("$BUILD/tests/tools/sql" "$db" 'SELECT rootpage FROM sqlite_master WHERE rootpage > 0'); do
    cp moved "$db"
    head -c 200 /dev/zero | dd of="$db" bs=1 seek=$(((table - 1) * 8192)) conv=notrunc 2>/dev/null
    search
    is "$status" 0 "a table whose root is zeros ($table), and a run that was moved"
done
rm -f "$db"
search
cp out whole

# ---- Something else in its place: it is named, and left as it is ----
in_its_place() {
    search
    same "$1"
    ok "$1: with the reason" grep -q '"in_memory":true,"in_memory_reason":"[^"]*'"$1" out
    run cairn search marzipan -k 1
    is "$status" 0 "$1: a search for people"
    for word in "$db" "$1" 'remove it' 'made in memory'; do
        says "$word" "$1: it says '$word'" err
    done
    run cairn search --rebuild
    is "$status" 75 "$1: --rebuild"
    says "$db" "$1: --rebuild names it" err
    says 'remove it' "$1: --rebuild says what to do" err
}
rm -f "$db"
mkdir "$db"
in_its_place 'is a directory'
ok 'the directory is there' test -d "$db"
rmdir "$db"
ln -s "$PWD/nowhere" "$db"
in_its_place 'is a symbolic link'
ok 'nothing was made where it leads' not test -e nowhere
rm "$db"
ln -s /etc/passwd "$db"
in_its_place 'is a symbolic link'
ok 'a link is not followed' not grep -q 'root:' out err
ok 'nor written through' grep -q root /etc/passwd
rm "$db"
mkfifo "$db"
in_its_place 'is a named pipe'
rm "$db"
for other in 'no database' "$(head -c 300 /dev/urandom | od -An -tx1)"; do
    printf %s "$other" >"$db"
    in_its_place 'is a file of something else'
    is "$(cat "$db")" "$other" 'that file is as it was'
done
rm "$db"

# ---- Searches and --rebuild at once ----
search
same 'made again'
for round in 1 2 3; do
    cairn note add "weather of round $round" >/dev/null
    cairn search 'marzipan note' -k 1 --json >one 2>&1 &
    first=$!
    cairn search --rebuild >three 2>&1 &
    third=$!
    cairn search 'marzipan note' -k 1 --json >two 2>&1 &
    second=$!
    for pid in $first $second; do
        wait "$pid"
        is $? 0 "round $round: a search beside --rebuild"
    done
    wait $third
    third_status=$?
    ok "round $round: --rebuild ($third_status)" test $third_status -eq 0 -o $third_status -eq 75
    for file in one two; do
        ok "round $round: it finds the note, or says that the index is behind" sh -c \
            'grep -q "\"kind\":\"note\"" $1 || grep -q "\"up_to_date\":false" $1' - $file
    done
done
search
same_status=$status
is "$same_status" 0 'and afterwards'
ok 'it is up to date' grep -q '"up_to_date":true' out

# ---- Killed in the middle of bringing it up to date ----
for ms in 5 10 20 40 80 160; do
    i=0
    while [ $i -lt 50 ]; do
        i=$((i + 1))
        echo "{\"role\":\"user\",\"content\":\"kumquat $ms of $i\"}"
    done >next-lines
    cairn session message import next-lines >/dev/null 2>&1
    cairn search weather >/dev/null 2>&1 &
    killed=$!
    sleep "$(printf '0.%03d' $ms)"
    kill -9 $killed 2>/dev/null
    wait $killed 2>/dev/null
    run cairn search "kumquat $ms 33" -k 100 --json
    is "$status" 0 "killed after $ms ms: the next search"
    is "$(grep -o "kumquat\] \[*$ms" out | wc -l)" 50 "killed after $ms ms: it has all"
done

# ---- Somebody who holds it does not go on ----
i=0
while [ $i -lt 3000 ]; do
    i=$((i + 1))
    echo "{\"role\":\"user\",\"content\":\"persimmon $i and so on for some more words\"}"
done >more-lines
exits 0 cairn session message import more-lines
cairn search persimmon >/dev/null 2>&1 &
stopped=$!
until [ -s "$db-journal" ] || ! kill -0 $stopped 2>/dev/null; do
    sleep 0.01
done
kill -STOP $stopped
run cairn search weather -k 1
is "$status" 0 'behind a stopped search: what is in the index is found'
says 'another command holds the index, and did not release it within 5 s' 'and it is said' err
run cairn search persimmon --tag none
is "$status" 0 'nothing is found'
says 'in what the index has so far' 'which is said of the index as it is' err
kill -CONT $stopped
wait $stopped
run cairn search persimmon -k 1
is "$status" 0 'it has gone on'
silent_on err

# ---- Somebody holds it while it has to be made anew, as the store has moved ----
touch held
"$BUILD/tests/tools/hold" -s 4 "$CAIRN_STORE/search.lock" held >holding &
holder=$!
ok 'somebody holds the index' wait_for 10 test -s holding
mkdir elsewhere
mv "$CAIRN_STORE" elsewhere/.cairn
run cairn search persimmon -k 1 --store elsewhere/.cairn
is "$status" 75 'a search ends'
says 'another command holds the index, and did not release it within 5 s' 'and says why' err
mv elsewhere/.cairn "$CAIRN_STORE"
rm held
wait $holder
run cairn search persimmon -k 1
is "$status" 0 'and continues afterwards'

# ---- No room for it ----
rm -f "$db" "$db-journal"
for blocks in 200 400 700; do
    run sh -c "ulimit -f $blocks && exec cairn search marzipan -k 1"
    is "$status" 0 "no room ($blocks): found in memory"
    says 'made in memory' "and said ($blocks)"
    says 'is a note' "and right ($blocks)"
done
run sh -c 'ulimit -f 400 && exec cairn search --rebuild'
is "$status" 75 '--rebuild without room is an error'
run cairn search marzipan -k 1
is "$status" 0 'with room again'
silent_on err
exits 0 cairn checkpoint verify
done_testing
