# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# Two workflows, two readers, a prune and a verify at once, for $1 seconds, in one store.
# Each loop notes in bad.NAME every answer that it should not have had.

note() { # loop, text
    echo "$2" >>"bad.$1"
    cat "out.$1" >>"bad.$1"
}

load_works() { # name: runs the workflow again and again; log.NAME has a line per task run
    cat >"$1.yaml" <<END
name: $1
tasks:
  member:
    foreach: {n: {range: [1, 30]}}
    run: echo "$1 \$n" >>log.$1
  after: {needs: member, run: "echo '$1 after' >>log.$1"}
END
    rounds=0
    while [ ! -e over ]; do
        rounds=$((rounds + 1))
        timeout 60 cairn run --fresh -j 4 "$1.yaml" >"out.$1" 2>&1 || note "$1" "run: exit $?"
        echo "$rounds" >"rounds.$1"
    done
}

load_reads() { # name
    reads=0
    while [ ! -e over ]; do
        for command in runs status 'status --tasks' 'checkpoint list' events 'status --waiting'; do
            # shellcheck disable=SC2086
            timeout 60 cairn $command >"out.$1" 2>&1 || note "$1" "$command: exit $?"
            reads=$((reads + 1))
        done
        id=$(timeout 60 cairn checkpoint list 2>/dev/null | awk 'NR == 2 { print $1 }')
        timeout 60 cairn checkpoint show "$id" >"out.$1" 2>&1
        status=$?
        # It may have been pruned since it was listed.
        [ $status -eq 0 ] || [ $status -eq 10 ] || note "$1" "show: exit $status"
        echo "$reads" >"count.$1"
    done
}

load_follows() { # each run from its beginning to its end
    n=1
    while [ ! -e over ]; do
        timeout 60 cairn events $n --follow >follow.$n 2>out.follow
        case $? in
        0) n=$((n + 1)) ;;
        10) sleep 0.02 ;; # not yet
        *) note follow "events --follow: exit $?" ;;
        esac
    done
    echo $((n - 1)) >count.follow
}

load_tidies() { # name, wanted, command: again and again
    name=$1
    shift
    times=0
    while [ ! -e over ]; do
        timeout 60 "$@" >"out.$name" 2>&1 || note "$name" "$*: exit $?"
        times=$((times + 1))
        echo "$times" >"count.$name"
        sleep 0.05
    done
}

load_judge() {
    for file in bad.*; do
        [ -e "$file" ] || continue
        fail "$(wc -l <"$file") lines of wrong answers in $file"
        show "$file"
    done
    for name in one two; do
        rounds=$(cat "rounds.$name")
        # Every task exactly once in every run.
        sort "log.$name" | uniq -c | awk -v n="$rounds" '$1 > n' >over.times
        sort "log.$name" | uniq -c | awk -v n="$rounds" '$1 < n' >under.times
        [ ! -s over.times ] || repeated=$((repeated + $(wc -l <over.times)))
        [ ! -s under.times ] || fail "$(wc -l <under.times) tasks of $name did not run $rounds times"
        [ "$(sort -u "log.$name" | wc -l)" -eq 31 ] || fail "not all tasks of $name ran"
    done
    for n in $(seq "$(cat count.follow)"); do
        # A run is pruned after its end, too, when nobody follows it any more.
        timeout 60 cairn events "$n" 2>err | grep -v ' pruned [0-9]* checkpoint' >out
        grep -v ' pruned [0-9]* checkpoint' "follow.$n" >followed
        mv followed "follow.$n"
        cmp -s out "follow.$n" || fail "events --follow of run $n differs from what happened"
    done
    expect 0 cairn checkpoint verify
}

part_load() { # seconds
    part='two of everything'
    mkdir load && cd load || exit 1
    export CAIRN_STORE="$PWD/store"
    expect 0 cairn init
    load_works one &
    load_works two &
    wait_for 20 test -s log.one
    wait_for 20 test -s log.two
    load_reads reader1 &
    load_reads reader2 &
    load_follows &
    load_tidies prune cairn checkpoint prune --keep 3 &
    load_tidies verify cairn checkpoint verify &
    sleep "$1"
    : >over
    wait
    load_judge
    figure 'G2 G6 G12' 'two workflows, two readers, a follower, a prune and a verify at once in one store' \
        "$1 s: $(cat rounds.one) and $(cat rounds.two) runs of 31 tasks, $(($(cat count.reader1) + $(cat count.reader2))) reads, $(cat count.prune) prunes, $(cat count.verify) verifies"
    cd ..
    rm -rf load
}
