# make: long
# cairn mcp --listen: who may come in, sessions, streams that are read again, both eras of
# the protocol, clients that are slow, half there or many, and ends of either side.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION

server=
url=
listen=127.0.0.1:0
serve() { # OPTION...
    : >url
    cairn mcp --listen "$listen" "$@" >url 2>mcp.err &
    server=$!
    ok 'it says where it listens' wait_for 10 test -s url
    url=$(cat url)
    port=${url#http://127.0.0.1:}
    port=${port%/mcp}
}
stop() {
    kill "$server"
    wait "$server"
    status=$?
}

# `ask METHOD BODY [HEADER...]` sends a request with the token and what is usual; a header
# given replaces the usual one, `Name:` alone leaves it out. Answer: files answer (all),
# body (without headers and chunks), $code.
build() { # METHOD BODY HEADER...
    method=$1 body=$2 path=/mcp
    shift 2
    {
        for header; do
            case $header in path=*) path=${header#path=} ;; esac
        done
        printf '%s %s HTTP/1.1\r\n' "$method" "$path"
        for usual in "Host: 127.0.0.1:$port" "Authorization: Bearer $token" \
            'Content-Type: application/json' 'Accept: application/json, text/event-stream' \
            'Connection: close' "Content-Length: ${#body}"; do
            keep=yes
            for header; do
                [ "${header%%:*}" != "${usual%%:*}" ] || keep=
            done
            [ -z "$keep" ] || printf '%s\r\n' "$usual"
        done
        for header; do
            case $header in
            path=* | *:) ;;
            *) printf '%s\r\n' "$header" ;;
            esac
        done
        printf '\r\n%s' "$body"
    } >request
}
http() { "$BUILD/tests/tools/http" "$@"; }
read_answer() {
    code=$(sed -n '1s/^HTTP\/1.1 \([0-9]*\).*/\1/p' answer)
    # Chunks: their sizes stand alone on a line; our messages never do.
    tr -d '\r' <answer | sed '1,/^$/d' | grep -vxE '[0-9A-Fa-f]{1,8}' | sed 's/^data: //' >body
}
ask() {
    build "$@"
    tap_last="$method $body"
    http "$port" <request >answer
    read_answer
}
rpc() { # ID METHOD PARAMS HEADER...
    rpc_body="{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":${3:-{\}}}"
    shift 3
    ask POST "$rpc_body" "$@"
}
got() { grep -E '^\{' body | tail -n 1 >last && json_get "$1" last; }
header() { sed -n "s/^$1: *\([^\r]*\).*/\1/Ip" answer; }
hello() { # VERSION
    rpc 0 initialize "{\"protocolVersion\":\"${1:-2025-11-25}\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}"
    session=$(header Mcp-Session-Id)
    in_session="Mcp-Session-Id: $session"
}
call() { # ID TOOL ARGUMENTS
    rpc "$1" tools/call "{\"name\":\"$2\",\"arguments\":${3:-{\}}}" "$in_session"
}

# ---- Where it may listen, and its token ---------------------------------------
exits 2 cairn mcp --token-file x
says '--token-file needs --listen'
exits 2 cairn mcp --listen 8080
says '127.0.0.1:0'
exits 2 cairn mcp --listen 0.0.0.0:0
says '--allow-remote'
exits 2 cairn mcp --listen 127.0.0.1:0 --allow-host a:b
exits 10 cairn mcp --listen 127.0.0.1:0
exits 0 cairn session start bug
echo short >short
chmod 600 short
exits 75 cairn mcp --listen 127.0.0.1:0 --token-file short
says 'does not hold a token'
echo 0123456789012345678901234567890123456789 >open
chmod 644 open
exits 75 cairn mcp --listen 127.0.0.1:0 --token-file open
says 'can be read by others'
ln -s open link
exits 75 cairn mcp --listen 127.0.0.1:0 --token-file link

serve
is "$(stat -c %a .cairn/mcp.token)" 600 'only its user can read the token'
token=$(cat .cairn/mcp.token)
is "${#token}" 64 'it is long'
exits 75 cairn mcp --listen "127.0.0.1:$port"
says 'cannot listen at'

# The library for HTTP is loaded then, and needed for nothing else.
library=$(find /lib /usr/lib -name libmicrohttpd.so.12 2>/dev/null | head -n 1)
: >nothing
if [ -n "$library" ] && unshare -m mount --bind nothing "$library" 2>/dev/null; then
    without() { unshare -m sh -c 'mount --bind nothing "$0" && exec "$@"' "$library" "$@"; }
    exits 75 without cairn mcp --listen 127.0.0.1:0
    says 'HTTP needs libmicrohttpd.so.12 (on Debian the package libmicrohttpd12)'
    exits 0 without sh -c 'cairn version && cairn mcp </dev/null'
else
    skip 'without the library' 'nothing can be mounted here'
fi
is "$(cat .cairn/mcp.token)" "$token" 'another start keeps it'

# A client that never comes to an end: it is cut off meanwhile.
build POST "$(head -c 4000 /dev/zero | tr '\0' ' ')"
cp request slow.request
"$BUILD/tests/tools/http" -t 90 -s 100 "$port" <slow.request >slow.out 2>&1 &
slow=$!

# ---- Who may not come in ------------------------------------------------------
refused() { # CODE NAME METHOD HEADER...
    refused_code=$1 refused_name=$2 refused_method=$3
    shift 3
    ask "$refused_method" '{"jsonrpc":"2.0","id":1,"method":"ping"}' "$@"
    is "$code" "$refused_code" "$refused_name: $refused_code"
}
refused 401 'no token' POST 'Authorization:'
is "$(header WWW-Authenticate)" Bearer 'and it says what is wanted'
refused 401 'a wrong token' POST "Authorization: Bearer $(echo "$token" | tr 0-9a-f 1-9a-f0)"
refused 401 'half of it' POST "Authorization: Bearer $(echo "$token" | cut -c1-32)"
refused 401 'another scheme' POST "Authorization: Basic $token"
refused 403 'another host' POST "Host: evil.example:$port"
refused 403 'another port' POST 'Host: 127.0.0.1:1'
refused 403 'a host that begins like ours' POST "Host: 127.0.0.1.evil.example:$port"
refused 403 'another origin' POST 'Origin: http://evil.example'
refused 403 'another origin on this machine' POST 'Origin: http://127.0.0.1:1'
refused 403 'no origin' POST 'Origin: null'
refused 403 'another scheme' POST "Origin: https://127.0.0.1:$port"
refused 404 'another path' POST path=/
for path in /mcp%00 /mcp%00/x /mc%70 /%6dcp; do
    refused 400 "an address with %: $path" POST "path=$path"
    ok 'and told' grep -q 'without any %' answer
done
refused 400 'two hosts' POST "Host: 127.0.0.1:$port" "Host: 127.0.0.1:$port"
ok 'and told' grep -q 'occurs twice' answer
refused 400 'two hosts, the second one of others' POST "Host: 127.0.0.1:$port" 'Host: evil.example'
ok 'and told' grep -q 'occurs twice' answer
refused 400 'two tokens' POST "Authorization: Bearer $token" "Authorization: Bearer $token"
ok 'and told' grep -q 'occurs twice' answer
refused 405 'another method' PUT
refused 415 'no JSON by its type' POST 'Content-Type: text/plain'
refused 406 'a client without streams' POST 'Accept: application/json'
refused 413 'too much' POST 'Content-Length: 5000000'
refused 400 'no session' POST
refused 404 'an unknown session' POST 'Mcp-Session-Id: 00000000000000000000000000000000'
refused 406 'GET of something else' GET 'Accept: application/json'
refused 400 'GET without a session' GET 'Accept: text/event-stream'
refused 400 'DELETE without a session' DELETE
ask POST '{"jsonrpc":'
is "$code$(got .error.code)" 400-32700 'no JSON'
ask POST '{"jsonrpc":"2.0","id":1,"method":"ping"}' "Host: localhost:$port" "Origin: http://localhost:$port"
is "$code" 400 'localhost is allowed, and its origin'

# ---- Sessions -----------------------------------------------------------------
hello
is "$code" 200 'initialize'
is "$(got .result.protocolVersion)" 2025-11-25 'the version that the client wants'
is "${#session}" 32 'a session'
ask POST '{"jsonrpc":"2.0","method":"notifications/initialized"}' "$in_session"
is "$code$(cat body)" 202 'a notice is taken'
rpc 1 ping '{}' "$in_session"
is "$code$(cat body)" '200{"jsonrpc":"2.0","id":1,"result":{}}' 'ping'
rpc 2 no/such '{}' "$in_session"
is "$code$(got .error.code)" 200-32601 'an unknown method'
rpc 2 ping '{}' "$in_session" 'MCP-Protocol-Version: 1999-01-01'
is "$code" 400 'a version that nobody knows'
call 3 board_add '{"kind":"note","text":"over HTTP"}'
is "$(header Content-Type)" text/event-stream 'an answer that takes a moment is a stream'
call 4 board_show '{"kind":"note","id":"n1"}'
cairn note show n1 --json >expected
got . >/dev/null
sed 's/.*"structuredContent"://; s/,"isError":false}}$//' last >document
ok 'the same as the command' cmp -s document expected
# An array, in the one version that has them
first_session=$in_session
hello 2025-03-26
ask POST '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_list"}}]' "$in_session"
is "$(grep -o '"id":[12],' body | tr -d '\n')" '"id":1,"id":2,' 'an array is answered by one'
ask POST 'xyz' "$in_session" 'Transfer-Encoding: chunked' 'Content-Length:'
is "$code" 400 'a body that is no chunk'
build POST '' "$in_session" 'Transfer-Encoding: chunked' 'Content-Length:'
printf '10\r\n{"jsonrpc":"2.0"\r\n16\r\n,"id":7,"method":"ping\r\n2\r\n"}\r\n0\r\n\r\n' >>request
http "$port" <request >answer
read_answer
is "$(got .id)" 7 'a body in chunks'
build POST '' "$in_session" 'Transfer-Encoding: chunked' 'Content-Length:'
{
    printf '4c4b40\r\n'
    head -c 5000000 /dev/zero | tr '\0' x
    printf '\r\n0\r\n\r\n'
} >>request
http "$port" <request >answer
read_answer
is "$code" 413 'a body in chunks that is too long'
is "$(got .error.message)" 'a message has more than 4 MiB' 'and why'
rpc 8 ping '{}' "$in_session"
is "$(got .id)" 8 'others are answered afterwards'
ask DELETE '' "$in_session"
is "$code" 204 'a session ends'
rpc 1 ping '{}' "$in_session"
is "$code" 404 'and is not there any more'
in_session=$first_session

# ---- Streams ------------------------------------------------------------------
cairn check add slow --run 'exec sleep 9741' --timeout 1h >/dev/null
cairn check add short --run 'sleep 2; echo waited' >/dev/null
gone() { ! lives "sleep ${1-9741}"; }
build POST '{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]}}}' "$in_session"
http -u 'data: ' "$port" <request >answer
event=$(sed -n 's/^id: \([0-9-]*\).*/\1/p' answer)
ok 'a stream begins with an event that has an id' test -n "$event"
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $event"
is "$(got .id)$(got .result.isError)" 20false 'who has lost the connection comes back for the answer'
last=$(sed -n 's/^id: \([0-9-]*\).*/\1/p' answer)
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $event"
is "$(got .id)" 20 'and may do so again'
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $last"
is "$code$(grep -c '^{' body)" 2000 'behind it there is nothing'
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' 'Last-Event-ID: 999999-0'
is "$code" 400 'an event that nobody has had'
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' 'Last-Event-ID: abc'
is "$code" 400 'an event that is none'
hello
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $event"
is "$code" 400 'the streams of a session are its own'
in_session=$first_session
build GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:'
http -u alive "$port" <request >answer
is "$(sed -n '1s/^HTTP.1.1 \([0-9]*\).*/\1/p' answer)" 200 'a stream for notices'

# Cancelled by a notice; not by losing the connection
build POST '{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v1"]}}}' "$in_session"
http -u 'data: ' "$port" <request >answer
ok 'a call that takes long' wait_for 10 lives 'sleep 9741'
rpc 22 ping '{}' "$in_session"
is "$(got .id)" 22 'others do not wait for it'
rpc 21 ping '{}' "$in_session"
is "$code$(got .error.code)" 400-32600 'its id is in use'
ok 'it continues without its connection' lives 'sleep 9741'
ask POST '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":21}}' "$in_session"
ok 'cancelled, it ends' wait_for 10 gone
build POST '{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v1"]}}}' "$in_session"
"$BUILD/tests/tools/http" "$port" <request >answer.later &
reader=$!
ok 'once more' wait_for 10 lives 'sleep 9741'
ask DELETE '' "$in_session"
is "$code" 204 'its session ends'
ok 'and the call with it' wait_for 10 gone
wait $reader
cairn check add stubborn --run 'trap "" TERM; sleep 9742' --timeout 1h >/dev/null
hello
build POST '{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v3"]}}}' "$in_session"
http -u 'data: ' "$port" <request >answer
ok 'a call that does not end when it is told to' wait_for 10 lives 'sleep 9742'
ask DELETE '' "$in_session"
is "$code" 204 'its session ends'
ok 'and later the call' wait_for 30 gone 9742
hello
rpc 25 ping '{}' "$in_session"
is "$(got .id)" 25 'the server continues'

# ---- 2026-07-28 ---------------------------------------------------------------
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
version='MCP-Protocol-Version: 2026-07-28'
rpc 1 server/discover "{$modern}" "$version" 'Mcp-Method: server/discover'
is "$code$(got .result.resultType)" 200complete 'server/discover needs no session'
is "$(header Mcp-Session-Id)" '' 'and begins none'
rpc 2 tools/call "{$modern,\"name\":\"session_show\"}" "$version" 'Mcp-Method: tools/call' 'mcp-name:  session_show '
is "$code$(got .result.structuredContent.name)" 200bug 'a call'
rpc 2 tools/call "{$modern,\"name\":\"session_show\"}" "$version" 'Mcp-Method: tools/call' 'Mcp-Name: =?base64?c2Vzc2lvbl9zaG93?='
is "$code$(got .result.structuredContent.name)" 200bug 'with its name in base64'
wrong() { # NAME CODE:ERROR HEADER...
    wrong_name=$1 wrong_code=$2
    shift 2
    rpc 3 tools/call "{$modern,\"name\":\"session_show\"}" "$@"
    is "$code:$(got .error.code)" "$wrong_code" "$wrong_name"
    is "$(got .id)" 3 "$wrong_name: with its id"
}
wrong 'no header of the method' 400:-32020 "$version" 'Mcp-Name: session_show'
wrong 'no header of the name' 400:-32020 "$version" 'Mcp-Method: tools/call'
wrong 'no header of the version' 400:-32020 'Mcp-Method: tools/call' 'Mcp-Name: session_show'
wrong 'another version' 400:-32020 'MCP-Protocol-Version: 2025-11-25' 'Mcp-Method: tools/call' 'Mcp-Name: session_show'
wrong 'another method' 400:-32020 "$version" 'Mcp-Method: TOOLS/CALL' 'Mcp-Name: session_show'
wrong 'another name' 400:-32020 "$version" 'Mcp-Method: tools/call' 'Mcp-Name: session_list'
wrong 'broken base64' 400:-32020 "$version" 'Mcp-Method: tools/call' 'Mcp-Name: =?base64?c2Vzc2lvbl9zaG9?='
rpc 4 server/discover '{"_meta":{"io.modelcontextprotocol/protocolVersion":"v9"}}' 'MCP-Protocol-Version: v9' 'Mcp-Method: server/discover'
is "$code$(got .error.code)" 400-32022 'a version that is not spoken'
rpc 5 server/discover '{}' "$version" 'Mcp-Method: server/discover'
is "$code$(got .error.code)" 400-32602 'without _meta'
rpc 6 initialize "{$modern}" "$version" 'Mcp-Method: initialize'
is "$code$(got .error.code)" 404-32601 'a method that is not there any more'
refused 405 'GET in that version' GET 'Accept: text/event-stream' "$version"
build POST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{$modern,\"name\":\"check_run\",\"arguments\":{\"ids\":[\"v1\"]}}}" \
    "$version" 'Mcp-Method: tools/call' 'Mcp-Name: check_run'
"$BUILD/tests/tools/http" -t 60 "$port" <request >answer.later &
reader=$!
ok 'a call without a session' wait_for 10 lives 'sleep 9741'
kill $reader
wait $reader 2>/dev/null
ok 'who goes away ends it' wait_for 10 gone

# ---- What has changed, how far it is ------------------------------------------
hello
rpc 1 resources/subscribe '{"uri":"cairn://session/bug"}' "$in_session"
is "$code$(got .error.code)" 200 'subscribed to'
build GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:'
http -u updated "$port" <request >answer
read_answer
is "$(got .params.uri)" cairn://session/bug 'a notice comes in the stream of the session'
last=$(sed -n 's/^id: \([0-9-]*\).*/\1/p' answer)
cairn note add missed >/dev/null
sleep 1
build GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $last"
http -u updated "$port" <request >answer
read_answer
is "$(grep -c resources/updated body)" 1 'what came while nobody read is there'
build POST '{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v2"]},"_meta":{"progressToken":7}}}' "$in_session"
http "$port" <request >answer
read_answer
is "$(grep -c '"progressToken":7' body | sed 's/[1-9]/some/')" some 'progress comes in the stream of the call'
is "$(got .id)" 24 'and its answer last'
build POST "{\"jsonrpc\":\"2.0\",\"id\":25,\"method\":\"subscriptions/listen\",\"params\":{$modern,\"notifications\":{\"resourceSubscriptions\":[\"cairn://session/bug\"]}}}" "$version" 'Mcp-Method: subscriptions/listen'
"$BUILD/tests/tools/http" -t 120 "$port" <request >listening &
listener=$!
told() { grep -q "$1" listening; }
ok 'who listens is told so' wait_for 10 told subscriptions/acknowledged
cairn note add heard >/dev/null
ok 'and what has changed' wait_for 10 told '"uri":"cairn://session/bug"'

# One client leaves room for others.
hello 2025-03-26
busy=$in_session
messages=
i=100
while [ $i -lt 164 ]; do
    messages=$messages,'{"jsonrpc":"2.0","id":'$i',"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v1"]}}}'
    i=$((i + 1))
done
build POST "[${messages#,}]" "$busy"
"$BUILD/tests/tools/http" -t 60 "$port" <request >answer.later &
reader=$!
ok 'a client with 64 calls that take long' wait_for 10 lives 'sleep 9741'
hello
call 1 session_list
is "$(got .id)$(got .result.isError)" 1false 'does not keep others waiting'
ask DELETE '' "$busy"
ok 'its calls end with its session' wait_for 10 gone
wait $reader

# ---- Many ---------------------------------------------------------------------
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"; }
bounded() { # NAME KIB; sanitizers take much for themselves
    case $BUILD in
    *asan* | *sanit*) skip "$1" 'sanitizers' ;;
    *) ok "$1 ($(peak) KiB)" test "$(peak)" -le "$2" ;;
    esac
}
build POST '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}'
http -n 200 "$port" <request >many
is "$(grep -c '^HTTP/1.1 200' many)" 200 '200 clients at once'
hello
build POST '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_list"}}' "Mcp-Session-Id: $session"
# One id may be in use only once, so most are refused: all are answered.
http -t 60 -n 200 "$port" <request >many
is "$(grep -c '^HTTP/1.1 [24]00' many)" 200 'and 200 calls'
big=$(head -c 1000000 /dev/zero | tr '\0' x)
build POST "{\"x\":\"$big" "Mcp-Session-Id: $session" 'Content-Length: 4000000'
http -t 3 -n 200 "$port" <request >many
answers() {
    rpc 9 ping '{}' "Mcp-Session-Id: $session"
    [ "$(got .id)" = 9 ]
}
ok 'after 200 halves of large requests it answers' wait_for 20 answers
build POST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"$big\"}}" "Mcp-Session-Id: $session"
http -t 60 -n 20 "$port" <request >many
is "$(grep -c '^HTTP/1.1 200' many)" 20 '20 large requests at once'
bounded 'its memory has a bound' 200000
i=0
while [ $i -lt 70 ]; do
    i=$((i + 1))
    hello
done
is "$code" 200 'more sessions than there are: the oldest has gone'
rpc 1 ping '{}' "$in_session"
is "$code" 200 'the newest is there'

# ---- Beside a live run, and ends ----------------------------------------------
cat >wait.yaml <<'Y'
name: wait
tasks:
  person:
    external: do it
Y
call 40 run_start '{"file":"wait.yaml"}'
is "$(got .result.structuredContent.run)" 1 'run_start'
call 41 run_status '{"run":1}'
is "$(got .result.structuredContent.state)" running 'it runs'
wait $slow
is "$?" 4 'the slow one was cut off'
stop
is "$status" 0 'a signal ends the server'
wait $listener
ok 'who listens is told that it is over' grep -q '"id":25,"result":' listening
waits() { cairn next 1 --json | grep -q '"task":"person"'; }
ok 'the run continues' waits
cairn cancel 1 >/dev/null 2>&1
serve
is "$(cat .cairn/mcp.token)" "$token" 'the same token at the next start'
hello
build POST '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v1"]}}}' "$in_session"
"$BUILD/tests/tools/http" "$port" <request >answer.later &
reader=$!
ok 'a call' wait_for 10 lives 'sleep 9741'
kill -9 "$server"
wait "$server"
wait $reader
ok 'kill -9 of the server leaves nothing' wait_for 10 gone
serve
hello

# One that is stuck, whose stream another one reads and the session forgets. (A build with
# sanitizers sees whether the first one looks at it then.)
head -c 3900000 /dev/zero | tr '\0' y | sed 's/.\{99\}/&\n/g' >big
printf 'name: big\ntasks: {t: {run: cat big}}\n' >big.yaml
cairn run big.yaml >/dev/null 2>&1
build POST '{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"run_log","arguments":{"task":"t"}}}' "$in_session"
"$BUILD/tests/tools/http" -r 600 -t 60 "$port" <request >stuck.answer &
stuck=$!
begun() { [ "$(wc -c <stuck.answer)" -ge 600 ]; }
ok 'a reader that does not read on' wait_for 10 begun
sleep 1 # until its socket is full
event=$(sed -n 's/^id: \([0-9-]*\).*/\1/p' stuck.answer | head -n 1)
ask GET '' "$in_session" 'Accept: text/event-stream' 'Content-Type:' "Last-Event-ID: $event"
ok 'another one gets the answer' grep -q '"id":30,"result"' body
ok 'to its end' grep -q '"isError":false}}$' body
ask DELETE '' "$in_session"
is "$code" 204 'the session ends'
sleep 2
kill $stuck
wait $stuck 2>/dev/null
hello
is "$code" 200 'the one that was stuck has gone, and all continues'

build POST '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_run","arguments":{"ids":["v1"]}}}' "$in_session"
"$BUILD/tests/tools/http" "$port" <request >answer.later &
reader=$!
ok 'a call' wait_for 10 lives 'sleep 9741'
kill -INT "$server"
wait "$server"
is "$?" 0 'SIGINT ends the server'
wait $reader
ok 'with its children' gone

# ---- Other names, other machines ----------------------------------------------
rm .cairn/mcp.token
serve --allow-remote --allow-host box.example,other.example --read-only
token=$(cat .cairn/mcp.token)
refused 400 'a name that is allowed' POST "Host: box.example:$port"
refused 400 'with any port, that of a proxy' POST 'Host: box.example:8443' 'Origin: https://box.example:8443'
refused 400 'or none' POST 'Host: other.example' 'Origin: https://other.example'
refused 403 'no port' POST 'Host: box.example:x'
refused 403 'a name that begins so' POST 'Host: box.example.evil.example'
refused 403 'an origin that begins so' POST 'Host: box.example' 'Origin: https://box.example.evil.example'
refused 403 'an origin that is not' POST 'Host: box.example' 'Origin: https://evil.example'
refused 403 'the address with another port' POST 'Host: 127.0.0.1:1'
refused 403 'one that is not' POST "Host: evil.example:$port"
stop
# At all addresses: that which is printed can be called, and localhost.
listen=0.0.0.0:0
serve --allow-remote --read-only
is "${url%:*}" http://127.0.0.1 'an address that can be called'
refused 400 'the one that is printed' POST
refused 400 'localhost' POST "Host: localhost:$port" "Origin: http://localhost:$port"
refused 403 'another name' POST "Host: evil.example:$port"
stop

# ---- Half-open connections ------------------------------------------------------
# A hundred places: who has not shown the token makes room for those that come.
listen=127.0.0.1:0
rm -f url
(
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -n 940
    exec cairn mcp --listen "$listen" >url 2>mcp.err
) &
server=$!
ok 'it listens' wait_for 10 test -s url
port=$(sed 's|.*:\([0-9]*\)/mcp|\1|' url)
token=$(cat .cairn/mcp.token)
printf 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n' "$port" >half
http -t 5 -n 120 "$port" <half >half.out 2>&1 &
halves=$!
full() { [ "$(find "/proc/$server/fd" -lname 'socket:*' | wc -l)" -ge 50 ]; }
ok 'with half-open connections' wait_for 5 full
build POST '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}'
http -t 2 -n 3 "$port" <request >three
is "$(grep -c '^HTTP/1.1 200' three)" 3 'shut nobody out who has the token'
ok 'the oldest are gone' test "$(find "/proc/$server/fd" -lname 'socket:*' | wc -l)" -le 60
wait $halves
stop
done_testing
