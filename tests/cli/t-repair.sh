# make: sanitize
# cairn doctor --repair: what is valid is saved, the rest is named, nothing is deleted.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran; test -e mended", needs: [b]}
END
exits 10 cairn doctor --repair
ok 'and makes no store' test ! -e .cairn
mkdir -m 0700 .cairn
touch .cairn/lock
echo begun >.cairn/making
exits 10 cairn doctor --repair
says 'was interrupted' 'a store whose making was cut off is not called one that is being made'
exits 1 cairn run w.yaml
cp -r .cairn before
exits 0 cairn doctor --repair
says 'nothing to repair'
ok 'a sound store is left alone' cmp -s before/cairn.db $db
ok 'and nothing is moved' sh -c '! ls -d .cairn/damaged-* 2>/dev/null'

# The newest records.
seq=$("$sql" $db "SELECT checkpoint FROM attempt WHERE task = 1")
next=$("$sql" $db 'SELECT max(seq) + 1 FROM checkpoint')
"$sql" $db "UPDATE checkpoint SET record = flip(record, 95) WHERE seq >= $seq"
exits 5 cairn doctor
says 'cairn doctor --repair' 'the doctor says what helps'
exits 5 cairn doctor --repair
says "workflow:$seq" 'the lost checkpoint is named'
says 'task b' 'and the task whose end only it knew'
says 'damaged-' 'and where the damaged store is kept'
ok 'which has its database' sh -c 'ls .cairn/damaged-*/cairn.db >/dev/null'
exits 0 cairn checkpoint verify
exits 0 cairn doctor
exits 10 cairn checkpoint show "$seq"
is "$("$sql" $db "SELECT value FROM meta WHERE key = 'id'")" \
    "$("$sql" before/cairn.db "SELECT value FROM meta WHERE key = 'id'")" 'the store keeps its id'
is "$("$sql" $db "SELECT value FROM meta WHERE key = 'place'")" \
    "$("$sql" before/cairn.db "SELECT value FROM meta WHERE key = 'place'")" 'and who it is to its processes'
is "$("$sql" $db "SELECT group_concat(seq || hex(digest) || hex(record)) FROM checkpoint")" \
    "$("$sql" before/cairn.db "SELECT group_concat(seq || hex(digest) || hex(record)) FROM checkpoint WHERE seq < $seq")" \
    'all other records keep their bytes'
touch mended
exits 0 cairn resume
is "$(tail -n 2 ran | tr '\n' ' ')" 'b c ' 'resume runs the lost one again, and what failed'
exits 0 cairn checkpoint verify
is "$("$sql" $db "SELECT count(*) FROM checkpoint WHERE seq >= $seq AND seq < $next")" 0 'no number is used twice'

# The schema page and an inner page: SQLite cannot even open it.
exits 0 cairn run --fresh w.yaml
exits 0 cairn runs --json
cp out runs.before
n=$("$sql" $db 'SELECT count(*) FROM checkpoint')
dd if=/dev/urandom of=$db bs=2048 count=1 conv=notrunc 2>/dev/null
exits 5 cairn status
exits 0 cairn doctor --repair --json
json_ok 'with --json a document'
is "$(json_get .repaired)" true 'it was repaired'
is "$(json_get .lost)" 0 'and nothing was lost'
is "$(json_get .checkpoints)" "$n" 'every checkpoint was saved without the schema'
exits 0 cairn checkpoint verify
exits 0 cairn runs --json
ok 'the runs are what they were' cmp -s out runs.before

# Attempts of several tasks in two runs; and a parent's number, which no hash covers.
n=$("$sql" $db 'SELECT count(*) FROM checkpoint')
"$sql" $db 'UPDATE attempt SET intent_ns = intent_ns + 1 WHERE task <> 1'
"$sql" $db 'UPDATE checkpoint SET parent = parent - 1 WHERE parent = (SELECT max(parent) FROM checkpoint)'
exits 5 cairn doctor --repair
for run in 1 2; do
    for task in 0:a 2:c; do
        says "of task number ${task%:*} in run $run (task ${task#*:})" "run $run: ${task#*:}"
    done
done
exits 0 cairn checkpoint verify
is "$("$sql" $db 'SELECT count(*) FROM checkpoint')" "$n" 'and no checkpoint is lost'

# Attempts whose damaged rows name runs that there are not.
for run in 0 77; do
    exits 0 cairn run --fresh w.yaml
    exits 0 cairn runs --json
    cp out runs.before
    "$sql" $db "UPDATE attempt SET run = $run WHERE task = 1 AND run = (SELECT max(run) FROM run)"
    exits 5 cairn doctor --repair
    exits 0 cairn checkpoint verify
    exits 0 cairn runs --json
    ok "run $run is not made up" cmp -s out runs.before
done

# A live run.
cat >held.yaml <<'END'
name: held
tasks:
  a: {run: "touch at-a; while [ -e hold ]; do sleep 0.02; done"}
END
touch hold
cairn run held.yaml >live.out 2>&1 &
pid=$!
ok 'a run is live' wait_for 20 test -e at-a
exits 6 cairn doctor --repair
says "$pid" 'its owner is named'
kill -9 $pid
wait $pid 2>/dev/null
rm hold

# The log of the killed writer, damaged in its middle.
exits 0 cairn checkpoint verify
size=$(stat -c %s .cairn/cairn.db-wal)
ok 'there is a log' test "$size" -gt 5000
cp -r .cairn killed
printf '\377\377\377' | dd of=.cairn/cairn.db-wal bs=1 seek=1000 conv=notrunc 2>/dev/null
for command in status 'run held.yaml' 'checkpoint verify' doctor; do
    # shellcheck disable=SC2086
    exits 5 cairn $command
    says 'doctor --repair' "$command: the log is damaged, and what helps"
done
run cairn doctor --repair
matches 'a new store is in place' 'it is repaired from behind the damage'
exits 0 cairn checkpoint verify
exits 0 cairn status
exits 0 cairn run held.yaml

# An interrupted change of files is finished: note, and the new database not in place.
cp -r .cairn/cairn.db good.db
mkdir .cairn/repair.new
mv .cairn/cairn.db .cairn/repair.new/cairn.db
echo damaged-20260101T000000Z >.cairn/repair
for command in status 'run w.yaml'; do
    # shellcheck disable=SC2086
    exits 5 cairn $command
    says 'doctor --repair' "$command: an interrupted repair is told"
done
run cairn doctor --repair
is "$status" 0 'the next repair finishes it'
exits 0 cairn checkpoint verify
ok 'the note is gone' test ! -e .cairn/repair
ok 'the new database is in place' cmp -s good.db .cairn/cairn.db

# Something else in the place of files.
for file in lock open cairn.db cairn.db-wal; do
    rm -rf .cairn/$file
    mkfifo .cairn/$file
    for command in status doctor; do
        run timeout 10 cairn $command
        is "$status" 5 "a pipe as $file: cairn $command does not hang"
    done
    run timeout 20 cairn doctor --repair
    matches 'new store is in place|moved aside: .* odd-lock-' "a pipe as $file is put aside"
    run cairn checkpoint verify
    is "$status" 0 'and then all is sound'
done

# Damaged numbers in rows and records that the code takes for granted elsewhere.
rm -rf .cairn ran mended
exits 1 cairn run w.yaml
cp -r .cairn before.numbers
"$sql" $db 'UPDATE attempt SET gen = 0 WHERE task = 1'
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
rm -rf .cairn && cp -r before.numbers .cairn
digits=$("$sql" $db 'SELECT substr(lower(hex(digest)), 1, 12) FROM checkpoint WHERE seq = 1')
"$sql" $db 'UPDATE checkpoint SET seq = 0 WHERE seq = 1'
exits 5 cairn checkpoint show "$digits"
matches 'number|seq' 'a checkpoint under the number 0 is damage'
exits 5 cairn checkpoint delete --yes "$digits"
rm -rf .cairn before.numbers
done_testing
