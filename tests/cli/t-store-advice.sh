# What the commands say of a store that is not as it should be: the same thing, and what
# helps.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db
trap 'umount mounted 2>/dev/null' EXIT
trap 'exit 1' TERM

lacks() { # TEXT, NAME: the last command did not say it
    # shellcheck disable=SC2016
    ok "$2" sh -c '! cat out err | grep -qF -e "$1"' - "$1"
}

# ---- No store ----

unset CAIRN_STORE
exits 10 cairn status
lacks 'cairn init' 'init makes no store, and is not named'
CAIRN_STORE=$PWD/.cairn
export CAIRN_STORE

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran", needs: [a]}
finally:
  n: {run: "true"}
END
exits 0 cairn run w.yaml
cp -R .cairn kept
anew() {
    rm -rf .cairn
    cp -R kept .cairn
}

# ---- Something else in the place of its files ----

for file in cairn.db cairn.db-wal; do
    anew
    rm -f .cairn/$file
    ln -s ../elsewhere .cairn/$file
    exits 5 cairn doctor
    is "$(grep -c 'remedy:' out)" 1 "a link as $file: one remedy"
    says 'puts this aside' 'which names the repair'
    run cairn doctor --repair
    ok 'the repair puts it aside' test ! -L .cairn/$file -a "$status" -ne 75
    exits 0 cairn checkpoint verify
done
anew
rm .cairn/cairn.db
mkdir .cairn/cairn.db
exits 5 cairn doctor
lacks 'remove it' 'a directory as the database: the doctor does not say two things'
says 'puts this aside'
for kind in directory pipe link; do
    anew
    rm -f .cairn/lock
    case $kind in
    directory) mkdir .cairn/lock ;;
    pipe) mkfifo .cairn/lock ;;
    link) ln -s ../elsewhere .cairn/lock ;;
    esac
    exits 5 cairn doctor
    says 'nothing is lost with it' "a $kind as the lock file"
    exits 0 cairn doctor --repair
    matches 'moved aside: .* as odd-lock-[0-9]+$' 'the repair says what it has moved, and where'
    says 'nothing else is damaged'
    name=$(sed -n 's/.* as \(odd-lock-[0-9]*\)$/\1/p' err)
    ok 'it is there' test -e ".cairn/$name" -o -L ".cairn/$name"
    exits 0 cairn doctor
done
for kind in file pipe; do
    anew
    rmdir .cairn/live
    case $kind in
    file) echo >.cairn/live ;;
    pipe) mkfifo .cairn/live ;;
    esac
    exits 75 cairn run w.yaml --fresh
    exits 5 cairn doctor
    says 'live is not a directory' "a $kind as live/"
    exits 0 cairn doctor --repair --json
    json_ok 'the repair prints a document'
    name=$(json_get '.put_aside[0]')
    ok 'with what it has moved' test -e ".cairn/$name"
    is "$(json_get .repaired)" false 'which was no damage'
    exits 0 cairn run w.yaml --fresh
done
# The file of places in pools that runs share.
cat >shared.yaml <<'END'
name: shared
pools: {g: {slots: 1, scope: store}}
tasks:
  a: {run: 'true', pool: g}
END
for kind in directory link pipe; do
    anew
    case $kind in
    directory) mkdir .cairn/live/pools ;;
    link) ln -s nowhere .cairn/live/pools ;;
    pipe) mkfifo .cairn/live/pools ;;
    esac
    exits 75 timeout 60 cairn run shared.yaml
    exits 5 cairn doctor
    says 'live/pools is not a file' "a $kind as live/pools"
    rm -r .cairn/live/pools
    exits 0 cairn resume
    exits 0 cairn doctor
done
anew
rmdir .cairn/live
mkdir elsewhere
ln -s ../elsewhere .cairn/live
exits 0 cairn doctor
exits 0 cairn doctor --repair
ok 'a link to a directory as live/ is left alone' test -L .cairn/live

# ---- An exported head ----

anew
exits 0 cairn checkpoint head
cp out head.kept
exits 0 cairn checkpoint verify --head head.kept
says 'the exported head matches: 1 run was compared'
exits 0 cairn checkpoint verify --head head.kept --json
is "$(json_get .head.fits) $(json_get .head.runs)" 'true 1' 'as JSON, too'
exits 0 cairn checkpoint verify --json
is "$(json_get .head)" null 'null where none was given'
exits 0 cairn run w.yaml --fresh
exits 0 cairn checkpoint head
cp out head.newer
anew
exits 5 cairn checkpoint verify --head head.newer
says 'does not match the exported head' 'an older store: what it is'
lacks 'cairn doctor' 'the doctor, who finds nothing, is not named'
lacks 'DAMAGED' 'nor is damage'
exits 5 cairn checkpoint verify --head head.newer --json
is "$(json_get .head.fits) $(json_get '.problems[0].kind')" 'false head' 'as JSON, too'

# ---- A completed run whose newest checkpoints are damaged ----

seq=$("$sql" $db "SELECT checkpoint FROM attempt WHERE task = 1")
"$sql" $db "UPDATE checkpoint SET record = flip(record, 95) WHERE seq >= $seq"
n=$("$sql" $db "SELECT count(*) FROM checkpoint WHERE seq >= $seq")
exits 0 cairn status
says "$n checkpoints do not count: cairn checkpoint verify" 'status tells of the damage'
says 'resume with: cairn resume 1' 'and that there is something to do'
exits 0 cairn status --json
is "$(json_get .damaged_checkpoints)" "$n" 'as JSON, too'
exits 0 cairn status --can-resume
says 'it had completed, but the end of some tasks is lost'
lacks 'nothing to do' 'and not that there is nothing to do'
: >ran
exits 0 cairn resume
is "$(cat ran)" b 'resume agrees'
exits 0 cairn status
lacks 'resume with' 'and then nothing is left'
exits 0 cairn status --can-resume
says 'nothing to do'

# ---- What somebody has added to the database ----

for what in 'TABLE x(a)' 'VIEW x AS SELECT 1' \
    'TRIGGER x AFTER INSERT ON event BEGIN DELETE FROM run; END' 'INDEX x ON run(state)'; do
    anew
    "$sql" $db "CREATE $what"
    exits 5 cairn checkpoint verify
    matches '(table|view|trigger|index) x was added, and not by cairn' "verify names: $what"
    exits 5 cairn doctor
    exits 0 cairn doctor --repair
    is "$("$sql" $db "SELECT count(*) FROM sqlite_schema WHERE name = 'x'")" 0 'a repair leaves it behind'
    exits 0 cairn checkpoint verify
done
anew
"$sql" $db ANALYZE
exits 0 cairn checkpoint verify

# ---- Content that is lost is told once ----

anew
"$sql" $db 'UPDATE object SET data = flip(data, 3) WHERE id = 1'
exits 5 cairn doctor --repair
is "$(grep -c '^lost' out)" 1 'one line'
says 'lost: 1'

# ---- Where it cannot be written, or not even be read ----

anew
exits 0 cairn doctor
lacks 'writing ' 'a store that can be written: no word of it'
if [ "$(id -u)" = 0 ] && mkdir mounted && mount -t tmpfs none mounted 2>/dev/null; then
    cp -R kept mounted/store
    mount -o remount,ro mounted
    exits 0 cairn doctor --store mounted/store
    says 'mounted read-only' 'the doctor tells of a read-only file system'
    umount mounted
else
    skip 'a read-only file system' 'cannot mount'
fi
other='setpriv --reuid 65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $other cairn version >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    run $other cairn doctor --store .cairn
    is "$status" 75 "another user's store"
    says 'belongs to another user (uid 0)'
    matches '^      remedy: ' 'and what to do'
    lacks '.cairn/repair' 'no file that is not there is named'
else
    skip "another user's store" 'not root, or the command is out of reach for others'
fi

# ---- Words ----

one=$PWD/one
printf 'name: one\ntasks:\n  a: {run: "true"}\n' >one.yaml
exits 0 cairn run one.yaml --store "$one"
exits 0 cairn doctor --store "$one"
matches 'and (1 object|[0-9]+ objects) are valid' 'one object is one object'
exits 2 cairn gc --older-than 400d
says 'from 1ms to 366d' 'the limits of a time are told'
exits 2 cairn claim --any --lease 400d
says 'from 1ms to 366d'
cat >undecided.yaml <<'END'
name: undecided
tasks:
  a: {external: "do it"}
finally:
  n: {run: "true"}
END
exits 7 cairn run undecided.yaml --no-wait --store other
exits 0 cairn status --tasks --store other
matches '^  not run +n' 'a task without an outcome is not run'
exits 0 cairn plan undecided.yaml --store other
lacks 'condition' 'a finally task without a condition has none'
sed 's/echo b/echo c/' w.yaml >w.new && mv w.new w.yaml
exits 0 cairn plan --run 1
says 'changed since the last record'
lacks 'cairn plan' 'plan does not send to itself'
done_testing
