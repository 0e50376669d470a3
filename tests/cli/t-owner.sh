# shellcheck shell=sh
# Who owns a workflow, as others are told.
. "$TESTS/cli/tap.sh"

guard_of() { # pid of cairn
    for dir in /proc/[0-9]*; do
        [ "$(awk '/^PPid:/ { print $2 }' "$dir/status" 2>/dev/null)" = "$1" ] || continue
        [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || echo "${dir#/proc/}"
    done
}

# A run whose owner and guard were killed, and a process of it that does not end on TERM:
# who goes on with the run has to wait before it can write down that it is its own now.
cat >linger <<END
#!/bin/sh
trap '' TERM
echo \$\$ >>left
until [ -e '$PWD/end' ]; do sleep 0.05; done
END
chmod +x linger
cat >flow.yaml <<END
name: w
tasks:
  stay: {run: "setsid ./linger & echo >>started; until [ -e go ]; do sleep 0.05; done"}
END
cairn run flow.yaml >out.first 2>&1 &
first=$!
wait_for 20 test -e left
kill -9 $first "$(guard_of $first)"
wait $first 2>/dev/null

cairn resume >out.second 2>&1 &
second=$!
sleep 0.5
exits 6 cairn resume
says "is owned by process $second on" 'the new owner is named, not the dead one'
says '(run 1)'
touch go
wait $second
is $? 0 'the owner goes on unharmed'
is "$(wc -l <started)" 2 'the task ran once more'
touch end
# The second one made its own session and its run came to an end: it was left alone. It must
# see the file before the directory goes.
for pid in $(cat left); do
    ok 'what lingered has ended' wait_for 20 test ! -e "/proc/$pid"
done
done_testing
