# make: sanitize
# Lists that a task makes while the run goes on.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

cat >w.yaml <<'END'
name: w
tasks:
  split:
    run: |
      { echo "parts<<E"; cat list.txt; echo E; } >>"$CAIRN_OUTPUT"
    inputs: list.txt
  convert:
    foreach: {part: {from: split, value: parts}}
    run: echo "$part" >>ran; echo "$part" >"$part.out"; test ! -e "fail.$part"
    outputs: ["${{ part }}.out"]
  index:
    foreach: {part: {from: split, value: parts}}
    needs: ["convert[part=${{ part }}]"]
    run: echo "i$part" >>ran
  join:
    needs: [convert, index]
    exec: [sh, -c, 'cat "$@" >joined; echo join >>ran', sh, '${{ tasks.convert.files }}']
END
ran() { sort ran | tr '\n' ' '; }

# ---- Before and behind the list ----
printf 'a\nb\nc\n' >list.txt
exits 0 cairn plan w.yaml
says 'as many as split gives' 'the plan says who decides'
matches '^run   convert\[part=…\]' 'one member stands for all: there will be some'
matches '^run   join ' 'and what needs them runs'
sed 's/value: parts}/value: parts, allow_empty: true}/' w.yaml >empty.yaml
exits 0 cairn plan empty.yaml
matches '^may   convert\[part=…\] *as many as split gives' 'it may where the list may be empty'
matches '^may   join ' 'with what needs them'
sed 's|^  convert:|  convert:\n    if: 1 < 2|' w.yaml >some.yaml
exits 0 cairn plan some.yaml
matches '^may   convert\[part=…\]' 'or a condition decides'
exits 0 cairn run w.yaml -j 4
is "$(ran)" 'a b c ia ib ic join ' 'each member ran once'
is "$(tr '\n' ' ' <joined)" 'a b c ' 'the join saw all'
is "$(planned --run 1)" '' 'nothing is left to do'
run cairn status --tasks
says 'convert[part=b]' 'status has the members'

# ---- Another list: what is in both stays ----
: >ran
printf 'c\nb2\na\n' >list.txt
is "$(planned --run 1)" 'split join' 'the plan: the maker and what needs the group'
exits 0 cairn resume
is "$(ran)" 'b2 ib2 join ' 'only the new member ran, and the join'
is "$(tr '\n' ' ' <joined)" 'c b2 a ' 'in the order of the list'
: >ran
exits 0 cairn rerun split --only
is "$(ran)" '' 'the same list again: no member runs'

# ---- Which need of a group comes first does not matter ----
two() { # NEEDS
    cat >two.yaml <<END
name: two
tasks:
  split: {run: 'echo "l=[\"x\"]" >>\$CAIRN_OUTPUT', inputs: list.txt}
  one: {foreach: {v: {from: split, value: l}}, run: ':'}
  two: {foreach: {v: {from: split, value: l}}, run: ':'}
  end: {needs: [$1], run: ':'}
END
}
two '{task: one, order: true}, two'
exits 0 cairn run two.yaml
two 'two, {task: one, order: true}'
is "$(planned --run 2)" '' 'nothing runs again'
echo >>list.txt
is "$(planned --run 2)" 'split end' 'it needs the task that makes the list for more than the order'
two 'two, {task: split, order: true}'
is "$(planned --run 2)" 'split end' 'also if it says otherwise of that task'

# ---- A list that was never made, since what makes it was left out ----
cat >never.yaml <<'END'
name: never
tasks:
  split: {run: ':', if: 1 == 2}
  each: {foreach: {v: {from: split, value: l}}, run: 'echo never >>ran'}
  end: {needs: each, run: 'echo never >>ran'}
END
exits 0 cairn run never.yaml
exits 0 cairn plan --run 3
ok 'nothing may run' sh -c '! grep -q "^may" out'

# ---- A failure behind the list ----
: >ran
printf 'a\nb\n' >list.txt
touch fail.b
exits 1 cairn run w.yaml --fresh -k
is "$(ran)" 'a b ia ' 'a member fails: its dependents do not run'
rm fail.b
: >ran
exits 0 cairn resume
is "$(ran)" 'b ib join ' 'the rest on resume'

# ---- What plan says of members that are there, when the list is made again ----
mkdir again && cd again || exit 1
cat >again.yaml <<'END'
name: again
tasks:
  split: {inputs: [n], run: 'echo "l=$(cat n)" >>$CAIRN_OUTPUT'}
  each: {foreach: {v: {from: split, value: l}}, inputs: ["f${{ v }}"], run: 'echo $v >>ran'}
  next: {foreach: {v: {from: split, value: l}}, needs: ["each[v=${{ v }}]"], run: 'echo n$v >>ran'}
  ord: {needs: [{task: each, order: true}], run: 'echo ord >>ran'}
  all: {needs: each, run: 'echo all >>ran'}
END
touch f1 f2 f3
echo '[1, 2]' >n
: >ran
exits 0 cairn run again.yaml
is "$(ran)" '1 2 all n1 n2 ord ' 'numbers are taken as they are written'
echo '[1, 2, 3]' >n
echo x >f2
exits 0 cairn plan
matches 'may *each\[v=1\] *depending on what split makes' 'a member may run'
matches 'may *each\[v=2\] *depending on what split makes; the content of its input f2' 'also one whose input differs'
matches 'may *next\[v=1\] *depending on' 'and what needs it'
ok 'not what waits for the order only' sh -c '! grep -q "^[a-z]* *ord " out'
: >ran
exits 0 cairn resume
is "$(ran)" '2 3 all n2 n3 ' 'what is as it was does not run'
exits 0 cairn plan
ok 'nothing may run when nothing is to do' sh -c '! grep -q "^may" out'
# Declared or not: what the source has made again, with the same content.
cat >made.yaml <<'END'
name: made
tasks:
  split: {inputs: [big], run: 'rm -rf p; mkdir p; while read -r k v; do echo $v >p/$k; done <big; echo "l=[$(cut -d" " -f1 big | sed "s/.*/\"&\"/" | paste -sd,)]" >>$CAIRN_OUTPUT', outputs: [p]}
  each: {foreach: {k: {from: split, value: l}}, inputs: ["p/${{ k }}"], run: 'echo $k >>ran'}
  all: {needs: each, run: 'echo all >>ran'}
END
printf 'a 1\nb 2\nc 3\n' >big
exits 0 cairn run made.yaml
printf 'a 1\nb 9\nc 3\nd 4\n' >big
: >ran
exits 0 cairn plan
matches 'may *each\[k=a\] *depending on what split makes' 'its plan'
exits 0 cairn resume
is "$(ran)" 'all b d ' 'one changed line runs one member, a new line another one'
cd .. || exit 1

# ---- A list that is no good, or not made: members stay what they are until there is one ----
cat >kept.yaml <<'END'
name: kept
tasks:
  split: {run: 'cat given >>"$CAIRN_OUTPUT"; ! grep -q FAIL given', inputs: given}
  each: {foreach: {v: {from: split, value: l, max: 4}}, run: 'echo $v >>ran; test ! -e fail.$v'}
  join: {needs: each, run: 'echo join >>ran'}
END
kept() { # EXIT, text of the list
    echo "l=$2" >given
    : >ran
    exits "$1" cairn resume
}
echo 'l=["a","b","c"]' >given
touch fail.c
exits 1 cairn run kept.yaml -k
rm fail.c
for list in '["a", {}]' '["a","b","c","d","e"]' '["a","b","b"]' '[]'; do
    kept 1 "$list"
    is "$(ran)" '' "nothing runs: $list"
done
run cairn status --tasks
matches 'completed *each\[v=b\]' 'a member keeps what it has done'
kept 0 '["d","a","c"]'
is "$(ran)" 'c d join ' 'with a list again, what is new or not done runs'
kept 1 '["FAIL"]'
is "$(ran)" '' 'what makes the list fails'
sed -i 's/^  each:.*/  pre: {foreach: {v: {from: split, value: l, max: 5}}, run: "echo p$v >>ran"}\
  each: {foreach: {v: {from: split, value: l, max: 5}}, needs: ["pre[v=${{ v }}]"], run: "echo $v >>ran; test ! -e fail.$v"}/' kept.yaml
exits 0 cairn plan kept.yaml
says 'pre[v=d]' 'a group of that list that is new gets its members'
kept 0 '["d"]'
is "$(ran)" 'd join pd ' 'and all goes on'

# ---- One that failed before the list was made stays so in this call ----
cat >k.yaml <<'END'
name: k
on_failure: continue
tasks:
  bad: {run: "echo bad >>ran; exit 1"}
  split: {needs: [{task: slow, order: true}], run: 'echo "l=[\"x\",\"y\"]" >>$CAIRN_OUTPUT'}
  slow: {run: sleep 0.2}
  each: {foreach: {v: {from: split, value: l}}, run: 'echo $v >>ran'}
END
: >ran
exits 1 cairn run k.yaml -j 2
is "$(ran)" 'bad x y ' 'it is tried once in a call'
: >ran
exits 1 cairn resume
is "$(ran)" 'bad ' 'and again in the next'

# ---- A list gives no task another try, and no retry an earlier time ----
cat >r.yaml <<'END'
name: r
on_failure: continue
tasks:
  split: {run: 'sleep 0.2; echo "l=[\"x\",\"y\"]" >>$CAIRN_OUTPUT'}
  each: {foreach: {v: {from: split, value: l}}, run: ':'}
  flaky: {retries: {max: 1, delay: 600ms}, run: 'date +%s%N >>when; test $CAIRN_ATTEMPT -gt 2'}
END
exits 1 cairn run r.yaml -j 2
says 'flaky (exit 1, attempt 2' 'it is tried as often as without a list'
is "$(awk '{ n = $1 - n } END { print (n > 590000000 ? "later" : "at once") }' when)" later \
    'after its delay'

# ---- What is wrong with a list ----
bad() { # TEXT of the value, what is said
    cat >b.yaml <<END
name: b
tasks:
  split: {run: 'printf "%s\n" "$1" >>\$CAIRN_OUTPUT'}
  each: {foreach: {v: {from: split, value: l, max: 3}}, run: "echo \$v >>ran"}
  after: {needs: each, run: echo after >>ran}
END
    : >ran
    exits 1 cairn run b.yaml --fresh
    says "$2" "said: $2"
    is "$(ran)" '' 'nothing behind it runs'
}
bad 'm=1' 'has not written a value `l`'
bad 'l=' 'is empty'
bad 'l=[\"a\", {}]' 'is not a JSON list of texts or numbers'
bad 'l=[\"a\"' 'is not a JSON list of texts'
bad 'l=[\"a\"] x' 'is not a JSON list of texts'
bad 'l=[\"a\",\"b\",\"c\",\"d\"]' 'has more entries than its `max`, which is 3'
bad 'l=[\"a\",\"b\",\"a\"]' 'the values 1 and 3 of foreach key `v` are the same (`a`)'
bad 'l=[\"\"]' 'entry 1'
cat >b.yaml <<'END'
name: b
tasks:
  split: {run: 'echo "l=[]" >>$CAIRN_OUTPUT'}
  each: {foreach: {v: {from: split, value: l, allow_empty: true}}, run: "echo $v >>ran"}
  after: {needs: each, run: echo after >>ran}
END
exits 0 cairn run b.yaml --fresh
is "$(ran)" 'after ' 'an empty list is one with allow_empty'

# ---- A list that is known before the run, and no good ----
cat >known.yaml <<'END'
name: known
tasks:
  split: {reuse: true, outputs: [list], run: seq 5 >list}
  each: {foreach: {v: {from: split, lines: list, max: 6}}, run: "echo $v >>ran"}
  after: {needs: each, run: echo after >>ran}
  mend: {needs: each, when: failed, run: echo mend >>ran}
  other: {run: echo other >>ran}
END
exits 0 cairn run known.yaml
sed -i 's/max: 6/max: 4/' known.yaml
: >ran
exits 0 cairn plan known.yaml --fresh
says 'run   each[v=…]  it fails, since its list is known: the list list of split has more entries than its `max`, which is 4' \
    'plan: that the group fails'
says 'run   mend ' 'its handler runs'
says 'run   other ' 'what stands beside it is not kept from running'
ok 'what needs it does not run' sh -c '! grep -qw after out'
exits 0 cairn explain after known.yaml
says 'each[v=…], which it needs, fails' 'explain says why'
exits 0 cairn run known.yaml --fresh
says 'FAILED each[v=…]' 'it failed'
is "$(sort ran | tr '\n' ' ')" 'mend other ' 'and what was planned ran'
sed -i '/mend/d' known.yaml
exits 1 cairn resume
exits 0 cairn plan
says 'run   each[v=…]  it fails, since its list is known' 'the same of a list of this run'
exits 0 cairn plan --all
says 'each[v=…], which it needs, fails' 'and of what needs it'

# Without a handler its failure ends the run before anything is started.
cat >first.yaml <<'END'
name: first
tasks:
  split: {reuse: true, outputs: [list], run: seq 5 >list}
  early: {priority: 1, run: echo early >>ran}
  each: {foreach: {v: {from: split, lines: list, max: 6}}, run: "echo $v >>ran"}
END
exits 0 cairn run first.yaml
sed -i 's/max: 6/max: 4/' first.yaml
: >ran
exits 0 cairn plan first.yaml --fresh
says 'may   early      unless the failure of each[v=…] ends the run' 'plan: that may end the run'
exits 1 cairn run first.yaml --fresh

# ---- A list that is made again, of members that something else keeps from running ----
cat >kept.yaml <<'END'
name: kept
tasks:
  gate: {run: 'true'}
  split: {outputs: [list], run: seq 3 >list}
  each: {needs: gate, foreach: {v: {from: split, lines: list}}, run: "echo $v >>ran"}
  after: {needs: each, run: echo after >>ran}
END
exits 0 cairn run kept.yaml
: >ran
sed -i "s/gate: {/gate: {if: \"'a' == 'b'\", /; s/seq 3/seq 4/" kept.yaml
is "$(planned kept.yaml)" split 'only what makes the list runs'
exits 0 cairn explain 'each[v=1]'
says 'will not run' 'no member does, whatever the list will be'
exits 0 cairn resume
is "$(ran)" '' 'nor did any'

# ---- A service that only members of such a list need ----
cat >serve.yaml <<'END'
name: serve
tasks:
  db: {service: true, ready: 'true', run: sleep 60}
  split: {outputs: [list], run: seq 3 >list}
  each: {needs: db, foreach: {v: {from: split, lines: list}}, run: "echo $v >>ran"}
END
exits 0 cairn run serve.yaml
sed -i 's/seq 3/seq 4/' serve.yaml
: >ran
exits 0 cairn plan
says 'may   db         if something that needs it runs' 'it may run, as they may'
exits 0 cairn resume
is "$(ran)" '4 ' 'a new member did, with the service'
exits 0 cairn plan
ok 'and now neither does' sh -c '! grep -qw db out'

# ---- Who was left out has made no list, not an empty one ----
cat >out.yaml <<'END'
name: out
tasks:
  f: {run: ':'}
  s: {needs: f, if: 'false', run: 'echo p=1 >>"$CAIRN_OUTPUT"'}
  g: {foreach: {p: {from: s, value: p, allow_empty: true}}, run: ':'}
  y: {needs: [{task: g, soft: true}], run: 'echo "y-$st" >>ran', env: {st: '${{ tasks.g.status }}'}}
  z: {needs: y, once: true, run: 'echo z >>ran'}
  l: {needs: z, run: 'echo q=1 >>"$CAIRN_OUTPUT"'}
  h: {foreach: {q: {from: l, value: q}}, run: 'echo h >>ran; test -e mended'}
END
for how in "s/if: 'false'/if: 'false'/" "s/if: 'false'/when: failed/" \
    "s/if: 'false'/foreach: {i: [1, 2]}, &/" "s/if: 'false'/foreach: {i: [1, 2]}, when: failed/" \
    's/, allow_empty: true//'; do
    sed "$how" out.yaml >o.yaml
    rm -f ran mended
    exits 1 cairn run o.yaml --fresh -j 1
    is "$(ran)" 'h y-skipped z ' "$how: another list is made, and what is done stays"
    is "$(cairn plan o.yaml 2>/dev/null | awk '{ print $1, $2 }')" 'run h[q=1]' "$how: plan"
    : >mended
    exits 0 cairn resume
    is "$(ran)" 'h h y-skipped z ' "$how: nor does it run in the run that goes on"
done

# A list is whole, too, when the last who could have made some of it is left out.
cat >last.yaml <<'END'
name: last
on_failure: continue
tasks:
  f: {foreach: {i: [1, 2]}, run: 'test $i = 2', may_fail: true}
  s: {foreach: {i: [1, 2]}, needs: ['f[i=${{ i }}]', 'k[i=${{ i }}]'], when: failed, run: 'echo p=$i >>"$CAIRN_OUTPUT"'}
  k: {foreach: {i: [1, 2]}, run: 'test $i = 1 || sleep 0.3'}
  g: {foreach: {p: {from: s, value: p}}, run: 'echo "g$p" >>ran'}
END
: >ran
exits 0 cairn run last.yaml
is "$(ran)" 'g1 ' 'the members of what the others have made'

# ---- Mistakes of the file ----
wrong() { # TASKS, what is said
    printf 'name: m\ntasks: {s: {run: ":"}, g: {foreach: {v: [1]}, run: ":"}, %s}\n' "$1" >m.yaml
    exits 3 cairn validate m.yaml
    says "$2" "said: $2"
}
wrong 'a: {foreach: {v: {from: x, value: l}}, run: ":"}' 'needs `x`, which does not exist'
wrong 'a: {foreach: {v: {from: a, value: l}}, run: ":"}' 'its own list'
wrong 'a: {foreach: {v: {from: s}}, run: ":"}' 'needs one of `value`'
wrong 'a: {foreach: {v: {from: s, value: l, lines: f}}, run: ":"}' 'needs one of `value`'
wrong 'a: {foreach: {v: {from: s, glob: "**"}}, run: ":"}' '**'
wrong 'a: {foreach: {v: {from: s, range: [1, 2]}}, run: ":"}' 'is a value of it, or'
wrong 'a: {foreach: {v: {from: s, csv: f, value: l}}, run: ":"}' 'needs one of `value`'
wrong 'a: {foreach: {v: {from: s, lines: f, key: a}}, run: ":"}' '`key` is for a sheet'
wrong 'a: {foreach: {v: {from: s, json: f, columns: [a]}}, run: ":"}' '`columns` is for `csv`'
wrong 'a: {foreach: {v: {from: s, csv: f}, w: {from: s, tsv: g}}, run: ":"}' 'only one sheet'
wrong 'a: {foreach: {v: {from: s, csv: f}, where: "x ="}, run: ":"}' 'm.yaml:2:'
wrong 'a: {foreach: {v: {from: s, csv: f}, where: tasks.s.status == 1}, run: ":"}' 'no value yet in `where`'
wrong 'a: {foreach: {v: {from: s, csv: f}, w: [1], where: x == 1}, run: ":"}' 'chosen by `where`'
wrong 'a: {foreach: {v: {from: s, csv: f}}, needs: ["g[v=${{ x }}]"], run: ":"}' 'cannot be a column of a sheet'
wrong 'a: {foreach: {v: {from: g, lines: f}}, run: ":"}' 'leave a file each'
wrong 'a: {foreach: {v: {from: s, csv: "${{ v }}.csv"}}, run: ":"}' 'only a group leaves'
wrong 'a: {foreach: {v: {from: g, csv: "${{ w }}.csv"}}, run: ":"}' 'is not a foreach key of `g`'
wrong 'a: {foreach: {v: {from: g, csv: "${{ tasks.s.status }}.csv"}}, run: ":"}' 'no value yet in `foreach`'
wrong 'e: {external: do}, a: {foreach: {v: {from: e, lines: f}}, run: ":"}' 'as a value'
wrong 'a: {foreach: {v: {value: l}}, run: ":"}' 'belongs to `from`'
wrong 'a: {foreach: {v: {from: s, value: l}}, external: do}' 'external task'
wrong 'a: {foreach: {v: {from: s, value: l}}, run: ":"}, b: {needs: ["a[v=1]"], run: ":"}' 'no member'
wrong 'a: {foreach: {v: {from: s, value: l}}, run: ":"}, b: {foreach: {v: {from: s, value: k}}, needs: ["a[v=${{ v }}]"], run: ":"}' 'the same list'

# ---- Lists in files, and those of a group ----
mkdir files && cd files || exit 1
store=$CAIRN_STORE
CAIRN_STORE=$PWD/.cairn
cat >f.yaml <<'END'
name: f
params: {list: names}
tasks:
  split:
    inputs: ../all.txt
    cwd: in
    run: |
      rm -f x*; : >../names
      while read -r n; do echo "$n" >"x$n"; printf '%s\r\n\n' "x$n" >>../names; done <../all.txt
  each:
    foreach: {n: {from: split, lines: '${{ params.list }}'}}
    run: 'echo "$n" >>ran; echo "m=[\"$n.a\",\"$n.b\"]" >>"$CAIRN_OUTPUT"'
    if: n != 'x9'
  file: {foreach: {n: {from: split, glob: 'in/x*', allow_empty: true}}, run: 'echo "$n" >>ran'}
  part: {foreach: {p: {from: each, value: m}}, run: 'echo "p$p" >>ran'}
  end: {needs: part, run: 'echo end >>ran'}
END
mkdir in
printf '1\n2\n9\n' >all.txt
exits 0 cairn run f.yaml
is "$(ran)" 'end in/x1 in/x2 in/x9 px1.a px1.b px2.a px2.b x1 x2 ' 'lines, names and the lists of members'
run cairn values
ok 'they are not among the values' sh -c '! grep -q names out'
is "$(planned --run 1)" '' 'nothing is left to do'
: >ran
printf '1\n3\n9\n' >all.txt
exits 0 cairn resume
is "$(ran)" 'end in/x3 px3.a px3.b x3 ' 'only what is new, and the join'
rm in/x1 names
is "$(planned --run 1)" '' 'they are recorded'
printf '9\n' >all.txt
: >ran
exits 0 cairn resume
is "$(ran)" '' 'all were left out: their group makes no list'
exits 0 cairn plan --run 1
ok 'and has none any more' sh -c '! grep -q px out err'
sed 's/rm -f x/exit 0; rm -f x/' f.yaml >g.yaml
sed -i 's/^name: f/name: g/' g.yaml
rm names
exits 1 cairn run g.yaml
says 'split leaves no list: cannot open' 'why there is none'
says 'there was no file names that can be read' 'and what fails'
printf 'a\0b\n' >names
exits 1 cairn run g.yaml --fresh
says 'has a NUL byte' 'what is no list of lines'
cd .. || exit 1
CAIRN_STORE=$store

# ---- Files of members are not gone while the list is not known ----
exits 0 cairn plan w.yaml --fresh
ok 'no stale file is named' sh -c '! grep -q gone out err'

# ---- Killed anywhere, it goes on with the same list ----
cat >z.yaml <<'END'
name: z
tasks:
  split: {run: 'echo s >>ran; echo "l=[\"1\",\"2\",\"3\"]" >>$CAIRN_OUTPUT'}
  each: {foreach: {v: {from: split, value: l}}, run: 'echo $v >>ran; echo $v >z$v', outputs: ['z${{ v }}']}
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
    cat ran >>all
    is "$(sort -u ran | tr '\n' ' ')" '1 2 3 join s ' "killed after $ms ms: all ran in the end"
done

# ---- The example: 24 pieces, of which one is edited, some are new, and some go away ----
mkdir book && cd book || exit 1
cp "$root/examples/split/cairn.yaml" .
seq 2350 | sed 's/$/ is a line of the book/' >book.txt
# pieces COMMAND WANT DESCRIPTION: which pieces are counted, and that the total is right
pieces() {
    exits 0 cairn "$1" --json
    is "$(sed -n 's/.*"type":"task_started".*"task":"count.piece=pieces.\([0-9]*\).*/\1/p' out | sort | tr '\n' ' ')" \
        "$2" "$3"
    grep -o '[A-Za-z]*' book.txt | sort | uniq -c | awk '{ print $2, $1 }' | sort >right
    ok "$3: the total is right" cmp -s right words.txt
}
pieces run "$(seq -f %04.0f -s ' ' 0 23) " 'at first all'
sed -i '1234s/book/story/' book.txt
pieces resume '0012 ' 'an edited line: its piece'
seq 100 >>book.txt
pieces resume '0023 0024 ' 'lines at the end: the last piece, and a new one'
sed -i '1801,$d' book.txt
pieces resume '' 'a shorter text: no piece'
says 'counts/0018, counts/0019, counts/0020 and 4 more were made by members of count that are gone' \
    'the files of those that are gone are named'
cd ..
# ---- A list that may leave nothing ----
mkdir ../left-out && cd ../left-out || exit 1
cat >w.yaml <<'END'
name: left-out
tasks:
  split: {run: 'cat list >>"$CAIRN_OUTPUT"', inputs: list}
  part: {foreach: {p: {from: split, value: l}}, if: "p != '1'", run: 'true'}
  join: {needs: part, run: 'true'}
END
echo 'l=["1", "2"]' >list
exits 0 cairn run w.yaml
echo 'l=["1"]' >list
exits 0 cairn plan
says 'may   join' 'what needs a group may run: its condition may leave all members out'
exits 0 cairn resume
exits 0 cairn status --tasks
says '(because of part[p=1])' 'and then it is skipped'

done_testing
