# Calls over MCP that wait for others to do something, and those that take long: they never
# take the places of other calls, over stdio and HTTP, and end with the client.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION
mkfifo to from

printf 'name: s\ntasks:\n  one: {external: do it}\n' >cairn.yaml
exits 7 cairn run --no-wait
exits 0 cairn claim 1 one --lease 1h
token=$(sed 's/ .*//' out)
cairn session start s >/dev/null
cairn check add slow --run 'exec sleep 9751' --timeout 1h >/dev/null

connect() {
    cairn mcp <to >from 2>mcp.err &
    server=$!
    exec 3>to 4<from
}
left() { ! kill -0 "$server" 2>/dev/null; }
# The server is to end by itself; what is left of its answers is in the file rest.
disconnect() {
    exec 3>&-
    cat <&4 >rest &
    reader=$!
    ok "$1" wait_for 10 left
    kill "$server" 2>/dev/null
    wait $reader
    exec 4<&-
    wait "$server"
    is "$?" 0 'and well'
}
tell() { printf '%s\n' "$1" >&3; }
hear() {
    IFS= read -r answer <&4
    printf '%s\n' "$answer" >answer
}
request() { # ID TOOL ARGUMENTS
    printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}' "$@"
}
call() { # ID TOOL ARGUMENTS: the next answer is to be the one to this
    tell "$(request "$@")"
    hear
    is "$(json_get .id answer)" "$1" "$2 is answered at once"
}
awaits='{"any":true,"wait":20}'
many() { # FROM TO TOOL ARGUMENTS
    for id in $(seq "$1" "$2"); do request "$id" "$3" "$4" && echo; done
}

# ---- Over stdio -----------------------------------------------------------------------
connect
many 101 164 task_claim "$awaits" >&3
call 1 task_next '{}'
call 2 run_status '{"run":1}'
call 3 note_add '{"text":"x"}'
call 4 task_claim '{"any":true}'
ok 'a claim that does not wait is refused at once' grep -q 'can be claimed now' answer
call 5 task_renew '{"run":"1","task":"one","token":"'"$token"'","lease":"2h"}'
call 165 task_claim "$awaits"
is "$(json_get .error.code answer)" -32000 'one too many that waits is refused'
ok 'and why' grep -q 'wait for something to do' answer
tell '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":120}}'
# The task is given back: one of those that wait gets it. Once it is completed, the others
# are told that there is nothing to wait for.
call 6 task_next '{"claimed":true}'
exits 0 cairn renew 1 one --token "$token" --lease 1ms
hear
is "$(json_get .result.structuredContent.task answer)" one 'one that waits gets the task'
token=$(json_get .result.structuredContent.token answer)
exits 0 cairn complete 1 one --token "$token"
i=0
while [ $i -lt 62 ]; do
    hear
    i=$((i + 1))
    case $answer in *'run 1 '*) echo "$answer" ;; esac
done >others
is "$(wc -l <others)" 62 'the others, but the one that was cancelled, are told of it'
disconnect 'without calls it ends when the client does'

# ---- The client closes its side -------------------------------------------------------
exits 7 cairn run --no-wait
exits 0 cairn claim 2 one --lease 1h
connect
many 1 64 task_claim '{"any":true,"wait":100}' >&3
call 65 task_next '{}'
disconnect 'with calls that wait it ends when the client does'
is "$(grep -c '"isError":true' rest)" 64 'they are answered'
request 1 task_claim '{"any":true,"wait":100}' >last
started=$(date +%s)
cairn mcp <last >rest
is "$?$(grep -c '"isError":true' rest)" 01 'also one that is asked for last'
ok 'without waiting' test $(($(date +%s) - started)) -lt 60
exits 7 cairn run --no-wait --fresh
request 1 task_claim '{"any":true,"wait":100}' >last
cairn mcp <last >rest
is "$(json_get .result.structuredContent.task rest)" one 'one that is asked for last gets what is there'

# ---- Calls that take long -------------------------------------------------------------
connect
many 1 20 check_run '{"ids":["v1"]}' >&3
ok 'calls that take long' wait_for 10 lives 'sleep 9751'
call 21 session_list '{}'
call 22 note_add '{"text":"y"}'
many 31 40 task_claim '{"any":true,"wait":100}' >&3
call 23 session_list '{}'
for id in $(seq 1 20); do
    tell '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'"$id"'}}'
done
gone() { ! lives 'sleep 9751'; }
ok 'cancelled, they end' wait_for 10 gone
disconnect 'and the server with its client'

# ---- Over HTTP ------------------------------------------------------------------------
cairn mcp --listen 127.0.0.1:0 --token-file token >url 2>mcp.err &
server=$!
ok 'it listens' wait_for 10 test -s url
port=$(sed 's/.*:\([0-9]*\).*/\1/' url)
post() { # MESSAGE HEADER...
    message=$1
    shift
    {
        printf 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n' "$port"
        printf 'Authorization: Bearer %s\r\nContent-Type: application/json\r\n' "$(cat token)"
        printf 'Accept: application/json, text/event-stream\r\nContent-Length: %s\r\n' \
            "${#message}"
        for header; do printf '%s\r\n' "$header"; done
        printf '\r\n%s' "$message"
    } | "$BUILD/tests/tools/http" -t 60 "$port"
}
hello() { # a session, in which arrays of messages are taken
    post '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}' >answer
    session=$(sed -n 's/^\(Mcp-Session-Id: *[^\r]*\).*/\1/Ip' answer)
}
readers=
for client in 1 2; do
    hello
    post "[$(many 1 32 task_claim '{"any":true,"wait":60}' | paste -sd,)]" "$session" >"waits.$client" &
    readers="$readers $!"
done
hello
all_wait() {
    [ "$(grep -ls '[-]-wait=60s' /proc/[0-9]*/cmdline | wc -l)" -eq 64 ]
}
quick() {
    post "$(request "$@")" "$session" >answer
    ok "over HTTP, $2 is answered" grep -q '"isError":false' answer
}
ok 'over HTTP, 64 wait' wait_for 20 all_wait
post "$(request 1 task_claim '{"any":true,"wait":60}')" "$session" >answer
ok 'one too many is refused' grep -q -e '-32000' answer
quick 2 task_next '{}'
quick 3 run_status '{"run":3}'
quick 4 note_add '{"text":"z"}'
cairn cancel 3 >/dev/null 2>&1
# shellcheck disable=SC2086 # a list
wait $readers
is "$(cat waits.1 waits.2 | grep -o '"isError":true' | wc -l)" 64 'the end of the run ends their waits'
kill "$server"
wait "$server"
is "$?" 0 'a signal ends the server'
done_testing
