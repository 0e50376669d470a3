# Calls that only read are carried out by workers of `cairn mcp`, one after the other: a
# worker that dies takes one call with it, one that hangs stops no other, and what it
# keeps open is looked at anew before each call.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION
mkfifo to from

tell() { printf '%s\n' "$1" >&3; }
hear() {
    answer=
    IFS= read -r answer <&4
    printf '%s\n' "$answer" >answer
}
request() { # ID TOOL [ARGUMENTS]
    tell "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"tools/call\",\"params\":{\"name\":\"$2\",\"arguments\":${3:-{\}}}}"
}
call() { # ID TOOL [ARGUMENTS]
    tap_last="call $*"
    request "$@"
    hear
}
turn() { # the server has taken all that came before
    tell '{"jsonrpc":"2.0","id":"turn","method":"ping"}'
    hear
    is "$(got .id)" turn 'in the meantime nothing is answered'
}
got() { json_get "$1" answer; }
document() { sed 's/.*"structuredContent"://; s/,"isError":false}}$//' answer; }
is_worker() { tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qx cairn-worker; }
workers() {
    for child in $(cat "/proc/$server/task/$server/children"); do
        ! is_worker "$child" || echo "$child"
    done
}
gone() { ! kill -0 "$1" 2>/dev/null; }
stopped() { grep -q '^State:.T' "/proc/$1/status"; }

if [ ! -r "/proc/$$/task/$$/children" ]; then
    skip_all 'the children of a process cannot be seen here'
fi

cairn session start one >/dev/null 2>&1
cairn mcp <to >from 2>mcp.err &
server=$!
exec 3>to 4<from
tell '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'
hear

# ---- One worker for one call after the other -----------------------------------
is "$(workers)" '' 'without a call there is no worker'
call 1 session_show
is "$(got .result.structuredContent.name)" one 'a tool that reads'
worker=$(workers)
is "$(echo "$worker" | wc -w)" 1 'is carried out by a worker'
call 2 run_list
call 3 session_show '{"session":"none"}'
is "$(got .result.isError)" true 'an error is one'
call 4 session_show
is "$(got .result.isError)" false 'and not of the next call'
is "$(workers)" "$worker" 'which the same worker carries out'

# ---- What others do is seen ----------------------------------------------------
call 5 board_add '{"kind":"note","text":"by a process of its own"}'
cairn note add 'by a command' >/dev/null
for format in session_show session_log board_list; do
    case $format in
    session_show) set -- cairn session show --json ;;
    session_log) set -- cairn session log --json ;;
    board_list) set -- cairn note list --json ;;
    esac
    kind='{}'
    [ $format != board_list ] || kind='{"kind":"note"}'
    call 6 $format "$kind"
    document | sed 's/"spent_ms":[0-9]*//' >got
    "$@" 2>/dev/null | sed 's/"spent_ms":[0-9]*//' >expected
    ok "$format: the same as $*" cmp -s got expected
done
is "$(workers)" "$worker" 'all by the same worker'

# ---- One that dies, one that hangs ---------------------------------------------
kill -9 "$worker"
wait_for 10 gone "$worker"
call 10 session_show
is "$(got .result.structuredContent.name)" one 'a worker that died without a call is not missed'
worker=$(workers)
kill -STOP "$worker"
wait_for 10 stopped "$worker"
request 11 session_show
call 12 board_list '{"kind":"note"}'
is "$(got .id)" 12 'one that hangs stops no other call'
is "$(got .result.isError)" false 'which is answered by another one'
is "$(workers | wc -w)" 2 'there are two'
kill -9 "$worker"
hear
is "$(got .id)" 11 'one that dies with a call'
is "$(got .result.isError)" true 'takes that one with it'
call 13 session_show
is "$(got .result.structuredContent.name)" one 'and no other'

# A call that is cancelled ends its worker, which gets no other.
worker=$(workers)
kill -STOP "$worker"
wait_for 10 stopped "$worker"
request 14 session_show
turn # else it is dropped before any worker has it
tell '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":14}}'
turn
kill -CONT "$worker"
ok 'a cancelled call ends its worker' wait_for 10 gone "$worker"
call 15 session_show
is "$(got .id)" 15 'and the next call has another one'

# ---- Another store in its place ------------------------------------------------
worker=$(workers)
mv .cairn before
call 20 session_show
is "$(got .result._meta.cairn/error.code)" 'not found' 'a store that is gone is not read'
cairn session start two >/dev/null 2>&1
call 21 session_show
is "$(got .result.structuredContent.name)" two 'the one in its place is'
mv .cairn after
mv before .cairn
call 22 session_show
is "$(got .result.structuredContent.name)" one 'and so is the first one again'
mv .cairn/cairn.db-wal wal
cp wal .cairn/cairn.db-wal
call 23 session_show
is "$(got .result.structuredContent.name)" one 'with another log'
printf 'no database' >.cairn/cairn.db
call 24 session_show
is "$(got .result.isError)" true 'a file that is no database is refused'
run cairn session show --json
is "$(got .result._meta.cairn/error.code)" "$(json_get .error.code)" 'as the command does'
is "$(workers)" "$worker" 'all of that by the same worker'


# ---- What only looks at the files finds out -------------------------------------
rm -r .cairn
cairn session start three >/dev/null 2>&1
call 30 session_show
is "$(got .result.structuredContent.name)" three 'a store that stays open'
ln .cairn/cairn.db other
call 31 session_show
run cairn session show --json
is "$(got .result._meta.cairn/error.code)" "$(json_get .error.code)" \
    'is refused when a new process would refuse it'
rm other
call 32 session_show
is "$(got .result.structuredContent.name)" three 'and only then'

exec 3>&-
wait $server
is $? 0 'the server ends'
ok 'with its worker' wait_for 10 gone "$worker"
exec 4<&-

# ---- A key ----------------------------------------------------------------------
rm -r .cairn
printf '%064d' 1 >key
chmod 600 key
printf 'name: one\ntasks:\n  a:\n    run: "true"\n' >one.yaml
cairn run --key key one.yaml >/dev/null 2>&1
cairn mcp --key key <to >from 2>mcp.err &
server=$!
exec 3>to 4<from
tell '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'
hear
call 1 run_list
is "$(got .result.structuredContent.runs[0].run)" 1 'a store with a key is read'
held=$(ls -l "/proc/$(workers)/fd")
ok 'by a worker' test -n "$(workers)"
is "$(echo "$held" | grep -c cairn.db)" 0 'which keeps neither the store nor the key'
exec 3>&-
wait $server
exec 4<&-
done_testing
