# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# The clock is set back and forward, between runs and while one continues.

part_clock() { # rounds
    part='the clock'
    library=$(find /usr/lib -name libfaketime.so.1 2>/dev/null | head -n 1)
    if [ -z "$library" ]; then
        echo 'skip|the clock set back and forward|faketime is not installed'
        return
    fi
    mkdir clock && cd clock || exit 1
    export CAIRN_STORE="$PWD/store"
    # at OFFSET COMMAND: the wall clock only; the file `now` moves it on.
    cat >at <<END
#!/bin/sh
echo "\$1" >now
shift
exec env LD_PRELOAD="$library" FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 \\
    FAKETIME_TIMESTAMP_FILE="$PWD/now" "\$@"
END
    chmod +x at
    cat >flow.yaml <<'END'
name: w
tasks:
  a: {run: "echo a >>ran; echo -30d >now; sleep 0.1"}
  b: {needs: a, timeout: 20s, run: "echo b >>ran; echo +400d >now; sleep 0.1"}
  late: {needs: b, timeout: {after: 500ms, grace: 1s}, run: "echo late >>ran; echo -9000d >now; exec sleep 30"}
  d: {needs: late, when: failed, run: "echo d >>ran; [ -e go ]"}
  step: {needs: d, external: do it}
END
    steps=0
    for round in $(seq "$1"); do
        rm -f ran go
        case $((round % 3)) in 0) begin=+0 ;; 1) begin=+2000d ;; *) begin=-2000d ;; esac
        expect 1 ./at $begin cairn run --fresh flow.yaml
        grep -q 'late.*timed out' err || fail 'the time limit did not hold'
        : >go
        expect 7 ./at -100d cairn resume "$round" --no-wait
        # The lease is on another clock.
        expect 0 ./at +0 cairn claim "$round" step --lease 2s
        token=$(cat out)
        expect 6 ./at +900d cairn claim "$round" step --lease 2s
        expect 6 ./at -900d cairn claim "$round" step --lease 2s
        expect 0 ./at -900d cairn complete "$round" step --token "$token"
        expect 0 ./at +100d cairn resume "$round"
        [ "$(sort ran | tr '\n' ' ')" = 'a b d d late late ' ] || [ "$(sort ran | tr '\n' ' ')" = 'a b d d late ' ] || {
            repeated=$((repeated + 1))
            show ran
        }
        steps=$((steps + 11))
    done
    expect 0 cairn checkpoint list --limit 100 --json
    "$BUILD/tests/tools/json" flat out >flat.tsv 2>err || fail 'the list is not JSON'
    # Newest first, by number alone.
    sed -n 's/^\.checkpoints\[[0-9]*\]\.seq[^0-9]*//p' flat.tsv >seqs
    sort -rn seqs | cmp -s - seqs || fail 'checkpoints are not in the order of their numbers'
    [ -s seqs ] || fail 'no checkpoints are listed'
    for run in $(seq "$1"); do
        timeout 60 cairn status "$run" --tasks --all >>durations 2>&1
    done
    if grep -E -- ' -[0-9]' durations >err; then
        fail 'a duration is negative'
        show err
    fi
    expect 0 cairn checkpoint verify
    figure 'G1 G2 G12' 'the clock set back and forward by days, between and during runs: order, time limits, leases' \
        "$steps settings"
    cd ..
    rm -rf clock
}
