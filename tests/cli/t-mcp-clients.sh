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
for mode in v1 legacy auto 2026-07-28; do
    scene "scene-$mode"
    timeout 60 node "$clients/clients.mjs" "$mode" cairn mcp >tap 2>err
    status=$?
    while IFS= read -r line; do
        case $line in
        'ok - '*) tap_report ok "${line#ok - }" ;;
        'not ok - '*) tap_report 'not ok' "${line#not ok - }" ;;
        *) echo "$line" ;;
        esac
    done <tap
    is "$status" 0 "$mode: the client has ended"
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
    cd ..
else
    skip 'mcp-inspector' 'it is not installed (tests/mcp/README.md)'
fi
done_testing
