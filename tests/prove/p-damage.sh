# shellcheck shell=sh disable=SC2154
# Damage to a store: bytes, cuts, missing and strange files, rows that changed places,
# older copies. What stands in records is named; of anything else it is told, or every
# answer is what it was; and `cairn doctor --repair` saves all that is valid.
set -u
export CAIRN_STORE="$PWD/store"
sql=$BUILD/tests/tools/sql
bad=0

cat >flow.yaml <<'END'
name: flow
params: {fail: "1"}
tasks:
  a: {run: "echo hello; echo rows=3 >>$CAIRN_OUTPUT"}
  b:
    foreach: {n: {range: [1, 3]}}
    needs: [a]
    run: 'seq "$n"00; echo $n >out-$n'
    outputs: ["out-${{ n }}"]
  c: {needs: [b], run: 'test "$fail" = 0', retries: 1}
END
cat >ask.yaml <<'END'
name: ask
tasks:
  a: {run: "true"}
  e: {external: "Look at it", needs: [a]}
END
cat >long.yaml <<'END'
name: long
tasks:
  a: {run: "true"}
  b: {foreach: {n: {range: [1, 6]}}, needs: [a], run: "true"}
  z: {needs: [b], run: "touch at-z; sleep 60"}
END

id_in() { # JSON
    "$BUILD/tests/tools/json" flat "$1" | sed -n 's/^\.id\t//p'
}
make_session() {
    (
        export CAIRN_STORE="$PWD/known"
        mkdir project && cd project && echo one >first || exit
        cairn session start s
        cairn session config files .
        cairn hypothesis add 'the cache is stale' --prior 0.4
        cairn evidence add h1 'the log says so' --strength 0.5
        cairn session message add --role user hello
        cairn checkpoint create one --json >one.json
        echo two >second
        cairn note add 'look at the clock'
        cairn checkpoint create two --json >two.json
        cairn checkpoint label "$(id_in one.json)" good
        cairn checkpoint create three
        cairn checkpoint delete "$(id_in two.json)" --yes
        cairn branch start side
        cairn note add 'on the side'
        cairn checkpoint create four
        cairn session end # an active one has lasted longer at each question
    )
}

# A store with runs of several kinds: failed and resumed, edited, forked, pruned, one
# with an external task. One with a session as well. And one whose writer was killed, with
# its log.
make_stores() {
    cairn run flow.yaml
    cairn resume 1
    cairn run --fresh flow.yaml --param fail=0
    cairn run --no-wait ask.yaml
    cairn complete 3 e
    cairn run --fresh --no-wait ask.yaml
    sed 's/echo hello/echo again/' flow.yaml >edited.yaml
    cairn checkpoint head >older.head
    cp -r store older
    cairn run --fresh edited.yaml
    sed 's/echo again/echo more/' edited.yaml >edited.new && mv edited.new edited.yaml
    cairn resume 5
    cairn resume --from "$("$sql" store/cairn.db 'SELECT min(seq) + 2 FROM checkpoint WHERE stream = 2')"
    cairn resume 1
    cairn checkpoint prune --keep 4
    cairn checkpoint head >new.head
    cp -r store whole
    cp -r store known
    make_session
    cairn run long.yaml &
    pid=$!
    for _ in $(seq 500); do [ -e at-z ] && break; sleep 0.02; done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    cp -r store killed
    rm -rf killed/live killed/cairn.db-shm
} >made 2>&1
make_stores
if ! cairn checkpoint verify --store whole --head new.head >>made 2>&1 || [ ! -s killed/cairn.db-wal ] ||
    ! cairn checkpoint verify --store killed >>made 2>&1 ||
    ! cairn checkpoint verify --store known >>made 2>&1; then
    sed 's/^/# /' made
    echo 'figure|G6|a store to damage could not be made|0|0|0|0|1'
    exit 1
fi

cases=0 reported=0 unchanged=0 undetected=0 other=0 repaired=0
sweep() { # STORE FILE HOW FROM STEP REPAIRS
    timeout "${PART_TIMEOUT:?}" "$BUILD/tests/prove/damage" "$1" scratch "$2" "$3" "$4" "$5" "$SEED" "$6" >sweep.out 2>sweep.err
    grep '^#' sweep.out | sed "s|^#|# $1/$2 $3:|" | head -n 40
    counts=$(sed -n 's/^counts //p' sweep.out)
    if [ -z "$counts" ]; then
        sed 's/^/# /' sweep.err
        counts='0 0 0 0 1 0'
    fi
    # shellcheck disable=SC2086
    set -- $counts
    cases=$((cases + $1)) reported=$((reported + $2)) unchanged=$((unchanged + $3))
    undetected=$((undetected + $4)) other=$((other + $5)) repaired=$((repaired + $6))
}
figure() { # PROMISES WHAT
    echo "figure|$1|$2|$cases tries: $reported reported, $unchanged without effect; $repaired repaired|0|0|$undetected|$other"
    [ $((undetected + other)) -eq 0 ] || bad=1
    cases=0 reported=0 unchanged=0 undetected=0 other=0 repaired=0
}

if [ "$LEVEL" = full ]; then
    sweep whole cairn.db flip 0 1 199
    figure 'G6' 'every byte of the database changed'
    sweep killed cairn.db-wal flip $((SEED % 29)) 29 499
    figure 'G6' 'bytes of the log of a killed writer changed, one in 29'
    sweep whole cairn.db cut 0 2048 5
    sweep whole cairn.db cut $((SEED % 2048 + 1)) 1031 11
    sweep killed cairn.db-wal cut 0 517 29
else
    sweep whole cairn.db flip $((SEED % 67)) 67 331
    figure 'G6' 'bytes of the database changed, one in 67'
    sweep killed cairn.db-wal flip $((SEED % 311)) 311 101
    figure 'G6' 'bytes of the log of a killed writer changed, one in 311'
    sweep whole cairn.db cut 0 4096 7
    sweep whole cairn.db cut $((SEED % 2048 + 1)) 5003 0
    sweep killed cairn.db-wal cut $((SEED % 2048)) 5171 7
fi
figure 'G6' 'database and log cut off, at pages and elsewhere'
if [ "$LEVEL" = full ]; then
    sweep whole cairn.db set 0 1 199
    sweep known cairn.db set 0 1 199
else
    sweep whole cairn.db set $((SEED % 31)) 31 41
    sweep known cairn.db set $((SEED % 31)) 31 41
fi
figure 'G6' 'each column of some rows of every table set to limits, neighbours and nothing'

# The same questions of the command itself.
ask_all() { # STORE FILE
    for run in 1 2 3 4 5 6; do
        for question in "status $run --tasks" "log --run $run" "events $run" "plan --run $run --all"; do
            # shellcheck disable=SC2086
            timeout 20 cairn $question --json --store "$1"
            echo "exit $?"
        done
    done >"$2" 2>&1
    for question in 'runs --limit 100' 'checkpoint list --limit 100' 'checkpoint timeline' 'checkpoint head'; do
        # shellcheck disable=SC2086
        timeout 20 cairn $question --json --store "$1"
        echo "exit $?"
    done >>"$2" 2>&1
}
wrong() { # WHAT
    echo "# $1: $(tail -n 3 said 2>/dev/null | tr '\n' '|')"
}
same_answers() {
    ask_all t now
    cmp -s now plain
}
# Verify, doctor or the answers must tell; then the repair. `name` (may be empty) must be
# in what verify says.
check() { # WHAT NAME
    cases=$((cases + 1))
    timeout 20 cairn checkpoint verify --store t >said 2>&1
    status=$?
    case $status in
    5 | 10 | 75)
        if [ -n "$2" ] && ! grep -q "$2" said; then
            undetected=$((undetected + 1))
            wrong "$1: verify does not name $2"
        else
            reported=$((reported + 1))
        fi
        ;;
    0)
        timeout 20 cairn doctor --store t >findings 2>&1
        if [ -n "$2" ]; then
            undetected=$((undetected + 1))
            wrong "$1: not noticed"
        elif same_answers; then
            unchanged=$((unchanged + 1))
        elif grep -q '^BAD\|^warn  log' findings; then
            reported=$((reported + 1))
        else
            undetected=$((undetected + 1))
            wrong "$1: answers changed, and nothing tells"
            diff plain now | head -n 4 | cut -c 1-300 | sed 's/^/#   /'
        fi
        ;;
    *)
        other=$((other + 1))
        wrong "$1: verify exits with $status"
        ;;
    esac
    for command in status runs 'checkpoint list' 'checkpoint head' 'resume 2' doctor; do
        # shellcheck disable=SC2086
        timeout 20 cairn $command --store t >said 2>&1
        case $? in
        [0-9] | 10 | 75) ;;
        *)
            other=$((other + 1))
            wrong "$1: cairn $command"
            ;;
        esac
    done
    timeout 60 cairn doctor --repair --store t >said 2>&1
    status=$?
    if [ $status -ne 0 ] && [ $status -ne 5 ] && [ $status -ne 10 ]; then
        [ "$3" = stubborn ] && return
        other=$((other + 1))
        wrong "$1: repair exits with $status"
    elif [ $status -ne 10 ] && ! timeout 20 cairn checkpoint verify --store t >said 2>&1; then
        other=$((other + 1))
        wrong "$1: does not verify after the repair"
    elif [ $status -ne 10 ] && ! timeout 20 cairn doctor --store t >said 2>&1; then
        other=$((other + 1))
        wrong "$1: the doctor finds something after the repair"
    else
        repaired=$((repaired + 1))
    fi
}
fresh() {
    rm -rf t
    cp -r "$1" t
}
fresh whole
ask_all t plain

# Rows. Named by number are records.
newest=$("$sql" whole/cairn.db 'SELECT max(seq) FROM checkpoint')
seq=$("$sql" whole/cairn.db 'SELECT max(seq) FROM checkpoint WHERE seq < (SELECT max(seq) FROM checkpoint WHERE stream = 5) AND stream = 5')
row() { # NAME SQL...
    name=$1
    shift
    fresh whole
    if ! "$sql" t/cairn.db "$@" >said 2>&1; then
        other=$((other + 1))
        wrong "sql: $*"
        return
    fi
    check "$*" "$name" ''
}
row "workflow:$seq" "DELETE FROM checkpoint WHERE seq = $seq"
row "workflow:$seq" "UPDATE checkpoint SET record = (SELECT record FROM checkpoint WHERE seq = $newest) WHERE seq = $seq"
row "workflow:$seq" "UPDATE checkpoint SET record = (SELECT record FROM checkpoint WHERE seq = $newest), digest = (SELECT digest FROM checkpoint WHERE seq = $newest) WHERE seq = $seq"
row "workflow:$seq" "UPDATE checkpoint SET seq = 9001 WHERE seq = $seq" "UPDATE checkpoint SET seq = $seq WHERE seq = $newest" "UPDATE checkpoint SET seq = $newest WHERE seq = 9001"
row 'workflow:9001' "INSERT INTO checkpoint SELECT 9001, namespace, stream, parent, time_ns, kind, record, digest FROM checkpoint WHERE seq = $newest"
row "workflow:$seq" "UPDATE checkpoint SET digest = zeroblob(32) WHERE seq = $seq"
for column in namespace stream kind time_ns parent; do
    row ":$newest-" "UPDATE checkpoint SET $column = $column + 1 WHERE seq = $newest"
done
row 'damaged' 'UPDATE object SET data = (SELECT data FROM object WHERE id = 1) WHERE id = 2'
row 'missing' 'DELETE FROM object WHERE digest = (SELECT graph FROM run WHERE run = 1)'
row 'missing' 'DELETE FROM object WHERE digest = (SELECT out FROM attempt WHERE out IS NOT NULL LIMIT 1)'
row 'run 2' 'UPDATE run SET state = 3 WHERE run = 2'
row 'run 1' 'UPDATE run SET graph = (SELECT graph FROM run WHERE run = 3) WHERE run = 1'
row 'attempt' 'UPDATE attempt SET exit_code = 7 WHERE run = 2 AND task = 1'
row 'attempt' 'UPDATE attempt SET task = 99 WHERE run = 2 AND task = 1'
row 'event' 'UPDATE event SET kind = 8 WHERE run = 1 AND n = 1'
row 'deleted checkpoints' 'UPDATE tombstone SET count = count + 1'
row 'workflow:' 'DELETE FROM tombstone'
row '' 'UPDATE workflow SET name = name || 1'
row 'graph' 'UPDATE run_graph SET graph = zeroblob(32)'
row 'setting' "UPDATE meta SET value = '00000000000000000000000000000000' WHERE key = 'id'"
row '' 'PRAGMA user_version = 2'
row '' 'DROP INDEX checkpoint_stream'
figure 'G6' 'rows changed, deleted, doubled, put in the place of others'

# What only an exported head can tell.
against_head() { # WHAT TEXT
    cases=$((cases + 1))
    timeout 20 cairn checkpoint verify --head new.head --store t >said 2>&1
    if [ $? -eq 5 ] && grep -q "$2" said; then
        reported=$((reported + 1))
    else
        undetected=$((undetected + 1))
        wrong "$1"
    fi
}
fresh older
against_head 'an older copy of the store' 'older'
against_head 'an older copy of the store' 'is missing'
for stream in 1 2 3 5; do
    fresh whole
    last=$("$sql" t/cairn.db "SELECT max(seq) FROM checkpoint WHERE stream = $stream")
    "$sql" t/cairn.db "DELETE FROM attempt WHERE checkpoint >= $last AND run = $stream" \
        "DELETE FROM checkpoint WHERE seq = $last"
    against_head "the newest record of run $stream removed whole" "workflow:$last"
done
fresh whole
last=$("$sql" t/cairn.db "SELECT max(seq) FROM checkpoint")
"$sql" t/cairn.db "UPDATE checkpoint SET record = flip(record, 33) WHERE seq = $last"
against_head 'the newest record replaced' "workflow:$last"
cases=$((cases + 1))
cp -r whole t2
if cairn checkpoint verify --head older.head --store t2 >said 2>&1; then
    unchanged=$((unchanged + 1))
else
    other=$((other + 1))
    wrong 'the head of an older state does not fit the store that went on, and was pruned'
fi
figure 'G6' 'newest records removed whole, replaced, an older copy: against an exported head'

# Files.
odd() { # STORE FILE
    for what in gone empty garbage directory fifo symlink socket; do
        fresh "$1"
        rm -rf "t/$2"
        case $what in
        gone) ;;
        empty) : >"t/$2" ;;
        garbage) head -c 5000 "$BUILD/cairn" | tail -c 4000 >"t/$2" ;;
        directory) mkdir "t/$2" ;;
        fifo) mkfifo "t/$2" ;;
        symlink) ln -s /etc/passwd "t/$2" ;;
        socket) python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" "t/$2" 2>/dev/null || continue ;;
        esac
        check "$1/$2: $what" '' "$([ $what = symlink ] && echo stubborn)"
    done
}
odd whole cairn.db
odd whole lock
odd whole open
odd whole cairn.db-wal
fresh killed
ask_all t plain
odd killed cairn.db
odd killed cairn.db-wal
odd killed open
odd killed lock
for what in fifo directory file; do
    cases=$((cases + 1))
    rm -rf t
    case $what in
    fifo) mkfifo t ;;
    directory) mkdir t ;;
    file) : >t ;;
    esac
    good=1
    for command in 'checkpoint verify' status doctor 'doctor --repair' 'run flow.yaml'; do
        # shellcheck disable=SC2086
        timeout 20 cairn $command --store t >said 2>&1
        case $? in
        2 | 5 | 10 | 75) ;;
        0 | 1) [ $what = directory ] && [ "$command" = 'run flow.yaml' ] || good=0 ;;
        *) good=0 ;;
        esac
        [ $good = 1 ] || wrong "a $what in the place of the store: $command"
    done
    if [ $good = 1 ]; then reported=$((reported + 1)); else other=$((other + 1)); fi
done
rm -rf t
figure 'G6' 'files and the store missing, or something else in their place'
exit $bad
