# cairn checkpoint head, and verify --head: what only an exported head can show.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: "true"}
  b: {run: "test -e mended", needs: [a]}
END
exits 10 cairn checkpoint head
exits 1 cairn run w.yaml
exits 0 cairn checkpoint head
cp out first.txt
is "$(sed -n 1p first.txt)" 'cairn head 1' 'the text has a version'
id=$("$sql" $db "SELECT value FROM meta WHERE key = 'id'")
last=$("$sql" $db 'SELECT max(seq) FROM checkpoint')
is "$(sed -n 2p first.txt)" "store $id next $((last + 1))" 'the id of the store, and the next number'
matches "^run 1 seq $last position $last records $last sha256 [0-9a-f]{64}\$" 'a line for the run'
is "$(sed -n 4p first.txt)" 'end 1' 'and its end'
exits 0 cairn checkpoint head 1 --json
json_ok 'with --json a document'
is "$(json_get '.heads[0].seq')" "$last" 'which says the same'
cp out first.json
exits 10 cairn checkpoint head 7
for file in first.txt first.json; do
    exits 0 cairn checkpoint verify --head $file
done
cp -r .cairn older
touch mended
exits 0 cairn resume
exits 0 cairn checkpoint verify --head first.txt
exits 0 cairn checkpoint head
cp out second.txt
last=$("$sql" $db 'SELECT max(seq) FROM checkpoint')

# An older copy of the store.
exits 0 cairn checkpoint verify --store older
exits 5 cairn checkpoint verify --store older --head second.txt
says 'the store is older than the exported head'
says "workflow:$last" 'what is missing is named'
exits 5 cairn checkpoint verify --store older --head second.txt --json
json_ok 'with --json a document'
is "$(json_get .ok)" false 'that is not ok'

# The newest record removed whole.
cp -r .cairn cut
"$sql" cut/cairn.db "DELETE FROM checkpoint WHERE seq = $last" "DELETE FROM attempt WHERE checkpoint = $last"
exits 0 cairn checkpoint verify --store cut
exits 5 cairn checkpoint verify --store cut --head second.txt
says "workflow:$last" 'the newest record, removed whole, is named'

# Another store, and files that are no head.
exits 0 cairn run w.yaml --store other
exits 5 cairn checkpoint verify --store other --head second.txt
says 'another store'
head -n 3 second.txt >torn.txt
sed 's/sha256 ..../sha256 zzzz/' second.txt >bad.txt
printf '{"store": 1}' >bad.json
: >empty
for file in torn.txt bad.txt bad.json empty; do
    exits 2 cairn checkpoint verify --head $file
    says 'not an exported head' "$file is refused"
done
exits 10 cairn checkpoint verify --head nothing

# Deleted checkpoints are fine, lost ones are not.
for _ in 1 2 3; do exits 0 cairn run --fresh w.yaml --keep 0; done
exits 0 cairn checkpoint head
cp out third.txt
exits 0 cairn checkpoint prune --keep 1
exits 0 cairn checkpoint verify --head second.txt
exits 0 cairn checkpoint verify --head third.txt
last=$("$sql" $db 'SELECT max(seq) FROM checkpoint')
"$sql" $db "UPDATE checkpoint SET record = flip(record, 40) WHERE seq = $last"
exits 5 cairn checkpoint head
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 5 cairn checkpoint verify --head third.txt
says "workflow:$last" 'what was lost at a repair is named against an older head'
for file in nowhere /dev/null; do
    run cairn checkpoint verify --head $file --json
    is "$(json_get .error.exit_status)" "$status" "$file: the error is a document"
done
done_testing
