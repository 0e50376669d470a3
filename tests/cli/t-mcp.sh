# make: sanitize
# cairn mcp: an agent's client, the same answers as the command's, both eras of the
# protocol, hostile messages, cancelling, and ends of either side.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION
mkfifo to from

# The client: `ask ID METHOD [PARAMS]` sends a request and has the answer in the file
# answer; `call ID TOOL [ARGUMENTS]` the same for a tool.
server=
connect() { # OPTION...
    cairn mcp "$@" <to >from 2>mcp.err &
    server=$!
    exec 3>to 4<from
}
disconnect() {
    exec 3>&- 4<&-
    wait "$server"
    status=$?
}
tell() { printf '%s\n' "$1" >&3; }
hear() {
    answer=
    IFS= read -r answer <&4
    printf '%s\n' "$answer" >answer
}
ask() {
    tap_last="ask $*"
    tell "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":${3:-{\}}}"
    hear
}
call() { ask "$1" tools/call "{\"name\":\"$2\",\"arguments\":${3:-{\}}}"; }
got() { json_get "$1" answer; }
# The document in an answer, as it was sent, and what the command prints.
document() { sed 's/.*"structuredContent"://; s/,"isError":false}}$//' answer; }
# A report says what time it is now.
timeless() {
    sed 's/"spent_ms":[0-9]*//g; s/[0-9]* seconds* later//g; s/[0-9-]* [0-9:]* UTC//g'
}
same() { # NAME COMMAND...
    same_name=$1
    shift
    "$@" 2>/dev/null | timeless >expected
    document | timeless >got
    ok "$same_name: the same as $*" cmp -s got expected
}
hello() {
    ask 0 initialize "{\"protocolVersion\":\"${1:-2025-11-25}\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}"
    tell '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

# ---- Hello, and what there is -------------------------------------------------
connect
hello
is "$(got .result.protocolVersion)" 2025-11-25 'the version that the client wants'
is "$(got .result.serverInfo.name)" cairn 'who serves'
ask 1 ping
is "$answer" '{"jsonrpc":"2.0","id":1,"result":{}}' 'ping'
ask 2 tools/list
json_ok 'the list of tools is JSON' answer
ok 'at least 35 tools' test "$(grep -o '"inputSchema"' answer | wc -l)" -ge 35
ask 3 no/such
is "$(got .error.code)" -32601 'an unknown method'
call 4 session_show
is "$(got .result.isError)" true 'without a store, a tool says so'
is "$(got .result._meta.cairn/error.code)" 'not found' 'with the code of the command'
ask 5 resources/list
is "$(got .id)" 5 'without a store there are no resources, and no error'

# ---- The same as the command --------------------------------------------------
call 10 session_start '{"name":"bug"}'
is "$(got .result.structuredContent.name)" bug 'session_start'
call 11 session_start '{"name":"other","no_switch":true}'
call 12 board_add '{"kind":"hypothesis","text":"--json is what it says","prior":0.3,"tags":["a","b"]}'
is "$(got .result.structuredContent.id)" h1 'a text that looks like an option is a text'
call 13 board_add '{"kind":"evidence","hypothesis":"h1","text":"seen","strength":-0.4}'
is "$(got .result.structuredContent.id)" e1 'evidence'
call 14 board_add '{"kind":"note","text":"-"}'
call 15 board_show '{"kind":"note","id":"n1"}'
is "$(got .result.structuredContent.text)" - 'a text that is - does not wait for stdin'
same board_show cairn note show n1 --json
call 16 board_list '{"kind":"hypothesis"}'
same board_list cairn hypothesis list --json
call 17 checkpoint_save '{"summary":"the cache is stale","context":{"next":"run the tests","n":3},"full_state":"all of it","tags":["risky"],"tokens":1200}'
is "$(got .result.structuredContent.made)" true 'checkpoint_save'
id=$(got .result.structuredContent.id)
call 18 checkpoint_get "{\"checkpoint\":\"$id\"}"
same checkpoint_get cairn checkpoint show "$id" --json
call 19 checkpoint_list '{"session":"bug","limit":5}'
same checkpoint_list cairn checkpoint list --session bug --limit 5 --json --contextd
call 28 checkpoint_search '{"query":"stale cache","top_k":2}'
same checkpoint_search cairn search 'stale cache' --in sessions -k 2 --json --contextd
call 29 search '{"query":"-k 7 \"x\" OR","in":"board"}'
same search cairn search --in board --json -- '-k 7 "x" OR'
call 20 checkpoint_resume '{"level":"full"}'
same checkpoint_resume cairn checkpoint resume --level full --json --contextd
is "$(got '.result.content[0].text')" "$(got .result.structuredContent.text)" 'its text is for people'
call 21 session_list
same session_list cairn session list --json
call 22 session_log '{"session":"bug"}'
same session_log cairn session log --session bug --json
call 23 session_report
same session_report cairn report --json
call 24 checkpoint_restore "{\"checkpoint\":\"$id\"}"
is "$(got .result.structuredContent.dry_run)" true 'checkpoint_restore only says what it would do'
same checkpoint_restore cairn checkpoint restore "$id" --dry-run --json
call 25 checkpoint_restore "{\"checkpoint\":\"$id\",\"confirm\":true}"
is "$(got .result.structuredContent.dry_run)" false 'unless it is confirmed'

# Older clients
call 30 checkpoint_save '{"session_id":"bug","project_path":"'"$PWD"'","name":"old","description":"d","summary":"s","context":"c","full_state":"","token_count":7,"threshold":30,"auto_created":false,"metadata":{"k":"v"}}'
is "$(got .result.structuredContent.message)" old 'the contract of older clients'
is "$(got .result.structuredContent.context.usage)" 0.3 'a percentage'
call 31 checkpoint_resume "{\"checkpoint_id\":\"$(got .result.structuredContent.id)\",\"tenant_id\":\"\",\"level\":\"summary\"}"
is "$(got .result.structuredContent.summary)" s 'and its level'

# ---- Runs ---------------------------------------------------------------------
cat >flow.yaml <<'Y'
name: flow
params:
  day: monday
tasks:
  hi:
    run: echo hi
  bad:
    run: exit 1
Y
cat >wait.yaml <<'Y'
name: wait
tasks:
  person:
    external: do it
Y
call 40 run_plan '{"file":"flow.yaml","params":{"day":"a b"}}'
same run_plan cairn plan flow.yaml --param 'day=a b' --json
call 41 run_start '{"file":"flow.yaml","params":{"day":"a b"},"no_wait":true}'
is "$(got .result.structuredContent.run)" 1 'run_start has the number of the run'
ended() { [ "$(cairn status 1 --json | sed 's/.*"live":\([a-z]*\).*/\1/')" = false ]; }
ok 'which ends by itself' wait_for 10 ended
call 42 run_status '{"run":1,"tasks":true}'
same run_status cairn status 1 --tasks --json
is "$(got .result.structuredContent.state)" failed 'and has failed'
call 43 run_explain '{"task":"bad","run":1}'
same run_explain cairn explain bad --run 1 --json
call 44 run_log '{"task":"hi","run":1}'
same run_log cairn log hi --run 1 --json
call 45 run_list
same run_list cairn runs --json
call 45 run_list '{"state":"completed,undone"}'
same run_list cairn runs --state completed,undone --json
call 46 task_next '{"run":1}'
same task_next cairn next 1 --json
call 47 run_start '{"file":"none.yaml"}'
is "$(got .result.isError)" true 'run_start of no file'
ask 48 resources/read '{"uri":"cairn://log/1/hi"}'
cairn log hi --run 1 --json >expected
is "$(got '.result.contents[0].mimeType')" application/json 'a resource'
# A run continues when the server has ended.
call 49 run_start '{"file":"wait.yaml"}'
is "$(got .result.structuredContent.run)" 2 'a second run'
disconnect
is "$status" 0 'the server ends when the client closes stdin'
ok 'nothing on stderr' test ! -s mcp.err
waits() { cairn next 2 --json | grep -q '"task":"person"'; }
ok 'the run has not ended with it' wait_for 10 waits
connect
hello 2024-11-05
is "$(got .result.protocolVersion)" 2024-11-05 'an older version'
call 50 task_claim '{"run":2,"task":"person","holder":"me"}'
token=$(got .result.structuredContent.token)
call 52 task_renew "{\"run\":2,\"task\":\"person\",\"token\":\"$token\",\"lease\":\"5m\"}"
is "$(got .result.structuredContent.lease_ms)" 300000 'task_renew'
call 51 task_complete "{\"run\":2,\"task\":\"person\",\"token\":\"$token\"}"
is "$(got .result.structuredContent.state)" completed 'task_complete'
two_ended() { [ "$(cairn status 2 --json | sed 's/.*"live":\([a-z]*\).*/\1/')" = false ]; }
ok 'and the run ends' wait_for 10 two_ended

# ---- What is refused ----------------------------------------------------------
says_text() { # NAME TEXT
    is "$(got .result.isError)" true "$1: refused"
    ok "$1: says $2" grep -qF -e "$2" answer
}
call 60 board_add '{"kind":"note","txt":"x"}'
says_text 'an unknown field' 'did you mean \"text\"?'
call 61 board_add '{"kind":"note"}'
says_text 'a field that lacks' '\"text\" is required'
call 62 board_add '{"kind":"note","text":"x","strength":1}'
says_text 'a field of another kind' '\"strength\" does not belong'
call 63 board_add '{"kind":"notes","text":"x"}'
says_text 'no such kind' 'cannot be \"notes\"'
call 64 checkpoint_list '{"limit":0}'
says_text 'a number that is too small' 'from 1 to 100'
call 65 note_add '{"text":"a\u0000b"}'
says_text 'a NUL' 'NUL'
call 66 note_add '{"text":[7]}'
says_text 'a list for a text' 'is a string'
call 67 session_show '{"directory":"/tmp/../etc"}'
says_text '.. in a path' '..'
call 68 session_show '{"directory":"relative"}'
says_text 'a relative path' 'absolute'
call 69 checkpoint_sav
is "$(got .error.code)" -32602 'an unknown tool'
ok 'with the nearest name' grep -q 'did you mean checkpoint_save' answer
call 70 session_show '[1]'
says_text 'arguments that are a list' 'is an object'
call 71 session_show '{"session":"a","session_id":"b"}'
says_text 'one field under two names' 'twice'

# ---- Hostile messages ---------------------------------------------------------
bad() { # NAME CODE MESSAGE
    tap_last=$3
    tell "$3"
    hear
    is "$(got .error.code)" "$2" "$1"
    is "$(got .id)" null "$1: nobody's id"
}
bad 'no JSON' -32700 '{"jsonrpc":'
bad 'half a string' -32700 '"'
bad 'a key twice' -32700 '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'
bad 'bytes that are no UTF-8' -32700 "$(printf '"\377\376"')"
bad 'a number alone' -32600 7
bad 'a list' -32600 '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
bad 'an empty list' -32600 '[]'
bad 'an id that is null' -32600 '{"jsonrpc":"2.0","id":null,"method":"ping"}'
bad 'an id that is an object' -32600 '{"jsonrpc":"2.0","id":{},"method":"ping"}'
bad 'a huge number' -32700 '{"jsonrpc":"2.0","id":1e999,"method":"ping"}'
bad 'too deep' -32700 "$(head -c 100000 /dev/zero | tr '\0' '[')"
{ printf '{"jsonrpc":"2.0","id":1,"method":"'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}\n'; } >&3
hear
is "$(got .error.code)" -32600 'more than 4 MiB'
tell '{"jsonrpc":"2.0","method":"notifications/no-such"}'
tell '{"jsonrpc":"2.0","id":5,"result":{}}'
tell ''
ask '"a \" b"' ping
is "$(got .id)" 'a " b' 'an id that is a string, after all of that'
tell '{"jsonrpc":"1.0","id":6,"method":"ping"}'
hear
is "$(got .id)$(got .error.code)" 6-32600 'another JSON-RPC, with its id'
ask 7 tools/call '[]'
is "$(got .error.code)" -32602 'params that are a list'
ask 8 resources/read '{"uri":"cairn://run/1%00"}'
is "$(got .error.code)" -32002 'a NUL in an address'
ask 9 resources/read '{"uri":"cairn://run/--help"}'
is "$(got .error.code)" -32602 'an option in an address is an operand'
ask 10 resources/list '{"cursor":"runs:-1"}'
is "$(got .error.code)" -32602 'no such page'
disconnect
is "$status" 0 'the server has not minded'

# ---- Both eras, several answers in one ----------------------------------------
connect
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}'
ask 1 server/discover "{$modern}"
is "$(got '.result.supportedVersions[0]')" 2026-07-28 'server/discover'
is "$(got .result.resultType)" complete 'its result is complete'
ask 2 tools/list "{$modern}"
is "$(got .result.resultType)$(got .result.ttlMs)$(got .result.cacheScope)" complete0private 'a list of the newer era'
ask 3 tools/call "{$modern,\"name\":\"session_list\",\"arguments\":{}}"
is "$(got .result.resultType)" complete 'a call'
is "$(got .result.structuredContent.total)" 2 'with its answer'
ask 4 logging/setLevel "{$modern,\"level\":\"info\"}"
is "$(got .error.code)" -32601 'what that era does not have'
ask 5 ping '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}'
is "$(got .error.code)$(got .error.data.requested)" -320222031-01-01 'a version that is not spoken'
hello 2025-03-26
tell '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_list"}},7]'
hear
is "$(grep -o '"id":[a-z0-9]*' answer | sort | tr '\n' ' ')" '"id":1 "id":2 "id":null ' 'an array is answered by an array'
disconnect

# ---- Prompts, completion ------------------------------------------------------
connect
hello
ask 1 prompts/get '{"name":"resume-work","arguments":{"level":"summary"}}'
ok 'resume-work has the summary' grep -q 'Go on with the work' answer
ask 2 prompts/get '{"name":"debug-failed-run","arguments":{"run":"1"}}'
ok 'debug-failed-run has the run' grep -q 'workflow.*flow' answer
ask 3 prompts/get '{"name":"debug-failed-run","arguments":{"rum":"1"}}'
is "$(got .error.code)" -32602 'no such argument'
ask 4 completion/complete '{"ref":{"type":"ref/prompt","name":"resume-work"},"argument":{"name":"level","value":"su"}}'
is "$(got '.result.completion.values[0]')" summary 'completion of a level'
ask 5 completion/complete '{"ref":{"type":"ref/resource","uri":"cairn://log/{run}/{task}"},"argument":{"name":"task","value":"b"},"context":{"arguments":{"run":"1"}}}'
is "$(got '.result.completion.values[0]')" bad 'completion of a task of the run'
i=0
while [ $i -lt 105 ]; do
    i=$((i + 1))
    cairn session start "many$i" --no-switch >/dev/null 2>&1
done
ask 7 completion/complete '{"ref":{"type":"ref/prompt","name":"resume-work"},"argument":{"name":"session","value":"many"}}'
is "$(got '.result.completion.values[99]')$(got .result.completion.hasMore)" many6true 'completion says that there are more'
call 8 session_list '{"limit":100}'
same session_list cairn session list --limit 100 --json
call 8 session_list '{"limit":101}'
says_text 'more than the command lists' '\"limit\" is a whole number from 1 to 100'
ask 8 completion/complete '{"ref":{"type":"ref/prompt","name":"resume-work"},"argument":{"name":"session","value":"many10"}}'
is "$(got '.result.completion.values[5]')$(got .result.completion.hasMore)" many100true 'also where those that fit can be behind the newest hundred'
ask 6 resources/templates/list
is "$(got '.result.resourceTemplates[0].uriTemplate')" 'cairn://run/{run}' 'templates'
disconnect

# ---- Sets that are offered when they are asked for -------------------------------
cat >undo.yaml <<'Y'
name: undone
tasks:
  made: {run: 'echo n=1 >>"$CAIRN_OUTPUT"', undo: 'touch undone.file'}
Y
cairn run undo.yaml >/dev/null 2>&1
undone=$(cairn runs --json | sed 's/.*"runs":\[{"run":\([0-9]*\),.*/\1/')
connect
hello
ask 1 tools/list
ok 'a tool that runs commands says so' grep -qE '"name":"run_start".*"title":"Run a workflow","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true' answer
ok 'exec is not offered by itself' sh -c '! grep -q "\"name\":\"exec\"" answer'
disconnect
connect --tools all
hello
call 2 run_values "{\"run\":$undone}"
same run_values cairn values --run "$undone" --json
call 3 run_validate '{"file":"undo.yaml"}'
same run_validate cairn validate undo.yaml --json
call 4 run_graph '{"file":"undo.yaml"}'
same run_graph cairn graph undo.yaml --json
call 25 run_add "{\"run\":$undone,\"text\":\"tasks: {later: {run: 'true'}}\",\"by\":\"ada\"}"
is "$(got .result.structuredContent.tasks) $(got .result.structuredContent.taken)" '1 false' 'run_add'
call 26 run_add "{\"run\":$undone,\"text\":\"tasks: {later: {run: x}}\"}"
is "$(got .result.isError)" true 'of a name that is there it is refused'
call 5 run_undo "{\"run\":$undone}"
is "$(got .result.structuredContent.state)" undone 'run_undo'
ok 'it has run the undo of the task' test -e undone.file
call 6 branch_list
same branch_list cairn branch list --json
call 7 session_config
same session_config cairn session config --json
call 8 exec '{"command":["sh","-c","echo said; exit 3"]}'
is "$(got .result.structuredContent.exit_code)$(got .result.isError)" 3false 'exec: how it ended is the answer'
ok 'with what was written' grep -q '"text":"said' answer
call 9 exec '{"command":[]}'
is "$(got .result.isError)" true 'exec of nothing'
call 10 store_gc '{"keep_runs":1}'
is "$(got .result.structuredContent.dry_run)" true 'store_gc only says what would go'
call 11 store_verify
is "$(got .result.structuredContent.ok)" true 'store_verify'
disconnect

# ---- A key, which is not looked for in the directory of a call ---------------------
head -c 32 /dev/urandom >hmac.key
chmod 600 hmac.key
mkdir sub
keyed() { # NAME
    hello
    call 1 run_list "{\"directory\":\"$PWD/sub\"}"
    is "$(got .result.isError)" false "$1: a call in another directory"
    call 2 note_add "{\"text\":\"with a key\",\"directory\":\"$PWD/sub\"}"
    is "$(got .result.isError)" false "$1: sessions are written as without one"
    call 3 store_verify "{\"directory\":\"$PWD/sub\"}"
    ok "$1: it is used" grep -q '"unkeyed_runs":[1-9]' answer
    disconnect
}
connect --tools all --key hmac.key
keyed --key
export CAIRN_KEY=hmac.key
connect --tools all
keyed CAIRN_KEY
unset CAIRN_KEY

# ---- Progress, and what has changed --------------------------------------------
cairn check add short --run 'sleep 3' >/dev/null
short=$(cairn check list --json | sed 's/.*"id":"\(v[0-9]*\)".*/\1/')
connect
hello
tell '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["'"$short"'"]},"_meta":{"progressToken":"p1"}}}'
hear
is "$(got .method)$(got .params.progressToken)" notifications/progressp1 'a call that takes long says how long'
told=$(got .params.progress)
hear
ok 'and it grows' test "$(got .params.progress)" -gt "$told"
while ! grep -q '"id":1,' answer; do hear; done
is "$(got .result.isError)" false 'then comes its answer'
ask 2 resources/subscribe '{"uri":"cairn://session/bug"}'
is "$(got .id)$(got .error.code)" 2 'subscribed to a session'
hear
is "$(got .method)$(got .params.uri)" notifications/resources/updatedcairn://session/bug 'once at first: it may have changed meanwhile'
cairn note add 'from outside' --session bug >/dev/null
hear
is "$(got .method)$(got .params.uri)" notifications/resources/updatedcairn://session/bug 'then when somebody changes it'
cairn note add 'elsewhere' --session other >/dev/null
ask 3 resources/unsubscribe '{"uri":"cairn://session/bug"}'
is "$(got .id)" 3 'another session is none of it'
ask 4 resources/subscribe '{"uri":"cairn://nothing/1"}'
is "$(got .error.code)" -32602 'there is no such resource'
ask 5 resources/subscribe '{"uri":"cairn://run/latest"}'
is "$(got .error.code)" -32602 'a run by something else than its number'
cairn checkpoint create one --session bug >/dev/null
cairn checkpoint create two --session bug --json >two
two=$(json_get .id two)
ask 6 resources/subscribe "{\"uri\":\"cairn://checkpoint/$two\"}"
is "$(got .id)$(got .error.code)" 6 'subscribed to a checkpoint'
hear
cairn checkpoint delete "$two" --yes >/dev/null
hear
is "$(got .method)$(got .params.uri)" "notifications/resources/updatedcairn://checkpoint/$two" 'told when it goes'
ask 7 resources/unsubscribe "{\"uri\":\"cairn://checkpoint/$two\"}"
is "$(got .id)" 7 'and once'
listen='"method":"subscriptions/listen","params":{'"$modern"',"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["cairn://session/%62ug"]}}'
tell "{\"jsonrpc\":\"2.0\",\"id\":\"l\",$listen}"
hear
is "$(got .method)" notifications/subscriptions/acknowledged 'to listen is acknowledged'
is "$(got .params.notifications.resourcesListChanged)$(got .params.notifications.toolsListChanged)" true 'with what there is to hear'
hear; hear
cairn checkpoint create listened --session bug >/dev/null
hear
cp answer first
hear
cat answer >>first
is "$(grep -c '"io.modelcontextprotocol/subscriptionId":"l"' first)" 2 'what changes is told, with the id of who listens'
ok 'of the resource as it was written' grep -q 'cairn://session/%62ug' first
ok 'and of the list' grep -q list_changed first
followers() { # of this store: other tests have some, too
    for at in /proc/[0-9]*; do
        [ "$(readlink "$at/cwd")" = "$(pwd -P)" ] || continue
        tr '\0' ' ' <"$at/cmdline" | grep -qF 'events --follow --json --position' && return
    done 2>/dev/null
    return 1
}
none() { ! followers; }
ok 'a process follows' followers
tell '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}'
cairn note add 'not heard' --session bug >/dev/null
ask 5 prompts/list
is "$(got .id)" 5 'cancelled, it is told nothing'
ask 6 logging/setLevel '{"level":"loud"}'
is "$(got .error.code)" -32602 'no such level'
ask 7 logging/setLevel '{"level":"error"}'
is "$(got .id)$(got .error.code)" 7 'a level'
disconnect
ok 'nobody follows any more' wait_for 10 none

# ---- Only reading, only some --------------------------------------------------
connect --read-only --tools board,run
hello
ask 1 tools/list
ok 'only tools that read' sh -c '! grep -q "\"readOnlyHint\":false" answer && grep -q run_status answer'
ok 'only of these sets' sh -c '! grep -q checkpoint_list answer'
call 2 note_add '{"text":"x"}'
is "$(got .error.code)" -32602 'another one is not there'
ok 'and why' grep -q -e --read-only answer
disconnect
connect --read-only
hello
call 3 checkpoint_diff '{"from":"debug:1","worktree":true}'
says_text 'files that would be put into the store' '\"worktree\" is not one of its fields'
disconnect
exits 2 cairn mcp --tools boards
says 'did you mean board?'

# ---- Cancelling, time limits, ends --------------------------------------------
cairn check add slow --run 'exec sleep 9731' --timeout 1h >/dev/null
connect
hello
tell '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]}}}'
ok 'a call that takes long' wait_for 10 lives 'sleep 9731'
ask 2 ping
is "$(got .id)" 2 'others do not wait for it'
ask 1 ping
is "$(got .error.code)" -32600 'its id is in use'
tell '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}'
gone() { ! lives 'sleep 9731'; }
ok 'cancelled, it ends' wait_for 10 gone
ask 3 ping
is "$(got .id)" 3 'and is not answered'

tell '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]}}}'
ok 'again' wait_for 10 lives 'sleep 9731'
kill -9 "$server"
ok 'kill -9 of the server leaves nothing' wait_for 10 gone
disconnect
is "$status" 137 'it was killed'

connect --time-limit 1s
hello
tell '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]}}}'
hear
while ! grep -q '"id":5' answer; do hear; done
is "$(got .result.isError)" true 'a call beyond its time limit'
ok 'says so' grep -q 'longer than 1 seconds' answer
ok 'and is gone' wait_for 10 gone
disconnect
connect
hello
tell '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]}}}'
ok 'once more' wait_for 10 lives 'sleep 9731'
kill "$server"
disconnect
is "$status" 0 'a signal ends it'
ok 'with its children' wait_for 10 gone

# Two on one store, at once; each its own changes in order.
writes() { # PREFIX FILE
    i=0
    echo '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
    while [ $i -lt 10 ]; do
        i=$((i + 1))
        echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"tools/call\",\"params\":{\"name\":\"note_add\",\"arguments\":{\"text\":\"$1 $i\",\"session\":\"other\"}}}"
    done
}
writes one >one.in
writes two >two.in
cairn mcp <one.in >one.out &
first=$!
cairn mcp <two.in >two.out
wait $first
is "$(cat one.out two.out | grep -c '"isError":false')" 20 'two servers on one store'
cairn note list --session other --sort number --limit 100 --json >notes
is "$(grep -o '"text":"one [0-9]*' notes | tr -d '\n' | tr -s '":a-z ' ' ')" ' 1 2 3 4 5 6 7 8 9 10' 'in the order in which they were asked for'

# A stack of the smallest size with which other commands work.
if ldd "$BUILD/cairn" | grep -q 'lib[a-z]*san'; then
    skip 'a small stack' 'a build with sanitizers needs a larger one'
else
    # shellcheck disable=SC3045 # dash and bash have it
    sed 1q one.in | (ulimit -s 64 && cairn mcp >small.out)
    is "$(cat small.out)" "$(sed 1q one.out)" 'a small stack is enough'
fi

# A client that goes away, and one that does not read.
{ cat one.in; cat one.in; } | cairn mcp | head -n 1 >/dev/null
ok 'a client that went away' true
mkfifo stuck
# shellcheck disable=SC2217 # it holds the pipe open
sleep 600 <stuck &
reader=$!
i=0
while [ $i -lt 20000 ]; do
    i=$((i + 1))
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
done | cairn mcp >stuck 2>err
status=$?
kill $reader
wait $reader 2>/dev/null
is "$status" 75 'a client that does not read'
says 'does not read its answers'
done_testing
