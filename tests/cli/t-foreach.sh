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

# ---- A file is gone that a member of the run stands for ----
mkdir 'g h'
touch 'g h/a' 'g h/b'
cat >'gone it.yaml' <<'END'
name: gone
params: {word: none}
tasks:
  m: {foreach: {f: {glob: 'g h/*'}}, run: 'cat "$f"; test -e go && test "$word" = "a b"'}
END
exits 1 cairn run 'gone it.yaml' --param 'word=a b' -k
matches 'resume with: cairn resume [0-9]* --keep-going$' 'nothing is gone yet'
rm 'g h/b'
touch go
exits 1 cairn resume
matches 'gone: put it back and resume with: cairn resume [0-9]*, or begin a new run with: ' 'the last line says what helps'
sed -n 's/.* a new run with: //p' err >hinted
exits 0 sh ./hinted
rm go

# ---- Lists that a run has recorded, and that are others now ----
mkdir in
touch in/a in/b in/c
printf 'x\ny\nz\n' >list
cat >lists.yaml <<'END'
name: lists
tasks:
  file: {foreach: {f: {glob: 'in/*'}}, run: 'echo "$f" >>seen'}
  line: {foreach: {l: {lines: list}}, needs: [file], run: 'test -e go; echo "$l" >>seen'}
  end: {needs: [line], run: 'echo end >>seen'}
END
exits 1 cairn run lists.yaml
run_number=$(sed -n 's/^run \([0-9]*\) of lists.*/\1/p' err)
kept() { # TEXT: plan and resume continue with what was recorded, and say TEXT
    exits 1 cairn resume "$run_number"
    says "$1"
    exits 0 cairn plan --run "$run_number" --all
    is "$(awk '{ print $2 }' out | tr '\n' ' ')" 'file[f=in/a] file[f=in/b] file[f=in/c] line[l=x] line[l=y] line[l=z] end ' 'the members are those of the run'
    says "$1"
}
touch in/d
kept 'file: 1 new file matches `in/*` and is no part of this run: in/d; a new run has it: cairn run '"$PWD/lists.yaml --fresh"
rm in/b
kept 'file: 1 recorded member is gone: in/b; this run keeps it: put back what it needs, or begin a new run: cairn run '"$PWD/lists.yaml --fresh"
rm -r in
kept 'file: 3 recorded members are gone: in/a, in/b, in/c; this run keeps them'
mv list old
kept 'line: whether there are new members is not known (there is no file'
printf 'x\nx\nz\n' >list
kept 'line: 1 recorded member is gone: y; this run keeps it'
exits 3 cairn run lists.yaml --fresh
says 'no file matches' 'a new run needs the lists'
says 'lines 1 and 2 of list are the same'
sed -i 's/echo end/echo "the end"/' lists.yaml
kept 'line: 1 recorded member is gone: y' # also after an edit of something else
sed -i 's/lines: list/lines: missing/' lists.yaml
exits 3 cairn resume "$run_number"
says 'there is no file' 'a list that was named since is needed'
sed -i 's/lines: missing/lines: list/; s/needs: \[line\]/neeeds: [line]/' lists.yaml
exits 3 cairn resume "$run_number"
says 'neeeds' 'other mistakes are told'
sed -i 's/neeeds/needs/' lists.yaml
rm list
exits 3 cairn run lists.yaml
says "run $run_number of this file is not finished, and continues with the members that it recorded: cairn resume $run_number" 'run FILE: which run can continue'
exits 3 cairn run lists.yaml --fresh
ok 'not where a new one is wanted' sh -c '! grep -q "not finished" err'
touch go
exits 0 cairn resume "$run_number"
is "$(sort seen | tr '\n' ' ')" 'in/a in/b in/c the end x y z ' 'each member ran once'

# Large: compile and plan without running.
cat >large.yaml <<'END'
name: large
tasks:
  a: {foreach: {n: {range: [1, 20000]}}, run: "true"}
  b: {foreach: {n: {range: [1, 20000]}}, needs: [a], run: "true"}
END
exits 0 cairn validate large.yaml
says '40000' 'a group needed by a group is one barrier, not 400 million edges'


# ---- A member by its value alone ----
mkdir -p byvalue/src && cd byvalue || exit 1
touch src/m1.c src/m7.c
cat >w.yaml <<'END'
name: byvalue
tasks:
  first: {run: 'true'}
  compile: {foreach: {file: {glob: 'src/*.c'}}, run: 'true'}
  test: {foreach: {suite: [one, two, three], os: [mac, linux]}, run: 'true'}
  many: {foreach: {n: {range: [1, 30]}}, run: 'true'}
END
exits 0 cairn run -q --fresh w.yaml
member=$(cairn status --tasks | sed -n 's/^  completed *\(compile[^ ]*m7[^ ]*\).*/\1/p')
exits 10 cairn log 'compile[m7.c]'
says "there is no task compile[m7.c] in byvalue: did you mean $member?" 'the end of a path'
exits 10 cairn log 'compile[file=m7.c]'
says "did you mean $member?" 'with its key'
exits 10 cairn explain 'compile[src/m7.c]'
says "did you mean $member?" 'the whole path'
exits 10 cairn rerun 'test[one]'
says 'there is no task test[one] in byvalue: it could be test[suite=one,os=mac], test[suite=one,os=linux]' 'a value of several'
exits 10 cairn rerun 'test[one,linux]'
says 'did you mean test[suite=one,os=linux]?' 'a value for each key'
exits 10 cairn rerun 'test[linux,one]'
says 'did you mean test[suite=one,os=linux]?' 'in any order'
exits 10 cairn explain 'many[nothing-like-it]'
says 'there is no task many[nothing-like-it] in byvalue; many has many[n=1], many[n=2], many[n=3] and 27 more' 'else the first members'
exits 10 cairn explain 'many[7.c]'
says 'many has many[n=1]' 'and not one that ends in other letters'
exits 10 cairn explain 'nowhere[one]'
says 'there is no task nowhere[one] in byvalue' 'another group'
ok 'as before' sh -c '! grep -q "could be" err'
cd ..

# ---- A list made on Windows ----
mkdir windows && cd windows || exit 1
printf '\357\273\277one\r\ntwo\r\n' >hosts.txt
cat >cairn.yaml <<'Y'
name: l
tasks:
  a:
    foreach: {h: {lines: hosts.txt}}
    run: printf %s "$h" >"out.$h"; printf '\357\273\277said=%s\r\n' "$h" >"$CAIRN_OUTPUT"
Y
exits 0 cairn run
ok 'the byte order mark is no part of the first value' test -f out.one -a -f out.two
exits 0 cairn values
says 'said = one' 'nor of the first name in $CAIRN_OUTPUT'
printf 'one\ntwo\n' >hosts.txt
exits 0 cairn resume
says 'nothing to do' 'nor does a file without it differ'
cd ..
done_testing
