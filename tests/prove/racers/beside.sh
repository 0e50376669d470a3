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
