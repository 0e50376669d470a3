# shellcheck shell=sh disable=SC2016
# make: long
# Who may end what: a run leaves alone what belongs to the owner of another one.
. "$TESTS/cli/tap.sh"

# A library that is loaded first is not AddressSanitizer's.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0:detect_leaks=0"

guard_of() { # pid of cairn
    for dir in /proc/[0-9]*; do
        [ "$(awk '/^PPid:/ { print $2 }' "$dir/status" 2>/dev/null)" = "$1" ] || continue
        [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || echo "${dir#/proc/}"
    done
}

# begin FILE: runs it until it has said `started`, then kills it and its guard.
begin() {
    : >started
    cairn run "$1" >run.out 2>&1 &
    pid=$!
    wait_for 20 test -s started
    kill -9 $pid "$(guard_of $pid)"
    wait $pid 2>/dev/null
}

lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }

# ---- A new run of another workflow, while the dead run is resumed ----
mkdir beside && cd beside || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >w1.yaml <<'END1'
name: w1
tasks:
  stay: {run: "echo $$ >>started; until [ -e go ]; do sleep 0.02; done"}
END1
cat >w2.yaml <<'END2'
name: w2
tasks:
  b: {run: "true"}
END2

# The sweep for left-overs waits before its look at the processes; the run is resumed
# meanwhile, or waits for it. (p-racers has all of its steps.)
pause=$BUILD/tests/crash/pauser.so
beside() { # at the how-manieth look
    rm -rf .cairn go p.*
    begin w1.yaml
    LD_PRELOAD=$pause PAUSE_AT=$1 PAUSE_ONLY=/proc PAUSE_FILE=$PWD/p cairn run w2.yaml >w2.out 2>&1 &
    second=$!
    wait_for 20 eval 'test -e p.at || test -e p.count'
    cairn resume 1 >w1.out 2>&1 &
    first=$!
    wait_for 1 lines 2 started # if nothing of it has to wait for the other one
    : >p.go
    wait $second
    second=$?
    wait_for 20 lines 2 started
    : >go
    wait $first
    first=$?
}
beside 0
is "$first $second" '0 0' 'both end well'
count=$(cut -d ' ' -f 1 p.count)
ok 'it looks at the processes' test "$count" -gt 0
for at in $(seq 1 "$count"); do
    beside "$at"
    is "$first $second $(wc -l <started)" '0 0 2' "paused before look $at: nothing of the other run is ended"
done
cd ..
# ---- A copy of a project, while a run of the original lives ----
unset CAIRN_STORE
for mode in kill adopt; do
    mkdir "$mode" && cd "$mode" || exit 1
    mkdir p && cd p || exit 1
    mkdir .cairn
    cat >w.yaml <<END3
name: w
on_crash: $mode
tasks:
  before: {run: "echo before >>ran"}
  stay: {needs: [before], run: "echo \$\$ >>started; echo \$PWD >>where; until [ -e go ]; do sleep 0.02; done"}
END3
    begin w.yaml
    cp -r . ../between # it knows nothing of what the next owner starts
    cairn resume >w.out 2>&1 &
    first=$!
    [ $mode = adopt ] || wait_for 20 lines 2 started
    [ $mode = kill ] || wait_for 20 grep -q adopt w.out
    task=$(tail -n 1 started)
    for q in cancel run resume other; do
        for from in between p; do
            cp -r "../$from" "../$q-$from" && cd "../$q-$from" || exit 1
            touch go
            case $q in
            cancel) exits 0 cairn cancel 1 ;;
            run) exits 0 cairn run w.yaml ;;
            resume) exits 0 cairn resume ;;
            other) exits 0 cairn run ../../beside/w2.yaml --store .cairn ;;
            esac
            exits 0 cairn checkpoint verify
            ok "$mode: $q in a copy of $from leaves the task of the original alone" test -e "/proc/$task"
            [ "$q" = cancel ] || [ "$q" = other ] ||
                is "$(tail -n 1 where) $(count before ran)" "$PWD 1" 'and runs its own, here'
            cd ../p || exit 1
        done
    done
    # A renamed file leads nobody back to the original.
    cp -r . ../renamed && cd ../renamed || exit 1
    mv w.yaml other.yaml
    exits 10 cairn resume
    says 'cairn run FILE' 'what helps is named'
    touch go
    exits 0 cairn run other.yaml
    is "$(tail -n 1 where)" "$PWD" 'and runs here'
    cd ../p || exit 1
    touch go
    wait $first
    is $? 0 "$mode: the original ends well"
    is "$(wc -l <started) $(sort -u where)" "$([ $mode = kill ] && echo 2 || echo 1) $PWD" 'its task ran once for each owner'
    cd ../.. || exit 1
done

# ---- Moved, or put back from a backup: what had ended when it was killed is known ----
hold=$BUILD/tests/tools/hold
# ended DIRECTORY: a project whose run was killed when its task had ended, unstored.
ended() {
    rm -rf "$1"
    mkdir "$1" && cd "$1" || exit 1
    mkdir .cairn
    cat >w.yaml <<'END4'
name: w
tasks:
  a: {run: "echo a >>ran; echo $$ >>started; until [ -e go ]; do sleep 0.02; done; echo ended >>ran"}
END4
    : >started
    cairn run w.yaml >run.out 2>&1 &
    pid=$!
    wait_for 20 test -s started
    : >holding
    "$hold" .cairn/cairn.db holding >held &
    holder=$!
    wait_for 20 grep -q held held && : >go
    wait_for 20 noted
    kill -9 $pid
    wait $pid 2>/dev/null
    rm -f holding
    wait $holder
    cd ..
}
noted() { tail -c +257 .cairn/live/run-1.*.ends | od -An -v -tx1 -w88 | grep -q ' [1-9a-f]'; }
# Resumes the run that is here; so often its task has run then.
goes_on() { # TIMES NAME [OPTION...]
    times=$1 name=$2
    shift 2
    exits 0 cairn resume "$@"
    is "$(count a ran)" "$times" "$name"
    exits 0 cairn checkpoint verify "$@"
}
mkdir away && cd away || exit 1
ended p
mv p/.cairn p/moved
cd p || exit 1
exits 0 cairn status --store moved # a look notes nothing
goes_on 1 'moved: its task had ended' --store moved
cd ..
ended p
mv p/.cairn p/gone
cp -r p/gone p/moved
rm -r p/gone
cd p && goes_on 1 'a backup in another place, with the original gone' --store moved
cd ..
ended p
cp -r p copy
cd copy && goes_on 2 'a copy: what had ended elsewhere runs again here'
cd ../p && goes_on 1 'beside its copy the original continues as it is'
cd ..
ended p
cp -r p kept3 && rm -r p && cp -r kept3 p
cd p && goes_on 1 'a backup put back in its place'
cd ..
ended p
mv p/.cairn old && cp -r old p/.cairn && mv old p/old
cd p && goes_on 1 'of two in one project the one in its place continues as it is'
exits 0 cairn resume --store old
is "$(count a ran)" 2 'and the other one is the copy'
cd ../..
done_testing
