# make: sanitize
# Pages of a run that explain, plan and list tasks; and cairn web --allow-changes: what a page
# may do, by whom, once, and only as it was shown.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

plant >planted
text=$(sed -n 1p planted)
cat >flow.yaml <<END
name: flow
tasks:
  make: {run: 'echo x=1 >>"\$CAIRN_OUTPUT"; echo made', outputs: [], values: [x]}
  bad: {needs: [make], run: 'test -e good || { echo "$text"; exit 3; }'}
  each: {foreach: {n: [1, 2, 3]}, run: 'test -e good || exit \$((n == 2 ? 4 : 0))'}
  ask: {external: 'say yes $text', needs: [make]}
  last: {needs: [bad, ask], run: "true"}
END
sed -i 's/, outputs: \[\], values: \[x\]//' flow.yaml
run cairn run flow.yaml --keep-going --no-wait
is "$(cairn status --json >s; json_get .failed s)" 2 'a run with two failures'

# ---- Pages that explain ----
serve
enter
page 200 '/runs/1/task?task=bad' 'a task that failed'
has 'A resume runs it.' 'what would become of it'
has 'it failed last time'
has 'exit 3' 'its attempt'
has 'task_finished' 'its events'
has '&lt;script&gt;alert(1)' 'its log, as text'
is "$(grep -c 'method="post"' body)" 0 'nothing can be done here'
page 200 '/runs/1/task?task=make' 'one that is done'
has 'A resume does not run it.'
has 'x = 1' 'its value'
page 200 '/runs/1/task?task=each%5Bn%3D2%5D' 'a member of a group'
has '<dt>n</dt><dd>2</dd>' 'with what it is a member of'
mv flow.yaml kept.yaml
echo 'tasks: [' >flow.yaml
page 200 '/runs/1/task?task=bad' 'with mistakes in the file'
has 'flow.yaml:' 'which are named'
has 'exit 3' 'and what was stored is shown'
mv kept.yaml flow.yaml
page 404 '/runs/1/task?task=none' 'none'
page 404 '/runs/1/task' 'none is named'
page 404 '/runs/7/task?task=bad' 'no such run'
page 200 /runs/1/plan 'what a resume would do'
has 'each[n=2]</a></th><td>unless bad fails again; it failed last time'
has '3 more may run'
page 200 /runs/1/tasks 'all tasks'
is "$(grep -o '<tr><td><span class="state' body | wc -l | tr -d ' ')" 7 'each has a row'
page 200 '/runs/1/tasks?state=failed' 'those in a state'
has '2 tasks</p>'
page 200 '/runs/1/tasks?state=&group=each&exit=&sort=name' 'those of a group'
has '3 tasks</p>'
page 200 '/runs/1/tasks?exit=4' 'by exit code'
is "$(grep -o '/runs/1/task?task=[^"]*' body)" '/runs/1/task?task=each%5Bn%3D2%5D' 'the one that ended so'
page 200 '/runs/1/tasks?sort=state' 'sorted'
is "$(grep -o '/task?task=[^"]*' body | sed -n 1p)" '/task?task=bad' 'failed ones first'
page 200 '/runs/1/tasks?took=1h&sort=name' 'those that took long'
has '0 tasks</p>'
page 200 '/runs/1/tasks?took=0s&state=failed' 'those that have run'
has '2 tasks</p>'
has 'name="took" value="0s"'
page 400 '/runs/1/tasks?took=long' 'what is no time'
page 200 "/runs/1/tasks?group=%22%3E%3Cscript%3E&sort=x&offset=99999" 'nonsense'
has '0 tasks</p>'
page 200 /runs/1 'the run'
has '/runs/1/plan' 'leads to the plan'
has '/runs/1/audit' 'and to what was done'
page 200 /runs/1/audit 'what was done in a run'
has '<td>run_started</td>'
ok 'each event has a row' test "$(grep -o '<tr><td>' body | wc -l)" -eq "$(cairn events 1 --json | wc -l)"
turn=$(cairn events 1 --json | sed -n 's/.*"turn":\([0-9]*\).*/\1/p' | tail -n 1)
page 200 "/runs/1/audit?after=$((turn - 1))" 'from a turn on'
is "$(grep -o '<tr><td>[0-9]*' body | sort -u)" "<tr><td>$turn" 'is that turn alone'
page 200 "/runs/1/audit?after=$turn" 'behind the last one'
has 'Nothing after that.'
page 404 /runs/9/audit 'no such run'
page 200 /audit 'what was done to the store'
has 'Nothing yet.'
is "$(grep -c 'method="post"' body)" 0 'and does nothing'
refused 405 'nothing can be posted' 'key=0&act=resume&run=1'
stop

# ---- Who may ----
serve --allow-changes
enter
page 200 /runs/1 'a page that can do something'
key=$(key)
is "${#key}" 64 'has a key of 256 bits'
has '<button>Resume...</button>'
has '<button>Complete...</button>'
ask GET "/act?act=resume&run=1&key=$key"
is "$code" 404 'nothing is done by a link'
form="key=$key&act=resume&run=1"
refused 403 'no key' 'act=resume&run=1'
refused 403 'another key' "key=$(echo "$key" | tr 0-9a-f 1-9a-f0)&act=resume&run=1"
refused 403 'a part of it' "key=${key%?}&act=resume&run=1"
refused 403 'another origin' "$form" "Origin: http://evil.example"
refused 403 'the origin null' "$form" 'Origin: null'
refused 403 'from another site' "$form" 'Sec-Fetch-Site: cross-site'
refused 403 'from another port of this host' "$form" 'Sec-Fetch-Site: same-site'
refused 401 'without the cookie' "$form" 'Cookie: a=b'
refused 403 'by another name' "$form" 'Host: evil.example'
refused 415 'as what a script could send' "$form" 'Content-Type: text/plain'
refused 413 'too long' "$(head -c 70000 /dev/zero | tr '\0' a)"
for wrong in act=none act=resume 'act=rerun&run=1' 'act=resolve&run=1&task=bad' 'act=resume&run=x' act=; do
    refused 400 "$wrong" "key=$key&$wrong"
done
refused 409 'no such run' "key=$key&act=resume&run=9"
is "$(cairn status 1 --json >s; json_get .live s)/$(cairn events --maintenance 2>/dev/null | wc -l | tr -d ' ')" false/0 'nothing was done'

# ---- A preview, and what it allows ----
post "$form"
is "$code" 200 'a preview'
ok 'is whole and inert' inert body "$served"
has '3 more may run' 'says what would happen'
has '<code>cairn resume 1' 'and by which command'
is "$(cairn runs --json >s; json_get .total s)" 1 'does nothing'
nonce=$(nonce)
is "${#nonce}" 32 'has a nonce'
refused 409 'the nonce is of this action alone' "key=$key&act=rerun&run=1&task=bad&nonce=$nonce"
post "$form"
nonce=$(nonce)
cp flow.yaml kept.yaml
sed -i 's/exit 3;/exit 4;/' flow.yaml
post "$form&nonce=$nonce"
is "$code" 409 'a command was edited, where the plan says the same'
has 'Things have changed since you looked'
mv kept.yaml flow.yaml
post "$form"
nonce=$(nonce)
touch good
run cairn resume 1 --no-wait each
post "$form&nonce=$nonce"
is "$code" 409 'the run has gone on since'
has 'Things have changed since you looked'
ok 'the new preview is whole' inert body "$served"
new=$(nonce)
post "$form&nonce=$nonce"
is "$code" 409 'that nonce is used up'
run cairn session start elsewhere
post "$form&nonce=$new"
is "$code" 200 'a change elsewhere in the store changes nothing of it'
has 'It has begun'
ok 'what came of it is whole' inert body "$served"
ok 'the run goes on' wait_for 20 sh -c 'cairn status 1 --json | grep -q "\"live\":true"'
ok 'and has mended what failed' wait_for 20 sh -c 'cairn status 1 --state completed | grep -q bad'
run cairn events --maintenance
says 'web: cairn resume 1' 'the log says who asked'
post "$form&nonce=$new"
is "$code" 409 'nothing twice'
post "key=$key&act=complete&run=1&task=ask"
is "$code" 200 'the preview of an external task'
has 'say yes &lt;script&gt;' 'says what it is'
post "key=$key&act=complete&run=1&task=ask&nonce=$(nonce)&value=answer%3Dit%27s%20fine%20%26%20%24HOME%0D%0Asecond%3D2&token="
is "$code" 200 'it is completed'
has 'cairn complete --output ' 'by a command that can be typed'
ok 'the run ends' wait_for 20 sh -c 'cairn status 1 --json | grep -q "\"live\":false"'
is "$(cairn values ask answer --run 1)" "it's fine & \$HOME" 'with the value'
is "$(cairn values ask second --run 1)" 2 'and another one'
refused 409 'once' "key=$key&act=complete&run=1&task=ask"
has 'does not wait for somebody'

# ---- The others ----
printf 'name: long\ntasks: {a: {run: "sleep 60"}}\n' >long.yaml
cairn run -q long.yaml &
long=$!
ok 'a run is at work' wait_for 10 sh -c 'cairn status 2 2>/dev/null | grep -q running'
page 200 /runs/2 'its page'
has '<button>Cancel...</button>'
post "key=$key&act=cancel&run=2"
has 'is asked to stop, as by Ctrl-C'
post "key=$key&act=cancel&run=2&nonce=$(nonce)"
is "$code" 200 'cancelled'
wait $long
is "$(cairn status 2 --json >s; json_get .state s)" cancelled 'it has stopped'
refused 409 'there is nothing to cancel' "key=$key&act=cancel&run=1"
post "key=$key&act=rerun&run=1&task=make"
has 'make</a></th>'
has 'cairn rerun --run 1 make'
post "key=$key&act=rerun&run=1&task=make&nonce=$(nonce)"
has 'It has begun'
ok 'it runs again' wait_for 20 sh -c 'cairn status 1 --tasks | grep "make" | grep -q "2 attempts"'
printf 'name: once\ntasks: {a: {once: true, run: "kill -9 $PPID; sleep 5"}}\n' >once.yaml
run cairn run -q once.yaml
page 200 /runs/3 'a run that waits for a decision'
has '<button>Decide: done...</button>'
post "key=$key&act=resolve&run=3&task=a&outcome=failed"
post "key=$key&act=resolve&run=3&task=a&outcome=done&nonce=$(nonce)"
is "$code" 409 'another decision than was shown'
post "key=$key&act=resolve&run=3&task=a&outcome=failed&nonce=$(nonce)"
is "$code" 409 'needs its own preview'
post "key=$key&act=resolve&run=3&task=a&outcome=failed&nonce=$(nonce)"
is "$code" 200 'decided'
is "$(cairn status 3 --json >s; json_get .failed s)" 1 'as it was shown'
cat >slow.yaml <<'EOF'
name: slow
tasks:
  a: {run: 'test -e once || { touch once; exit 1; }; until [ -e go ]; do sleep 0.05; done'}
EOF
run cairn run -q slow.yaml
post "key=$key&act=resume&run=4"
post "key=$key&act=resume&run=4&nonce=$(nonce)"
has 'It has begun'
printf 'name: pressed\ntasks: {a: {external: "yes?"}, b: {needs: [a], run: "true"}}\n' >pressed.yaml
run cairn run -q --no-wait pressed.yaml
browse 'a browser presses the buttons' \
    'location.href = "/runs/5"; true' \
    '[...document.querySelectorAll("form.act button")].map((b) => b.textContent).join() === "Claim...,Complete...,Fail...,Resume..."' \
    'document.querySelectorAll("form.act button")[1].click(); true' 'document.title === "Complete"' \
    =400x800 'document.documentElement.scrollWidth <= innerWidth' \
    'document.querySelector("textarea").value = "one=1\ntwo=2"; document.querySelector("form.act button").click(); true' \
    'document.title === "done" && /cairn complete --output .*one=1.* --output .*two=2.* 5 a/.test(document.body.innerText)' \
    '!cairn resume 5' 'document.querySelector("h1 a").click(); true' \
    'document.querySelector("#head .run")?.textContent === "completed, 2 of 2 tasks completed"' \
    '[...document.querySelectorAll("tbody a")].find((a) => a.textContent === "why").click(); true' 'document.title === "a"' \
    '/one = 1/.test(document.body.innerText) && document.documentElement.scrollWidth <= innerWidth' &&
    is "$(cairn values a two --run 5)" 2 'what was typed has come'
printf 'name: taken\ntasks: {a: {external: "yes?"}, b: {run: "true", undo: "echo b >>undone"}, c: {needs: [b], run: "true", undo: "echo c >>undone"}}\n' >taken.yaml
run cairn run -q --no-wait taken.yaml
page 200 /runs/6 'a run with a step to claim'
has '<button>Claim...</button>'
has '<button>Undo...</button>'
post "key=$key&act=claim&run=6&task=a"
post "key=$key&act=claim&run=6&task=a&nonce=$(nonce)&holder=kim+lee&lease=2h"
is "$code" 200 'claimed'
has "cairn claim --holder &#39;kim lee&#39; --lease 2h 6 a" 'by the command'
token=$(sed -n 's/^<pre>\|.*<pre>\([0-9a-f-]*\)$/\1/p' body | head -n 1)
has '<p class="note">The token of the claim, with which it is completed or failed:</p><pre>' 'what it printed'
page 200 /runs/6 'the run'
has 'is claimed by kim lee'
has '<code>cairn complete 6 a --token TOKEN' 'the command needs the token'
is "$(grep -c '<button>Claim' body)" 0 'nobody else can claim it'
refused 409 'nor by a form' "key=$key&act=claim&run=6&task=a&nonce=x"
post "key=$key&act=complete&run=6&task=a"
post "key=$key&act=complete&run=6&task=a&nonce=$(nonce)&value=x=%22%3E%3Cb%3E%0d%0ay=2&token=wrong"
is "$code" 409 'nor complete it without the token'
ok 'a page that is inert' inert body "$served"
has '<textarea name="value" rows="3">x=&#34;&gt;&lt;b&gt;' 'what was typed is not lost'
is "$(grep -A1 'name="value"' body | tail -n 1 | grep -o '^y=2</textarea>')" 'y=2</textarea>' 'line by line'
has '<input type="text" name="token" value="wrong">'
post "key=$key&act=complete&run=6&task=a&value=x=1&token=wrong"
has '<input type="text" name="token" value="wrong">' 'the preview has it, too'
post "key=$key&act=complete&run=6&task=a&nonce=$(nonce)&token=$token"
is "$code" 200 'with it, it is completed'
post "key=$key&act=undo&run=6"
has 'The undo of 2 completed tasks runs, one after the other, the last one first' 'what an undo would do'
nonce=$(nonce)
post "key=$key&act=undo&run=6&nonce=$nonce"
has 'It has begun: Undo'
ok 'both are undone' wait_for 20 sh -c 'cairn status 6 --json | grep -q "\"undone\":2"'
is "$(tr '\n' ' ' <undone)" 'c b ' 'in reverse order'
refused 409 'once' "key=$key&act=undo&run=6&nonce=$nonce"
has 'No completed task of run 6 has an undo'
run cairn events --maintenance
says 'web: cairn undo 6' 'it was noted'
says 'web: cairn rerun --run 1 make'
says 'web: cairn resolve 3 a failed'
says 'web: cairn claim 6 a'
page 200 /audit 'a page shows the same'
has 'web: cairn undo 6'
at=$(cairn checkpoint list --run 5 --json | sed -n 's/.*"id":"workflow:\([0-9]*\).*/\1/p' | tail -n 1)
page 200 "/checkpoints/$at" 'a checkpoint of a run'
has '<button>Start a run from here...</button>'
post "key=$key&act=from&checkpoint=$at"
has "<code>cairn resume --from $at</code>" 'a new run from there, by which command'
ok 'what it would do' grep -q 'of 2 tasks will run' body
is "$(cairn runs --json >s; json_get .total s)" 6 'a preview begins nothing'
post "key=$key&act=from&checkpoint=$at&nonce=$(nonce)"
has 'It has begun'
ok 'it is forked' wait_for 20 sh -c 'cairn status 7 --json | grep -q "\"from_run\":5"'
old=$key
stop
is "$status" 0 'it ends in order'
: >go
ok 'what was begun from a page outlives the server' wait_for 20 sh -c 'cairn status 4 --json | grep -q "\"state\":\"completed\""'
serve --allow-changes --listen "127.0.0.1:$port"
enter
refused 403 'the key of an earlier start' "key=$old&act=resume&run=1"
stop

# ---- What a task has read and made; what was added to a run ----
echo in >in
cat >made.yaml <<'EOF'
name: made
tasks:
  a: {run: 'cp in "o <b>"; mkdir -p d; echo 2 >d/x; echo log >kept', inputs: [in], outputs: ['o <b>', d/], artifacts: [kept], undo: 'rm "o <b>"'}
EOF
run cairn run -q made.yaml
serve
enter
page 200 '/runs/8/task?task=a' 'a task that has made files'
has '<td>made</td><th scope="row">o &lt;b&gt;</th><td>3 bytes</td>' 'its outputs'
has '<td>made, directory</td><th scope="row">d/</th>' 'a directory'
has '<td>read</td><th scope="row">in</th>' 'its inputs'
has '<td>artifact</td><th scope="row">kept</th>' 'and what is kept of it'
page 200 / 'the first page'
ok 'says how much room there is' grep -qE '[.]cairn: [0-9.]+ [KM]iB, [0-9.]+ [A-Z]iB free on the disk' body
run cairn undo 8
page 200 '/runs/8/task?task=a' 'the same, undone'
has '<td>2, undo</td>' 'the attempt that undid it'
has 'undo_intended' 'and its events'
echo '{tasks: {more: {run: "true"}}}' >more.yaml
run cairn add 8 more.yaml
page 200 /runs/8 'a run to which a task was added'
has '<dt>Added</dt><dd>1 task waits until the run goes on</dd>'
stop

# ---- The same beside MCP, at one port ----
cairn mcp --listen 127.0.0.1:0 --web --allow-changes >url 2>web.err &
server=$!
ok 'cairn mcp --web says both addresses' wait_for 10 sh -c '[ "$(wc -l <url)" -eq 2 ]'
port=$(sed -n '1s/.*127.0.0.1:\([0-9]*\).mcp$/\1/p' url)
opened=$(sed -n '2s/.*\(\/open\/[0-9a-f]*\)$/\1/p' url)
enter
page 200 /runs/1 'a page'
key=$(key)
rpc() { # BODY HEADER...
    body=$1
    shift
    build POST /mcp "Content-Length: ${#body}" 'Content-Type: application/json' 'Accept: application/json, text/event-stream' "$@"
    printf '%s' "$body" >>request
    send
}
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'
rpc "$hello"
is "$code" 401 'the cookie of the pages does not open MCP'
ok 'and MCP says how' grep -q '^WWW-Authenticate: Bearer' answer
token="Authorization: Bearer $(cat .cairn/mcp.token)"
ask GET / "$token" 'Cookie:'
is "$code" 401 'nor the token of MCP the pages'
rpc "$hello" "$token" 'Cookie:'
is "$code" 200 'MCP answers'
session=$(sed -n 's/^Mcp-Session-Id: \([0-9a-f]*\).*/\1/p' answer)
rpc "$hello" "$token" 'Host: evil.example'
is "$code" 403 'by its own name alone'
ask GET / 'Host: evil.example'
is "$code" 403 'as the pages'
rpc '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_cancel","arguments":{"run":8}}}' "$token" 'Cookie:' "Mcp-Session-Id: $session"
ok 'a tool works' grep -q '"structuredContent"' body
is "$(cairn events --maintenance | grep -c 'web: cairn cancel 8')" 0 'no page has asked for it'
post "key=$key&act=resume&run=8"
post "key=$key&act=resume&run=8&nonce=$(nonce)"
has 'It has begun' 'a page acts'
ok 'and it is done' wait_for 20 sh -c 'cairn status 8 --json | grep -q "\"state\":\"completed\""'
is "$(cairn events --maintenance | grep -c 'web: cairn resume 8')" 1 'which is noted'
stop
is "$status" 0 'it ends in order'
run cairn mcp --web
is "$status" 2 '--web needs --listen'
run cairn mcp --listen 127.0.0.1:0 --allow-changes
is "$status" 2 '--allow-changes needs --web'

# ---- A long audit log, in parts ----
cat >many.yaml <<'EOF'
name: many
tasks: {t: {foreach: {n: {range: [1, 300]}}, exec: ["true"]}}
EOF
run cairn run -q --sync off many.yaml
many=$(cairn runs --limit 1 --json | sed -n 's/.*"run":\([0-9]*\).*/\1/p' | head -n 1)
serve
enter
page 200 "/runs/$many/audit" 'of many events'
ok 'a part' test "$(grep -o '<tr><td>' body | wc -l)" -lt 700
part=$(sed -n 's/.*href="\(.runs.[0-9]*.audit?after=[0-9]*\)">what came then.*/\1/p' body)
last=$(grep -o '<tr><td>[0-9]*' body | tail -n 1)
page 200 "$part" 'and the next'
is "$(grep -o '<tr><td>[0-9]*' body | sed -n 1p)" "<tr><td>$((${last#<tr><td>} + 1))" 'which goes on behind it'
page 200 "/runs/$many/audit?after=$(($(cairn events "$many" --json | sed -n 's/.*"turn":\([0-9]*\).*/\1/p' | tail -n 1) - 1))" 'and the newest'
has '<td>run_finished</td>'
stop
done_testing
