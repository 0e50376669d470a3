# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# An owner that is stopped for $1 seconds is the owner all the time, and continues unharmed.

part_stop() {
    part='a stopped owner'
    mkdir stop && cd stop || exit 1
    export CAIRN_STORE="$PWD/store"
    cat >flow.yaml <<'END'
name: w
tasks:
  first: {run: "echo first >>ran"}
  long: {needs: first, run: "echo long >>ran; until [ -e go ]; do sleep 0.02; done"}
  last: {needs: long, run: "echo last >>ran"}
END
    cairn run flow.yaml >out.owner 2>&1 &
    owner=$!
    wait_for 20 grep -q long ran
    kill -STOP $owner
    sleep "$1"
    : >go # the task ends while nobody looks
    tries=0
    for command in 'run flow.yaml' 'resume' 'run --fresh flow.yaml' 'resume 1' 'resume 1 --no-wait'; do
        # shellcheck disable=SC2086
        expect 6 cairn $command
        grep -q "owned by process $owner on .* (run 1)" err || {
            fail "$command does not name the owner $owner"
            show err
        }
        tries=$((tries + 1))
    done
    expect 0 cairn status
    expect 6 cairn status --can-resume
    expect 0 cairn checkpoint verify
    [ "$(sort ran | tr '\n' ' ')" = 'first long ' ] || fail 'tasks ran beside the owner'
    kill -CONT $owner
    wait $owner || fail "the owner ends with $? after it was stopped"
    [ "$(sort ran | tr '\n' ' ')" = 'first last long ' ] || repeated=$((repeated + 1))
    expect 0 cairn checkpoint verify
    figure 'G12' 'the owner stopped (SIGSTOP): others are told its name; continued, it ends well' \
        "$1 s, $tries attempts to take over"
    cd ..
    rm -rf stop
}
