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
same() {
    is "$status" 0 "$1: a search"
    ok "$1: the same hits" cmp -s out whole
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
for other in '' 'no database' /dev/urandom; do
    if [ -r "$other" ]; then head -c 50000 "$other" >"$db"; else printf %s "$other" >"$db"; fi
    search
    same "other content '$other'"
done
cp sound "$db"
printf 'no journal' >"$db-journal"
search
same 'a journal of somebody else'

# ---- What is not a file ----
rm -f "$db"
mkdir "$db"
run cairn search marzipan
ok 'a directory in its place ends it, or is passed over' test "$status" -ne 139 -a "$status" -ne 134
rmdir "$db" 2>/dev/null
ln -s /etc/passwd "$db"
run cairn search marzipan
ok 'a link is not followed' not grep -q 'root:' out err
ok 'nor written through' grep -q root /etc/passwd
rm -f "$db"

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
