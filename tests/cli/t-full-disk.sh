# A disk that is full, or looks so: tasks go on, and what was not saved runs again.
. "$TESTS/cli/tap.sh"

# ---- A limit on the size of files is like a full disk: cairn is not killed by it ----
cat >undo.yaml <<'END'
name: undo
tasks:
  a: {run: 'true', undo: 'echo a >>undone'}
  b: {needs: [a], run: 'true', undo: 'echo b >>undone'}
END
run sh -c 'ulimit -f 40 && exec cairn run undo.yaml'
is "$status" 75 'no room for the store'
says 'File too large'
run sh -c 'ulimit -f 200 && exec cairn run undo.yaml --fresh'
ok 'with some room it is done, or says that it is not saved' test "$status" -eq 0 -o "$status" -eq 9
rm -rf .cairn

# ---- Tasks go on while nothing can be saved ----
if [ "$(id -u)" != 0 ] || ! mkdir small || ! mount -t tmpfs -o size=2m none small 2>/dev/null; then
    skip 'a full disk' 'no right to mount one'
else
    export CAIRN_STORE="$PWD/small/.cairn"
    cat >flow.yaml <<'END'
name: degraded
jobs: 2
tasks:
  a: {foreach: {i: {range: [1, 40]}}, run: "echo $i >>ran; [ $i != 3 ] || cat /dev/zero >small/filler 2>/dev/null || true"}
  z: {needs: [a], run: "touch at-z; while [ -e hold ]; do sleep 0.02; done"}
END
    touch hold
    timeout -k 10 60 cairn run --jobs 2 flow.yaml >run.out 2>run.err &
    pid=$!
    ok 'tasks go on while nothing can be saved' wait_for 30 test -e at-z
    is "$(wc -l <ran)" 40 'all of them'
    rm hold
    wait $pid
    status=$?
    rm small/filler
    : >ran
    if [ "$status" = 0 ]; then
        # The log may have had room left for these few outcomes, or moving it into the
        # database may have freed enough.
        ok 'all was saved after all, which was said' \
            sh -c '! grep -q DEGRADED run.err || grep -q "saved again" run.err'
        cairn resume >run.out 2>run.err
        is "$?" 0 'and there is nothing to resume'
        is "$(wc -l <ran)" 0 'nothing runs again'
    else
        is "$status" 9 'and the exit status tells'
        cairn resume >run.out 2>run.err
        is "$?" 0 'with space again it continues'
        ok 'and only what was not saved ran again' test "$(wc -l <ran)" -lt 40
    fi
    is "$(count 1 ran)" 0 'what was saved did not'

    # It is full when a task has made a list, and has room again when the run is to go on
    # with it.
    rm -rf small/.cairn small/filler ran
    cat >list.yaml <<'END'
name: list
tasks:
  slow: {run: "while [ ! -e list ]; do sleep 0.02; done; sleep 0.3; rm small/filler"}
  fill: {run: "cat /dev/zero >small/filler 2>/dev/null || true"}
  many: {foreach: {i: {range: [1, 60]}}, needs: fill, run: "true"}
  split: {needs: many, run: "printf 'x\\ny\\n' >list"}
  each: {foreach: {v: {from: split, lines: list}}, run: 'echo $v >>ran'}
END
    exits 0 timeout -k 10 60 cairn run --jobs 2 list.yaml
    says DEGRADED 'nothing could be saved'
    is "$(sort ran | tr '\n' ' ')" 'x y ' 'it goes on with the list once that is saved'

    # There is no room for an artifact: its task has failed, and no part of it is there.
    rm -rf small/.cairn
    cat >big.yaml <<'END'
name: big
tasks:
  small: {run: echo small >little, artifacts: little}
  big: {needs: small, run: 'head -c "$(cat bytes)" /dev/urandom >big', artifacts: [little, big]}
END
    echo 3000000 >bytes
    exits 1 timeout -k 10 60 cairn run big.yaml
    is "$(task_state big)" failed 'an artifact for which there is no room is a failure'
    exits 0 cairn artifact list --task big
    is "$(wc -l <out)" 0 'of which nothing is stored'
    exits 0 cairn checkpoint verify
    echo 1000 >bytes
    exits 0 timeout -k 10 60 cairn resume
    exits 0 cairn artifact get 1 --task big -o got
    ok 'a smaller one is stored whole' cmp big got/big

    # A disk that is full at the start, with room for less or more of what a start needs.
    rm -rf small/.cairn
    printf 'name: later\ntasks:\n  a: {run: "echo a >>later"}\n' >later.yaml
    exits 0 cairn run undo.yaml
    for room in 0 4 16 24 32 48 64; do
        dd if=/dev/zero of=small/filler bs=4k 2>dd.err
        truncate -s -${room}k small/filler
        run cairn run later.yaml
        [ "$status" != 75 ] || says 'free some space there' "with $room KiB the error says what helps"
        cat err >>starts
        rm small/filler
    done
    ok 'a run that is recorded is named, with how to continue' grep -q 'then: .cairn resume 2.$' starts
    exits 0 cairn resume 2
    is "$(count a later)" 1 'and so it continues'

    # What deletes needs some room, too: it is done or refused, and never half.
    rm -rf small/.cairn kept
    mkdir small/files
    for name in one two; do
        run cairn session start $name
        run cairn session config files small/files
        for i in 1 2 3; do
            head -c 60000 /dev/urandom >small/files/f$i
            run cairn checkpoint create m --session $name
        done
    done
    run cairn run undo.yaml
    cp -a small/.cairn kept
    bad=
    for room in 0 16 64; do
        for what in 'session delete one --yes' 'checkpoint delete 2 --yes' \
            'checkpoint prune --session two --keep-last 1 --manual-too' 'checkpoint prune --keep 1' gc; do
            rm -rf small/.cairn
            cp -a kept small/.cairn
            dd if=/dev/zero of=small/filler bs=4k 2>dd.err
            truncate -s -${room}k small/filler
            # shellcheck disable=SC2086
            run cairn $what
            first=$status
            if [ "$first" != 0 ] && ! { [ "$first" = 75 ] && grep -q 'free some space there' err; }; then
                bad="$bad, $room KiB, $what: $first"
            fi
            rm small/filler
            run cairn checkpoint verify
            [ "$status" = 0 ] || bad="$bad, $room KiB, $what: verify $status"
            # shellcheck disable=SC2086
            [ "$first" = 0 ] || run cairn $what
            [ "$status" = 0 ] || bad="$bad, $room KiB, $what: again $status"
        done
    done
    is "$bad" '' 'what deletes is done, or says what helps and can be done later'
    is "$room $first" '64 0' 'with 64 KiB it is done'
    rm -r small/files

    # A repair makes a second store beside the first.
    printf 'name: large\ntasks:\n  a: {run: "head -c 800000 /dev/urandom | base64"}\n' >large.yaml
    rm -rf small/.cairn
    exits 0 cairn run large.yaml
    "$BUILD/tests/tools/sql" small/.cairn/cairn.db \
        'UPDATE checkpoint SET record = flip(record, 90) WHERE seq = 2'
    cp small/.cairn/cairn.db damaged
    exits 75 cairn doctor --repair
    matches 'small/.cairn is full: the repaired store needs up to [0-9.]+ MiB there' 'a repair says that space is short, and how much it needs'
    matches 'and 1?[0-9.]+ MiB were free' 'and what there was'
    ok 'nothing was changed' cmp -s small/.cairn/cairn.db damaged
    ok 'and nothing is left over' test ! -e small/.cairn/repair.new
    mount -o remount,size=20m small
    exits 5 cairn doctor --repair
    exits 0 cairn checkpoint verify
    umount small
fi
done_testing
