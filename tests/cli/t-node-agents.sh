# @cairn/langgraph: the whole validation suite of LangGraph's checkpointers; graphs that do the same as with its
# saver in memory; a graph whose process is killed again and again, and resumed by the next one.
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

# In the middle of its first call, and behind its second, until a process lives to the end.
deaths=0
while [ "$deaths" -lt 40 ]; do
    KILL=$((1 + deaths % 2)) node graph.mjs life >out 2>err
    status=$?
    [ "$status" = 137 ] || break
    deaths=$((deaths + 1))
done
is "$status" 0 'the last process lives'
is "$([ "$deaths" -ge 6 ] && echo many)" many "others were killed ($deaths)"
part 'what is left of its life' graph.mjs check
exits 0 cairn checkpoint verify --store life.cairn

done_testing
