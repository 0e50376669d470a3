# make: sanitize
# docs/workflow.schema.json and the parser agree on a corpus of valid and invalid files,
# both ways, and the schema knows exactly the keys that the parser knows.
. "$TESTS/cli/tap.sh"
schema=$root/docs/workflow.schema.json
corpus=$TESTS/data/workflows
beyond=$corpus/beyond-schema.txt

json_ok 'the schema is JSON' "$schema"
"$BUILD/tests/tools/schema" "$schema" "$corpus"/valid/*.yaml "$corpus"/invalid/*.yaml >verdicts 2>err
is "$?" 0 'the schema is understood, and judges every file'

# verdict FILE: valid, invalid or unreadable, says the schema
verdict() {
    awk -F '\t' -v file="$1" '$1 == file { print $2 }' verdicts
}

files=0
for file in "$corpus"/valid/*.yaml; do
    name=valid/${file##*/}
    files=$((files + 1))
    is "$(verdict "$file")" valid "$name: the schema takes it"
    set --
    # Values for params that have none: `# params: day=monday n=3`
    for pair in $(sed -n 's/^# params: //p' "$file"); do
        set -- "$@" --param "$pair"
    done
    run cairn validate "$file" "$@"
    is "$status" 0 "$name: cairn takes it"
done
ok "there are at least 60 valid files ($files)" test "$files" -ge 60

files=0
for file in "$corpus"/invalid/*.yaml; do
    name=invalid/${file##*/}
    files=$((files + 1))
    run cairn validate "$file"
    is "$status" 3 "$name: cairn refuses it"
    if grep -q "^${file##*/} " "$beyond"; then
        is "$(verdict "$file")" valid "$name: the schema cannot refuse it (beyond-schema.txt)"
    else
        ok "$name: the schema refuses it" test "$(verdict "$file")" != valid
    fi
done
ok "there are at least 90 invalid files ($files)" test "$files" -ge 90

# Nothing in the list that is not there, and every line says why.
grep -v -e '^#' -e '^$' "$beyond" >listed
while read -r name why; do
    ok "beyond-schema.txt: $name is there, with a reason" test -n "$why" -a -e "$corpus/invalid/$name"
done <listed

# Keys: those of the schema, each in a valid file and described in the reference.
"$BUILD/tests/tools/json" flat "$schema" | cut -f 1 >paths
sed -n 's/^\.properties\.\([a-z_]*\)[.[].*/\1/p' paths | sort -u >top
sed -n 's/^\.\$defs\.task\.properties\.\([a-z_]*\)[.[].*/\1/p' paths | sort -u >task
ok 'the keys of the schema are found' test "$(wc -l <top)" -ge 12 -a "$(wc -l <task)" -ge 20
while read -r key; do
    ok "top level: $key is in a valid file" grep -qE "^$key:" "$corpus"/valid/*.yaml
    ok "top level: $key is in the reference" grep -qF "| \`$key\` |" "$root/docs/workflow-file.md"
done <top
while read -r key; do
    ok "task: $key is in a valid file" grep -qE "(^ +|[{,] ?)$key:" "$corpus"/valid/*.yaml
    ok "task: $key is in the reference" grep -qF "| \`$key\` |" "$root/docs/workflow-file.md"
done <task
# And those of the parser: what it offers for a key that it does not know.
while read -r key; do
    printf 'name: x\ntasks: {a: {run: "true"}}\n%s_: 1\n' "$key" >near.yaml
    exits 3 cairn validate near.yaml
    says "did you mean \`$key\`" "the parser knows the top-level key $key"
done <top
while read -r key; do
    printf 'name: x\ntasks: {a: {%s_: 1}}\n' "$key" >near.yaml
    exits 3 cairn validate near.yaml
    says "did you mean \`$key\`" "the parser knows the task's key $key"
done <task

# What the schema uses and this validator does not know is refused, not passed over.
refuses() { # NAME SCHEMA
    printf '%s' "$2" >odd.json
    run "$BUILD/tests/tools/schema" odd.json "$corpus/valid/minimal.yaml"
    is "$status" 2 "the validator refuses $1"
}
refuses 'a keyword that it does not know' '{"properties": {"name": {"format": "uri"}}}'
refuses 'a type that there is not' '{"type": "text"}'
refuses 'a pattern that readers take differently' '{"pattern": "^\\d+$"}'
refuses 'a $ref that leads nowhere' '{"items": {"$ref": "#/$defs/no"}}'

done_testing
