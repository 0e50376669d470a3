# make: sanitize
# shellcheck shell=sh disable=SC2154
# cairn search: what it finds of everything that is kept, what it refuses, and that nothing
# is told or left in the index that the store does not have.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
db=$CAIRN_STORE/search.db

top() { # "kind id" of the first hit of the document in out
    echo "$(json_get '.hits[0].kind' out) $(json_get '.hits[0].id' out)"
}
kept_in() { # is the word in the file, as text or in lists of words?
    grep -qai "$1" "$2"
}
not() {
    ! "$@"
}

# ---- Everything that is kept ----
exits 10 cairn search anything
mkdir files
echo 'the quick brown fox jumps over marzipan' >files/fox.txt
printf 'marzipan\0binary' >files/blob.bin
cat >w.yaml <<'Y'
name: nightly
tasks:
  compile: {run: 'echo gcc says unused variable; echo xylophone >&2'}
  migrate: {run: 'echo relation customers does not exist; exit 3', needs: [compile]}
Y
exits 1 cairn run w.yaml
cairn session start incident >/dev/null 2>&1
cairn session config files files >/dev/null 2>&1
cairn hypothesis add 'The cache is stale after a deploy' --tag cache,deploy >/dev/null
cairn evidence add h1 'Headers say age 86400' --strength 0.4 >/dev/null 2>&1
cairn note add 'Ask the database people about vacuum' --tag db >/dev/null
cairn exec -- sh -c 'echo pineapple from a command' >/dev/null 2>&1
echo 'Why do customers see yesterdays prices?' | cairn session message add - >/dev/null
cairn checkpoint create 'before the purge' --summary 'Purging the edge nodes next' \
    --context region=ljubljana --tag edge >/dev/null
cairn checkpoint list --json >list
cairn checkpoint note "$(json_get '.checkpoints[0].id' list)" 'this one held rhubarb' \
    >/dev/null

for pair in 'stale cache=hypothesis h1' 'vacuum=note n1' 'pineapple=command c1' \
    'yesterdays prices=message 1' 'marzipan=file fox.txt' 'relation exist=log migrate' \
    'xylophone=log compile' 'nightly compile=task compile' 'incident=session incident' \
    'blob.bin=file blob.bin'; do
    run cairn search "${pair%%=*}" --json
    is "$(top)" "${pair#*=}" "found by '${pair%%=*}'"
done
exits 0 cairn search ljubljana --json
is "$(json_get '.hits[0].kind' out)" checkpoint 'a value of a context'
exits 0 cairn search rhubarb --json
is "$(json_get '.hits[0].kind' out)" note 'a note on a checkpoint'
exits 0 cairn search 'edge purge' --tag edge --json
is "$(json_get '.hits[0].kind' out)" checkpoint 'by its tag'
is "$(json_get '.hits[1].kind' out 2>/dev/null)" '' 'and nothing without the tag'
exits 0 cairn search cache --tag cache --tag deploy --json
is "$(top)" 'hypothesis h1' 'all of the tags'
exits 0 cairn search cache --tag cache --tag db --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'not one of them alone'
exits 0 cairn search cache --tag cach --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'tags are exact'
exits 0 cairn search 'stale cache'
says '[stale]' out

# ---- Order, numbers, filters ----
exits 0 cairn search 'customers prices database' --json -k 100
is "$(json_get '.query' out)" 'customers prices database' 'the query is echoed'
json_ok 'a document'
tr '{' '\n' <out | sed -n 's/.*"score":\([0-9.]*\),"distance":\([0-9.]*\).*/\1 \2/p' >scores
ok 'scores fall, and with the distance they make 1' awk '
    { if (NR > 1 && $1 > last) exit 1; last = $1; s = $1 + $2
      if (s < 0.999999 || s > 1.000001 || $1 < 0 || $1 > 1) exit 1 }' scores
exits 0 cairn search 'zzzz qqqq' --json -k 3
is "$(json_get '.hits[2].rank' out)" 3 'k hits, however far they are'
for section in sessions runs logs files messages board; do
    run cairn search customers --in $section --json -k 100
    is "$(tr '{' '\n' <out | sed -n 's/.*"section":"\([a-z]*\)".*/\1/p' | sort -u)" $section \
        "--in $section"
done
exits 0 cairn search customers --until '1 day ago' --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'nothing is so old'
exits 0 cairn search customers --since '1 hour ago' --json
ok 'and all is new' test -n "$(json_get '.hits[0].kind' out)"

# ---- What is refused, and what is plain text ----
exits 2 cairn search ''
says 'empty' err
exits 2 cairn search '   '
exits 2 cairn search
exits 2 cairn search a --rebuild
exits 2 cairn search a -k 0
exits 2 cairn search a -k 101
exits 2 cairn search a --in nowhere
exits 2 cairn search a --since 'some day'
exits 2 cairn search a --project /no/such/../relative/../../x/y --project nowhere
for text in '"' "'" 'a AND' 'NEAR(a b' '* ^ -x' 'title: (' 'a" OR "b' '\\x' '{}' '%' ';--' \
    "$(printf 'caf\351 \001 \377')" 'ČŽŠ 東京' 'NOT'; do
    run cairn search "$text" -k 1
    is "$status" 0 "plain text: $text"
done

# ---- Scope ----
mkdir -p other/deep
exits 0 cairn search fox --project other --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'nothing of another project'
cat >other/deep/p.yaml <<'Y'
name: elsewhere
tasks:
  t: {run: echo kumquat is secret of the other project}
Y
exits 0 cairn run other/deep/p.yaml
exits 0 cairn search kumquat --project files --json -k 100
ok 'not in a project beside it' not grep -q kumquat out.hits 2>/dev/null
tr '{' '\n' <out | grep '"kind"' >hits
ok 'and nothing of its runs' not grep -q 'other' hits
exits 0 cairn search kumquat --project other --json
is "$(top)" 'log t' 'what lies below the project is of it'
(cd other && cairn search kumquat --json) >out 2>err
is "$(top)" 'log t' 'a store that was named: the current directory'
(cd files && cairn search kumquat --json -k 100) >out 2>err
tr '{' '\n' <out | grep '"kind"' >hits
ok 'and not another one' not grep -q 'other' hits

# ---- What goes, goes from the index ----
echo 'wombat in a file' >files/wombat.txt
cairn checkpoint create 'holds quokka' >made
exits 0 cairn search quokka --json
is "$(json_get '.hits[0].title' out)" 'holds quokka' 'it is there'
exits 0 cairn search wombat --json
is "$(json_get '.hits[0].id' out)" wombat.txt 'its file, too'
ok 'in the index' kept_in quokka "$db"
rm files/wombat.txt
exits 0 cairn checkpoint delete "$(cat made)" --yes
ok 'not after it was deleted' not kept_in quokka "$db"
ok 'nor its file' not kept_in wombat "$db"
exits 0 cairn search quokka --json
ok 'and it is not told' not grep -q '"title":"holds quokka"' out
exits 0 cairn search 'quick brown fox' --json
is "$(top)" 'file fox.txt' 'what others hold, too, is found'

first=$(json_get '.hits[0].checkpoint' out)
cairn checkpoint create 'one more with the fox' >/dev/null
cairn checkpoint create 'and another one' >/dev/null
exits 0 cairn checkpoint delete "$first" --yes
exits 0 cairn search 'quick brown fox' --json
is "$(top)" 'file fox.txt' 'by a later checkpoint, when the first is deleted'
ok 'which is named' test "$(json_get '.hits[0].checkpoint' out)" -gt "$first"
cp "$db" saved
exits 0 cairn checkpoint delete "$(json_get '.hits[0].checkpoint' out)" --yes
cp saved "$db"
exits 0 cairn search 'quick brown fox' --json
is "$(top)" 'file fox.txt' 'an index that is behind is brought up to date'
ok 'and holds nothing that is gone' not kept_in "file/$first/" "$db"

printf 'name: old\ntasks:\n  t: {run: echo axolotl}\n' >old.yaml
cairn run old.yaml >/dev/null 2>&1
cairn run old.yaml --fresh >/dev/null 2>&1
printf 'name: old\ntasks:\n  t: {run: echo new}\n' >old.yaml
cairn run old.yaml --fresh >/dev/null 2>&1
exits 0 cairn search axolotl --json
ok 'a log' kept_in axolotl "$db"
exits 0 cairn gc --keep-runs 1
ok 'not after its run was collected' not kept_in axolotl "$db"

# What checkpoints lose by the settings of a session goes with the next search.
exits 0 cairn session start keeper
cairn session config keep-last 1 >/dev/null 2>&1
cairn exec -- echo okapi >/dev/null 2>&1
cairn search okapi >/dev/null 2>&1
cairn checkpoint list --session keeper --json >list
cairn exec -- echo numbat >/dev/null 2>&1
exits 0 cairn search numbat --json
json_ok 'and the index is sound'

# ---- What belongs to another directory then ----
mkdir -p elsewhere
exits 0 cairn session config files elsewhere --session incident
exits 0 cairn search 'yesterdays prices' --project elsewhere --json
is "$(top)" 'message 1' 'messages belong to where the files of a session are'
exits 0 cairn search 'and another one' --project elsewhere --json
is "$(json_get '.hits[0].title' out)" 'and another one' 'and checkpoints'
exits 0 cairn search 'yesterdays prices' --project files --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'and no more to where they were'
exits 0 cairn session config files files --session incident

# ---- Beside a run ----
cat >live.yaml <<'Y'
name: live
tasks:
  early: {run: echo echidna}
  late: {run: 'until test -e go; do sleep 0.05; done; echo platypus', needs: [early]}
Y
cairn run live.yaml >run.out 2>&1 &
running=$!
found_echidna() {
    cairn search echidna --json >out 2>err && [ "$(top)" = 'log early' ]
}
ok 'the output of a task that has ended, while others run' wait_for 10 found_echidna
: >go
wait $running
is $? 0 'the run completes'
exits 0 cairn search platypus --json
is "$(top)" 'log late' 'and what came later'

# ---- Secrets ----
export MY_TOKEN=hunter2hunter2hunter2
cairn session config redact MY_TOKEN >/dev/null 2>&1
cairn exec -- sh -c 'echo $MY_TOKEN is what the token was' >/dev/null 2>&1
cairn checkpoint create "with $MY_TOKEN" --summary "it has $MY_TOKEN" >/dev/null 2>&1
echo "my token is $MY_TOKEN" | cairn session message add - >/dev/null 2>&1
exits 0 cairn search 'what the token was' --json
says '[REDACTED]' out
ok 'a secret that is not stored is not in the index' not kept_in hunter2hunter2 "$db"
ok 'nor told' not grep -q hunter2 out

# ---- Damaged, other, gone, read only ----
cairn search fox --json >before 2>/dev/null
printf 'not a database at all, but long enough to be looked at' >"$db"
exits 0 cairn search fox --json
is "$(top)" 'file fox.txt' 'a damaged index is made anew'
dd if=/dev/urandom of="$db" bs=8192 seek=2 count=6 conv=notrunc 2>/dev/null
exits 0 cairn search fox --json
is "$(top)" 'file fox.txt' 'one with damaged pages, too'
rm -f "$db"
exits 0 cairn search fox --json
is "$(top)" 'file fox.txt' 'it may be removed'
exits 0 cairn search --rebuild
says 'indexed' out
exits 0 cairn search fox --json
is "$(json_get '.hits[0].id' out)" "$(json_get '.hits[0].id' before)" 'the same again'
ok 'it gets the version of another release' "$BUILD/tests/tools/sql" "$db" 'PRAGMA user_version = 99'
exits 0 cairn search fox --json
is "$(top)" 'file fox.txt' 'of another release'
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# ---- Two at once, and one that is killed ----
i=0
while [ $i -lt 300 ]; do
    i=$((i + 1))
    echo "{\"role\":\"user\",\"content\":\"message number $i about the weather in Oslo\"}"
done >lines
exits 0 cairn session message import lines
rm -f "$db"
cairn search weather -k 3 --json >one 2>&1 &
first=$!
cairn search weather -k 3 --json >two 2>&1 &
second=$!
wait $first
is $? 0 'the first of two'
wait $second
is $? 0 'the second of two'
is "$(json_get '.hits[0].kind' one) $(json_get '.hits[0].kind' two)" 'message message' \
    'both find something'
for ms in 5 10 20 40 80; do
    rm -f "$db"
    cairn search weather >/dev/null 2>&1 &
    first=$!
    sleep "$(printf '0.%03d' $ms)"
    kill -9 $first 2>/dev/null
    wait $first 2>/dev/null
    run cairn search 'number 299' --json -k 1
    is "$(json_get '.hits[0].kind' out)" message "killed after $ms ms"
done

# ---- A project that is moved ----
mkdir moved
(
    cd moved && unset CAIRN_STORE
    printf 'name: m\ntasks:\n  t: {run: echo wildebeest}\n' >m.yaml
    cairn run m.yaml --store .cairn && cairn search wildebeest
) >out 2>err
(mv moved moved.on && cd moved.on && unset CAIRN_STORE && cairn search wildebeest --json) >out 2>err
is "$(top)" 'log t' 'its runs are of the directory where it is now'
ok 'which is told' grep -q 'moved.on","title"' out
mkdir moved.on/deep
(cd moved.on/deep && unset CAIRN_STORE && cairn search wildebeest --json) >out 2>err
is "$(top)" 'log t' 'from below: the directory of the store'

# ---- A store that is only read ----
read_only() { # command...
    unshare -m sh -c 'mount --bind "$CAIRN_STORE" "$CAIRN_STORE" &&
        mount -o remount,ro,bind "$CAIRN_STORE" && exec "$@"' sh "$@"
}
if ! read_only true 2>/dev/null; then
    skip 'a read-only store' 'nothing can be mounted here'
else
    exits 0 read_only cairn search fox
    ok 'an index that is up to date is read' not grep -q memory err
    rm -f "$db"
    exits 0 read_only cairn search fox
    says 'made in memory, for this search alone: the store can only be read, and has no index'
    says 'fox.txt' out
    ok 'and nothing was written' not test -e "$db"
    exits 75 read_only cairn search --rebuild
fi

exits 2 cairn search --rebuild --in runs
says '--in has no effect with --rebuild'
exits 2 cairn search --rebuild -k 3
says '--hits has no effect with --rebuild'
exits 2 env CAIRN_EMBED_URL=http://127.0.0.1:1/ CAIRN_EMBED_MODEL=m CAIRN_EMBED_DIMENSIONS=200000 cairn search x
says 'CAIRN_EMBED_DIMENSIONS is not a number from 1 to 100000'
done_testing
