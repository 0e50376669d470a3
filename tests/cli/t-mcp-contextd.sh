# cairn mcp for clients of contextd: its usage examples, word for word but for the
# directory, and the fields that it answers with; a project without a store; and what
# models and clients send that is not quite what the schema says.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION CAIRN_STORE

# `call ID TOOL ARGUMENTS` is a server of its own; its answer is in the file answer.
call() {
    tap_last="$2 $3"
    {
        echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
        echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"tools/call\",\"params\":{\"name\":\"$2\",\"arguments\":$3}}"
    } | cairn mcp --tools all 2>err | grep "\"id\":$1," >answer
}
got() { json_get ".result.structuredContent$1" answer; }
worked() { is "$(json_get .result.isError answer)" false "$1"; }
refused() { # NAME TEXT
    is "$(json_get .result.isError answer)" true "$1"
    ok "$1: says $2" grep -qF -e "$2" answer
}

# ---- The four examples ----------------------------------------------------------
mkdir -p myproject
project=$(cd myproject && pwd)
here() { sed "s|/home/user/myproject|$project|"; }
# Example 4 has no envelope; 1 to 3 are written in Go, whose client sends these fields.
play() { # ID EXAMPLE
    {
        printf '{"jsonrpc":"2.0","id":%s,' "$1"
        here <"$2" | sed '1s/{//' | tr -d '\n'
        echo
    } >request
    tap_last=$(cat request)
    cairn mcp <request >answer 2>err
}
cat >save <<'J'
{
  "method": "tools/call",
  "params": {
    "name": "checkpoint_save",
    "arguments": {
      "summary": "Completed user authentication feature",
      "description": "Implemented JWT tokens, refresh tokens, and password hashing",
      "project_path": "/home/user/myproject",
      "context": {
        "branch": "feature/auth",
        "files_changed": "5"
      },
      "tags": ["auth", "security"]
    }
  }
}
J
cat >search <<'J'
{
  "method": "tools/call",
  "params": {
    "name": "checkpoint_search",
    "arguments": {
      "query": "how did I implement authentication?",
      "project_path": "/home/user/myproject",
      "tags": ["auth"],
      "top_k": 3
    }
  }
}
J
play 4 save
worked 'example 4, save: in a project without a store'
ok 'which has one now' test -f myproject/.cairn/cairn.db
is "$(got .made)$(got .summary)" 'trueCompleted user authentication feature' 'the summary'
is "$(got .description)" 'Implemented JWT tokens, refresh tokens, and password hashing' 'the description'
is "$(got .project_path)" "$project" 'the directory'
is "$(got '.tags[1]')$(got .auto_created)" securityfalse 'the tags'
ok 'a number of tokens' test "$(got .token_count)" -gt 10
is "$(got .created_at)" "$(got .updated_at)" 'the times'
first=$(got .id)
play 4 search
worked 'example 4, search'
is "$(got .query)$(got .top_k)" 'how did I implement authentication?3' 'the query and top_k'
is "$(got '.results[0].checkpoint.id')" "$first" 'the checkpoint'
is "$(got '.results[0].checkpoint.summary')" 'Completed user authentication feature' 'with its summary'
is "$(got '.results[0].checkpoint.context.files_changed')" 5 'its context'
is "$(got '.results[0].checkpoint.tags[0]')$(got '.results[0].checkpoint.project_path')" "auth$project" 'its tags and its directory'
is "$(got '.results[0].checkpoint.created_at')" "$(got '.hits[0].time')" 'its time'
is "$(awk "BEGIN { print $(got '.results[0].score') + $(got '.results[0].distance') }")" 1 'score and distance are 1 together'

call 1 checkpoint_save "{\"summary\":\"Implemented user authentication\",\"description\":\"Added JWT-based authentication with refresh tokens\",\"project_path\":\"$project\",\"context\":{\"branch\":\"feature/auth\",\"commit\":\"abc123\"},\"tags\":[\"auth\",\"security\",\"jwt\"]}"
worked 'example 1'
ok 'an id' test -n "$(got .id)"
ok 'a number of tokens' test "$(got .token_count)" -gt 10
second=$(got .id)
call 2 checkpoint_search "{\"query\":\"authentication implementation\",\"top_k\":5,\"project_path\":\"$project\",\"tags\":[\"auth\"]}"
worked 'example 2'
is "$(grep -o '"checkpoint":{' answer | wc -l | tr -d ' ')" 2 'both are found, whatever else is'
ok 'the first with a score' test -n "$(got '.results[0].score')"
call 3 checkpoint_list "{\"limit\":10,\"offset\":0,\"project_path\":\"$project\",\"sort_by\":\"\"}"
worked 'example 3'
is "$(got .total)$(got .limit)$(got .offset)" 2100 'how many there are'
is "$(got '.checkpoints[0].summary')" 'Implemented user authentication' 'the newest one first'
ok 'with its time' test -n "$(got '.checkpoints[0].created_at')"

# Results are checkpoints, as many as are wanted, however many other things are nearer.
i=0
while [ $i -lt 8 ]; do
    i=$((i + 1))
    (cd myproject && cairn session start "authentication $i" --no-switch -q >/dev/null)
done
call 2 checkpoint_search "{\"query\":\"authentication\",\"top_k\":2,\"project_path\":\"$project\"}"
is "$(grep -o '"checkpoint":{' answer | wc -l | tr -d ' ')" 2 'sessions do not take the place of checkpoints'
is "$(grep -o '"rank":' answer | wc -l | tr -d ' ')" 2 'and there are no more hits than were asked for'

# ---- Its later version ------------------------------------------------------------
cd myproject || exit 1
cairn session start s1 -q >/dev/null
call 1 checkpoint_save "{\"session_id\":\"s1\",\"tenant_id\":\"default\",\"project_path\":\"$project\",\"name\":\"n\",\"description\":\"d\",\"summary\":\"s\",\"context\":\"c\",\"full_state\":\"f\",\"token_count\":7,\"threshold\":0.3,\"auto_created\":false}"
worked 'save with a tenant'
is "$(got .session_id)$(got .name)$(got .token_count)$(got .auto_created)" s1n7false 'its answer'
id=$(got .id)
call 2 checkpoint_list '{"session_id":"s1","tenant_id":"default","limit":20,"auto_only":false}'
worked 'list with a tenant'
is "$(got '.checkpoints[0].session_id')$(got '.checkpoints[0].name')$(got '.checkpoints[0].threshold')" s1n0.3 'its answer'
call 3 checkpoint_resume "{\"checkpoint_id\":\"$id\",\"tenant_id\":\"default\",\"level\":\"full\"}"
worked 'resume with a tenant'
is "$(got .checkpoint_id)$(got .session_id)$(got .level)" "${id}s1full" 'its answer'
is "$(got .content)" "$(got .text)" 'the content'
call 3 checkpoint_resume "{\"checkpoint_id\":\"$id\",\"tenant_id\":\"default\",\"resume_level\":\"summary\"}"
is "$(got .level)$(got .content)" 'summarys\n' 'the level by the name in its examples'
for tool in get restore; do
    call 4 checkpoint_$tool "{\"checkpoint_id\":\"$id\",\"tenant_id\":\"default\"}"
    worked "checkpoint_$tool with a tenant"
done
call 4 checkpoint_search '{"query":"s","tenant_id":"default"}'
worked 'checkpoint_search with a tenant'
call 5 checkpoint_delete "{\"id\":\"$id\",\"tenant_id\":\"default\"}"
worked 'delete with a tenant, by id'
call 5 checkpoint_list '{"tenant_id":"acme"}'
refused 'another tenant' 'cannot be \"acme\"'
cairn run --help >/dev/null
cat >cairn.yaml <<'Y'
name: w
tasks: {a: {run: 'true'}}
Y
cairn run -q >/dev/null 2>&1
call 5 checkpoint_list '{}'
is "$(got '.checkpoints[0].namespace')$(got '.checkpoints[0].summary')" workflow 'a checkpoint of a run has no summary'
exits 2 cairn checkpoint list --contextd
says '--contextd is for --json'

# ---- Without a store, without a session -----------------------------------------
mkdir ../empty && cd ../empty || exit 1
exits 0 cairn checkpoint create 'the first thing'
says 'created a store in' 'checkpoint create makes a store'
says 'started session session-1' 'and a session'
exits 0 cairn checkpoint create 'the second thing'
is "$(cairn session list --json | sed "s/.*\"total\":\([0-9]*\).*/\1/")" 1 'the next one is of the same session'
mkdir ../named && cd ../named || exit 1
exits 0 cairn checkpoint create m --session mine
is "$(cairn session show --json | sed 's/.*"name":"\([^"]*\)".*/\1/')" mine 'a session that is named'
exits 10 cairn checkpoint create m --session mime
says 'there is no session' 'but not beside others'
mkdir ../unread && cd ../unread || exit 1
exits 2 cairn checkpoint create
ok 'what is refused makes nothing' test ! -e .cairn
call 1 checkpoint_resume '{}'
refused 'resume without a store' '`session_start` makes one'
ok 'makes none' test ! -e .cairn

# ---- In the words of tools --------------------------------------------------------
cd ../empty || exit 1
call 1 session_show '{"session":"nobody"}'
refused 'a session that is not there' '`session_list` shows'
mkdir ../runs && cd ../runs || exit 1
cairn run ../myproject/cairn.yaml --store .cairn -q >/dev/null 2>&1
call 2 session_show '{}'
is "$(json_get '.result.content[0].text' answer)" 'there is no current session: start one with `session_start`, or choose one with `session_switch NAME`' 'commands by the names of tools'
cd ../empty || exit 1
call 2 checkpoint_diff '{"from":"1","to":"2","worktree":true}'
is "$(json_get '.result.content[0].text' answer)" '"worktree" is in the place of TO: leave out one of them' 'an option by the name of the field'
call 3 checkpoint_diff '{}'
worked 'what changed since the newest checkpoint'
call 3 checkpoint_undo_restore '{}'
refused 'the last restore, without a direction' 'restore'

# ---- Whichever task can be done -----------------------------------------------------
mkdir ../steps && cd ../steps || exit 1
printf 'name: s\ntasks:\n  one: {external: do it}\n' >cairn.yaml
cairn run --no-wait -q >/dev/null 2>&1
call 1 task_claim '{"any":true}'
is "$(got .task)$(got .text)" 'onedo it' 'task_claim any'
token=$(got .token)
call 2 task_claim '{"any":"true","wait":1}'
refused 'there is no other, also after a second' 'can be claimed now'
call 3 task_complete "{\"run\":\"1\",\"task\":\"one\",\"token\":\"$token\",\"output\":{\"x\":1}}"
is "$(got .state)" completed 'its values by the name of the option'
cd ../empty || exit 1

# ---- What is meant ------------------------------------------------------------------
send() { printf '%b' "$1" | cairn mcp >answer 2>err; }
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
send "\\0357\\0273\\0277$hello\\r\\n"
is "$(json_get .result.serverInfo.name answer)" cairn 'a byte order mark before the first message'
send '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}\n'
is "$(cat answer)" '{"jsonrpc":"2.0","id":1,"result":{}}' 'params that are null'
call 1 session_list null
worked 'arguments that are null'
send '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume-work","arguments":{"level":null}}}\n'
ok 'an argument of a prompt that is null' grep -q 'has no checkpoint with a context' answer
call 2 checkpoint_list '{"limit":"1","auto_only":"False"}'
is "$(got .limit)" 1 'a number as a text'
call 3 board_add '{"kind":"hypothesis","text":"x","prior":"0.5","tags":"[\"a\",\"b\"]"}'
worked 'a list as a text'
is "$(cairn hypothesis show h1 --json | sed 's/.*"tags":\([^]]*\).*/\1/')" '["a","b"' 'all of it'
call 4 checkpoint_get '{"checkpoint":1}'
is "$(got .message)" 'the first thing' 'a text as a number'
send '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
ok 'the schema says so' grep -q 'may also be given as their JSON text' answer
done_testing
