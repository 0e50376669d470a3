# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# Numbers of dead processes given to others: of the owner, its guard, a task, a keeper.
# In a pid namespace of its own, where the next number can be chosen.

# Starts an innocent process with that number, in a group and session of its own, as
# the dead one had; $innocents has them all.
reuse() { # pid
    for try in 1 2 3 4 5; do
        echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
        setsid sleep 300 &
        [ $! -ne "$1" ] || break
        kill $!
    done
    [ $! -eq "$1" ] || fail "number $1 cannot be had, after $try tries got $!"
    innocents="$innocents $!"
}

innocents_live() { # when
    for pid in $innocents; do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = sleep ] || fail "$1: the innocent $pid was ended"
    done
}

pids_round() { # kill|adopt
    mkdir "$1" && cd "$1" || exit 1
    export CAIRN_STORE="$PWD/store"
    cat >flow.yaml <<END
name: w
on_crash: $1
tasks:
  task: {run: "echo \$\$ >>pids; until [ -e go ]; do sleep 0.02; done"}
END
    innocents=
    cairn run flow.yaml >out.owner 2>&1 &
    owner=$!
    wait_for 20 test -s pids
    guard=$(guard_of $owner)
    task=$(cat pids)
    keeper=$(awk '/^PPid:/ { print $2 }' "/proc/$task/status")
    # A process that starts within two seconds of a task and has its number counts as the
    # task: numbers do not come round so soon.
    sleep 2.3
    # The keeper before the task, whose end it would record.
    kill -9 $owner "$guard" $([ "$1" = kill ] || echo "$keeper") "$task"
    wait $owner 2>/dev/null
    wait_for 10 test ! -e "/proc/$task"
    wait_for 10 test ! -e "/proc/$guard"
    wait_for 10 test ! -e "/proc/$keeper" || [ "$1" = kill ] || fail "the keeper $keeper lives"
    sleep 0.1
    for pid in $owner $guard $task $([ "$1" = kill ] || echo "$keeper"); do
        reuse "$pid"
    done
    expect 0 cairn status
    grep -q interrupted out || { fail 'the dead run counts as live' && show out; }
    expect 0 cairn status --can-resume
    expect 0 cairn cancel 1
    innocents_live 'after cancel'
    : >go
    expect 0 cairn resume
    innocents_live 'after resume'
    expect 0 cairn checkpoint verify
    reused=$((reused + $(echo "$innocents" | wc -w)))
    # shellcheck disable=SC2086
    kill -9 $innocents
    cd ..
}

if [ "${1-}" = inside ]; then
    . "$root/tests/prove/racers/common.sh"
    part='numbers given again'
    reused=0
    for round in $(seq "$2"); do
        mkdir "$round" && cd "$round" || exit 1
        pids_round kill
        pids_round adopt
        cd ..
    done
    figure 'G5 G12' 'the numbers of a dead owner, guard, task and keeper given to others: none is signalled or taken for them' \
        "$reused numbers"
    exit 0
fi

part_pids() { # rounds
    part='numbers given again'
    mkdir pids && cd pids || exit 1
    # As root a user namespace is not needed.
    set -- "$1" "$(id -u | sed 's/^0$/-pf/; t; s/.*/-Urpf/')"
    # shellcheck disable=SC2016
    if ! unshare "$2" --mount-proc sh -c 'echo 700 >/proc/sys/kernel/ns_last_pid' 2>/dev/null; then
        echo 'skip|numbers of processes given again|no pid namespace in which the next number can be set'
    else
        timeout 300 unshare "$2" --kill-child --mount-proc sh "$root/tests/prove/racers/pids.sh" inside "$1" >out.inside 2>err.inside
        status=$?
        cat out.inside
        [ $status -eq 0 ] && grep -q '^figure' out.inside || { fail "ended with $status" && show err.inside; }
        bad=$((bad + failed + $(awk -F '|' '/^figure/ { n += $5 + $6 + $7 + $8 } END { print n + 0 }' out.inside)))
        failed=0
    fi
    cd ..
    rm -rf pids
}
