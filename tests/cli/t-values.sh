# cairn values: what tasks have told; also in status, explain and checkpoint show.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: told
tasks:
  make:
    run: |
      echo size=12 >>"$CAIRN_OUTPUT"
      printf 'notes<<EOT\none\ntwo\nEOT\n' >>"$CAIRN_OUTPUT"
  quiet: {run: 'true'}
  review: {needs: make, external: "Review ${{ tasks.make.outputs.size }}"}
  publish: {needs: review, if: "tasks.review.outputs.verdict == 'ok' && tasks.make.outputs.size > 3", run: 'true'}
END2
exits 10 cairn values
exits 7 cairn run flow.yaml --no-wait
exits 0 cairn values
is "$(cat out)" 'make  notes = one^Jtwo
make  size = 12' 'all values, sorted by name'
exits 0 cairn values make size
is "$(cat out)" 12 'one value alone'
exits 0 cairn values make notes
is "$(cat out)" 'one
two' 'a value of two lines as it is'
exits 0 cairn values quiet
says 'task quiet has reported no value in run 1'
exits 10 cairn values make weight
says 'task make has reported no value weight'
exits 10 cairn values maek
says 'did you mean make?'
exits 10 cairn values --run 2
exits 0 cairn complete 1 review --output verdict=no
exits 0 cairn resume
exits 0 cairn values --json
json_ok 'values --json'
is "$(json_get '.values[2].task')" review 'what was said from outside is there, too'
is "$(json_get '.values[2].name')" verdict 'its name'
is "$(json_get '.values[2].value')" no 'its value'
exits 0 cairn values quiet --json
json_ok 'no values are an empty list'
exits 0 cairn status --tasks --json
json_ok 'status --tasks --json'
is "$(json_get '.tasks[0].values.size')" 12 'status has the values of a task'
is "$(json_get '.tasks[2].values.verdict')" no 'and of another'
exits 0 cairn explain publish
says "its condition is not met: tasks.review.outputs.verdict == 'ok' && tasks.make.outputs.size > 3 (tasks.review.outputs.verdict is 'no', tasks.make.outputs.size is '12')" \
    'explain: the condition that decided, and its values'
exits 0 cairn explain review
says 'verdict = no' 'explain shows what a task has told'
exits 0 cairn explain make --json
is "$(json_get '.values.size')" 12 'explain --json, too'
id=$(cairn checkpoint list --limit 1 --quiet | awk 'NR > 1 { print $1 }')
exits 0 cairn checkpoint show "$id" --tasks
says 'verdict = no' 'checkpoint show --tasks has them'
exits 0 cairn checkpoint show "$id" --tasks --json
json_ok 'checkpoint show --tasks --json'
is "$(json_get '.tasks[0].values.size')" 12 'its values'

# ---- A group, a part of it, a pattern ----
cat >groups.yaml <<'END2'
name: groups
tasks:
  train: {foreach: {lr: ['0.1', '0.2'], seed: [1, 2]}, run: 'echo "acc=$lr$seed" >"$CAIRN_OUTPUT"; echo "n=1" >>"$CAIRN_OUTPUT"'}
  other: {run: 'echo acc=0 >"$CAIRN_OUTPUT"'}
  mute: {foreach: {i: [1, 2]}, run: ':'}
END2
exits 0 cairn run groups.yaml
exits 0 cairn values train
is "$(grep -c '^train\[' out)" 8 'all values of a group'
is "$(grep -c . out)" 8 'and no others'
exits 0 cairn values 'train[lr=0.1]'
is "$(cat out)" 'train[lr=0.1,seed=1]  acc = 0.11
train[lr=0.1,seed=1]  n = 1
train[lr=0.1,seed=2]  acc = 0.12
train[lr=0.1,seed=2]  n = 1' 'those of a part of it'
exits 0 cairn values 'train[lr=0.1]' acc
is "$(cat out)" 'train[lr=0.1,seed=1]  acc = 0.11
train[lr=0.1,seed=2]  acc = 0.12' 'one value of each'
exits 0 cairn values 'train[seed=2,lr=0.1]' acc
is "$(cat out)" 0.12 'of a single member it stands alone'
exits 0 cairn values 'o*' --json
is "$(json_get '.values[0].task')" other 'a pattern'
exits 10 cairn values train weight
says 'none of the 4 tasks of train has reported a value weight in run 2: `cairn values train --run 2` shows what they have reported'
exits 0 cairn values mute
says 'none of the 2 tasks of mute has reported a value in run 2'
exits 10 cairn values 'train[lr=0.3]'
exits 10 cairn values 'x*'
rm -rf .cairn

# ---- Commands and conditions before anything ran ----
cat >shown.yaml <<'END2'
name: shown
params: {who: you}
tasks:
  ask: {exec: [echo, "hi ${{ params.who }}", "it's"]}
  use: {needs: ask, exec: [echo, "${{ tasks.ask.outputs.k }}"], if: "tasks.ask.outputs.k == 1"}
  two:
    run: |
      echo one
      echo two
  person: {external: "Look at ${{ params.who }}"}
END2
exits 0 cairn plan shown.yaml -v
says "        echo 'hi you' 'it'\\''s'" 'plan -v: the words of exec, quoted for a shell'
says '        if tasks.ask.outputs.k == 1 (tasks.ask.outputs.k is not set)' 'a condition'
says '        echo one
        echo two' 'a command of two lines'
says '        Look at you' 'what somebody is to do'
exits 0 cairn plan shown.yaml --verbose --json
json_ok 'plan --verbose --json'
is "$(json_get '.decisions[2].command')" 'echo one\necho two\n' 'the command as it is'
exits 0 cairn explain two shown.yaml
says '  command: echo one
           echo two' 'explain: the command'

sed -i '/person:/d' shown.yaml
sed -i 's/  ask: {/  ask: {description: "greets\\nsomebody", /' shown.yaml
exits 0 cairn plan shown.yaml -v
says "        # greets
        # somebody
        echo 'hi you'" 'plan -v: what a task is for, above its command'
exits 0 cairn plan shown.yaml
ok 'and without -v not' sh -c '! grep -q greets out'
exits 0 cairn plan shown.yaml -v --json
is "$(json_get '.decisions[0].description')" 'greets\nsomebody' 'in JSON, too'
is "$(json_get '.decisions[1].description')" null 'null: none'
exits 0 cairn run shown.yaml
says '(tasks.ask.outputs.k is not set)' 'the run says what the condition saw'

# ---- A literal ${{ ----
cat >literal.yaml <<'END2'
name: literal
params: {price: "5"}
tasks:
  made:
    run: |
      cat >made.yaml <<'E'
      run: echo $${{ github.sha }} $$$${{ a }}
      E
  b:
    exec: [echo, "$${{ x }} ${{ params.price }} ${{ '$' }}${{ params.price }} ${{ '$${{' }}"]
    env: {said: "$${{ env.q }}"}
  c: {foreach: {k: ["$${{ z }}", w]}, run: 'echo "$k" >>told'}
  d: {needs: ["c[k=$${{ z }}]"], external: "Say $${{ it }}"}
  e:
    exec: [sh, -c, 'echo "$said" >said']
    env: {said: "$${{ it's }}"}
    check: test "$said" != '$${{ '
END2
exits 7 cairn run literal.yaml --no-wait
says 'waits d: Say ${{ it }}' 'external'
is "$(cat made.yaml)" 'run: echo ${{ github.sha }} $$${{ a }}' 'run'
is "$(LC_ALL=C sort told | tr '\n' ' ')" '${{ z }} w ' 'a value of foreach, and a need on it'
is "$(cat said)" "\${{ it's }}" 'env'
exits 0 cairn log b
is "$(cat out)" '${{ x }} 5 $5 $${{' 'exec'
exits 0 cairn plan literal.yaml --fresh -v
says "        echo '\${{ x }} 5 \$5 \$\${{'" 'plan says the same'
sed -i 's/ \$\${{ github/ ${{ github/' literal.yaml
exits 3 cairn plan literal.yaml --fresh
says 'literal.yaml:7:17' 'the one without the escape is meant'
says '$${{ is a literal ${{' 'run: the escape is named'
for expression in github.sha nme 'a | upper'; do
    printf '%s\n' 'name: w' 'tasks:' "  a: {exec: [echo, '\$\${{ k }}', '\${{ $expression }}']}" >written.yaml
    exits 3 cairn plan written.yaml
    says "\${{ $expression }}']}" "$expression: its line"
    says '$${{ is a literal ${{' "$expression: the escape is named"
done
printf '%s\n' 'name: w' 'tasks: {a: {run: "true", if: nme == 1}}' >written.yaml
exits 3 cairn plan written.yaml
ok 'a condition has no text around it' sh -c '! grep -q "literal" err'

done_testing
