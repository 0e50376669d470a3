# cairn exec: the command runs as if it had been started without cairn, and is recorded.
. "$TESTS/cli/tap.sh"

exits 10 cairn exec -- true
exits 0 cairn session start one
exits 2 cairn exec
exits 2 cairn exec --
says 'there is no command'
exits 2 cairn exec --nosuch -- true

# ---- Outputs, exit statuses and what is recorded ----

exits 3 cairn exec -- sh -c 'echo to out; echo to err >&2; exit 3'
is "$(cat out)" 'to out' 'stdout is that of the command'
is "$(cat err)" 'to err' 'stderr likewise, and nothing else'
exits 0 cairn command show c1 --json
is "$(json_get .exit_code)" 3 'the exit code is recorded'
is "$(json_get .stdout)" 'to out\n' 'the end of stdout'
is "$(json_get .stderr)" 'to err\n' 'the end of stderr'
is "$(json_get .directory)" "$PWD" 'the directory'
is "$(json_get .command)" "sh -c 'echo to out; echo to err >&2; exit 3'" 'the command, as it can be typed'
is "$(sh -c "$(json_get .command)" 2>&1 | tr '\n' ' ')" 'to out to err ' 'which does the same again'
exits 127 cairn exec -- no-such-command
says 'command not found'
echo 'not a program' >plain
exits 126 cairn exec -- ./plain
# shellcheck disable=SC2016
exits 143 cairn exec -- sh -c 'kill -TERM $$'
exits 1 cairn exec -- test -t 1
exits 0 cairn exec -- echo --json -- --help
is "$(cat out)" '--json -- --help' 'options behind -- are those of the command'
exits 2 cairn exec echo a
exits 0 cairn session show --json
is "$(json_get .commands)" 6 'the session counts them'
echo input | cairn exec -- cat >out 2>err
is "$(cat out)" input 'stdin is that of cairn'
head -c 3000000 /dev/urandom >large
cairn exec -- cat large >copy
ok 'large output is passed on as it is' cmp -s large copy
exits 0 cairn command show c8 --json
json_ok 'bytes that are no UTF-8 are visible in what is recorded'
# shellcheck disable=SC2046
run cairn exec -- echo $(seq 1 200)
is "$(wc -w <out)" 200 'a command may have many arguments'
exits 4 cairn exec --json -- sh -c 'echo hidden; exit 4'
json_ok 'with --json stdout is one document'
is "$(json_get .exit_code)" 4 'with the exit code'
is "$(json_get .id)" c10 'and the id'
is "$(cat err)" hidden 'and the output is on stderr'
exits 0 cairn command list --limit 2
is "$(grep -c ' sh -c\| echo 1 2' out)" 2 'they are listed'
exits 2 cairn command remove h1
exits 0 cairn command remove c10
exits 10 cairn command show c10

# ---- At once ----

mkfifo pipe
cairn exec -- sh -c 'echo first; read -r line <pipe; echo "$line"' >live &
wait_for 10 grep -q first live
is "$(cat live)" first 'output is passed on while the command runs'
exits 0 cairn command list --json
is "$(json_get .total)" 9 'and nothing is recorded before it has ended'
echo second >pipe
wait
is "$(tail -n 1 live)" second 'it continues'
run sh -c 'cairn exec -- seq 1 10000000 | head -n 1'
is "$(cat out)" 1 'a reader that goes away ends the command'
exits 0 cairn command list --limit 1
says ' 141 ' 'by the signal that it gets without cairn'
run cairn exec -- sh -c 'sleep 3 & echo done'
is "$(cat out)" 'done' 'what it leaves running is not waited for'

# ---- Signals ----

cairn exec -- sh -c 'trap "exit 9" TERM; echo ready >ready; while :; do sleep 0.1; done' &
pid=$!
wait_for 10 test -s ready
kill -TERM $pid
wait $pid
is $? 9 'SIGTERM is passed on, and the command says how it ends'
exits 0 cairn command list --limit 1
says ' 9 ' 'which is recorded'
cairn exec -- sh -c 'sleep 1001 & setsid sleep 1002 & echo >killed; sleep 1003' &
pid=$!
wait_for 10 test -e killed
kill -KILL $pid
wait $pid 2>/dev/null
wait_for 10 sh -c '! pgrep -f "sleep 100[123]" >/dev/null'
ok 'when cairn is killed, so is all that the command has started' sh -c '! pgrep -f "^sleep 100[123]"'

# ---- Secrets ----

AWS=AKIAIOSFODNN7EXAMPLE
GITHUB=ghp_0123456789abcdefghijABCDEFGHIJ012345
export MY_PASSWORD=correct-horse-battery
exits 0 cairn session config redact MY_PASSWORD,OTHER_ONE
exits 2 cairn session config redact 'A B'
exits 2 cairn session config redact A,A
exits 0 cairn session config redact
is "$(cat out)" MY_PASSWORD,OTHER_ONE 'the setting has names, not values'
run cairn exec -- echo $AWS $GITHUB https://user:secret-word@host/ "Authorization: Bearer abc.def-ghi_123" \
    $MY_PASSWORD 'xoxb-123456789012-abcdef' sk-ant-api03-abcdefghijklmnopqrstuvwxyz
is "$(cut -d ' ' -f 1 out)" $AWS 'the terminal has what the command says'
exits 0 cairn command list --limit 1 --json
is "$(grep -o '\[REDACTED\]' out | wc -l)" 14 'each secret is replaced, in command and output'
cat >key <<'END'
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB
-----END OPENSSH PRIVATE KEY-----
END
run cairn exec -- sh -c 'echo before; cat key; echo after'
exits 0 cairn command list --limit 1 --json
ok 'a private key is replaced as a whole' grep -qF 'before\n[REDACTED]\nafter' out
run cairn exec -- sh -c 'printf correct-; sleep 0.2; printf horse-; sleep 0.2; echo battery'
for secret in $AWS $GITHUB secret-word abc.def-ghi $MY_PASSWORD correct-horse xoxb-1234 sk-ant b3BlbnNzaC1rZXk; do
    ok "no file of the store has $secret" sh -c "! grep -rqaF -e $secret .cairn"
done
MY_PASSWORD=short cairn exec -- touch ran >out 2>err
is $? 2 'a value that is too short to be found again is refused'
ok 'before anything runs' test ! -e ran
unset MY_PASSWORD
exits 0 cairn session config redact off

# ---- In the session ----

exits 0 cairn checkpoint create 'with commands'
run cairn exec -- echo later
exits 0 cairn command list --at debug:1 --json
is "$(json_get .total)" 16 'a checkpoint has the commands'
exits 0 cairn command list --json
is "$(json_get .total)" 17 'and stays as it is'
exits 0 cairn session start two
run cairn exec -- true
exits 0 cairn exec --session one -- true
exits 0 cairn command list --json
is "$(json_get .total)" 1 'each session has its own'
exits 0 cairn session end two
exits 2 cairn exec -- touch ran
ok 'a session that has ended runs nothing' test ! -e ran

# ---- Output that cannot be written ----
exits 0 cairn session switch one
if [ -w /dev/full ]; then
    cairn exec -- echo hi >/dev/full 2>err
    is $? 75 'a full disk is no success'
    says 'the output of the command could not be written: No space left on device'
    cairn exec -- sh -c 'echo hi; exit 3' >/dev/full 2>err
    is $? 3 'a failure of the command counts'
    cairn exec -- sh -c 'echo hi >&2' 2>/dev/full
    is $? 75 'stderr likewise'
    exits 0 cairn command list --json
    is "$(json_get .total)" 21 'they are recorded'
else
    skip 'a full disk' 'there is no /dev/full'
fi
{
    cairn exec -- sh -c 'sleep 0.2; echo hi' 2>err
    echo $? >ended
} | true
is "$(cat ended) $(cat err)" '0 ' 'that nobody reads is no error'
done_testing
