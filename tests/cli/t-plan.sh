# What `cairn plan` shows: its columns, secrets that a run would miss, and which command begins
# what.
. "$TESTS/cli/tap.sh"

# ---- Columns ----
long=a-name-that-is-longer-than-any-column-should-be
cat >columns.yaml <<END
name: columns
tasks:
  a: {run: 'true'}
  part: {foreach: {k: [ä, b]}, run: 'true'}
  $long: {run: 'true'}
END
exits 0 cairn plan columns.yaml
is "$(cat out)" "run   a          it never ran
run   part[k=ä]  it never ran
run   part[k=b]  it never ran
run   $long  it never ran" 'names have a column, which a long one does not widen'

# ---- Secrets ----
cat >secret.yaml <<'END'
name: secret
secrets: [FIRST_TOKEN, OTHER_TOKEN, UNUSED_TOKEN]
tasks:
  a: {run: 'true', secrets: [OTHER_TOKEN]}
  b: {run: 'true', secrets: [FIRST_TOKEN, OTHER_TOKEN]}
END
run cairn run secret.yaml
refused=$(sed -n 's/.*the secret \([A-Z_]*\) is not given.*/\1/p' err)
exits 0 cairn plan secret.yaml
says "the secret $refused is not given, and without it nothing starts" 'what run refuses is warned of'
is "$(sed -n 's/.*the secret \([A-Z_]*\) is not given.*/\1/p' err | tr '\n' ' ')" 'FIRST_TOKEN OTHER_TOKEN ' 'each that a task lists, and no other'
exits 0 cairn plan secret.yaml --json
json_ok 'plan --json'
is "$(json_get '.notices[1]' | cut -d' ' -f 3)" OTHER_TOKEN 'a notice in JSON'
exits 0 env FIRST_TOKEN=not-shown-1 cairn plan secret.yaml
is "$(grep -c 'not given' err)" 1 'what is in the environment is given'
echo OTHER_TOKEN=not-shown-2 >given
exits 0 sh -c 'FIRST_TOKEN=not-shown-1 cairn plan secret.yaml --secrets-fd 3 3<given'
ok 'and what a descriptor gives' sh -c '! grep -q "not given" err'
exits 0 sh -c 'FIRST_TOKEN=not-shown-1 cairn run secret.yaml --secrets-fd 3 3<given'
exits 0 cairn plan
ok 'where nothing would run nothing is refused' sh -c '! grep -q "nothing starts" err'

# ---- What begins what ----
cat >cairn.yaml <<'END'
name: here
tasks:
  a: {run: echo a}
  b: {run: echo b}
END
exits 0 cairn plan cairn.yaml
ok 'of a new run nothing is said' sh -c '! grep -qE "begins|is completed" err'
exits 0 cairn run
number=$(sed -n 's/^run \([0-9]*\) of here.*/\1/p' err)
exits 0 cairn plan
says "run $number is completed: \`cairn run --fresh\` begins a new run" 'of a completed one: how a new one begins'
exits 0 cairn plan --run "$number"
ok 'but not where it was asked for' sh -c '! grep -q begins err'
sed -i 's/echo b/echo c/' cairn.yaml
exits 0 cairn plan
says "run $number is completed: \`cairn resume\` runs these, \`cairn run --fresh\` begins a new run"
is "$(awk '$1 == "run" { print $2 }' out)" b 'these are what resume runs'
exits 0 cairn plan cairn.yaml
says 'a new run: 2 of 2 tasks will run'
says "run $number of this file is completed, and a new run begins: \`cairn resume $number\` runs only what has changed" 'with its file: what would run less'
printf 'name: params\nparams: {e: 3}\ntasks:\n  a: {run: "echo $e"}\n' >params.yaml
exits 0 cairn run params.yaml
first=$(sed -n 's/^run \([0-9]*\) of params.*/\1/p' err)
exits 0 cairn run params.yaml --param e=5
second=$(sed -n 's/^run \([0-9]*\) of params.*/\1/p' err)
exits 0 cairn plan params.yaml
says "run $first of this file is completed" 'of several it is the run with these params'
exits 0 cairn plan params.yaml --param e=5
says "run $second of this file is completed"
exits 0 cairn plan params.yaml --param e=7
ok 'of new params there is none' sh -c '! grep -q "is completed" err'
exits 0 cairn plan cairn.yaml --fresh
ok 'not where a new run was asked for' sh -c '! grep -q "is completed" err'
exits 0 cairn plan cairn.yaml --json
ok 'in JSON it is a notice' grep -q 'is completed' out
exits 0 cairn plan --json
ok 'JSON has no such line' sh -c '! grep -q begins out err'
exits 0 cairn resume
exits 0 cairn runs
is "$(grep -c here out)" 1 'resume began no other run'
cp cairn.yaml 'my file.yaml'
sed -i 's/name: here/name: other/' 'my file.yaml'
exits 0 cairn run 'my file.yaml'
exits 0 cairn plan
says "\`cairn run 'my file.yaml' --fresh\` begins a new run" 'with its file'

# What failed and reads what is made anew may fail with it just as before.
mkdir ../again && cd ../again || exit 1
cat >cairn.yaml <<'END'
name: again
tasks:
  makes: {run: 'echo made >made', outputs: made}
  reads: {needs: makes, run: 'exit 3', inputs: made, may_fail: true}
  after: {needs: reads, run: 'true'}
END
exits 0 cairn run
echo changed >>made
exits 0 cairn plan
matches '^run +makes '
matches '^run +reads '
matches '^may +after '
done_testing
