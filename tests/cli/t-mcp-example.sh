# examples/mcp: a session of an agent, message by message, and one that goes on from it.
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
done_testing
