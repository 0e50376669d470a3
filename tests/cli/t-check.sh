# cairn check: commands that verify something, with a time limit and tries, and the
# evidence that follows from what they say.
. "$TESTS/cli/tap.sh"

exits 0 cairn session start one
h=$(cairn hypothesis add 'the file is there')

# ---- The result, and evidence ----

exits 2 cairn check add 'there is no command'
exits 10 cairn check add 'no such hypothesis' --run true --hypothesis h9
exits 0 cairn check add 'the file is there' --run 'echo looking; echo for it >&2; test -e file' --hypothesis "$h" --retries 0
is "$(cat out)" v1 'add prints the id'
exits 0 cairn check show v1 --json
is "$(json_get .status) $(json_get .timeout_ms) $(json_get .retries)" 'pending 60000 0' 'it has not run yet'
exits 1 cairn check run v1
says 'v1     failed'
exits 0 cairn check show v1 --json
is "$(json_get .status) $(json_get .exit_code) $(json_get .attempts)" 'failed 1 1' 'what it said is recorded'
is "$(json_get .output)" 'looking\nfor it\n' 'with both outputs'
exits 0 cairn evidence show e1 --json
is "$(json_get .hypothesis) $(json_get .kind) $(json_get .strength) $(json_get .source)" 'h1 experiment -1 v1' \
    'a check that failed is evidence against its hypothesis'
is "$(json_get .text)" 'check v1 failed: the file is there' 'which names it'
touch file
exits 0 cairn check run v1 --json
is "$(json_get '.checks[0].status') $(json_get '.checks[0].evidence') $(json_get .passed)" 'passed e2 1' 'once the file is there it passes'
ok 'a checkpoint was created by this' test "$(json_get '.checks[0].checkpoint')" != null
exits 0 cairn evidence show e2 --json
is "$(json_get .strength)" 1 'which is evidence for the hypothesis'
exits 0 cairn hypothesis show h1 --json
is "$(json_get .confidence)" 0.5 'for and against make up for each other'
exits 0 cairn session show --json
is "$(json_get .verifications) $(json_get .checkpoints)" '2 2' 'the session counts runs, and has a checkpoint of each'
exits 0 cairn session config verification off
exits 0 cairn check run v1
exits 0 cairn session show --json
is "$(json_get .verifications) $(json_get .checkpoints)" '3 2' 'the trigger can be switched off'
exits 2 cairn hypothesis remove h1
says 'v1' 'the hypothesis is needed by its check'

# ---- Time limits ----

exits 0 cairn check add 'it ends' --run 'sleep 1004 & exec sleep 1005' --hypothesis h1 --timeout 1s --retries 0
begun=$(date +%s%N)
exits 1 cairn check run v2
took=$((($(date +%s%N) - begun) / 1000000))
ok "its limit of 1 s ends it in about that ($took ms)" test $took -ge 1000 -a $took -lt 3000
exits 0 cairn check show v2 --json
is "$(json_get .status) $(json_get .exit_code) $(json_get .attempts)" 'timeout null 1' 'as timeout'
ok 'with all that it has started' sh -c '! pgrep -f "^sleep 100[45]"'
exits 0 cairn evidence list --json
is "$(json_get .total)" 3 'that is no evidence'
exits 0 cairn check add 'it ends when it is killed' --run 'trap "" TERM; sleep 1 & wait; echo went on; exit 0' --timeout 300ms --retries 0
exits 1 cairn check run v3
exits 0 cairn check show v3 --json
is "$(json_get .status)" timeout 'one that ends well after it was asked to is too late'
exits 2 cairn check add 'no limit' --run true --timeout 0s
exits 2 cairn check add 'too long' --run true --timeout 8d

# ---- Tries ----

cat >third.sh <<'END'
echo try >>tries
[ "$(wc -l <tries)" -ge 3 ]
END
exits 0 cairn check add 'the third time' --run 'sh third.sh'
begun=$(date +%s%N)
exits 0 cairn check run v4 --json
took=$((($(date +%s%N) - begun) / 1000000))
is "$(json_get '.checks[0].attempts')" 3 'failing twice, then passing: three attempts'
is "$(wc -l <tries)" 3 'and no more'
ok "with 100 and 200 ms between them, times 0.5 to 1.5 ($took ms)" test $took -ge 150 -a $took -lt 2000
exits 0 cairn check add 'never' --run 'echo try >>never; exit 7' --retries 2
exits 1 cairn check run v5
says '3 attempts, exit 7'
is "$(wc -l <never)" 3 'each retry is one attempt more'
exits 1 cairn check run --all --json
is "$(json_get .passed) $(json_get .not_passed)" '2 3' '--all runs every one'
exits 10 cairn check run v1 v77
is "$(wc -l <never)" 6 'nothing runs where one is missing'
exits 2 cairn check run
exits 2 cairn check run h1
exits 2 cairn check run v1 --all
exits 0 cairn check list --status timeout
is "$(grep -c timeout out)" 2 'checks are listed by status'

# ---- Changing, taking back ----

exits 0 cairn check update v1 --text 'there is a file'
exits 0 cairn check show v1 --json
is "$(json_get .status)" passed 'another text changes nothing of the result'
exits 0 cairn check update v1 --run 'test -e other'
exits 0 cairn check show v1 --json
is "$(json_get .status) $(json_get .exit_code) $(json_get .output)" 'pending null null' 'another command has no result'
exits 1 cairn check run v1 --quiet
exits 0 cairn session undo
exits 0 cairn check show v1 --json
is "$(json_get .status)" pending 'the result and its evidence are one change, which undo takes back'
exits 0 cairn check remove v5
exits 10 cairn check show v5
exits 10 cairn check update v1 --hypothesis h9

# ---- Secrets, signals ----

exits 2 cairn check add 'a secret' --run 'curl -H "Authorization: Bearer abcdefgh12345678" host'
says 'secret'
export MY_TOKEN=swordfish-swordfish
exits 0 cairn session config redact MY_TOKEN
exits 2 cairn check add 'a secret' --run "curl -u me:$MY_TOKEN host"
# shellcheck disable=SC2016
exits 0 cairn check add 'a variable' --run 'echo it is $MY_TOKEN'
exits 0 cairn check run v6
exits 0 cairn check show v6 --json
is "$(json_get .output)" 'it is [REDACTED]\n' 'what a check writes has no secrets'
ok 'nor has any file of the store' sh -c '! grep -rqaF swordfish .cairn'
exits 0 cairn check add 'long' --run 'echo >began; sleep 1006'
cairn check run v7 >out 2>err &
pid=$!
wait_for 10 test -e began
kill -TERM $pid
wait $pid
is $? 7 'SIGTERM stops it'
exits 0 cairn check show v7 --json
is "$(json_get .status)" pending 'and nothing is recorded'
ok 'and nothing left' sh -c '! pgrep -f "^sleep 1006"'
rm began
cairn check run v7 >out 2>err &
pid=$!
wait_for 10 test -e began
kill -KILL $pid
wait $pid 2>/dev/null
ok 'nor when it is killed' wait_for 5 sh -c '! pgrep -f "^sleep 1006"'
exits 0 cairn check update v7 --run 'test -t 0 || test -t 1 || read -r line'
exits 1 cairn check run v7
done_testing
