# shellcheck shell=sh disable=SC2154
# Two projects: with a store each nothing of one can be reached from the other by any verb,
# and with one store in a common place no search of one finds anything of the other.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
shared=$PWD/shared/.cairn
unset CAIRN_STORE
top=$PWD
not() {
    ! "$@"
}

make_project() { # name, word
    mkdir -p "$1/src"
    cat >"$1/w.yaml" <<Y
name: flow-of-$1
tasks:
  $2-task: {run: 'echo $2 was printed; echo $2 > $2.out', outputs: [$2.out]}
Y
    echo "$2 in a file" >"$1/src/$2.txt"
}
fill_project() { # name, word
    cd "$top/$1" || exit 1
    cairn run w.yaml >/dev/null 2>&1
    cairn session start "about-$2" >/dev/null 2>&1
    cairn session config files "$PWD/src" >/dev/null 2>&1
    cairn hypothesis add "$2 is the cause" --tag "$2,both" >/dev/null 2>&1
    cairn note add "$2 was seen" --tag both >/dev/null 2>&1
    cairn exec -- echo "$2 from a command" >/dev/null 2>&1
    echo "why $2?" | cairn session message add - >/dev/null
    cairn checkpoint create "$2 is saved" --summary "$2 in short" --tag both \
        --context "$2=1" >made
    cairn checkpoint note "$(cat made)" "$2 beside it" >/dev/null
    cd "$top" || exit 1
}
make_project alpha kumquat
make_project beta rhubarb

# ---- A store each ----
fill_project alpha kumquat
fill_project beta rhubarb
id=$(cat alpha/made)
digest=${id##*-}
cd beta || exit 1
for verb in "checkpoint show $id" "checkpoint show $digest" "checkpoint resume $id" \
    "checkpoint restore $id --yes" "checkpoint diff $id" "checkpoint delete $id --yes" \
    "checkpoint files $id" "checkpoint note $id x" "checkpoint fork $id" \
    "checkpoint export $id f --tar" "checkpoint verify $id" "session show about-kumquat" \
    "session switch about-kumquat" "session export f --session about-kumquat" \
    "hypothesis list --session about-kumquat" "note add x --session about-kumquat"; do
    # shellcheck disable=SC2086
    run cairn $verb
    is "$status" 10 "of the other project: $verb"
    ok 'and tells nothing of it' not grep -q 'kumquat [a-z]' out err
done
for verb in 'checkpoint list' runs 'session list' events 'search kumquat -k 100' 'hypothesis list' stats \
    'checkpoint timeline' 'session message list' 'session log' status; do
    # shellcheck disable=SC2086
    run cairn $verb
    ok "nothing of the other project: $verb" not grep -q kumquat out
done
cd "$top" || exit 1
rm -rf alpha/.cairn beta/.cairn

# ---- One store in a common place ----
CAIRN_STORE=$shared
export CAIRN_STORE
mkdir -p shared
fill_project alpha kumquat
fill_project beta rhubarb
no_other() { # project, own word, other word, OPTION...
    own=$2 other=$3 from=$1
    shift 3
    run sh -c 'cd "$1" && shift && exec cairn search "$@"' - "$from" "$own $other both" \
        -k 100 --json "$@"
    is "$status" 0 "a search in $from $*"
    sed 's/^{"query":"[^"]*"//' out >told
    ok "nothing of the other one: $*" not grep -q "$other" told
}
for section in sessions runs logs files messages board; do
    no_other alpha kumquat rhubarb --in $section
    ok "but its own: $section" grep -q kumquat told
    no_other beta rhubarb kumquat --in $section
    ok "but its own: $section" grep -q rhubarb told
done
no_other alpha kumquat rhubarb --tag both
ok 'its own with the tag' grep -q kumquat told
no_other alpha kumquat rhubarb --since '1 hour ago'
no_other alpha kumquat rhubarb --project "$top/alpha"
no_other alpha kumquat rhubarb --project "$top/alpha/"
no_other alpha kumquat rhubarb --project .
no_other beta rhubarb kumquat --project ../beta
exits 2 cairn search kumquat --project ''
says 'needs a project'
exits 2 cairn search kumquat --project alp
exits 0 cairn search kumquat --project "$top/alphabet" --json
is "$(json_get '.hits[0].kind' out 2>/dev/null)" '' 'a name that only begins like it'

# Scores do not depend on what the other project has.
score() { json_get '.hits[0].score' out; }
(cd alpha && cairn search 'kumquat cause' --in board --json) >out
first=$(score)
cd beta || exit 1
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cairn note add "the cause and the cause of kumquat $i" >/dev/null
done
cd "$top" || exit 1
(cd alpha && cairn search 'kumquat cause' --in board --json) >out
is "$(score)" "$first" 'scores are those of the project alone'

# By MCP the same.
cat >requests <<'Q'
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"saw it","k":100}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"checkpoint_search","arguments":{"query":"is saved","top_k":100}}}
Q
(cd alpha && cairn mcp <../requests) >answers 2>/dev/null
ok 'MCP: its own' grep -q kumquat answers
ok 'MCP: nothing of the other one' not grep -q rhubarb answers

# Lists are of the store, which is what the documents say.
(cd alpha && cairn session list) >out
ok 'a list is of the whole store' grep -q rhubarb out
done_testing
