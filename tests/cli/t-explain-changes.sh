# make: sanitize
# explain: which fields of a task changed, old and new. Secrets from a descriptor.
. "$TESTS/cli/tap.sh"

flow() { # COMMAND ENV
    cat >flow.yaml <<END2
name: edited
secrets: [TOKEN]
tasks:
  a:
    run: |
      $1
      true
    env: {LEVEL: "$2"}
    inputs: [in]
  b: {run: 'printf "%s" "\$TOKEN" | wc -c', secrets: [TOKEN]}
  c: {run: 'true'}
END2
}
echo one >in
flow 'echo old' 1
exits 2 cairn run flow.yaml
says 'TOKEN' 'a secret that is not given is named'
secret() { # VALUE COMMAND...: the secret comes from a descriptor
    secret_value=$1
    shift
    printf 'OTHER=x\n\nTOKEN=%s\n' "$secret_value" >fd
    "$@" --secrets-fd 5 5<fd
}
exits 0 secret sesame-one cairn run flow.yaml
exits 0 cairn log b
is "$(cat out)" 10 'the task got it'
is "$(grep -rla sesame-one .cairn | wc -l)" 0 'and it is not stored'

flow 'echo new' 2
exits 0 secret sesame-one cairn explain a --run 1
says 'a will run'
says 'changed:'
matches 'old: .*echo old'
matches 'new: .*echo new'
says 'env LEVEL'
exits 0 secret sesame-one cairn explain a --run 1 --json
json_ok 'explain --json'
is "$(grep -o '"field":"[^"]*"' out | sort | tr '\n' ' ')" '"field":"command" "field":"env LEVEL" ' 'its fields'
is "$(json_get '.changes[1].old')$(json_get '.changes[1].new')" 12 'old and new'
exits 0 secret sesame-one cairn explain c --run 1 --json
is "$(json_get '.reason')" 'done' 'what did not change'
is "$(json_get '.changes[0].field')" '' 'has no changes'
flow 'echo old' 1
echo two >in
exits 0 secret sesame-one cairn explain a --run 1
says 'input in' 'the content of an input'
exits 0 secret sesame-two cairn explain b --run 1
says 'secret TOKEN' 'the value of a secret'
is "$(cat out err | grep -c sesame)" 0 'which is not told'
exits 0 secret sesame-two cairn plan --run 1 --json
is "$(json_get '.will')" 2 'plan: the two that changed'

for bad in 'TOKEN' '=x' 'TOKEN sesame-one'; do
    printf '%s\n' "$bad" >fd
    run sh -c 'cairn run flow.yaml --secrets-fd 5 5<fd'
    is $status 2 "--secrets-fd: '$bad' is refused"
    is "$(cat out err | grep -c sesame)" 0 'without quoting it'
done
done_testing
