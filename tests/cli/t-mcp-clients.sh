# cairn mcp with clients that others have written (tests/mcp/README.md sets them up): each
# calls every tool, and holds the answers against the schemas of the list.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE CAIRN_SESSION
clients=$TESTS/mcp
command -v node >/dev/null || skip_all 'there is no node'
[ -d "$clients/node_modules/@modelcontextprotocol/client" ] ||
    skip_all 'the clients are not installed: npm --prefix tests/mcp install --no-package-lock'

scene() {
    mkdir "$1" && cd "$1" || exit 1
    cat >flow.yaml <<'Y'
name: flow
params:
  day: {default: sunday}
tasks:
  hi:
    run: echo hi
  one:
    needs: [hi]
    external: do it
  two:
    needs: [hi]
    external: do it
Y
}
serve() {
    cairn session start "$1" >/dev/null 2>&1
    cairn mcp --listen 127.0.0.1:0 --tools all >url 2>err &
    server=$!
    ok "$1: a server over HTTP" wait_for 10 test -s url
    TOKEN=$(cat .cairn/mcp.token)
    export TOKEN
}
stop() {
    kill "$server"
    wait "$server"
    is "$?" 0 'the server ends'
}
report() {
    while IFS= read -r line; do
        case $line in
        'ok - '*'# skip '*)
            line=${line#ok - }
            skip "${line%% # skip *}" "${line#* # skip }"
            ;;
        'ok - '*) tap_report ok "${line#ok - }" ;;
        'not ok - '*) tap_report 'not ok' "${line#not ok - }" ;;
        *) echo "$line" ;;
        esac
    done <tap
}
for mode in v1 legacy auto 2026-07-28; do
    scene "scene-$mode"
    timeout 60 node "$clients/clients.mjs" "$mode" cairn mcp --tools all >tap 2>err
    status=$?
    report
    is "$status" 0 "$mode: the client has ended"
    cd ..
    scene "http-$mode"
    serve "http-$mode"
    timeout 120 node "$clients/clients.mjs" "$mode" "$(cat url)" >tap 2>err
    status=$?
    report
    is "$status" 0 "$mode over HTTP: the client has ended"
    stop
    cd ..
done

inspector=$clients/node_modules/.bin/mcp-inspector
if [ -x "$inspector" ]; then
    scene inspector
    timeout 60 "$inspector" --cli cairn mcp --method tools/list >out 2>err
    is "$?" 0 'mcp-inspector lists tools'
    says '"checkpoint_save"'
    timeout 60 "$inspector" --cli cairn mcp --method tools/call --tool-name session_start --tool-arg name=looked >out 2>err
    says '"looked"' 'mcp-inspector calls a tool'
    serve inspector
    # It has no option for a token.
    node "$clients/proxy.mjs" "$(cat url)" >proxy 2>err &
    proxy=$!
    ok 'a proxy that adds the token' wait_for 10 test -s proxy
    timeout 60 "$inspector" --cli "$(cat proxy)" --transport http --method tools/list >out 2>err
    is "$?" 0 'mcp-inspector lists tools over HTTP'
    says '"checkpoint_save"'
    timeout 60 "$inspector" --cli "$(cat proxy)" --transport http \
        --method tools/call --tool-name session_show --tool-arg session=looked >out 2>err
    says '"looked"' 'mcp-inspector calls a tool over HTTP'
    kill $proxy
    wait $proxy 2>/dev/null
    stop
    cd ..
else
    skip 'mcp-inspector' 'it is not installed (tests/mcp/README.md)'
fi

if [ -d "$clients/node_modules/@modelcontextprotocol/conformance" ] && [ -x "$clients/node_modules/node/bin/node" ]; then
    scene conformance
    cairn run flow.yaml --no-wait >/dev/null 2>&1
    serve conformance
    timeout 600 "$clients/node_modules/node/bin/node" "$clients/conformance.mjs" "$(cat url)" >tap 2>err
    is "$?" 0 'the conformance suite has ended'
    report
    stop
    cd ..
else
    skip 'conformance' 'it is not installed (tests/mcp/README.md)'
fi
done_testing
