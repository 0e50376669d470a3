# @cairn/langgraph: the whole validation suite of LangGraph's checkpointers; graphs that do the same as with its
# saver in memory; a graph whose process is killed again and again, and resumed by the next one;
# the agent of examples/agent-graph.
. "$TESTS/cli/tap.sh"
. "$TESTS/node/package.sh"

# LangGraph's packages, once for a build, as the lock file has them.
agents=$TESTS/node/langgraph
installed=$BUILD/node/langgraph-$(cksum <"$agents/package-lock.json" | tr ' ' -)
node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' >node.out 2>&1 ||
    skip_all 'there is no node of version 20 or later'
if ! [ -d "$installed" ]; then
    command -v npm >/dev/null || skip_all 'there is no npm'
    mkdir -p "$installed.new"
    cp "$agents/package.json" "$agents/package-lock.json" "$installed.new"
    (cd "$installed.new" && timeout 100 npm ci --ignore-scripts --fetch-retries 0 --no-audit --no-fund --silent) >npm.out 2>&1 ||
        skip_all 'npm could not get LangGraph'
    mv "$installed.new" "$installed"
fi
node_package
cp -R "$root/bindings/langgraph" node_modules/@cairn/langgraph
ln -s "$installed/node_modules/@langchain" "$installed/node_modules/@vitest" node_modules
cp "$agents"/*.mjs .

part() { # NAME PROGRAM...
    timeout 200 node "$2" ${3:+"$3"} >tap 2>err
    status=$?
    report
    is "$status" 0 "$1"
}
part 'the suite' suite.mjs
part 'graphs' graph.mjs same
exits 0 cairn checkpoint verify --store same.cairn

# In the middle of its third call, and behind its second, in turn, until a process lives to the end.
deaths=0
while [ "$deaths" -lt 40 ]; do
    KILL=$((3 - deaths % 2)) node graph.mjs life >out 2>err
    status=$?
    [ "$status" = 137 ] || break
    deaths=$((deaths + 1))
done
is "$status" 0 'the last process lives'
is "$([ "$deaths" -ge 4 ] && echo many)" many "others were killed ($deaths)"
part 'what is left of its life' graph.mjs check
exits 0 cairn checkpoint verify --store life.cairn

# The agent of the example: killed in the middle of a tool call.
cp "$root/examples/agent-graph/agent.mjs" .
exits 0 node agent.mjs ask t1 'a refund for ada'
says 'waits: refund' 'it asks a person'
CRASH=after node agent.mjs answer t1 yes >out 2>err
is $? 137 'killed behind the payment'
exits 0 node agent.mjs resume t1
says 'Told ada: 120 are on their way.' 'a new process ends it'
is "$(grep -c '^t1:' payments.log)" 1 'paid once'
is "$(grep -c find_invoice tools.log)" 1 'what was done before is not done again'
exits 0 node agent.mjs history t1
id=$(awk '/before approve/ { print $1 }' out)
exits 0 node agent.mjs fork t1 "$id" 'too late'
says 'Told ada: no refund: too late.' 'from an earlier step, with another answer'
is "$(grep -c . payments.log)" 1 'nothing more is paid'
exits 2 node agent.mjs
exits 0 cairn checkpoint verify

done_testing
