# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# A dead run is resumed while another command in the same store looks for what dead runs
# have left, ends it, or removes its files: that command pauses before each of its steps.
# Nothing of the resumed run is ended or repeated.

beside_lines() { [ "$(wc -l <started)" -ge "$1" ]; }

# The step before which it pauses (0: none), and the command.
beside_once() {
    at=$1
    shift
    rm -rf store go p.*
    : >started
    cairn run first.yaml >out.dead 2>&1 &
    owner=$!
    wait_for 20 beside_lines 1
    kill -9 $owner "$(guard_of $owner)"
    wait $owner 2>/dev/null
    LD_PRELOAD=$BUILD/tests/crash/pauser.so PAUSE_AT=$at PAUSE_FILE=$PWD/p "$@" >out.beside 2>&1 &
    beside=$!
    wait_for 20 eval 'test -e p.at || test -e p.count' || fail "$* does not come to its step $at"
    cairn resume 1 >out.owner 2>&1 &
    owner=$!
    wait_for 1 beside_lines 2 || sleep 0.3
    : >p.go
    wait $beside
    beside=$?
    wait_for 20 beside_lines "$starts"
    : >go
    wait $owner
    owner=$?
    step=$(cat p.at 2>/dev/null)
    [ $beside -eq 0 ] || { fail "$* exits $beside, paused before step $step" && show out.beside; }
    [ $owner -eq 0 ] || { fail "$*, paused before step $step: the resumed run exits $owner" && show out.owner; }
    n=$(wc -l <started)
    [ "$n" -le $starts ] || repeated=$((repeated + n - starts))
    tries=$((tries + 1))
}

part_beside() { # every how-manieth step
    part='another command beside a resume'
    mkdir beside && cd beside || exit 1
    export CAIRN_STORE="$PWD/store"
    cat >second.yaml <<'END'
name: second
tasks: {b: {run: "true"}}
END
    tries=0
    for mode in kill adopt; do
        starts=$([ $mode = kill ] && echo 2 || echo 1)
        cat >first.yaml <<END
name: first
on_crash: $mode
tasks:
  stay: {run: "echo \$\$ >>started; until [ -e go ]; do sleep 0.02; done; echo v=1 >>\$CAIRN_OUTPUT"}
END
        for command in 'run second.yaml' gc; do
            # shellcheck disable=SC2086
            beside_once 0 cairn $command
            count=$(cut -d ' ' -f 1 p.count)
            [ "${count:-0}" -gt 0 ] || fail "$command has no steps"
            for at in $(seq $((1 + SEED % $1)) "$1" "${count:-0}"); do
                beside_once "$at" cairn $command
            done
        done
    done
    figure 'G2 G5 G12' 'a dead run resumed while another command sweeps the same store, paused before each of its steps' "$tries pauses"
    cd ..
    rm -rf beside
}

# Copies of a store whose run lives, from before and after that owner began: whatever is
# done in them, the original's task lives on, and its run comes to its end.
part_copies() { # rounds
    part='copies of a store'
    mkdir copies && cd copies || exit 1
    unset CAIRN_STORE
    tries=0
    for round in $(seq "$1"); do
        for mode in kill adopt; do
            rm -rf p between q
            mkdir p && cd p || exit 1
            mkdir .cairn
            : >started
            printf 'name: other\ntasks: {b: {run: "true"}}\n' >other.yaml
            cat >w.yaml <<END
name: w
on_crash: $mode
tasks:
  stay: {run: "echo \$\$ >>started; until [ -e go ]; do sleep 0.02; done"}
END
            cairn run w.yaml >out.dead 2>&1 &
            owner=$!
            wait_for 20 beside_lines 1
            kill -9 $owner "$(guard_of $owner)"
            wait $owner 2>/dev/null
            cp -r . ../between
            cairn resume >out.owner 2>&1 &
            owner=$!
            [ $mode = adopt ] || wait_for 20 beside_lines 2
            [ $mode = kill ] || wait_for 20 grep -q adopt out.owner
            task=$(tail -n 1 started)
            for from in between p; do
                for command in resume 'cancel 1' 'run w.yaml' 'run --fresh w.yaml' 'run other.yaml' gc; do
                    cd .. && rm -rf q && cp -r $from q && cd q || exit 1
                    : >go
                    expect 0 cairn $command
                    tries=$((tries + 1))
                    [ -e "/proc/$task" ] || fail "$mode: $command in a copy of $from ended the task of the original"
                done
            done
            cd ../p || exit 1
            : >go
            wait $owner || { fail "the original exits $?" && show out.owner; }
            n=$(wc -l <started)
            [ "$n" -eq "$([ $mode = kill ] && echo 2 || echo 1)" ] || repeated=$((repeated + 1))
            cd ..
        done
    done
    figure 'G2 G5 G12' 'copies of a store whose run lives, in which runs are resumed, cancelled and begun: nothing of the original is ended' "$tries commands"
    cd ..
    rm -rf copies
}
