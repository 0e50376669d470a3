# make: sanitize
# shellcheck shell=sh disable=SC2016
# ${{ tasks.X.files }}: a task is given the names of what the tasks before it made.
. "$TESTS/cli/tap.sh"

# ---- Of a task, a member, a part and a group; as arguments and as a variable ----
cat >files.yaml <<'END'
name: files
params: {without: none}
tasks:
  one: {run: 'echo one >one.txt; echo two >"two 2.txt"', outputs: [one.txt, 'two 2.txt']}
  grid:
    foreach: {a: [x, y], b: ['1', '2']}
    if: params.without != b
    run: 'echo "$a$b" >"grid $a$b"'
    outputs: ['grid ${{ a }}${{ b }}']
  all: {needs: [one, grid], exec: [printf, '<%s>', '${{ tasks.one.files }}', -, '${{tasks.grid.files}}']}
  member: {needs: ['grid[a=y,b=2]'], exec: [printf, '<%s>', '${{ tasks.grid.files }}']}
  part: {needs: ['grid[b=1]'], exec: [printf, '<%s>', '${{  tasks.grid.files  }}']}
  each:
    foreach: {b: ['1', '2']}
    needs: ['grid[b=${{ b }}]']
    if: params.without != b
    exec: [cat, '${{ tasks.grid.files }}']
  text: {needs: [grid, one], exec: [printf, '<%s>', 'a ${{ tasks.one.files }}']}
  env: {needs: [one], env: {names: '${{ tasks.one.files }}'}, run: 'printf "%s\n" "$names" | wc -l'}
  away:
    cwd: sub
    needs: [one, grid]
    exec: [cat, '${{ tasks.one.files }}', '${{ tasks.grid.files }}']
  in_sub: {cwd: sub, run: 'echo s >s; echo t >"$PWD/t"', outputs: [s]}
  both: {cwd: sub, needs: [in_sub], exec: [cat, '${{ tasks.in_sub.files }}']}
  from_sub: {needs: [in_sub], exec: [cat, '${{ tasks.in_sub.files }}']}
  status: {needs: [one], if: "contains(tasks.one.files, 'two')", run: 'echo yes'}
finally:
  last: {exec: [printf, '<%s>', '${{ tasks.one.files }}']}
END
mkdir sub
exits 0 cairn validate files.yaml
exits 0 cairn plan files.yaml -v
says "printf '<%s>' '\${{ tasks.one.files }}' - '\${{tasks.grid.files}}'" 'before it runs a plan shows it as it is written'
exits 0 cairn run files.yaml
logs() { # TASK WANTED NAME
    run cairn log "$1"
    is "$(cat out)" "$2" "$3"
}
logs all '<one.txt><two 2.txt><-><grid x1><grid x2><grid y1><grid y2>' 'each file is an argument, in the order of members'
logs member '<grid y2>' 'of the member that is needed'
logs part '<grid x1><grid y1>' 'of the part that is needed'
logs 'each[b=2]' "$(printf 'x2\ny2')" 'each has its own part'
logs text "$(printf '<a one.txt\ntwo 2.txt>')" 'within a text they are lines'
logs env 2 'in a variable, too'
logs away "$(printf 'one\ntwo\nx1\nx2\ny1\ny2')" 'from another directory they are found'
logs both s 'from the same directory'
logs from_sub s 'and from above'
logs status yes 'in a condition'
logs last '<one.txt><two 2.txt>' 'in finally'
exits 0 cairn shell all -- sh -c 'true'
exits 0 cairn shell all --print
says "printf '<%s>' one.txt 'two 2.txt' - 'grid x1'" 'cairn shell gives the same arguments'
exits 0 cairn plan -v --all
says "printf '<%s>' one.txt 'two 2.txt' - 'grid x1'" 'a plan shows them once they are known'
exits 0 cairn run files.yaml --param without=2
logs all '<one.txt><two 2.txt><-><grid x1><grid y1>' 'members that a condition left out have none'

# ---- The order of members is that of the files ----
cat >order.yaml <<'END'
name: order
tasks:
  m: {foreach: {i: [a, b, c], k: [x, y]}, run: 'echo "$i$k" >"$i$k"', outputs: ['${{ i }}${{ k }}']}
  join: {needs: [m], exec: [cat, '${{ tasks.m.files }}']}
  part: {needs: ['m[k=x]'], env: {f: '${{ tasks.m.files }}'}, run: 'echo $f'}
  each: {foreach: {i: [a, b, c]}, needs: ['m[i=${{ i }},k=x]'], exec: [cat, '${{ tasks.m.files }}']}
  count: {needs: [m], run: 'echo done'}
END
exits 0 cairn run order.yaml
sed -i 's/i: \[a, b, c\], k/i: [c, a, b], k/' order.yaml
is "$(planned)" 'join part' 'the order has changed: what is given the files runs again, and nothing else'
exits 0 cairn plan
says 'the members of a group it needs, or their order, changed' 'the plan says why'
exits 0 cairn resume
logs join "$(printf 'cx\ncy\nax\nay\nbx\nby')" 'in their new order'
logs part 'cx ax bx' 'of a part, too'
sed -i 's/k: \[x, y\]/k: [y, x]/; s/echo done/echo Done/' order.yaml
is "$(planned)" 'join count' 'of the second key; a part with one value of it has the same order'
exits 0 cairn resume
sed -i 's/echo Done/echo done/' order.yaml
is "$(planned)" count 'an edit of another task changes nothing for them'

# ---- The values of a group are a JSON list ----
cat >values.yaml <<'END'
name: values
on_failure: continue
params: {without: none}
tasks:
  m: {foreach: {i: [b, a], k: [x, y]}, if: params.without != i, run: '[ "$i$k" = ay ] || printf "n=%s \"\\\\\"\n" "$i$k" >>"$CAIRN_OUTPUT"'}
  bad: {foreach: {i: [1, 2, 3]}, run: 'echo "n=$i" >>"$CAIRN_OUTPUT"; [ "$i" != 2 ]'}
  one: {foreach: {i: [1]}, run: 'echo n=1 >>"$CAIRN_OUTPUT"'}
  empty: {foreach: {i: {glob: 'nothing/*', allow_empty: true}}, run: 'echo n=1 >>"$CAIRN_OUTPUT"'}
  all: {needs: [m], exec: [echo, '${{ tasks.m.outputs.n }}']}
  part: {needs: ['m[k=x]'], env: {n: '${{ tasks.m.outputs.n }}'}, run: 'printf "%s\n" "$n"'}
  member: {needs: ['m[i=a,k=x]'], exec: [echo, '${{ tasks.m.outputs.n }}']}
  single: {needs: [one, empty], exec: [echo, '${{ tasks.one.outputs.n }}', '${{ tasks.empty.outputs.n }}']}
  some: {needs: [bad], when: always, exec: [echo, '${{ tasks.bad.outputs.n }}']}
  later: {needs: [all], exec: [echo, '${{ tasks.m.outputs.n }}']}
  typo: {needs: [m], exec: [echo, '${{ tasks.m.outputs.other }}']}
  instead: {needs: [m], exec: [echo, "${{ default(tasks.m.outputs.other, 'none') }}"]}
END
exits 1 cairn run values.yaml
logs all '["bx \"\\\"", "by \"\\\"", "ax \"\\\"", null]' 'in the order of members, null for one without it'
logs part '["bx \"\\\"", "ax \"\\\""]' 'of the part that is needed'
logs member 'ax "\"' 'of one member it is a text'
logs single '["1"] []' 'of a group with one member it is a list, too'
logs some '["1", "3"]' 'a member that failed has none'
logs instead none 'what no member has set is missing'
exits 0 cairn status --tasks
says 'tasks.m.outputs.other' 'and an error that names it'
sed -i 's/\[b, a\], k/[a, b], k/' values.yaml
is "$(planned)" 'bad[i=2] all part some later typo instead' 'in another order: what is given the values runs again'
exits 1 cairn resume
logs later '["ax \"\\\"", null, "bx \"\\\"", "by \"\\\""]' 'and has them in that order'
exits 1 cairn run values.yaml --param without=a
logs all '["bx \"\\\"", "by \"\\\""]' 'members that a condition left out are not in it'

# ---- As inputs each file is one ----
cat >inputs.yaml <<'END'
name: inputs
tasks:
  m: {foreach: {i: [a, b]}, run: 'echo "$i" >"in $i"', outputs: ['in ${{ i }}']}
  empty: {foreach: {i: {glob: 'nothing/*', allow_empty: true}}, run: ': >"$i"', outputs: ['${{ i }}']}
  join: {needs: [m, empty], inputs: ['${{ tasks.m.files }}', '${{ tasks.empty.files }}'], exec: [cat, '${{ tasks.m.files }}']}
  away: {needs: [m], cwd: sub, inputs: ['${{ tasks.m.files }}'], exec: [cat, '${{ tasks.m.files }}']}
  after: {needs: [join], run: ':'}
END
exits 0 cairn run inputs.yaml
logs join "$(printf 'a\nb')" 'the files of a group are inputs'
logs away "$(printf 'a\nb')" 'from another directory, too'
is "$(planned)" '' 'and are as they were'
echo changed >>'in b'
is "$(planned)" 'm[i=b] join away after' 'one of them changed'
exits 0 cairn resume
sed -i 's/\[a, b\]/[a, c]/' inputs.yaml
exits 0 cairn resume
logs join "$(printf 'a\nc')" 'those of the members that there are'
is "$(planned)" '' 'a member that went is no input any more'

# ---- Names that a shell would take apart ----
echo wrong >two
cat >split.yaml <<'END'
name: split
on_failure: continue
tasks:
  one: {run: 'echo one >one.txt; echo two >"two 2.txt"', outputs: [one.txt, 'two 2.txt']}
  cat: {needs: [one], env: {names: '${{ tasks.one.files }}'}, run: 'cat $names || true'}
  inner: {needs: [one], env: {names: '-u ${{ tasks.one.files }}'}, run: 'echo "$(cat ${names} 2>&1)"'}
  check: {needs: [one], env: {names: '${{ tasks.one.files }}'}, run: 'true', check: 'ls $names'}
  quoted: {needs: [one], env: {names: '${{ tasks.one.files }}'}, run: 'n=$names; printf "%s\n" "$n" "$names" | while IFS= read -r f; do cat "$f"; done'}
  single: {needs: [one], env: {names: '${{ tasks.one.files }}'}, run: "echo '$names' # $names"}
  args: {needs: [one], exec: [sh, -c, 'cat "$@"', x, '${{ tasks.one.files }}']}
END
exits 1 cairn run split.yaml
says '`$names` in `run` is split at blanks, and one of its files is named `two 2.txt`: write `exec`' 'a shell that would split them is not started'
is "$(sed -n 's/^FAILED \([a-z]*\) .*/\1/p' err | sort | tr '\n' ' ')" 'cat check inner ' 'those that split, and no others'
exits 0 cairn status --tasks
logs quoted "$(printf 'one\ntwo\none\ntwo')" 'line by line they are whole'
logs args "$(printf 'one\ntwo')" 'and as arguments'
logs single '$names' 'in single quotes it is no value'
sed -i 's/two 2/two_2/g' split.yaml
exits 0 cairn run split.yaml --fresh
logs cat "$(printf 'one\ntwo')" 'names without blanks are split as before'

# ---- A member goes, comes, fails; a kill between ----
cat >grow.yaml <<'END'
name: grow
tasks:
  m: {foreach: {i: {range: [1, 3]}}, run: 'echo "$i" >"m$i"', outputs: ['m${{ i }}']}
  join: {needs: [m], exec: [cat, '${{ tasks.m.files }}']}
END
exits 0 cairn run grow.yaml
sed -i 's/1, 3/2, 4/' grow.yaml
is "$(planned)" 'm[i=4] join' 'a member came and one went: that one runs, and the join'
exits 0 cairn resume
logs join "$(printf '2\n3\n4')" 'what went is not joined'
ok 'though it is there' test -e m1
cat >killed.yaml <<'END'
name: killed
tasks:
  m: {foreach: {i: {range: [1, 3]}}, run: 'echo "$i" >"m$i"', outputs: ['m${{ i }}']}
  pause: {needs: [m], run: '[ -e go ] || kill -9 "$PPID"'}
  join: {needs: [m, pause], exec: [cat, '${{ tasks.m.files }}']}
END
run cairn run killed.yaml --fresh -j 1
: >go
run cairn resume
logs join "$(printf '1\n2\n3')" 'what was made before a kill is joined after it'
cat >failed.yaml <<'END'
name: failed
on_failure: continue
tasks:
  m: {foreach: {i: [a, b]}, run: '[ "$i" != b ] || exit 1; : >"m$i"', outputs: ['m${{ i }}']}
  n: {run: exit 1, outputs: [n]}
  some: {needs: [m], when: always, exec: [echo, '${{ tasks.m.files }}']}
  none: {needs: [n], when: always, exec: [echo, '${{ tasks.n.files }}']}
  instead: {needs: [n], when: always, env: {f: "${{ default(tasks.n.files, 'none') }}"}, run: 'echo "$f"'}
END
exits 1 cairn run failed.yaml
logs some ma 'of members that completed'
exits 0 cairn status --tasks
says 'tasks.n.files' 'where none has completed the value is missing'
logs instead none 'which default() replaces'
cat >empty.yaml <<'END'
name: empty
tasks:
  m: {foreach: {i: {glob: 'nothing/*', allow_empty: true}}, run: ': >"m$i"', outputs: ['m${{ i }}']}
  join: {needs: [m], exec: [printf, '%s.', files, '${{ tasks.m.files }}']}
END
exits 0 cairn run empty.yaml
logs join files. 'a group without members has no files'

# ---- Mistakes ----
mistake() { # TEXT SAYS
    printf 'name: wrong\ntasks:\n  a: {run: "true"}\n  g: {foreach: {i: [1, 2]}, run: ": >$i", outputs: ["${{ i }}"]}\n  b: {needs: [a, g], exec: [echo, "%s"]}\n  c: {run: "true", outputs: [x]}\n' "$1" >wrong.yaml
    exits 3 cairn validate wrong.yaml
    says "$2" "$1: $2"
}
mistake '${{ tasks.a.files }}' 'task `a` declares no `outputs`, so it has no files'
mistake '${{ tasks.c.files }}' 'does not need `c`'
mistake '${{ tasks.nobody.files }}' 'there is no task `nobody`'
mistake '${{ tasks.g.file }}' 'must be tasks.X.status, tasks.X.outputs.KEY or tasks.X.files'
mistake '${{ tasks.g.files.x }}' 'has nothing further in it'
cat >long.yaml <<'END'
name: long
on_failure: continue
tasks:
  m: {foreach: {i: {range: [1, 600]}}, exec: [sh, -c, ': >"$1"', sh, '${{ env.f }}'], env: {f: 'o/a-long-name-so-that-the-variable-gets-longer-than-what-the-kernel-takes-for-one-which-is-a-lot-and-still-not-so-much-that-the-name-of-a-file-would-be-too-long-for-the-file-system-which-takes-255-bytes-here-as-elsewhere-or-so-it-is-said-by-its-manual-${{ i }}'}, outputs: ['${{ env.f }}']}
  arguments: {needs: [m], exec: [sh, -c, 'echo $#', sh, '${{ tasks.m.files }}']}
  variable: {needs: [m], env: {files: '${{ tasks.m.files }}'}, run: 'true'}
END
mkdir o
exits 1 cairn run long.yaml -q
logs arguments 600 'as arguments they are many'
exits 0 cairn status --tasks
says 'variable files is' 'a variable that is too long is named'
says 'declare `${{ tasks.m.files }}` among its `inputs`, and read the names, one a line, from the file "$CAIRN_INPUTS"' 'and what to do'

# ---- Any number of names: the file $CAIRN_INPUTS ----
cat >many.yaml <<'END'
name: many
params: {parts: 1000}
tasks:
  part:
    foreach: {i: {range: [1, 1000]}, where: 'i <= params.parts'}
    env: {f: 'm/part-with-a-long-name-so-that-three-thousand-are-longer-than-128-KiB-${{ i }}'}
    run: 'for k in a b c; do echo "$i$k" >"$f.$k"; done'
    outputs: ['${{ env.f }}.a', '${{ env.f }}.b', '${{ env.f }}.c']
  pause: {needs: [part], run: '[ ! -e stop ] || kill -9 "$PPID"'}
  tar:
    needs: [part, pause]
    inputs: ['${{ tasks.part.files }}']
    run: tar --verbatim-files-from -T "$CAIRN_INPUTS" -cf all.tar
    outputs: all.tar
  cat:
    needs: [part, pause]
    inputs: [many.yaml, '${{ tasks.part.files }}']
    exec: [sh, -euc, 'cp "$CAIRN_INPUTS" names; tail -n +2 names | xargs -d "\n" cat -- >all', x]
    outputs: [all, names]
END
mkdir m
: >stop
run cairn run many.yaml -q
ok 'killed before the join' test ! -e all.tar -a ! -e all
rm stop
exits 0 cairn resume -q
is "$(tar tf all.tar | wc -l) $(tail -n +2 names | md5sum)" "3000 $(tar tf all.tar | md5sum)" '3,000 names are joined after a kill'
is "$(head -n 1 names)" many.yaml 'in the order of the inputs'
is "$(md5sum <all)" "$(seq 1000 | sed 's/.*/&a\n&b\n&c/' | md5sum)" 'and of the members'
is "$(planned)" '' 'the list is no reason to run again'
is "$(ls .cairn/live)" '' 'and is removed'
sed -i 's/1, 1000\]/2, 1000]/' many.yaml
exits 0 cairn resume -q
is "$(tar tf all.tar | wc -l) $(grep -c 'KiB-1\.' names)" '2997 0' 'a member that went is in no list'
exits 0 cairn run many.yaml --param parts=2 -q -j 1
is "$(tr '\n' ' ' <all)" '2a 2b 2c ' 'nor is one that is left out'

cat >given.yaml <<'END'
name: given
on_failure: continue
tasks:
  none: {run: 'echo "${CAIRN_INPUTS-unset}"'}
  script: {inputs: glob.a, run: 'sh script'}
  mode: {inputs: [{glob: 'gl*b.?'}, 'two words'], run: 'stat -c %a "$CAIRN_INPUTS"; cat "$CAIRN_INPUTS"; echo mine >>"$CAIRN_INPUTS"'}
  retry: {inputs: glob.a, retries: 1, run: '[ "$CAIRN_ATTEMPT" = 2 ] || { rm "$CAIRN_INPUTS"; exit 1; }; cat "$CAIRN_INPUTS"'}
  fallback: {inputs: glob.b, run: exit 1, fallback: 'cat "$CAIRN_INPUTS"'}
  check: {inputs: glob.b, run: ':', check: 'grep -qx glob.b "$CAIRN_INPUTS"'}
  empty: {needs: [nobody], inputs: ['${{ tasks.nobody.files }}'], run: 'wc -c <"$CAIRN_INPUTS"'}
  nobody: {foreach: {i: {glob: 'nothing/*', allow_empty: true}}, run: ':', outputs: ['x${{ i }}']}
END
echo 'echo "${CAIRN_INPUTS-unset}"' >script
echo a >glob.a
echo b >glob.b
echo c >'two words'
exits 0 cairn run given.yaml
logs none unset 'a task without inputs has none'
logs script unset 'nor has one that does not name it'
logs mode "$(printf '600\nglob.a\nglob.b\ntwo words')" 'a pattern is what matches it, and nobody else reads it'
logs retry glob.a 'an attempt has its own'
logs fallback glob.b 'a fallback, too'
logs empty 0 'without names it is empty'
is "$(ls .cairn/live)" '' 'whatever a task does to it'
exits 0 cairn shell mode -- sh -c 'cat "$CAIRN_INPUTS"; case $CAIRN_INPUTS in /*) ;; *) exit 1 ;; esac'
is "$(cat out)" "$(printf 'glob.a\nglob.b\ntwo words')" 'cairn shell has it'
cairn shell fallback --print >again.sh
is "$(sh again.sh)" glob.b 'and its script'

cat >kept.yaml <<'END'
name: kept
on_crash: adopt
tasks:
  kept: {inputs: {glob: 'glob.*'}, run: 'touch began; until [ -e go ]; do sleep 0.02; done; cat "$CAIRN_INPUTS"', check: 'test -s "$CAIRN_INPUTS"'}
END
rm -f go began
killed_at began cairn run kept.yaml
: >go
exits 0 cairn resume
logs kept "$(printf 'glob.a\nglob.b')" 'a task that outlives cairn keeps it'
is "$(ls .cairn/live)" '' 'until it has ended'
cat >decided.yaml <<'END'
name: decided
tasks:
  once: {once: true, inputs: {glob: 'glob.*'}, run: 'kill -9 "$PPID"', check: 'test "$(wc -l <"$CAIRN_INPUTS")" = 2'}
END
run cairn run decided.yaml
exits 0 cairn resume
is "$(task_state once)" completed 'a check that decides has it'

cat >broken.yaml <<'END'
name: broken
on_failure: continue
tasks:
  reads: {inputs: {glob: 'br*'}, run: 'cat $CAIRN_INPUTS'}
  other: {inputs: {glob: 'br*'}, run: 'cat br*'}
END
: >"br
oken"
exits 1 cairn run broken.yaml
says 'reads has no list of its inputs in $CAIRN_INPUTS: a line break is in the name of one of them' 'a name with a line break: no list, and a notice'
is "$(task_state reads) $(task_state other)" 'failed completed' 'what reads it fails, and nothing else'
rm br*

newest_run() {
    cairn runs --limit 1 --json >list
    json_get '.runs[0].run' list
}

# ---- `args`: the same as "$@" of a text for the shell ----
cat >args.yaml <<'END'
name: args
on_failure: continue
params: {p: 'one  two'}
tasks:
  part:
    foreach: {i: [a, 'b c', '*']}
    run: 'echo "$i" >"part $i"'
    outputs: ['part ${{ i }}']
  all: {needs: part, args: ['${{ params.p }}', '', '${{ tasks.part.files }}'], run: 'printf "<%s>" "$0" "$@"'}
  first: {needs: part, args: '${{ tasks.part.files }}', run: 'cat "$1"'}
  bash: {args: [x, y], shell: bash, run: 'echo "$0 $# $2"'}
  nested: {args: [x], shell: [env, A=1, sh, -c], run: 'echo "$0 $A $1"'}
  perl: {args: [x, 'y z'], shell: perl, run: 'print scalar(@ARGV), $ARGV[1]'}
  checked: {args: [x], run: 'echo "$1"', check: '[ "$#" = 0 ]', undo: '[ "$#" = 0 ]'}
  other: {args: [x, y], run: 'exit 3', fallback: 'echo "other $2"'}
  split: {needs: part, args: '${{ tasks.part.files }}', run: 'for f in $@; do cat "$f"; done'}
  second: {needs: part, args: '${{ tasks.part.files }}', run: 'cat $2'}
END
exits 0 cairn validate args.yaml
exits 0 cairn plan args.yaml -v
says "(args: 'one  two' '' '\${{ tasks.part.files }}')" 'a plan shows them'
exits 1 cairn run args.yaml
is "$(grep -c '^FAILED' err)" 2 'two tasks fail'
matches '^FAILED split .*: `run` has its arguments without quotes, so they are split at blanks, and one of the files is named `part a`: write "[$]@"' 'names that a shell would split'
matches '^FAILED second .*: `run` has its arguments' 'also one by its number'
logs all '<sh><one  two><><part a><part b c><part *>' 'each is one argument, in the order of members'
logs first a 'one text in place of a list'
logs bash 'bash 2 y' 'behind another shell'
logs nested 'sh 1 x' 'behind a shell that something else starts'
logs perl '2y z' 'behind what is no shell'
logs checked x 'check has none'
logs other 'other y' 'fallback has them'
exits 0 cairn shell all --print
says "sh 'one  two' '' 'part a' 'part b c' 'part *'" 'cairn shell gives the same arguments'
exits 0 cairn undo "$(newest_run)" checked
sed -i "s/'\${{ params.p }}', ''/'\${{ params.p }}', x/" args.yaml
is "$(planned args.yaml)" 'all checked split second' 'an edit of one is an edit of the task'
run cairn plan args.yaml
matches 'run +all +command changed' 'the plan says so'
sed -i "s/i: \[a, 'b c'/i: ['b c', a/" args.yaml
is "$(planned args.yaml)" 'all first checked split second' 'another order of the members is one, too'

cat >lots.yaml <<'END'
name: lots
params: {big: none}
tasks:
  make: {params: [], run: 'for i in 1 2 3; do echo $i >"$i"; done', outputs: ['1', '2', '3']}
  long: {needs: make, args: ['${{ params.big }}', '${{ tasks.make.files }}'], run: 'echo "$#"'}
END
exits 0 cairn run lots.yaml
cat >small <<'END'
long=$(head -c 50000 /dev/zero | tr '\0' x)
export E="$long"
ulimit -s 256
exec cairn run lots.yaml --param big="$long"
END
exits 1 sh small
matches 'FAILED long .*: its arguments and environment together are [0-9]+ bytes long, the kernel takes 131072: declare `... tasks.make.files ..` among its `inputs`, and read the names, one a line, from the file "[$]CAIRN_INPUTS"' 'too much for the kernel: an error with the remedy'

# ---- After each edit a resume ends as a new run in another directory does ----
mkdir -p edits fresh
cat >edits/e.yaml <<'END'
name: edits
params: {p: one}
tasks:
  src: {run: 'echo "v=$p" >>"$CAIRN_OUTPUT"; echo src >src', outputs: [src]}
  two: {run: 'echo v=two >>"$CAIRN_OUTPUT"; echo 2 >two', outputs: [two]}
  g: {foreach: {i: [a, b, c]}, needs: [src], env: {V: '${{ tasks.src.outputs.v }}'}, run: 'echo "$i $V" >"g.$i"', outputs: ['g.${{ i }}']}
  h: {foreach: {i: [a, b, c]}, needs: ['g[i=${{ i }}]'], exec: [sh, -euc, 'sed "s/^/h /" "$1" >"h.$i"', x, '${{ tasks.g.files }}'], outputs: ['h.${{ i }}']}
  all: {needs: [g, h, two], exec: [sh, -euc, 'cat "$@" >all', x, '${{ tasks.h.files }}', '${{ tasks.g.files }}', '${{ tasks.two.files }}'], outputs: [all]}
finally:
  last: {env: {s: '${{ tasks.g.status }} ${{ tasks.two.status }}', f: "${{ default(tasks.g.files, '-') }}"}, run: 'echo "$s" "$f" >last'}
END
same_as_fresh() { # NAME
    (cd edits && CAIRN_STORE=$PWD/.cairn cairn resume 1) >out 2>err
    went=$?
    rm -rf fresh/.cairn fresh/*
    cp edits/e.yaml fresh/
    (cd fresh && CAIRN_STORE=$PWD/.cairn cairn run e.yaml) >fresh.out 2>&1
    is "$went $(cat edits/all edits/last)" "$? $(cat fresh/all fresh/last)" "$1: as a new run"
}
(cd edits && CAIRN_STORE=$PWD/.cairn cairn run e.yaml) >out 2>&1
is "$(tr '\n' ' ' <edits/all)" 'h a one h b one h c one a one b one c one 2 ' 'what a run makes'
while IFS='|' read -r name edit; do
    sed -i "$edit" edits/e.yaml
    same_as_fresh "$name"
done <<'END'
a member is renamed|s/\[a, b, c\]/[a, d, c]/
the members of both are in another order|s/\[a, d, c\]/[c, a, d]/
those of one are|/^  h:/s/\[c, a, d\]/[d, c, a]/
a member is added in the middle|s/\[\(c\|d\), /&e, /
one is removed|s/, a/ /
nothing is changed|s/^$//
another need gives the value|/^  g:/s/src/two/g
the need and what is read of it go|/^  g:/{s/needs: .two., //; s/env: {[^}]*}}[^}]*}, //; s/ .V"/"/}
a group is named otherwise|s/^  g:/  gg:/; s/tasks\.g\./tasks.gg./g; s/\[g, h/[gg, h/; s/'g\[/'gg[/
its output is|s/g\.\$i/G.$i/; s/g\.\$.. i/G.\${{ i/
a joined task is skipped|s/^  two: {/&if: 'false', /; s/, two\]/]/; s/, '\${{ tasks.two.files }}'//
a group is removed|/^  h:/d; s/, h\]/]/; s/'\${{ tasks.h.files }}', //
the joined files come in another way|/^  all:/s/exec: .*\(outputs\)/env: {f: '${{ tasks.gg.files }}'}, run: 'cat $f >all', \1/
a key is named otherwise|/^  gg:/{s/{i:/{k:/; s/\$i/$k/g; s/{ i }/{ k }/}
END
done_testing
