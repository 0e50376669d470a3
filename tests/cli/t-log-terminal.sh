# cairn log with times, and on a terminal: a pager, colors, the last state of a line.
. "$TESTS/cli/tap.sh"
export TZ=UTC

cat >flow.yaml <<'END2'
name: flow
on_failure: continue
tasks:
  slow: {run: 'date -u "+%F %T"; sleep 1.5; date -u "+%F %T" >&2; sleep 1; printf unended'}
  apart: {stderr: apart, run: 'echo out; echo err >&2'}
  quick: {run: 'date -u "+%F %T"'}
  shown: {run: 'printf "\033[31mred\033[0m\033[K\n10 %%\r100 %%\n\033[2Jcleared\n"; exit 3'}
  long: {run: 'seq 1 9000; echo last'}
END2
exits 1 cairn run flow.yaml --output-limit 20K

# ---- Times ----

exits 0 cairn log slow --timestamps
is "$(wc -l <out)" 2 'lines as without times'
# Each line says when it was written, and was there half a second later at most.
off() { # the seconds between both times of a line
    awk 'NF == 4 { split($2, a, /[:.]/); split($4, b, ":")
        d = (a[1] * 60 + a[2]) * 60 + a[3] - ((b[1] * 60 + b[2]) * 60 + b[3])
        if (d < 0) d += 86400; if (d > worst) worst = d } END { print worst + 0 }' out
}
ok 'the times of lines are those at which they were written' test "$(off)" -le 1
is "$(tail -n 1 out | awk '{ print NF, $3 }')" '3 unended' 'also of a line without an end'
exits 0 cairn log quick --timestamps
ok 'of a short task, too' test "$(off)" -le 1
exits 0 cairn log slow --timestamps --json
json_ok 'times in JSON'
is "$(json_get '.times[0].bytes')" 20 'how many bytes there were'
exits 2 cairn log apart --timestamps
says 'apart has no times'
exits 2 cairn log --timestamps
exits 0 cairn log long --timestamps
says 'of the log are missing here'
is "$(tail -n 1 out | awk '{ print $3 }')" last 'behind what is missing, too'
exits 0 cairn log quick apart --timestamps
says 'apart has no times' 'of several: those that have'
is "$(grep -c '^20.*20' out)" 1 'with times'
exits 0 cairn search cleared
exits 0 cairn checkpoint verify
exits 0 cairn gc
exits 0 cairn log slow --timestamps
ok 'the times stay' test "$(off)" -le 1

# A run that is killed: the time of the last write is known.
cat >killed.yaml <<'END2'
name: killed
tasks:
  k: {run: 'date -u "+%F %T"; test -e again || { touch at; sleep 30; }'}
END2
killed_at at cairn run killed.yaml
touch again
sleep 2.5
exits 0 cairn resume
exits 0 cairn log k --attempt 1 --timestamps
ok 'of an interrupted attempt the time of its last write' test "$(off)" -le 1

# ---- On a terminal ----

command -v script >/dev/null || { done_testing; exit; }
esc=$(printf '\033')
on_terminal() { # COMMAND
    SHELL=/bin/sh TERM=xterm timeout -k 5 60 script -qec "$1" /dev/null >raw 2>&1 </dev/null
    status=$?
    tr -d '\r' <raw >out
    : >err
    tap_last=$1
}
cat >pager.sh <<'END2'
sed 's/^/paged: /'
END2
export CAIRN_PAGER="sh $PWD/pager.sh"
on_terminal 'exec cairn log shown --run 1'
is "$(cat out)" "paged: ${esc}[31mred${esc}[0m
paged: 100 %
paged: ^[[2Jcleared" 'through a pager: colors, the last state of a line, all else harmless'
is "$status" 0 'with the status of the log'
on_terminal 'exec cairn log long --run 1'
is "$(grep -c '^paged: \.\.\. .* of the log are missing here' out)" 1 'what is missing is told in its place'
on_terminal 'exec cairn log silent --run 1'
is "$status" 10 'an error keeps its status'
on_terminal 'NO_COLOR=1 exec cairn log shown --run 1'
is "$(head -n 1 out)" 'paged: red' 'NO_COLOR'
on_terminal 'CAIRN_PAGER=cat exec cairn log shown --run 1'
is "$(head -n 1 out)" "${esc}[31mred${esc}[0m" 'cat: no pager'
on_terminal 'exec cairn log slow --follow --run 1'
is "$(grep -c paged out)" 0 '--follow: none'
on_terminal 'exec cairn log apart --run 1'
is "$(cat out)" 'paged: out
paged: err' 'stderr is paged, too'
run cairn log shown --run 1
is "$(head -n 1 out)" "${esc}[31mred${esc}[0m${esc}[K" 'into a file byte for byte'
cat >colors.yaml <<'END2'
name: colors
tasks:
  red: {run: 'printf "\033[31mred\033[0m\n10 %%\r100 %%\n"; exit 1'}
END2
on_terminal 'exec cairn run colors.yaml'
says "    ${esc}[31mred${esc}[0m" 'run shows colors on a terminal'
says '    100 %'
run cairn run colors.yaml --fresh
is "$(sed -n 's/^    red$/plain/p' err)" plain 'and none elsewhere'
done_testing
