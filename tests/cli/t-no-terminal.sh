# A task that asks on the terminal of cairn is told that it has none; it was stopped for
# ever, since its process group is not the one that may read.
. "$TESTS/cli/tap.sh"
command -v script >/dev/null || skip_all 'no program script to make a terminal'

on_terminal() { # a command on a terminal of its own, in the foreground
    script -qec "$1" /dev/null >out 2>&1 </dev/null
    status=$?
    : >err
    tap_last=$1
}

on_terminal 'head -c 0 /dev/tty'
is "$status" 0 'there is a terminal to open'
cat >ask.yaml <<'END'
name: ask
on_failure: continue
defaults: {timeout: 20s}
tasks:
  shell: {run: 'echo asks >/dev/tty; head -n 1 /dev/tty'}
  words: {run: head -n 1 /dev/tty}
  child: {run: '(head -n 1 /dev/tty)'}
  check: {run: 'true', check: head -n 1 /dev/tty}
END
for crash in kill adopt; do
    echo "on_crash: $crash" | cat - ask.yaml >$crash.yaml
    on_terminal "cairn run --fresh --json $crash.yaml"
    is "$status" 1 "on_crash: $crash: what asks fails"
    is "$(grep -c '"timed_out":true' out)" 0 'at once'
    is "$(grep '"type":"task_finished"' out | grep -c 'No such device or address')" 4 \
        'each time since there is no terminal'
done
done_testing
