# foreach, groups, products, element-wise needs, pools, environment, cwd; and the graph.
. "$TESTS/cli/tap.sh"

mkdir -p data sub
touch data/x.csv data/y.csv 'data/with space.csv'
printf 'alpha\nbeta\n' >names.txt
cat >flow.yaml <<'END'
name: shapes
params: {base: "10"}
env: {LEVEL: outer}
pools: {one: 1}
tasks:
  list:   {foreach: {v: [red, "green blue"]}, run: 'echo "$v" >>list.out'}
  range:  {foreach: {n: {range: [8, 11]}}, run: 'echo "$n" >>range.out'}
  glob:   {foreach: {f: {glob: "data/*.csv"}}, run: 'test -f "$f" && echo "$f" >>glob.out'}
  lines:  {foreach: {w: {lines: names.txt}}, run: 'echo "$w" >>lines.out'}
  product:
    foreach: {w: {lines: names.txt}, n: {range: [1, 2]}}
    needs: ["lines[w=${{ w }}]"]
    run: echo "$w$n" >>product.out
  pair:
    foreach: {a: {lines: names.txt}, b: {lines: names.txt}}
    needs: ["lines[w=${{ a }}]", "lines[w=${{ b }}]"]
    run: echo "$a-$b" >>pair.out
  join:   {needs: [product, pair, list], exec: [sh, -c, 'echo "$1 $LEVEL" >join.out', x, "${{ params.base }}"]}
  inner:  {env: {LEVEL: inner}, cwd: sub, run: 'echo "$LEVEL $CAIRN_TASK $CAIRN_ATTEMPT" >here'}
  alone:  {foreach: {n: {range: [1, 4]}}, pool: one, run: 'mkdir only && sleep 0.02 && rmdir only'}
END
exits 0 cairn run flow.yaml --jobs 4
is "$(LC_ALL=C sort list.out | tr '\n' '|')" 'green blue|red|' 'a list; a value with a space stays one'
is "$(sort -n range.out | tr '\n' ' ')" '8 9 10 11 ' 'a range has both ends'
is "$(LC_ALL=C sort glob.out | tr '\n' '|')" 'data/with space.csv|data/x.csv|data/y.csv|' 'a glob'
is "$(sort lines.out | tr '\n' ' ')" 'alpha beta ' 'lines of a file'
is "$(sort product.out | tr '\n' ' ')" 'alpha1 alpha2 beta1 beta2 ' 'a product'
is "$(LC_ALL=C sort pair.out | tr '\n' ' ')" 'alpha-alpha alpha-beta beta-alpha beta-beta ' 'pairs of one list'
is "$(cat join.out)" '10 outer' 'params in exec, env for all'
is "$(cat sub/here)" 'inner inner 1' 'env of the task, cwd, CAIRN_TASK and CAIRN_ATTEMPT'

exits 0 cairn status --tasks
says 'product[w=beta,n=2]' 'a member of a product has both keys in its id'
says 'list[v=green%20blue]' 'what is not a plain character is escaped'
exits 0 cairn log 'list[v=red]'
exits 0 cairn explain 'pair[a=alpha,b=beta]'

exits 0 cairn graph flow.yaml
says 'digraph' 'dot'
says '"join"'
exits 0 cairn graph flow.yaml --format mermaid
matches 'flowchart|graph' 'Mermaid'
exits 0 cairn graph flow.yaml --format json
json_ok 'JSON'
exits 2 cairn graph flow.yaml --format svg
says 'mermaid' 'the formats are listed'
cp out graph.dot

# Values are data: they never become code.
cat >hostile.yaml <<'END'
name: hostile
params: {word: "x"}
tasks:
  echo: {run: 'printf "%s\n" "$word" >word.out', env: {WORD: "${{ params.word }}"}}
END
exits 0 cairn run hostile.yaml --param 'word=$(touch pwned); `touch pwned`; "'
is "$(cat word.out)" '$(touch pwned); `touch pwned`; "' 'a parameter reaches the task as it is'
ok 'and is not run' test ! -e pwned

# Large: compile and plan without running.
cat >large.yaml <<'END'
name: large
tasks:
  a: {foreach: {n: {range: [1, 20000]}}, run: "true"}
  b: {foreach: {n: {range: [1, 20000]}}, needs: [a], run: "true"}
END
exits 0 cairn validate large.yaml
says '40000' 'a group needed by a group is one barrier, not 400 million edges'

done_testing
