# Stores that cannot be used as they are: newer, read-only, full, owned, damaged.
. "$TESTS/cli/tap.sh"
sql="$BUILD/tests/tools/sql"
trap 'umount ro full 2>/dev/null' EXIT
trap 'exit 1' TERM

printf 'name: w\ntasks:\n  a: {run: "echo a >>ran"}\n  b: {run: "echo b >>ran", needs: [a]}\n' >w.yaml
unset CAIRN_STORE
mkdir nowhere && cd nowhere || exit 1
exits 10 cairn status
says 'cairn run' 'without a store: what makes one'
exits 10 cairn checkpoint list
cd .. || exit 1
CAIRN_STORE=$PWD/.cairn
export CAIRN_STORE
exits 0 cairn run w.yaml

# A store of a newer release is refused and left as it was.
cp -R .cairn newer
"$sql" newer/cairn.db 'PRAGMA user_version = 4711'
cksum newer/cairn.db >before
for command in status 'run w.yaml' resume 'checkpoint verify' 'doctor --repair'; do
    # shellcheck disable=SC2086
    exits 75 cairn $command --store newer
    says 'newer' "$command on a store of a newer cairn says so"
done
cksum newer/cairn.db >after
ok 'and leaves it untouched' cmp -s before after

# Not a store at all.
mkdir strange && echo 'this is not a database, but long enough to be read as one' >strange/cairn.db
run cairn status --store strange
ok 'a file that is not a database is an error' test "$status" -ne 0
says 'strange' 'and is named'

# Read-only: reading works, running says what to do.
if [ "$(id -u)" = 0 ] && mkdir ro && mount -t tmpfs none ro 2>/dev/null; then
    cp -R .cairn ro/store
    mount -o remount,ro ro
    exits 0 cairn status --store ro/store
    exits 0 cairn checkpoint list --store ro/store
    run cairn run --fresh w.yaml --store ro/store
    is "$status" 75 'a run on a read-only store ends with 75'
    matches '[Rr]ead-only' 'and says why'
    run cairn run w.yaml --store ro/new
    is "$status" 75 'so does making a store there'
    umount ro
else
    skip 'a store on a read-only disk' 'needs root and mount'
fi

# A full disk: best effort continues and says so. The outcomes of so many tasks do not fit
# into what moving the WAL into the database gives back.
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=8m none full 2>/dev/null; then
    cat >many.yaml <<'END'
name: many
jobs: 1
tasks:
  first: {run: "echo first >>ran; [ -e roomy ] || dd if=/dev/zero of=full/fill bs=4k 2>/dev/null || true"}
  rest: {foreach: {n: {range: [1, 1500]}}, needs: [first], run: "echo $n >>ran"}
END
    : >ran
    run timeout -k 5 60 cairn run many.yaml --store full/store --keep 0
    # 0 only if moving the WAL into the database made room before the end.
    ok 'a full disk: done, but not all was saved' \
        eval '[ "$status" = 9 ] || { [ "$status" = 0 ] && grep -q "saved again" err; }'
    matches 'DEGRADED|degraded' 'which it says aloud'
    matches 'space|full' 'with the reason'
    is "$(wc -l <ran)" 1501 'all tasks ran'
    rm -f full/fill
    touch roomy
    exits 0 timeout -k 5 60 cairn resume --store full/store
    exits 0 cairn checkpoint verify --store full/store
    umount full
else
    skip 'a store on a full disk' 'needs root and mount'
fi

# What a task prints has no room: that is no failure of the task. (t-full-disk-output.sh has more.)
if [ "$(id -u)" = 0 ] && mkdir -p full && mount -t tmpfs -o size=4m none full 2>/dev/null; then
    cat >output.yaml <<'END'
name: output
jobs: 1
on_failure: continue
tasks:
  fill: {run: "[ -e roomy ] || dd if=/dev/zero of=full/fill bs=4k 2>/dev/null || true"}
  write: {foreach: {i: {range: [1, 3]}}, needs: [fill], run: "seq 1 15000"}
END
    for more in '' --quiet --json; do
        rm -f full/fill roomy
        # shellcheck disable=SC2086
        run timeout -k 5 60 cairn run output.yaml --fresh --store full/store $more
        ok "output on a full disk: the run completed${more:+ ($more)}" \
            eval '[ "$status" = 0 ] || [ "$status" = 9 ]'
        ok 'and no task failed' sh -c '! grep -qE "FAILED|DISK FULL" err'
    done
    rm -f full/fill
    touch roomy
    exits 0 timeout -k 5 60 cairn resume --store full/store
    umount full
else
    skip 'the output of tasks on a full disk' 'needs root and mount'
fi

# Something else in the place of the database.
mkdir pipe && mkfifo pipe/cairn.db
exits 5 timeout 20 cairn status --store pipe
exits 5 timeout 20 cairn run w.yaml --store pipe
matches 'not a file' 'and the run says what stands there'

# Owned by a live run: who, since when; after its death nothing needs to be done.
cat >held.yaml <<'END'
name: held
tasks:
  a: {run: "touch at-a; while [ -e hold ]; do sleep 0.02; done"}
END
touch hold
cairn run held.yaml >live.out 2>&1 &
pid=$!
ok 'a run is live' wait_for 20 test -e at-a
exits 6 cairn run held.yaml
says "$pid" 'the owner is named by its process id'
matches '[0-9][0-9]:[0-9][0-9]|since|ago' 'and since when'
exits 6 cairn resume
exits 6 cairn status --can-resume
exits 0 cairn status
matches 'live|running' 'status works beside the live run'
exits 0 cairn log a
exits 0 cairn checkpoint verify
exits 0 cairn run w.yaml
kill -9 $pid
wait $pid 2>/dev/null
rm hold
exits 0 cairn status --can-resume 2
exits 0 cairn run held.yaml
says 'completed' 'the lock of a dead run is no lock'

# Damage: the newest checkpoint of a run that failed.
cat >fails.yaml <<'END'
name: fails
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran; test -e mended", needs: [b]}
END
: >ran
exits 1 cairn run fails.yaml
touch mended
seq=$("$sql" .cairn/cairn.db "SELECT max(seq) FROM checkpoint")
"$sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) / 2) WHERE seq = $seq"
exits 5 cairn checkpoint verify
says "workflow:$seq" 'the damaged checkpoint is named'
exits 5 cairn checkpoint show "$seq"
run cairn doctor
is "$status" 5 'doctor finds it'
matches 'cairn |verify|resume' 'and says what to do'
exits 0 cairn resume
says "$seq" 'resume names what it stepped over'
says 'checkpoint verify' 'and where to look'
is "$(tail -n 1 ran)" c 'and continues'
exits 5 cairn checkpoint verify

# The same after a run that completed: there is nothing to do, but it is said.
exits 0 cairn run --fresh w.yaml
seq=$("$sql" .cairn/cairn.db "SELECT max(seq) FROM checkpoint")
"$sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) / 2) WHERE seq = $seq"
exits 0 cairn resume
says "workflow:$seq" 'a damaged checkpoint is named when there is nothing to do'
says 'nothing to do' 'and there is nothing to do'

done_testing
