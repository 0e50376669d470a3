# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# External tasks: one of many who claim gets it; a lease that is over is good for nothing;
# one completion counts.

part_claims() { # rounds
    part=claims
    mkdir claims && cd claims || exit 1
    export CAIRN_STORE="$PWD/store"
    cat >flow.yaml <<'END'
name: w
tasks:
  step: {external: do it}
  after: {needs: step, run: "echo ran >>ran"}
END
    claims=0
    for round in $(seq "$1"); do
        expect 7 cairn run --fresh --no-wait flow.yaml
        for i in $(seq 20); do
            (
                timeout 60 cairn claim "$round" step --lease 1s --holder "h$i" >claim.$i 2>err.$i
                echo $? >code.$i
            ) &
        done
        wait
        claims=$((claims + 20))
        [ "$(cat code.* | sort | uniq -c | tr -s ' \n' ' ')" = ' 1 0 19 6 ' ] ||
            fail "20 claimers got $(cat code.* | sort | uniq -c | tr -s ' \n' ' ')"
        winner=$(grep -lx 0 code.* | head -n 1 | sed 's/code.//')
        [ "$(grep -l "h$winner" err.* | wc -l)" -ge 19 ] || fail 'not all losers are told the holder'
        first=$(cat "claim.$winner")
        sleep 1.1
        expect 6 cairn complete "$round" step --token "$first" --output by=first
        expect 6 cairn fail "$round" step --token "$first"
        # Two more try at once, and whoever gets it completes it, twice at once.
        expect 0 cairn claim "$round" step --lease 60s --holder second
        second=$(cat out)
        expect 6 cairn complete "$round" step --token "$first" --output by=first
        for i in $(seq 10); do
            (
                timeout 60 cairn complete "$round" step --token "$second" --output by="$i" >done.$i 2>&1
                echo $? >code.$i
            ) &
        done
        wait
        rm -f claim.* err.*
        [ "$(head -qn 1 code.? code.10 | grep -cx 0)" -eq 1 ] || {
            fail "of ten completions at once $(head -qn 1 code.? code.10 | grep -cx 0) counted"
            show done.*
        }
        rm -f code.* done.*
        rm -f ran
        expect 0 cairn resume "$round"
        [ "$(cat ran)" = ran ] || repeated=$((repeated + 1))
    done
    expect 0 cairn checkpoint verify
    figure 'G12' '20 claim one external task; an expired claim completes nothing; 10 complete it at once' \
        "$claims claims"
    cd ..
    rm -rf claims
}
