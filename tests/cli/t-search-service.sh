# make: sanitize
# shellcheck shell=sh disable=SC2154
# cairn search with a service for embeddings (tests/tools/embedder on 127.0.0.1): what it is
# sent, that it is asked once, and every way in which it fails.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION http_proxy https_proxy all_proxy ALL_PROXY
no_proxy=127.0.0.1
CAIRN_EMBED_MODEL=small
export no_proxy CAIRN_EMBED_MODEL
log=$PWD/requests
mkfifo hold port
"${BUILD:?}/tests/tools/embedder" "$log" <hold >port &
embedder=$!
exec 9>hold
read -r port_number <port
way() {
    CAIRN_EMBED_URL=http://127.0.0.1:$port_number/$1/v1/embeddings
    export CAIRN_EMBED_URL
    : >"$log"
}
top() {
    json_get '.hits[0].id' out
}
texts() { # that were sent
    awk '/^REQUEST / { n += $2 } END { print n + 0 }' "$log"
}
not() {
    ! "$@"
}

# ---- Texts in which other words mean the same ----
mkdir files
echo 'a physician in a file: FILETEXT' >files/f.txt
cairn session start clinic >/dev/null 2>&1
cairn session config files files >/dev/null 2>&1
cairn note add 'the surgeon is late' >/dev/null
cairn note add 'the invoice is paid with cash' >/dev/null
cairn note add 'a defect of the brakes' >/dev/null
cairn note add 'Key of the cloud: AKIAIOSFODNN7EXAMPLE and more' >/dev/null
cairn checkpoint create 'an automobile was parked here' >/dev/null
echo 'where does the vehicle stand?' | cairn session message add - >/dev/null
cat >w.yaml <<'Y'
name: nightly
secrets: [PLANTED]
tasks:
  t: {run: 'echo compiled; echo "$PLANTED"'}
Y
PLANTED=sesame-open-9 cairn run w.yaml >/dev/null 2>&1
exits 0 cairn search physician --json
ok 'without a service there is nothing about one' not grep -q embeddings out
is "$(top)" f.txt 'only letters are alike'
is "$(cat "$log" 2>/dev/null)" '' 'and nothing is sent'

# ---- A good one ----
way good
exits 0 cairn search 'physician' --in board --json
is "$(top)" n1 'another word for the same'
is "$(json_get '.embeddings.used' out)" true 'the service was used'
is "$(json_get '.embeddings.failure' out)" null 'without a failure'
sent=$(json_get '.embeddings.sent' out)
is "$(texts)" $((sent + 1)) 'it was sent the query and what is told'
ok 'the model is named' grep -q '"model":"small"' "$log"
ok 'no key' grep -q '^REQUEST 1 none$' "$log"
ok 'no text of a file' not grep -q FILETEXT "$log"
ok 'no secret by its look' not grep -q AKIAIOSFODNN7EXAMPLE "$log"
ok 'no value of a secret' not grep -q sesame-open-9 "$log"
way good
exits 0 cairn search 'physician AKIAIOSFODNN7EXAMPLE' --in board --json
is "$(texts)" 1 'the second time only the query is sent'
ok 'without the secret in it' not grep -q AKIAIOSFODNN7EXAMPLE "$log"
exits 0 cairn search money --json -k 1
is "$(top)" n2 'the next query'
exits 0 cairn search defect
ok 'nothing is said where nothing was sent' not grep -q embeddings err
cairn note add 'funds were moved to another account' >/dev/null
way good
exits 0 cairn search money
says 'embeddings: 1 texts were sent to http://127.0.0.1'
is "$(texts)" 2 'a new entry is sent once'
cairn note add 'funds were moved to another account' >/dev/null
way good
exits 0 cairn search money
is "$(texts)" 1 'the same text is not sent again'

# ---- The key ----
way good
export CAIRN_EMBED_KEY=key-that-nobody-sees
exits 0 cairn search vehicle --json
ok 'the key is in the header' grep -q '^REQUEST 1 key-that-nobody-sees$' "$log"
ok 'and in no message' not grep -q nobody-sees out err
ok 'nor in the store' not grep -rq nobody-sees .cairn
for name in 127.0.0.1 localhost; do # which a proxy is not asked for: it would see the key
    CAIRN_EMBED_URL=http://$name:$port_number/good/v1/embeddings
    exits 0 env -u no_proxy http_proxy=http://127.0.0.1:9 ALL_PROXY=http://127.0.0.1:9 cairn search vehicle --json
    is "$(json_get '.embeddings.failure' out)" null "$name is reached without a proxy"
done
way good
url=$CAIRN_EMBED_URL
CAIRN_EMBED_URL=http://example.invalid/v1/embeddings
exits 2 cairn search vehicle
says 'a key is not sent by http:// to another machine'
ok 'and in no message' not grep -q nobody-sees out err
CAIRN_EMBED_URL=http://127.0.0.1.example.invalid/v1/embeddings
exits 2 cairn search vehicle
CAIRN_EMBED_URL=http://localhost@example.invalid/v1/embeddings
exits 2 cairn search vehicle
CAIRN_EMBED_KEY='two words' CAIRN_EMBED_URL=$url exits 2 cairn search vehicle
ok 'not even where it is refused' not grep -q 'two words' out err
unset CAIRN_EMBED_KEY

# ---- What cannot be used ----
for bad in ftp://127.0.0.1/x file:///etc/passwd 127.0.0.1/v1 'http://' 'http://a b/' \
    http://user:word@127.0.0.1/v1; do
    CAIRN_EMBED_URL=$bad
    exits 2 cairn search vehicle
done
CAIRN_EMBED_URL=$url
for n in x 0 -1 4097 99999999999999999999; do
    CAIRN_EMBED_DIMENSIONS=$n exits 2 cairn search vehicle
done
CAIRN_EMBED_MODEL='' exits 2 cairn search vehicle
says 'name of a model'
CAIRN_EMBED_URL='' exits 0 cairn search vehicle --json
ok 'an empty URL is none' not grep -q embeddings out

# ---- Every way to fail: text similarity alone, and it is said once ----
cairn search vehicle --json -k 3 >/dev/null
(unset CAIRN_EMBED_URL && cairn search vehicle --json -k 3) >plain
fails() { # way, what is said
    way "$1"
    exits 0 cairn search vehicle --json -k 3
    is "$(json_get '.embeddings.used' out)" false "$1: not used"
    sed 's/,"embeddings":{[^}]*}//' out >hits
    ok "$1: the hits are those of text similarity" cmp -s hits plain
    exits 0 cairn search vehicle
    says "found by text similarity alone, since the service failed: $2" "$1 is explained"
    is "$(grep -c embeddings err)" 1 "$1: once"
}
fails 401 'it refuses the key, or the lack of one (status 401)'
fails 429 'it wants fewer requests (status 429)'
fails 500 'it is out of order (status 500)'
fails garbage 'its answer is not JSON'
fails deep 'its answer is not JSON'
fails few 'its answer has other vectors than were asked for'
fails words 'its answer has something in a vector that is not a number'
fails long 'its vectors have 5000 numbers: 1 to 4096 can be used'
fails none 'its vectors have 0 numbers: 1 to 4096 can be used'
fails huge 'its answer is too long'
fails drop 'the connection was lost'
fails elsewhere 'it sends us elsewhere, where we do not go (status 307)'
is "$(grep -c '^REQUEST' "$log")" 2 'a redirect is not followed'
CAIRN_EMBED_DIMENSIONS=3
export CAIRN_EMBED_DIMENSIONS
fails good 'its vectors have 8 numbers, and not 3'
ok 'the number is sent' grep -q '"dimensions":3' "$log"
unset CAIRN_EMBED_DIMENSIONS
way slow
exits 0 cairn search vehicle
says 'since the service failed: it took too long'
CAIRN_EMBED_URL=http://127.0.0.1:9/v1/embeddings
exits 0 cairn search vehicle
says 'since the service failed: no server answers there'
way other
exits 0 cairn search vehicle
says 'since the service failed: its vectors have'
way some
exits 0 cairn search vehicle --json
is "$(json_get '.embeddings.failure' out)" null 'the first requests are answered'
cairn note add 'one more vehicle' >/dev/null
exits 0 cairn search vehicle
says 'some are missing, since the service failed: it is out of order (status 500)'

# ---- What goes, goes from the index ----
count() {
    "$BUILD/tests/tools/sql" "$db" "SELECT count(*) FROM $1"
}
way good
db=.cairn/search.db
exits 0 cairn checkpoint create 'a vehicle that will be deleted' --json
id=$(json_get '.id' out)
exits 0 cairn search vehicle
before=$(count embedding)
exits 0 cairn checkpoint delete "$id" --yes
is "$(count embedding)" $((before - 1)) 'the vector goes with the entry'
is "$(count 'embedded WHERE doc NOT IN (SELECT id FROM doc)')" 0 'and what leads to it'
CAIRN_EMBED_MODEL=other exits 0 cairn search vehicle --json
is "$(json_get '.embeddings.sent' out)" "$((before - 1))" 'another model: asked anew'
is "$(count embedding)" $((before - 1)) 'and nothing of the old one is left'
rm -f "$db"
way good
exits 0 cairn search 'physician' --in board --json
is "$(top)" n1 'an index that is gone is made again'
ok 'and what it had is asked again' test "$(texts)" -gt 5

# ---- A store that is only read ----
chmod -R a-w .cairn
if touch .cairn/probe 2>/dev/null; then
    rm -f .cairn/probe
    skip 'a store that is only read' 'this user can write it'
else
    way good
    exits 0 cairn search physician
    says 'what it answers could not be kept'
    is "$(texts)" 0 'so nothing is sent'
fi
chmod -R u+w .cairn

exec 9>&-
wait "$embedder"
done_testing
