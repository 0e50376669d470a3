# shellcheck shell=sh disable=SC2015,SC2034,SC2046,SC2086,SC2094,SC2154
# Tasks that do what no task should. Each runs in a workflow of its own, beside a task that
# shares its time and before one that comes after it. Whatever it does: its own outcome is
# the right one, the others complete, cairn ends with the right status, and nothing is left.

marked() { # mark: pids of living processes that have it in their environment
    "$BUILD/tests/prove/resources" marked "PROVE_MARK=$1"
}

gone() { # mark
    [ -z "$(marked "$1")" ]
}

largest() { # mark: notes the most that live/ ever took on the disk, in KiB
    most=0
    while [ ! -e measured ]; do
        now=$(du -sk "$CAIRN_STORE" 2>/dev/null | cut -f 1)
        [ "${now:-0}" -le "$most" ] || most=$now
        echo "$most" >most
        sleep 0.02
    done
}

# nasty NAME OUTCOME EXIT: the task's YAML on stdin, its text with the indent of a task.
# Leaves out and err of the run.
nasty() {
    name=$1 outcome=$2 wanted_exit=$3
    part="a task that $name"
    nasties=$((nasties + 1))
    mark=$SEED.$$.$nasties
    rm -rf store go sub ran out err
    mkdir sub
    {
        printf 'name: nasty\non_failure: continue\njobs: 3\nsecrets: [%s]\ntasks:\n  nasty:\n' "${PROVE_SECRET:+PROVE_SECRET}"
        sed 's/^/    /'
        printf '  beside: {run: "sleep 0.05; echo beside >>%s"}\n' "$PWD/ran"
        printf '  after: {needs: nasty, when: always, run: "echo after >>%s"}\n' "$PWD/ran"
        printf '  last: {needs: after, run: "echo last >>%s"}\n' "$PWD/ran"
    } >flow.yaml
    PROVE_MARK=$mark timeout -k 5 "${PATIENCE:-60}" cairn run flow.yaml >out 2>err
    got=$?
    [ $got -eq "$wanted_exit" ] || { fail "cairn ends with $got, not $wanted_exit" && show err; }
    timeout 60 cairn status --tasks --all >status 2>&1
    grep -qE "^ +$outcome +nasty( |\$)" status || { fail "its outcome is not $outcome" && show status; }
    [ "$(sort ran 2>/dev/null | tr '\n' ' ')" = 'after beside last ' ] || {
        fail 'the other tasks did not run as they should'
        show ran err
    }
    # What is told to end may need a moment.
    wait_for 5 gone "$mark" || {
        for pid in $(marked "$mark"); do
            fail "left: process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c 1-100)"
            kill -9 "$pid" 2>/dev/null
        done
    }
    left=$(ls store/live 2>/dev/null)
    [ -z "$left" ] || fail "left in live/: $(echo $left | cut -c 1-200)"
    timeout 60 cairn checkpoint verify >verify 2>&1 || { fail 'the store is damaged' && show verify; }
}

says() { # text that the run must have printed
    cat out err | grep -qF -e "$1" || { fail "it is not said: $1" && show err; }
}

# ---- Output ----

# flood NAME MOST: `nasty`, and at most MOST MiB are ever on the disk.
flood() {
    rm -f measured most
    # Before the store is made, du has nothing to tell.
    largest &
    measuring=$!
    nasty "$1" completed 0
    : >measured
    wait $measuring
    rm -f measured
    [ "$(cat most)" -le $(($2 << 10)) ] || fail "the store took $(cat most) KiB on the disk at once"
    timeout 60 cairn log nasty >log 2>&1
    grep -aq HEAD log && grep -aq TAIL log || fail 'head and tail of its output were not kept'
    [ "$(stat -c %s log)" -lt $((3 << 20)) ] || fail "its log has $(stat -c %s log) bytes"
    [ "$(du -sk store | cut -f 1)" -lt 8192 ] || fail "the store has $(du -sk store | cut -f 1) KiB at the end"
}

# How much stands on the disk is a matter of who is faster, the task or cairn, which looks
# now and then. So one task waits after each part until nearly all of it is given back: that
# has to come, however slow the machine is. The other one is as fast as it can.
nasty_floods() { # MiB
    part_mib=32
    flood 'floods its output in parts' $((part_mib * 2)) <<END
run: |
  exec 3>&1
  echo HEAD
  for n in \$(seq $(($1 / part_mib / 4 + 2))); do
    dd if=/dev/zero bs=1M count=$part_mib 2>/dev/null
    while [ "\$(stat -L -c %b /proc/self/fd/3)" -gt 16384 ]; do sleep 0.02; done
  done
  echo; echo TAIL
END
    slow=$(cat most)
    flood 'floods its output' $(($1 / 4 > 512 ? $1 / 4 : 512)) <<END
run: "echo HEAD; dd if=/dev/zero bs=1M count=$1 2>/dev/null; echo; echo TAIL"
END
    flood="$1 MiB of output: at most $(($(cat most) >> 10)) MiB on the disk at once, $((slow >> 10)) where the task waits"
}

nasties_of_output() {
    nasty 'closes its output and lives on' completed 0 <<END
run: "exec >&- 2>&-; sleep 0.3; echo on >>$PWD/lived"
END
    [ -s lived ] || fail 'it was not waited for'
    nasty 'writes to its input and reads it' completed 0 <<'END'
run: "echo x >&0 || :; test -z \"$(cat)\""
END
    nasty 'exits while its children hold its output' completed 0 <<'END'
run: "sleep 300 & sleep 300 & echo done"
END
    PROVE_SECRET=abcdefgh nasty_secret
}

# With secrets its output is a pipe, which a child holds open.
nasty_secret() {
    nasty 'exits while its children hold its pipe' completed 0 <<'END'
secrets: [PROVE_SECRET]
run: "(trap '' TERM HUP; while :; do echo $PROVE_SECRET; sleep 0.01; done) & sleep 0.2; echo done"
END
}

# ---- Processes ----

nasties_of_processes() { # children
    nasty 'forks many children' completed 0 <<END
run: "i=0; while [ \$i -lt $1 ]; do sleep 300 & i=\$((i + 1)); done"
END
    nasty 'forks many children and fails' failed 1 <<END
run: "i=0; while [ \$i -lt $(($1 / 4)) ]; do sleep 300 & i=\$((i + 1)); done; exit 3"
END
    nasty 'ignores TERM' failed 1 <<'END'
timeout: {after: 300ms, grace: 200ms}
run: "trap '' TERM INT HUP; while :; do sleep 0.1; done"
END
    says 'timed out'
    nasty 'stops itself' failed 1 <<'END'
timeout: {after: 300ms, grace: 200ms}
run: "kill -STOP $$"
END
    nasty 'signals its own group' failed 1 <<'END'
run: "kill -TERM 0; sleep 10"
END
    nasty_daemon
}

# A process in a session of its own may outlive a task that completed, but not a kill.
nasty_daemon() {
    rm -f daemon
    part='a task that leaves a daemon'
    nasties=$((nasties + 1))
    mark=$SEED.$$.$nasties
    rm -rf store
    cat >flow.yaml <<END
name: nasty
tasks:
  nasty: {run: "(setsid sh -c 'setsid sleep 300 &' &); echo >>$PWD/daemon"}
  wait: {needs: nasty, run: "until [ -e go ]; do sleep 0.02; done"}
END
    rm -f go
    PROVE_MARK=$mark cairn run flow.yaml >out 2>err &
    owner=$!
    wait_for 20 test -e daemon
    sleep 0.2
    kill -9 $owner
    wait $owner 2>/dev/null
    wait_for 10 gone "$mark" || fail 'the guard leaves processes after a kill'
    : >go
    expect 0 cairn resume
    kill -9 $(marked "$mark") 2>/dev/null
}

# ---- Files ----

nasties_of_files() {
    nasty 'deletes its working directory' completed 0 <<'END'
cwd: sub
run: "rm -rf \"$PWD\"; sleep 0.1"
END
    nasty 'takes all rights from its directory' completed 0 <<'END'
cwd: sub
run: "chmod 0 ."
END
    chmod 700 sub
    nasty 'writes garbage to its values' failed 1 <<'END'
run: "head -c 5000 /dev/urandom >$CAIRN_OUTPUT"
END
    nasty 'writes 10 MB of values' failed 1 <<'END'
run: "head -c 10000000 /dev/zero | tr '\\0' a >$CAIRN_OUTPUT"
END
    nasty 'makes its values a directory' completed 0 <<'END'
run: "rm -f $CAIRN_OUTPUT; mkdir $CAIRN_OUTPUT"
END
    nasty 'makes its values a pipe' completed 0 <<'END'
run: "rm -f $CAIRN_OUTPUT; mkfifo $CAIRN_OUTPUT"
END
    nasty 'removes its live files' completed 0 <<END
run: "rm -f $CAIRN_STORE/live/*; echo lost"
END
    nasty 'removes the live directory' completed 0 <<END
run: "rm -rf $CAIRN_STORE/live || { sleep 0.1; rm -rf $CAIRN_STORE/live; }; echo lost"
END
    nasty 'empties all live files' completed 0 <<END
run: "for f in $CAIRN_STORE/live/*; do : >\$f; done; sleep 0.3"
END
    nasty 'fills all live files with garbage' completed 0 <<END
run: "for f in $CAIRN_STORE/live/*.slots; do head -c 4096 /dev/urandom >\$f; done; sleep 0.3"
END
}
