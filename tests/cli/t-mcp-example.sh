# examples/mcp: a session of an agent, message by message, and one that continues from it; by
# stdio, and over HTTP.
. "$TESTS/cli/tap.sh"
unset CAIRN_SESSION

cairn mcp <"$root/examples/mcp/session.jsonl" >out 2>err
is "$?" 0 'the first agent'
silent_on err
is "$(grep -c '"isError":false' out)" 5 'every call has done what it was to do'
is "$(grep -o '^{"jsonrpc":"2.0","id":[0-9]*' out | sed 's/.*://' | tr '\n' ' ')" '0 1 2 3 4 5 ' 'in this order'
cairn mcp <"$root/examples/mcp/resume.jsonl" >out 2>err
is "$?" 0 'the second one'
silent_on err
says 'take the time out of the key in cache.c' 'knows what is to be done'
says '"status":"testing"' 'and how the hypothesis stands'
exits 0 cairn checkpoint resume
says 'the cache is never hit: its key has the time in it' 'so does the command'

# ---- The same over HTTP ----
example=$root/examples/mcp
over_http() { # WHAT
    rm -rf "$CAIRN_STORE"
    sh "$example/http.sh" "$example/session.jsonl" >out 2>err
    is "$?" 0 "the first agent, $1"
    silent_on err
    is "$(grep -c '"isError":false' out)" 5 'every call has done what it was to do'
    is "$(grep -o '^{"jsonrpc":"2.0","id":[0-9]*' out | sed 's/.*://' | tr '\n' ' ')" '0 1 2 3 4 5 ' 'in this order'
    sh "$example/http.sh" "$example/resume.jsonl" "$example/resume.jsonl" >out 2>err
    is "$?" 0 "the second one, $1, twice"
    silent_on err
    is "$(grep -c 'take the time out of the key in cache.c' out)" 2 'each knows what is to be done'
    is "$(grep -c '"status":"testing"' out)" 2 'and how the hypothesis stands'
    exits 0 cairn checkpoint resume
    says 'the cache is never hit: its key has the time in it' 'so does the command'
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' >without
    run sh "$example/http.sh" without
    is "$status" 1 'who does not begin with initialize is refused'
    says 'the server answers 400' 'and told'
}
export CAIRN_HTTP="$BUILD/tests/tools/http"
over_http 'by the tool of the tests'
unset CAIRN_HTTP
if command -v curl >/dev/null; then
    over_http 'by curl'
else
    skip 'by curl' 'there is none'
fi
done_testing
