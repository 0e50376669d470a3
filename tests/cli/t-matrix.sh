# exclude and include beside foreach, and tuples of values.
. "$TESTS/cli/tap.sh"

members() { # FILE GROUP: the members, in order, on one line
    cairn plan "$1" --fresh 2>/dev/null | awk -v g="$2[" '$1 == "run" && index($2, g) == 1 { printf "%s%s", sep, substr($2, length(g)); sep = " " }'
}

cat >matrix.yaml <<'END'
name: matrix
tasks:
  test:
    foreach: {os: [linux, mac], v: [1, 2, 3]}
    exclude: [{os: mac, v: 2}, {v: 3}]
    include: [{os: bsd, v: 2}, {os: mac, v: 3}]
    run: echo "$os $v" >>tested
  after:
    foreach: {os: [linux, mac], v: [1]}
    needs: ['test[os=${{ os }},v=${{ v }}]']
    run: 'true'
  all: {needs: [test], run: sort tested}
END
exits 0 cairn validate matrix.yaml
says '8 tasks'
is "$(members matrix.yaml test)" '[os=linux,v=1] [os=linux,v=2] [os=mac,v=1] [os=mac,v=3] [os=bsd,v=2]' 'its members'
exits 0 cairn run matrix.yaml
exits 0 cairn log all
is "$(tr '\n' , <out)" 'bsd 2,linux 1,linux 2,mac 1,mac 3,' 'they ran, each once'
exits 0 cairn explain 'test[os=bsd,v=2]'
exits 10 cairn explain 'test[os=mac,v=2]'
exits 0 cairn checkpoint verify
exits 0 cairn graph matrix.yaml

# What is needed must be there.
sed 's/v: \[1\]/v: [1, 3]/' matrix.yaml >missing.yaml
exits 3 cairn validate missing.yaml
says 'after[os=linux,v=3]' 'a member that is excluded cannot be needed'
says 'has no such member'

# ---- Tuples ----
cat >tuples.yaml <<'END'
name: tuples
tasks:
  build:
    foreach:
      cfg: [{cc: gcc, v: 12}, {cc: clang, v: 15}, {cc: gcc, v: 13}]
      opt: [O0, O2]
    exclude: [{cc: clang, opt: O0}]
    run: echo "$cc-$v $opt" >>built
  last: {needs: [build], run: 'test -e ready'}
END
is "$(members tuples.yaml build)" '[cc=gcc,v=12,opt=O0] [cc=gcc,v=12,opt=O2] [cc=gcc,v=13,opt=O0] [cc=gcc,v=13,opt=O2] [cc=clang,v=15,opt=O2]' 'only those combinations'
exits 1 cairn run tuples.yaml
is "$(sort built | tr '\n' ,)" 'clang-15 O2,gcc-12 O0,gcc-12 O2,gcc-13 O0,gcc-13 O2,' 'with their values'
# The members are kept when others come: the order of the values does not matter.
sed -i 's/\[{cc: gcc, v: 12}, /[{cc: tcc, v: 1}, {cc: gcc, v: 12}, /; s/exclude: \[/&{opt: O2, cc: tcc}, /' tuples.yaml
is "$(planned tuples.yaml)" 'build[cc=tcc,v=1,opt=O0] last' 'what was there does not run again'
sed -i 's/exclude: .*/exclude: [{cc: clang}, {cc: tcc}]/' tuples.yaml
is "$(planned tuples.yaml)" 'last' 'nor what is left'
touch ready
exits 0 cairn resume
exits 0 cairn checkpoint verify

# ---- A single key, and one from files ----
cat >single.yaml <<'END'
name: single
tasks:
  a: {foreach: {x: [a, b, c]}, exclude: [{x: b}], include: [{x: d}], run: 'true'}
  r: {foreach: {n: {range: [1, 4]}}, exclude: [{n: 2}], run: 'true'}
  g: {foreach: {f: {glob: '*.none', allow_empty: true}, x: [1]}, exclude: [{x: 1}], run: 'true'}
END
exits 0 cairn run single.yaml
is "$(members single.yaml a)" '[x=a] [x=c] [x=d]' 'of one key'
is "$(members single.yaml r)" '[n=1] [n=3] [n=4]' 'of a range'

# Many values that only what is included has, some of them several times.
{
    printf 'name: many\ntasks:\n  a:\n    run: x\n    foreach: {x: [one, v7], y: [1]}\n    include:\n'
    for n in $(seq 50); do printf '      - {x: v%s, y: %s}\n' $n $((n % 3)); done
    printf '      - {x: v50, y: 7}\n'
} >many.yaml
exits 0 cairn validate many.yaml
says '52 tasks'
cairn plan many.yaml --fresh --json >got
ok 'each is a member' grep -qF 'a[x=v49,y=1]' got
ok 'also one that has both new values' grep -qF 'a[x=v50,y=7]' got
is "$(grep -o 'a\[x=v7,' got | wc -l)" 1 'none is there twice'

# ---- Parts of a group ----
cat >parts.yaml <<'END'
name: parts
tasks:
  test: {foreach: {py: [a, b], os: [x, y, z]}, run: 'test "$py$os" != bz || test -e mended'}
  pack: {foreach: {py: [b, a]}, needs: ['test[py=${{ py }}]'], run: 'true'}
  x: {needs: ['test[os=x]'], run: 'true'}
  z: {needs: ['test[os=z]', pack], run: 'true'}
END
exits 0 cairn graph parts.yaml
is "$(grep -c 'shape=diamond' out)" 5 'one node for each part that is needed, and one for the whole of pack'
is "$(grep -c -- '->' out)" 17 'an edge for each member of it, and one for each that needs it'
exits 1 cairn run parts.yaml --keep-going
says 'skipped pack[py=b] (test[py=b,os=z] failed)' 'a part of it failed'
says 'skipped z (test[py=b,os=z] failed)'
is "$(grep -c '^ok   pack\[py=a\]\|^ok   x ' err)" 2 'the other parts are complete'
exits 0 cairn status --tasks
says 'skipped      pack[py=b]       (because of test[py=b,os=z])' 'status names it, too'
is "$(planned parts.yaml)" 'test[py=b,os=z]' 'only what failed is sure to run again'
touch mended
exits 0 cairn resume
is "$(planned)" '' 'nothing is left'
# Another member of a part: those that need it run again, and only those.
sed 's/os: \[x, y, z\]/os: [x, y, z, w]/' parts.yaml >more.yaml
sed -i 's/pack: /exclude_dummy: {run: "true"}\n  pack: /' more.yaml
is "$(planned more.yaml | tr ' ' '\n' | grep -v test | tr '\n' ' ')" 'exclude_dummy pack[py=b] pack[py=a] x z ' 'a new run of another file'
exits 0 cairn checkpoint verify
cat >values.yaml <<'END'
name: values
tasks:
  g: {foreach: {x: [1, 2], y: [1, 2]}, if: "x != '2'", run: 'true'}
  one: {needs: ['g[x=1]'], if: tasks.g.status == 'completed', run: 'true'}
  two: {needs: ['g[x=2]'], when: always, if: tasks.g.status == 'skipped', run: 'true'}
  three: {needs: [g], if: tasks.g.status == 'completed', run: 'true'}
END
exits 0 cairn run values.yaml
is "$(grep -c '^ok   \(one\|two\|three\) ' err)" 3 'in a condition it stands for the part that is needed'

# ---- A member that its condition excludes is left out of the group ----
cat >excluded.yaml <<'END'
name: excluded
on_failure: continue
tasks:
  g: {foreach: {v: [1, 2, 3]}, if: "v != '2'", run: 'true'}
  collect: {needs: [g], run: 'true'}
  strict: {needs: [g], needs_all: true, run: 'true'}
  last: {needs: [strict], run: 'true'}
  none: {foreach: {v: [1, 2]}, if: "v == '3'", run: 'true'}
  nobody: {needs: [none], run: 'true'}
  single: {needs: ['g[v=2]'], run: 'true'}
  bad: {foreach: {v: [1]}, run: 'exit 3'}
  behind: {needs: [bad], run: 'true'}
END
exits 0 cairn plan excluded.yaml --all
says 'run   collect    it never ran' 'the plan says that it runs'
says 'keep  strict     the condition of g[v=2] is not met, and it has `needs_all`' 'and what does not, and why'
says 'keep  nobody     the condition of none[v=1], which it needs, is not met'
exits 1 cairn run excluded.yaml
says 'ok   collect' 'the others complete the group'
says 'skipped strict (the condition of g[v=2] was not met, and it has `needs_all`)' 'the member, and why it counts'
says 'skipped last (strict was skipped)' 'what comes behind it'
says 'skipped nobody (the condition of none[v=1] was not met, nor that of any other member)' 'nobody is left'
says 'skipped single (the condition of g[v=2] was not met)' 'a member that is needed by itself'
says 'skipped behind (bad[v=1] failed)' 'a member that failed'
exits 0 cairn explain strict
says 'the condition of g[v=2] is not met, and it has `needs_all`' 'explain names it, too'
exits 0 cairn explain nobody
says 'the condition of none[v=1], which it needs, is not met'
exits 0 cairn status --tasks
says 'skipped      nobody     (because of none[v=1])' 'so does status'
exits 0 cairn status --tasks --json
is "$(json_get '.tasks[4].cause')" 'g[v=2]' 'as JSON, too'
exits 0 cairn events --json
ok 'so does the event' grep -q '"strict".*because of g\[v=2\]' out
# Without needs_all it runs, and nothing that is done does so again.
sed -i 's/ needs_all: true,//' excluded.yaml
is "$(planned)" 'strict last bad[v=1]' 'what was skipped by it runs after an edit'
exits 1 cairn resume
is "$(grep -c '^ok ' err)" 2 'these two, once'
sed -i 's/collect: {needs: \[g\]/&, needs_all: true/' excluded.yaml
is "$(planned)" 'bad[v=1]' 'what has completed stays, whatever it needs now'
exits 0 cairn checkpoint verify

# ---- Mistakes ----
refused() { # NAME, PLACE, TEXT; the task's keys on stdin
    { printf 'name: w\ntasks:\n  a:\n    run: x\n'; sed 's/^/    /'; } >wrong.yaml
    exits 3 cairn validate wrong.yaml
    says "wrong.yaml:$2: " "$1: its place"
    says "$3" "$1"
}
refused 'no foreach' 5:14 'about the values of `foreach`, which task `a` has not' <<'END'
exclude: [{x: 1}]
END
refused 'an unknown key' 6:16 '`y` is not a foreach key of task `a`' <<'END'
foreach: {x: [1, 2]}
exclude: [{y: 1}]
END
refused 'an unknown value' 6:19 '`linx` is not among the values of `x`; did you mean `linux`?' <<'END'
foreach: {x: [linux, mac]}
exclude: [{x: linx}]
END
refused 'nothing is left' 5:14 'everything is excluded' <<'END'
foreach: {x: [1, 2]}
exclude: [{x: 1}, {x: 2}]
END
refused 'a part of a member' 6:15 'needs all foreach keys; `y` is missing' <<'END'
foreach: {x: [1], y: [2]}
include: [{x: 3}]
END
refused 'a value like another one' 6:19 'the value `c d` cannot be distinguished from another one in task ids' <<'END'
foreach: {x: [1]}
include: [{x: c d}, {x: c%20d}]
END
refused 'more of a range' 6:23 'come from a range or from files' <<'END'
foreach: {x: {range: [1, 2]}}
include: [{x:     3}]
END
refused 'tuples with other keys' 5:40 '`z` is not a key of the first tuple' <<'END'
foreach: {c: [{x: 1, y: 2}, {x: 2, z: 3}]}
END
refused 'a tuple that is none' 5:33 'must be a mapping' <<'END'
foreach: {c: [{x: 1, y: 2}, 3]}
END
refused 'a tuple that is shorter' 5:33 'this tuple has 1 values, the first one has 2' <<'END'
foreach: {c: [{x: 1, y: 2}, {x: 2}]}
END
refused 'a key twice' 5:39 'the foreach key `x` is here twice' <<'END'
foreach: {c: [{x: 1, y: 2}], d: [{x: 1}]}
END
printf 'name: w\ntasks: {a: {foreach: {x: [1, 2]}, exclude: [{x: 1}, {x: 1}], run: x}}\n' >unused.yaml
exits 0 cairn validate unused.yaml
ok 'each of them counts' test ! -s err
printf 'name: w\ntasks: {a: {foreach: {c: [{x: 1, y: 2}, {x: 2, y: 1}]}, exclude: [{x: 1, y: 1}], run: x}}\n' >unused.yaml
exits 0 cairn validate unused.yaml
says 'this excludes no member of task `a`' 'one that takes nothing away'
done_testing
