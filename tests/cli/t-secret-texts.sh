# Secrets in what somebody gives: a name and what a program reads back are refused, prose
# loses them, and says so.
. "$TESTS/cli/tap.sh"
export TOK=hunter2-hunter2-hunter2 WIDE='q"uo\te-of-secret'
cat >cairn.yaml <<'END'
name: w
secrets: [TOK, WIDE]
tasks:
  a: {secrets: [TOK, WIDE], run: ':'}
END
exits 0 cairn run
exits 0 cairn session start plain

# ---- Names ----
refused() { # WHAT COMMAND...
    tap_what=$1
    shift
    exits 2 "$@"
    says "the value of the secret TOK is in $tap_what, at byte" "refused in $tap_what"
    ok "its value is not shown: $tap_what" sh -c '! grep -q hunter2 out err'
}
exits 0 cairn checkpoint create first
first=$(cat out)
exits 0 cairn branch start other
refused 'the name of the session' cairn session start "s-$TOK"
run cairn session config redact TOK2
exits 2 env TOK2=another-secret-value cairn session start 's-another-secret-value'
says 'TOK2 is in the name of the session' 'one that only the current session declares'
refused 'the name of the branch' cairn branch start "$TOK"
refused 'the name of the branch' cairn checkpoint fork "$first" --name "$TOK"
refused 'the name of the session' cairn checkpoint fork "$first" --to fork --name "$TOK"
refused 'the name of the model' sh -c 'echo hi | cairn session message add - --role assistant --model "$TOK"'
refused 'the label' cairn checkpoint label "$first" "$TOK"
refused 'a tag' cairn checkpoint create m --tag "one,$TOK"
refused 'a key of the context' cairn checkpoint create m --context "$TOK=1"
refused 'the value of the setting' cairn session config hook.checkpoint "echo $TOK"
refused 'the value of the setting' cairn session config keep-tag "$TOK"
refused 'the field command' cairn check add "text" --run "echo $TOK"

# ---- What programs read ----
coded=$(printf '{"token":"of %s", "n": 12345}' "$TOK" | base64 -w 0)
refused 'the state' sh -c 'printf "%s" "{\"token\":\"$TOK\"}" | cairn checkpoint create m --state -'
refused 'the state' sh -c 'echo "$1" | cairn checkpoint create m --state -' sh "$coded"
refused 'the message' cairn checkpoint create "{\"token\": \"$TOK\"}"
refused 'the message' cairn checkpoint create "$coded"
refused 'a value of the context' cairn checkpoint create m --context "data=$coded"
refused 'the message' sh -c 'echo "[1, \"$TOK\"]" | cairn session message add -'
refused 'the field statement' cairn hypothesis add "{\"a\": [\"$TOK\"]}"
exits 2 cairn checkpoint create '{"w": "q\"uo\\te-of-secret"}'
says 'the value of the secret WIDE' 'as JSON writes it'

# ---- Prose ----
redacted() { # WHAT COMMAND...
    tap_what=$1
    shift
    exits 0 "$@"
    is "$(grep -c "the value of the secret TOK was taken out of $tap_what before it was stored" err)" 1 \
        "taken out of $tap_what, and said once"
}
redacted 'the message' cairn checkpoint create "with $TOK in it, $TOK"
redacted 'the message' cairn checkpoint create "$TOK"
redacted 'the message' cairn checkpoint create "seen: {\"token\": \"$TOK\"}"
redacted 'the message' cairn checkpoint create "word-2026-A_and-$TOK"
redacted 'the message' cairn checkpoint create "/srv/a/long/path/to/$TOK/that/is/no/base64"
redacted 'the reason' cairn branch abandon main --reason "no $TOK"
redacted 'the field statement' cairn hypothesis add "with $TOK"
redacted 'the note' cairn checkpoint note "$first" "with $TOK"
redacted 'the note' cairn checkpoint note "$first" "again with $TOK" --json
says '"text":"again with [REDACTED]"' 'printed as it was stored'
exits 0 cairn branch start fourth
redacted 'the reason' cairn branch abandon other --reason "never $TOK" --json
says '"reason":"never [REDACTED]"' 'likewise'
redacted 'the message' sh -c 'echo "with $TOK" | cairn session message add -'
exits 10 cairn checkpoint note none "with $TOK"
ok 'nothing is said of what was not stored' sh -c '! grep -q "taken out" err'

exits 127 cairn exec -- "x-$TOK-y"
exits 0 cairn command list --json
ok 'a program that is not there is named without it' sh -c '! grep -q hunter2 out'

# ---- Errors, which quote what was typed ----
masked() { # STATUS COMMAND...
    exits "$@"
    shift
    ok "masked in $* ($(head -c 60 err | tr '\n' ' '))" sh -c 'grep -qF "[REDACTED]" err && ! grep -q hunter2 out err'
}
masked 2 cairn status "--$TOK"
masked 2 cairn status "--$TOK=1" --json
masked 2 cairn runs --limit "$TOK"
masked 2 cairn "$TOK"
masked 10 cairn checkpoint show "x-$TOK-y" --json
masked 10 cairn checkpoint show "x-$(printf %s "$TOK" | base64)-y"
masked 10 cairn note list --session "x-$TOK"
masked 10 cairn session show "$TOK" --json
masked 10 cairn run "$TOK.yaml"
masked 2 cairn run --param "$TOK=1"
printf 'name: w\ntasks: {a: {run: x, %s: 1}}\n' "$TOK" >wrong.yaml
masked 3 cairn validate wrong.yaml --json
masked 10 cairn session show 'https://me:a-password@host/'
store=$PWD/.cairn
exits 2 sh -c "cd / && cairn status '--$TOK' --store '$store' >'$PWD/out' 2>'$PWD/err'"
ok 'by the store that is named behind it' sh -c 'grep -qF "[REDACTED]" err && ! grep -q hunter2 err'
for cut in 20 40 50 100; do
    run cairn session show "$(printf "%0${cut}d" 0)$TOK$TOK$TOK"
    ok "no part of twelve bytes where the message cuts it off, behind $cut" \
        sh -c '! grep -q "hunter2-hunt" out err'
done
exits 0 cairn search "$TOK" --json
ok 'a query is given back without it' sh -c '! grep -q hunter2 out'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"'"$TOK"'"}' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"'"$TOK"'"}}' \
    '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run_list","arguments":{"'"$TOK"'":1}}}' \
    '{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"cairn://'"$TOK"'"}}' \
    '{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"'"$TOK"'"}}' \
    "$TOK" >requests
exits 0 sh -c 'cairn mcp <requests'
is "$(grep -cF '[REDACTED]' out)" 4 'masked in what the server answers itself'
ok 'and nowhere in it' sh -c '! grep -q hunter2 out err'

# ---- A file ----
exits 0 env -u TOK cairn session start "old-$TOK"
exits 0 env -u TOK cairn checkpoint create kept
exits 0 cairn session export file.cairn
exits 0 cairn note add 'a session that has one from before can be used'
exits 2 cairn session import file.cairn
says 'the value of the secret TOK is in line' 'a file with one is not imported'
exits 0 env -u TOK cairn session import file.cairn
# ---- Runs ----
cat >run.yaml <<'END'
name: r
params: {p: plain}
secrets: [TOK]
tasks:
  doc: {secrets: [TOK], run: 'echo "k={\"a\": \"$TOK\"}" >>"$CAIRN_OUTPUT"'}
  text: {secrets: [TOK], run: 'echo "k=of $TOK" >>"$CAIRN_OUTPUT"'}
  ext: {external: say it}
END
refused 'the params' cairn run run.yaml -q --param "p=$TOK"
cp run.yaml "$TOK.yaml"
exits 2 cairn run "$TOK.yaml" -q
says 'the value of the secret TOK is in the path of the workflow file' 'the path of a workflow'
exits 1 cairn run run.yaml -q -k --no-wait
says 'the value of the secret TOK is in the value k, at byte 7, and it is data' 'a document as a value fails the task'
exits 0 cairn values text --run "$(cairn runs --workflow r | awk 'NR == 2 { print $1 }')"
says 'of [REDACTED]' 'a text as a value loses it'
redacted 'the holder' cairn claim 2 ext --holder "me $TOK"
token=$(cat out)
refused 'the value k' cairn complete 2 ext --token "$token" --output "k=[\"$TOK\"]"
redacted 'the message' cairn fail 2 ext --token "$token" --message "no $TOK"

done_testing
