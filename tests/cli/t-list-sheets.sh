# Sheets that a task makes while the run goes on: the rows are the members of a group.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

ran() { sort ran | tr '\n' ' '; }
cat >w.yaml <<'END'
name: w
params: {least: 1}
tasks:
  split: {inputs: in.csv, run: cp in.csv parts.csv}
  each:
    foreach: {part: {from: split, csv: parts.csv}, where: n >= params.least}
    run: echo "$part:$n" >>ran; echo "$n" >"$part.out"
    outputs: ["${{ part }}.out"]
  named:
    foreach: {from: split, csv: parts.csv, key: Part No, where: n >= params.least}
    exec: [sh, -c, 'echo "$1" >>ran', sh, "${{ part_no }}=${{ file_name }}"]
    if: mode != 'off'
  elem:
    foreach: {part: {from: split, csv: parts.csv}, where: n >= params.least}
    needs: ["each[part=${{ part }}]"]
    run: echo "e$part" >>ran
  join:
    needs: each
    exec: [sh, -c, 'cat "$@" | tr "\n" " " >joined', sh, "${{ tasks.each.files }}"]
END
head='part,Part No,n,mode,note,File (name)'
cat >in.csv <<END
$head
a,1,1,on,first,fa
b,2,2,on,"two
lines, ""quoted""",fb

c,3,3,off,,fc
d,4,0,on,,fd
END
exits 0 cairn plan w.yaml
matches '^run   each\[part=…\] *as many as split gives' 'it is sure that there will be some'
matches '^may   named\[part_no=…\]' 'a condition over a column decides'
exits 0 cairn explain 'named[part_no=…]' w.yaml --json
says '"foreach":{"part_no":"…","file_name":"…","mode":"…"}' 'the columns that are named, without values'
exits 0 cairn run w.yaml -j 4
is "$(ran)" '1=fa 2=fb a:1 b:2 c:3 ea eb ec ' 'rows are members, and columns their values'
is "$(cat joined)" '1 2 3 ' 'in the order of the sheet'
is "$(planned --run 1)" '' 'nothing is left to do'
rm parts.csv
is "$(planned --run 1)" '' 'the rows are recorded'
exits 0 cairn explain 'each[part=b]' --json
says '"foreach":{"part":"b","n":"2"}' 'a column that is named is known'
ok 'others are not' sh -c '! grep -q "two" out'

# ---- Rows that are added, removed, edited and moved ----
resumed() { # SHEET, what runs, DESCRIPTION
    printf '%s\n' "$1" >in.csv
    : >ran
    exits 0 cairn resume
    is "$(ran)" "$2" "$3"
}
resumed "$head
b,2,2,on,edited,fb
c,3,3,off,,fc
a,1,1,on,first,fa" '' 'rows that moved, and a column that no task names'
is "$(cat joined)" '2 3 1 ' 'the join follows the order'
resumed "File (name),note,mode,n,Part No,part
fb,,on,2,2,b
fc,,off,3,3,c
fa,,on,1,1,a" '' 'columns that moved'
resumed "$head
b,2,9,on,,fb
c,3,3,on,,fc
a,1,1,on,,f2" '1=f2 3=fc b:9 eb ' 'each cell runs what names it'
resumed "$head
b,2,9,on,,fb
e,5,5,on,,fe
a,1,1,on,,f2" '5=fe e:5 ee ' 'a new row and one that is gone'
says 'c.out' 'whose file is named'
is "$(cat joined)" '9 5 1 ' 'the join has what there is'
cat >in.csv <<END
$head
b,2,9,on,,fb
e,5,7,on,,fe
END
exits 0 cairn plan
matches '^may   each\[part=b\] *depending on what split makes' 'a plan does not know the new rows'
matches '^run   join' 'the join runs'

# A column that the task begins to name is there at once: the file is recorded.
resumed "$head
b,2,9,on,x y,fb" '' 'all but one are gone'
sed -i 's/echo "e$part"/echo "e$part $note"/' w.yaml
: >ran
exits 0 cairn resume
is "$(ran)" 'eb x y ' 'of the recorded sheet, without the task that made it'

# ---- A sheet that is no good: members stay what they are until there is one ----
bad() { # SHEET, what is said
    printf '%s\n' "$1" >in.csv
    : >ran
    exits 1 cairn resume -k
    says "the sheet parts.csv of split$2" "said: $2"
    is "$(ran)" '' 'no member runs'
}
bad "$head
b,2,9,on,,fb
b,2,8,on,,fb" ': lines 2 and 3 have the same `part`: `b`'
bad "$head
b,2,9,on,,fb
,2,8,on,,fb" ': line 3: the key `part` is empty'
bad "$head
b,2,9,on" ': line 2: 4 fields, but the first line has 6'
bad "$head
b,2,9,on,\"x,fb" ': line 2'
bad "$head
b,2,nine,on,,fb" ': line 2: `where`: `>=` needs numbers'
bad "part,Part No,m,mode,note,File (name)
b,2,9,on,,fb" ' has no column `n`'
bad "piece,Part No,n,mode,note,File (name)
b,2,9,on,,fb" ' has no column `part`'
bad "$head,least
b,2,9,on,,fb,1" ': line 1: the column `least` is the name of a param, too'
bad "$head,N
b,2,9,on,,fb,1" ': line 1: the column `N` is called as the column `n` is'
bad "$head" ' is empty; write allow_empty: true'
bad "$head
b,2,0,on,,fb" ' is empty; write allow_empty: true'
: >in.csv
exits 1 cairn resume -k
says 'parts.csv of split is empty: its first line has the names' 'no line at all'
run cairn status --tasks
matches 'completed *each\[part=b\]' 'a member keeps what it has done'
resumed "$head
b,2,9,on,x y,fb
f,6,6,on,,ff" '6=ff ef  f:6 ' 'and all goes on with a sheet again'
sed -i '/^  named:/,/^  elem:/s/file_name/file_nam/' w.yaml
run cairn resume -k
says 'has no column `file_nam`, which the task names; did you mean' 'a name that is no column'
sed -i 's/file_nam }/file_name }/; s/csv: parts.csv}, where/csv: parts.csv, max: 1}, where/' w.yaml
run cairn resume -k
says 'has more entries than its `max`, which is 1' 'more rows than max'

# ---- Other forms, and a file without names ----
forms() { # FORM and what is beside it, COMMAND that writes the file
    cat >f.yaml <<END
name: f
tasks:
  s: {run: '$2'}
  a: {foreach: {k: {from: s, $1}}, run: 'echo "\$k \$v" >>ran'}
END
    : >ran
    exits 0 cairn run f.yaml --fresh -j 1
    is "$(ran)" 'x 1 y 2 ' "a sheet: $1"
}
forms 'tsv: t' 'printf "v\tk\n1\tx\n2\ty\n" >t'
forms 'csv: t, key: id' 'printf "v,id\n1,x\n2,y\n" >t'
forms 'csv: t, columns: [v, "k"]' 'printf "1,x\n2,y\n" >t'
forms 'json: t' 'echo "[{\"k\": \"x\", \"v\": 1}, {\"v\": 2, \"k\": \"y\"}]" >t'
forms 'jsonl: t, max: 2' 'printf "{\"k\": \"x\", \"v\": 1}\n{\"v\": 2, \"k\": \"y\"}\n" >t'
sed -i 's/max: 2}/max: 2}, where: "id > 1"/; s/max: 2/key: id, max: 2/; s/"k/"id/g' f.yaml
exits 1 cairn run f.yaml --fresh
says 'the column `id` is the key, which is called `k` in this task: write k' 'the key has one name'
sed -i 's/max: 2/max: 1/; s/, where: "id > 1"//' f.yaml
exits 1 cairn run f.yaml --fresh
says 'the sheet t of s has more entries than its `max`, which is 1' 'more than max'
cat >e.yaml <<'END'
name: e
tasks:
  s: {run: 'echo k,v >t'}
  a: {foreach: {k: {from: s, csv: t, allow_empty: true}}, run: 'echo "$k"', env: {x: '${{ v }}'}}
  b: {needs: a, run: 'echo after >>ran'}
END
: >ran
exits 0 cairn plan e.yaml
matches '^may   a\[k=…\]' 'there may be none'
exits 0 cairn run e.yaml
is "$(ran)" 'after ' 'no row is a sheet with allow_empty'
sed -i 's/echo k,v >t/:/' e.yaml
rm t
exits 1 cairn run e.yaml --fresh
says 's leaves no list: cannot open' 'why there is no sheet'
says 's has completed, and there was no file t that can be read' 'and what fails'

# ---- A group makes it: the files of its members, in order ----
cat >g.yaml <<'END'
name: g
params: {dir: p}
tasks:
  split:
    foreach: {chunk: [two, one]}
    inputs: ["${{ chunk }}.in"]
    run: mkdir -p p; cp "$chunk.in" "p/$chunk.csv"; cut -d, -f1 <"$chunk.in" >"p/$chunk.txt"
  each: {foreach: {id: {from: split, csv: "${{ params.dir }}/${{ chunk }}.csv"}}, run: 'echo "$id=$v" >>ran'}
  line: {foreach: {l: {from: split, lines: "p/${{ chunk }}.txt"}}, run: 'echo "l$l" >>ran'}
  name: {foreach: {l: {from: split, glob: "p/${{ chunk }}.*"}}, run: 'echo "$l" >>ran'}
END
printf 'id,v,w\na,1,\n' >one.in
printf 'v,w,id\n2,,b\n3,,c\n' >two.in
: >ran
exits 0 cairn run g.yaml -j 1 -k
is "$(grep '=' ran | tr '\n' ' ')" 'b=2 c=3 a=1 ' 'the files of members in their order, each with its own order of columns'
is "$(grep -v '=' ran | tr '\n' ' ')" 'lv l2 l3 lid la p/two.csv p/two.txt p/one.csv p/one.txt ' 'their lines and names'
printf 'id,v,w\nb,1,\n' >one.in
run cairn resume -k
says 'of split[chunk=one]: line 2 and line 2 of that of split[chunk=two] have the same `id`: `b`' \
    'a key that is in two of them'
printf 'id,v\na,1\n' >one.in
run cairn resume -k
says 'of split[chunk=one] has no column `w`, which another one has' 'files that do not fit together'
cat >h.yaml <<'END'
name: h
tasks:
  s: {run: 'printf "1,2,3\n" >t'}
  a: {foreach: {v: {from: s, csv: t, columns: [v, "a b", a_b]}}, run: 'echo $v'}
END
exits 1 cairn run h.yaml
says 'the sheet t of s: the column `a_b` is called as the column `a b` is' 'which sheet has no line of names, too'

# ---- A task that is reused has made the sheet that it made then ----
cat >r.yaml <<'END'
name: r
tasks:
  s: {reuse: true, inputs: [in.csv], outputs: [t], run: 'echo s >>ran; cp in.csv t'}
  a: {foreach: {part: {from: s, csv: t}}, reuse: true, outputs: ["${{ part }}.r"], run: 'echo "$part$n" | tee -a ran >"$part.r"'}
END
printf 'part,n\na,1\nb,2\n' >in.csv
: >ran
exits 0 cairn run r.yaml
exits 0 cairn run r.yaml --fresh
is "$(ran)" 'a1 b2 s ' 'all are reused'
printf 'part,n\na,1\nb,3\nc,4\n' >in.csv
exits 0 cairn run r.yaml --fresh
is "$(ran)" 'a1 b2 b3 c4 s s ' 'who makes it runs, and a row that is as it was is reused'
: >ran
sed -i 's/csv: t/csv: t, columns: [part, n]/' r.yaml
exits 0 cairn run r.yaml --fresh
is "$(ran)" 'partn ' 'the text that was recorded is read in another way'
sed -i 's/csv: t, columns: \[part, n\]/lines: t/; s/"$part$n"/"$part"/' r.yaml
: >ran
exits 0 cairn run r.yaml --fresh
is "$(ran)" 'a,1 b,3 c,4 part,n s ' 'a list that it had not recorded: it runs'

# ---- Secrets ----
cat >secret.yaml <<'END'
name: secret
secrets: [TOKEN]
tasks:
  s: {secrets: [TOKEN], run: 'printf "k,v\na,%s\n" "$TOKEN" >t'}
  a: {foreach: {k: {from: s, csv: t}}, run: 'echo "$k=$v" >>ran'}
END
: >ran
exits 0 env TOKEN=zq81-very-secret cairn run secret.yaml
ok 'a secret is not stored' sh -c '! grep -rqa zq81-very-secret .cairn'
ok 'nor given to a member as a value' sh -c 'test -s ran && ! grep -q zq81-very-secret ran'
sed -i 's/k,v/k,token/; s/\[TOKEN\]$/[TOKEN, token]/' secret.yaml
exits 1 env token=other-secret TOKEN=zq81-very-secret cairn run secret.yaml --fresh
says 'is the name of a secret' 'a column is not called as a secret'

# ---- Killed anywhere, it goes on with the same rows ----
cat >z.yaml <<'END'
name: z
tasks:
  split: {run: 'echo s >>ran; printf "v,n\n1,x\n2,y\n3,z\n" >t'}
  each: {foreach: {v: {from: split, csv: t}}, run: 'echo $v$n >>ran; rm -f t; echo $v >z$v', outputs: ['z${{ v }}']}
  join: {needs: each, run: 'echo join >>ran'}
END
for ms in 5 10 15 20 25 30 40 50 60 80; do
    rm -f ran z1 z2 z3
    cairn run z.yaml --fresh -j 1 >killed 2>&1 &
    pid=$!
    sleep "0.0$(printf %02d $ms)"
    kill -9 $pid 2>/dev/null
    wait $pid
    run cairn run z.yaml -j 1
    [ "$status" -eq 0 ] || exits 0 cairn run z.yaml
    is "$(sort -u ran | tr '\n' ' ')" '1x 2y 3z join s ' "killed after $ms ms: all ran in the end"
done

# ---- 100,000 rows ----
cat >many.yaml <<'END'
name: many
tasks:
  s: {run: 'seq 100000 | sed "s/.*/&,v&,&/; 1s/^/k,v,w\n/" >t'}
  a: {foreach: {k: {from: s, csv: t, max: 100000}}, if: "v == 'v99999' && w == 99999", run: 'echo "$k" >>ran'}
END
: >ran
exits 0 cairn run many.yaml
is "$(ran)" '99999 ' 'all rows are members'
done_testing
