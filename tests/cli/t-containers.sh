# shellcheck shell=sh disable=SC2016
# make: long
# Runs in PID namespaces of their own, as in containers, and systems without a /proc: what
# cannot be looked at is not taken for dead.
. "$TESTS/cli/tap.sh"
unshare -pf --mount-proc true 2>/dev/null || skip_all 'no PID namespace can be made here'

lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }

# contained TEXT: a shell in a PID namespace of its own.
contained() {
    unshare -pf --kill-child --mount-proc sh -c "$1"
}

# ---- A live run in a container ----
mkdir live && cd live || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >w1.yaml <<'END1'
name: w1
tasks:
  stay: {run: "echo >>started; until [ -e go ]; do sleep 0.02; done"}
END1
printf 'name: w2\ntasks: {b: {run: "true"}}\n' >w2.yaml
: >started
contained 'cairn run w1.yaml' >w1.out 2>&1 &
first=$!
wait_for 20 lines 1 started
exits 0 cairn run w2.yaml
exits 0 cairn status 1 --json
is "$(json_get .live)" true 'from outside the run is live'
exits 6 cairn resume 1
says '(run 1)' 'and its owner is named'
exits 0 contained 'cairn status 1 --json'
is "$(json_get .live)" true 'from another container, too'
exits 6 contained 'cairn resume 1'
exits 0 contained 'cairn run w2.yaml'
: >go
wait $first
is "$? $(wc -l <started)" '0 1' 'it ends well, and its task ran once'
cd ..

# ---- Killed in a container that continues ----
# dead MODE TEXT: a run whose cairn and guard are killed in a container; then TEXT is
# run there.
dead() {
    rm -rf .cairn started go again ready lingers
    cat >w1.yaml <<END2
name: w1
on_crash: $1
tasks:
  stay:
    run: |
      setsid sh -c 'echo >>lingers; until [ -e go ]; do sleep 0.02; done; echo ended >>lingers' &
      echo >>started
      until [ -e go ]; do sleep 0.02; done
END2
    : >started
    cat >inside.sh <<'END3'
cairn run w1.yaml >dead.out 2>&1 &
pid=$!
until [ -s started ] && [ -s lingers ]; do sleep 0.02; done
for dir in /proc/[0-9]*; do
    [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || guard=${dir#/proc/}
done
kill -STOP $pid # it would start another guard, and the guard end what it leaves
kill -9 $guard $pid
: >ready
until [ -e again ]; do sleep 0.02; done
cairn resume 1 >again.out 2>&1
END3
    contained '. ./inside.sh' &
    container=$!
    wait_for 20 test -e ready
}
mkdir dead && cd dead || exit 1
export CAIRN_STORE="$PWD/.cairn"
dead adopt
exits 75 cairn resume 1
says 'another PID namespace' 'from outside, what lives on in the container is not taken over'
exits 75 contained 'cairn resume 1'
says 'another PID namespace' 'nor from another container'
exits 75 contained 'cairn cancel 1'
exits 0 cairn run ../live/w2.yaml
exits 0 contained 'cairn run ../live/w2.yaml'
is "$(wc -l <started) $(wc -l <lingers)" '1 1' 'and nothing was started or ended'
: >again
wait_for 20 grep -q adopted again.out
: >go
wait $container
is "$? $(wc -l <started)" '0 1' 'in the container it is adopted'

dead kill
exits 75 contained 'cairn resume 1'
says 'another PID namespace' 'a task that lives on beside: nothing is started next to it'
exits 75 contained 'cairn cancel 1'
exits 0 contained 'cairn run ../live/w2.yaml'
is "$(wc -l <started)" 1 'and nothing was started'
cairn resume 1 >out 2>err & # from the first namespace all can be seen
pid=$!
wait_for 20 lines 2 started
says 'ended' 'from outside it is ended first'
is "$(count ended lingers)" 0 'before it could end by itself'
: >go
wait $pid
is "$?" 0 'and the run continues'
: >again
wait $container

dead kill
kill -9 "$(cat /proc/$container/task/$container/children 2>/dev/null | tr -d ' ')" 2>/dev/null
kill $container 2>/dev/null
wait $container 2>/dev/null
: >go
# Its processes take a moment to go.
resumed() { contained 'cairn resume 1' >out 2>err; }
ok 'the run continues where the container has ended' wait_for 20 resumed
is "$(wc -l <started)" 2 'a container that has ended hinders nobody'
cd ..

# ---- Without /proc ----
mkdir blind && cd blind || exit 1
export CAIRN_STORE="$PWD/.cairn"
blind_cairn() {
    unshare -m sh -c "mount -t tmpfs none /proc && cairn $1" >out 2>err </dev/null
}
if ldd "$BUILD/cairn" | grep -q 'lib[a-z]*san'; then
    skip 'without /proc' 'a build with sanitizers needs it'
elif unshare -m sh -c 'mount -t tmpfs none /proc' 2>/dev/null; then
    for mode in adopt kill; do
        rm -rf .cairn go started
        : >started
        cat >w.yaml <<END4
name: w
on_crash: $mode
tasks:
  stay: {run: "echo >>started; until [ -e go ]; do sleep 0.02; done"}
END4
        cairn run w.yaml >w.out 2>&1 &
        pid=$!
        wait_for 20 lines 1 started
        kill -9 $pid
        wait $pid 2>/dev/null
        for command in 'resume 1' 'cancel 1' 'run --fresh w.yaml'; do
            # Until the guard has ended what is to end, its lock is seen.
            says_what_is_missing() {
                blind_cairn "$command"
                [ $? -eq 75 ] && grep -q /proc err
            }
            ok "$mode: $command without /proc says what is missing" \
                wait_for 20 says_what_is_missing
        done
        exits 0 unshare -m sh -c "mount -t tmpfs none /proc && cairn run ../live/w2.yaml"
        [ $mode = kill ] || {
            sed 's/^name: .*/name: w3\non_crash: adopt/' ../live/w2.yaml >w3.yaml
            exits 75 unshare -m sh -c 'mount -t tmpfs none /proc && cairn run w3.yaml'
            says 'adopt needs /proc' 'without /proc no keeper could be told from others'
        }
        is "$(wc -l <started)" 1 "$mode: nothing was started beside what may live"
        : >go
        exits 0 cairn resume 1
    done

    # The owner without a /proc, who could not note the boot either.
    rm -rf .cairn go started
    : >started
    cat >w.yaml <<END5
name: w
tasks:
  stay:
    run: |
      setsid sh -c 'echo >>started; until [ -e go ]; do sleep 0.02; done' &
      until [ -e go ]; do sleep 0.02; done
END5
    unshare -mpf --kill-child sh -c \
        'mount -t tmpfs none /proc || exit 1
         cairn run w.yaml
         echo over
         until [ -e go ]; do sleep 0.1; done' >w.out 2>&1 &
    container=$!
    wait_for 20 lines 1 started
    child_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" | head -n 1; }
    owner=$(child_of "$(child_of $container)")
    guard=$(child_of "$owner")
    is "$(cat "/proc/$guard/comm")" cairn-guard 'a run without /proc has a guard'
    kill -STOP "$owner"
    kill -9 "$guard" "$owner"
    wait_for 20 grep -q over w.out
    exits 75 contained 'timeout 10 cairn resume 1'
    says 'another PID namespace' 'what an owner without /proc has left is not run beside'
    is "$(wc -l <started)" 1 'and nothing was started'
    : >go
    wait $container
    exits 0 contained 'cairn resume 1'
else
    skip 'without /proc' 'nothing can be mounted here'
fi
cd ..
done_testing
