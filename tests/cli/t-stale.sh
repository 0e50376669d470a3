# make: sanitize
# shellcheck shell=sh disable=SC2016
# Outputs of tasks that are gone from the workflow: named by plan, run and resume, and
# removed by `cairn clean --stale`.
. "$TESTS/cli/tap.sh"

says_not() {
    if cat out err | grep -qF -e "$1"; then
        tap_report 'not ok' "$2"
        tap_context
    else
        tap_report ok "$2"
    fi
}

parts() { # N: the workflow of N parts
    cat >parts.yaml <<END
name: parts
tasks:
  fetch: {run: seq 1000 >raw.txt, outputs: [raw.txt]}
  convert:
    foreach: {part: {range: [1, $1]}}
    needs: [fetch]
    run: awk -v p="\$part" 'NR % $1 == p - 1 { n += \$1 } END { print n }' raw.txt >"part.\$part"
    outputs: ['part.\${{ part }}']
  report:
    needs: [convert]
    inputs: [{glob: 'part.*'}]
    run: awk '{ n += \$1 } END { print n }' part.* >report.txt
    outputs: [report.txt]
END
}

# ---- A member is gone ----
parts 8
exits 0 cairn run parts.yaml
says_not "are gone" 'nothing is gone: nothing is said'
is "$(cat report.txt)" 500500 'the sum of eight parts'
parts 4
exits 0 cairn plan
says "part.5, part.6, part.7 and 1 more were made by members of convert that are gone; \`cairn clean --stale --run 1\` removes them" \
    'plan names what the members that are gone have made'
exits 0 cairn plan parts.yaml --fresh
says 'were made by members of convert that are gone' 'so it does for a new run'
exits 0 cairn plan --json
json_ok 'plan --json'
says 'were made by members of convert that are gone' 'among the notices'
exits 2 cairn clean
says '--stale' 'clean alone removes nothing'
exits 2 cairn clean --stale
says '--yes' 'without a terminal it does not ask'
is "$(grep -c '^part.[5-8] (.*) of convert\[part=[5-8]\]$' err)" 4 'but lists what it would remove'
ok 'and removes nothing' test -e part.5
exits 2 cairn clean --stale --json
says '--dry-run' 'JSON is of one of the two'
exits 0 cairn clean --stale --dry-run
is "$(cat out)" "$(printf 'part.5\npart.6\npart.7\npart.8')" 'the dry run lists them'
says 'would remove 4 files'
ok 'and removes nothing' test -e part.5
exits 0 cairn resume
says 'were made by members of convert that are gone' 'resume names them'
exits 0 cairn run parts.yaml --fresh
says 'were made by members of convert that are gone' 'a new run names them, too'
exits 0 cairn clean --stale --yes
says 'removed 4 files'
ok 'they are gone' test ! -e part.5 -a ! -e part.8
ok 'and no others' test -e part.4 -a -e raw.txt -a -e report.txt
exits 0 cairn plan
says_not 'are gone' 'nothing is named any more'
exits 0 cairn resume
is "$(cat report.txt)" 500500 'the sum of four parts'
exits 0 cairn clean --stale --yes
says 'nothing to remove'
parts 8
exits 0 cairn resume
says_not 'are gone' 'a member that is back is not gone'
is "$(cat report.txt)" 500500 'the sum of eight parts again'
parts 7
exits 0 cairn plan
says "part.8 was made by convert[part=8], which is gone; \`cairn clean --stale --run 2\` removes it" 'of one file: the task'
rm part.8
exits 0 cairn plan
says_not 'is gone' 'what is not there is not named'
rm -r .cairn part.* report.txt raw.txt

# ---- What is kept ----
cat >kept.yaml <<'END'
name: kept
tasks:
  a: {run: 'echo a >a.txt; echo b >b.txt; echo c >c.txt; echo e >e.txt; : >f.txt; mkdir -p d/d; echo d >d/d/d.txt; echo g >g.txt; echo h >"g h.txt"; echo s >s.x',
      outputs: [a.txt, ./b.txt, c.txt, d, e.txt, f.txt, g.txt, 'g h.txt', s.x]}
  z: {run: 'true'}
END
exits 0 cairn run kept.yaml
cat >kept.yaml <<'END'
name: kept
params: {which: e}
tasks:
  b: {run: 'echo b >b.txt', outputs: [b.txt]}
  c: {run: 'cat c.txt >n.txt', inputs: [c.txt]}
  e: {run: 'echo e >"$which.txt"', outputs: ['./${{ params.which }}.txt']}
  s: {foreach: {x: {glob: '*.x'}}, run: 'true'}
END
echo changed >a.txt
rm f.txt && : >f.txt
mv g.txt h.txt && ln -s h.txt g.txt
exits 0 cairn plan kept.yaml
says "the directory d was made by a, which is gone: remove it if nothing in it is needed; after \`cairn clean --stale $PWD/kept.yaml\` it is not named again"
exits 0 cairn clean --stale --dry-run kept.yaml
is "$(cat out)" 'g h.txt' 'a file can be removed'
says 'kept the directory d of a' 'not a directory'
says 'kept a.txt: it is not what a made any more' 'not what was changed'
says 'kept b.txt of a: b makes it' 'not what another task makes'
says 'kept c.txt of a: c reads it' 'not what another task reads'
says 'kept e.txt of a: e makes it' 'not what a name with a param means'
says 'kept f.txt' 'not an empty file that was made anew'
says 'kept g.txt' 'not a link'
says 'kept s.x of a: s[x=s.x] reads it' 'not what a member is made of'
exits 0 cairn clean --stale --yes --json kept.yaml
json_ok 'clean --json'
is "$(grep -o '"state":"removed"' out | grep -c .)" 1 'one is removed'
ok 'that one' test -e d/d/d.txt -a ! -e 'g h.txt'
ok 'the others stay' test -e a.txt -a -e b.txt -a -e c.txt -a -e e.txt -a -e f.txt -a -e g.txt -a -e s.x
exits 0 cairn plan kept.yaml
says_not 'the directory d was made' 'what clean has shown is not named again'
rm -r .cairn ./*.txt s.x d kept.yaml

# ---- A directory that has grown, or in which the workflow makes something ----
cat >dirs.yaml <<'END'
name: dirs
tasks:
  a: {run: 'mkdir -p one two; echo 1 >one/1; echo 2 >two/2', outputs: [one, two]}
END
exits 0 cairn run dirs.yaml
cat >dirs.yaml <<'END'
name: dirs
tasks:
  b: {run: 'echo 3 >two/3', outputs: [two/3]}
END
echo mine >one/mine
exits 0 cairn clean --stale --yes dirs.yaml
ok 'a directory with a file of mine stays' test -e one/1 -a -e one/mine
says 'kept one: it is not what a made any more'
says 'kept two of a: b makes it'
ok 'so does one in which a task makes a file' test -e two/2
rm -r .cairn one two dirs.yaml
cat >read.yaml <<'END'
name: read
tasks:
  sum: {needs: [m], run: 'cat d/sub/* >sum.txt', inputs: [d/sub/, other], outputs: [sum.txt]}
  m: {foreach: {i: ['1', '2', '3', '4', '5', '6']}, run: 'mkdir -p d/sub; echo "$i" >"d/sub/$i"; echo >"d/$i"', outputs: ['d/sub/${{ i }}', 'd/${{ i }}']}
END
mkdir other
exits 0 cairn run read.yaml
sed -i "s/, '2', '3', '4', '5', '6'//" read.yaml
exits 0 cairn plan read.yaml
says 'd/sub/2 was made by m[i=2], which is gone, and sum reads the directory in which it lies: remove it if it does not belong there' \
    'a file in a directory that a task reads is named'
says 'and 2 more such files'
exits 0 cairn clean --stale --yes read.yaml
says 'kept d/sub/3 of m[i=3]: sum reads it' 'and stays'
says 'removed 5 files'
is "$(echo d/sub/*)" "d/sub/1 d/sub/2 d/sub/3 d/sub/4 d/sub/5 d/sub/6" 'all of them'
is "$(echo d/*)" "d/1 d/sub" 'what lies beside that directory does not'
rm -r d/sub/[2-6]
exits 0 cairn plan read.yaml
says_not 'which is gone' 'nothing is named any more'
rm -r .cairn d other sum.txt read.yaml
cat >place.yaml <<'END'
name: place
tasks:
  fmt: {run: 'echo formatted >>mine.c', inputs: [mine.c], outputs: [mine.c]}
END
echo mine >mine.c
exits 0 cairn run place.yaml
sed -i 's/  fmt.*/  b: {run: "true"}/' place.yaml
exits 0 cairn clean --stale --yes place.yaml
ok 'a file that was changed in place stays' test -e mine.c
rm -r .cairn mine.c place.yaml
cat >self.yaml <<'END'
name: self
tasks:
  gen: {run: "sed 's/gen:.*/use: {run: exit}/' self.yaml >new.yaml", outputs: [new.yaml]}
END
exits 0 cairn run self.yaml
exits 0 cairn clean --stale --yes new.yaml
ok 'a workflow that a task made is not removed by itself' test -e new.yaml
says 'kept new.yaml of gen: the workflow reads it'
rm -r .cairn self.yaml new.yaml

# ---- Other params, other runs, renamed tasks, another directory ----
cat >days.yaml <<'END'
name: days
params: {day: 1}
tasks:
  make: {run: 'mkdir -p res; echo "$day" >"res/$day.csv"', outputs: ['res/${{ params.day }}.csv']}
  other: {cwd: res, needs: [make], run: 'echo x >x', outputs: [x]}
END
exits 0 cairn run days.yaml
exits 0 cairn run days.yaml --param day=2
says_not 'gone' 'a file of another param is not stale'
sed -i 's/make/produce/g; s/  other.*//' days.yaml
exits 0 cairn run days.yaml --param day=3
says 'res/1.csv, res/2.csv were made by make, which is gone' 'the task was renamed: files of all params are named'
says 'res/x was made by other, which is gone' 'the place counts from the directory of the workflow'
mkdir else
mv days.yaml res .cairn else
cd else || exit 75
export CAIRN_STORE="$PWD/.cairn"
exits 0 cairn plan days.yaml --fresh --param day=3
says 'res/1.csv, res/2.csv were made by make' 'also where the project was moved'
exits 0 cairn run days.yaml --param day=2
exits 0 cairn clean --stale --yes days.yaml --param day=3
says 'kept res/2.csv of make: produce makes it' 'not what a task that is there has made with another param'
is "$(ls res)" "$(printf '2.csv\n3.csv')" 'and only these are removed'
cd .. || exit 75
rm -r else
export CAIRN_STORE="$PWD/.cairn"

# ---- Undeclared files are nobody's; many are one line; a run at work ----
cat >many.yaml <<'END'
name: many
jobs: 8
tasks:
  m: {foreach: {i: {range: [1, 200]}}, run: 'mkdir -p o; : >"u$i"; echo "$i" >"o/$i"', outputs: ['o/${{ i }}']}
END
run cairn run many.yaml -q
cat >many.yaml <<'END'
name: many
tasks:
  w: {run: 'until [ -e go ]; do sleep 0.05; done'}
END
exits 0 cairn plan many.yaml --fresh
is "$(grep -c 'gone' err)" 1 'two hundred files are named in one line'
says 'and 197 more were made by members of m that are gone'
says_not u100 'a file that was not declared is not named'
cairn run many.yaml --fresh -q 2>/dev/null &
live=$!
wait_for 10 cairn status --can-resume >/dev/null 2>&1
running() { cairn status 2>/dev/null | grep -q running; }
wait_for 10 running
exits 6 cairn clean --stale --yes
ok 'while a run is at work nothing is removed' test -e o/1
: >go
wait "$live"
exits 0 cairn clean --stale --yes
says 'removed 200 files'
is "$(find o -type f | grep -c .)" 0 'afterwards all of them'
exits 10 cairn clean --stale --dry-run --store "$PWD/nowhere"

# ---- One file by several names, and of several workflows ----
mkdir -p ways && cd ways || exit 1
export CAIRN_STORE="$PWD/.cairn"
mkdir s && ln -s . lk
old='name: c\ntasks:\n  old: {run: echo r >r.out, outputs: [r.out]}\n'
for new in 'cwd: s, run: echo r >../r.out, outputs: [../r.out]' "run: echo r >r.out, outputs: [$PWD/r.out]" \
    'run: echo r >r.out, outputs: [s/../r.out]' 'run: echo r >r.out, outputs: [lk/r.out]' \
    'cwd: s, inputs: [../r.out], run: cat ../r.out' "inputs: [$PWD/r.out], run: cat r.out" 'inputs: [lk/r.out], run: cat r.out'; do
    rm -rf .cairn r.out
    # shellcheck disable=SC2059
    printf "$old" >c.yaml
    run cairn run c.yaml
    printf 'name: c\ntasks:\n  new: {%s}\n' "$new" >c.yaml
    exits 0 cairn resume c.yaml
    exits 0 cairn clean --stale --yes c.yaml
    ok "it stays: $new" test -e r.out
done
rm -rf .cairn
printf 'name: a\ntasks:\n  one: {run: echo same >sh.f, outputs: [sh.f]}\n  own: {run: echo o >own.f, outputs: [own.f]}\n  k: {run: ":"}\n' >a.yaml
printf 'name: b\ntasks:\n  bb: {run: echo same >sh.f, outputs: [sh.f]}\n' >b.yaml
run cairn run a.yaml
run cairn run b.yaml
sed -i -e /one:/d -e /own:/d a.yaml
exits 0 cairn plan a.yaml
says "clean --stale $PWD/a.yaml\`" 'the suggestion names the file'
exits 0 cairn clean --stale --yes a.yaml
is "$(ls ./*.f)" ./sh.f 'what another workflow has made stays'
exits 0 cairn resume b.yaml
says 'nothing to do' 'and is still whole there'
# A directory that is a link by now leads to files of somebody else.
mkdir v1 v2 && ln -s v1 current
printf 'name: d\ntasks:\n  st: {run: echo ok >current/status, outputs: [current/status]}\n  k: {run: ":"}\n' >d.yaml
run cairn run d.yaml
ln -sfn v2 current
echo ok >v2/status
sed -i /st:/d d.yaml
exits 0 cairn clean --stale --yes d.yaml
ok 'a file behind a link stays' test -e v2/status
cd .. && rm -rf ways && mkdir skip && cd skip || exit 1
export CAIRN_STORE="$PWD/.cairn"

# ---- A task that is skipped now ----
best() { # V [INPUT]: final is skipped from 5 on
    cat >f.yaml <<END
name: f
tasks:
  best: {run: 'echo v=$1 >"\$CAIRN_OUTPUT"'}
  final: {needs: best, if: 'tasks.best.outputs.v < 5', run: 'mkdir -p d; echo $1 >final.txt; echo >d/x', outputs: [final.txt, d]}
  after: {needs: final, inputs: [final.txt], run: 'cat final.txt >after.txt', outputs: [after.txt]}
  pub: {needs: after, when: always, ${2+inputs: [$2], }run: "cat *.txt >pub.res || :", outputs: [pub.res]}
END
}
best 1
exits 0 cairn run f.yaml
says_not 'which is' 'all have run: nothing is named'
best 9
exits 0 cairn plan
says_not 'is skipped now' 'it is not known yet whether it is skipped'
exits 0 cairn resume
says "final.txt was made by final, which is skipped now; \`cairn clean --stale --run 1\` removes it" \
    'resume names what a task has left that is skipped now'
says 'after.txt was made by after, which is skipped now' 'and what comes after it'
says 'the directory d was made by final, which is skipped now: remove it if nothing in it is needed'
is "$(grep -c 'final.txt was made' err)" 1 'once'
exits 0 cairn events
says 'final.txt was made by final' 'the events have it, too'
exits 0 cairn plan
says 'final.txt was made by final, which is skipped now' 'so does plan'
exits 0 cairn resume
says 'final.txt was made by final, which is skipped now' 'so does a resume that has nothing to do'
is "$(grep -c 'final.txt was made' err)" 1 'once'
exits 0 cairn clean --stale --dry-run
is "$(cat out)" "$(printf 'after.txt\nfinal.txt')" 'clean lists them'
says 'would remove 2 files of tasks that are gone or skipped now'
exits 0 cairn clean --stale --yes
says 'kept the directory d of final'
is "$(echo ./*.txt)" './*.txt' 'and removes them'
ok 'no others' test -e pub.res -a -e d/x
exits 0 cairn clean --stale --yes
says 'nothing to remove: no recorded output of a task that is gone or skipped now is there'
exits 0 cairn plan
says_not 'was made' 'they are not named any more'
best 2
exits 0 cairn resume
is "$(cat pub.res)" "$(printf '2\n2')" 'all run again when the condition is met again'
says_not 'which is' 'nothing is named then'

# What a task that runs reads by its name stays; so does what another makes, or somebody has changed.
best 9 final.txt
exits 0 cairn resume
says 'final.txt was made by final, which is skipped now, and pub reads it: remove it if it does not belong there'
exits 0 cairn clean --stale --yes
says 'kept final.txt of final: pub reads it'
is "$(echo ./*.txt)" ./final.txt 'only that one stays'
best 3
exits 0 cairn resume
best 9
sed -i '/^  pub/d' f.yaml
printf '  other: {needs: after, when: always, run: "echo o >after.txt", outputs: [after.txt]}\n' >>f.yaml
echo mine >final.txt
exits 0 cairn resume
says_not 'txt was made' 'what somebody has changed, or another task has made, is not named'
exits 0 cairn clean --stale --yes
ok 'and stays' test -e final.txt -a -e after.txt

# What a run of other params has made is that one's, or an earlier run with these.
rm -rf ./.cairn ./*
cat >w.yaml <<'END'
name: w
params: {day: mon}
tasks:
  week: {if: "params.day == 'sun'", run: 'echo w >week.txt', outputs: [week.txt]}
  daily: {run: 'echo d >"$day.txt"', outputs: ['${{ params.day }}.txt']}
END
exits 0 cairn run w.yaml --param day=sun
exits 0 cairn run w.yaml
says_not 'is skipped now' 'what a run with other params has made is not named'
exits 0 cairn clean --stale --yes w.yaml
ok 'and stays' test -e week.txt
exits 0 cairn plan w.yaml --param day=sun
says_not 'is skipped now' 'it is none of a task that ran'
sed -i "s/ == 'sun'/ == 'sat'/" w.yaml
exits 0 cairn plan --run 1
says 'week.txt was made by week, which is skipped now' 'an edit skips it in its own run'
exits 0 cairn run w.yaml --param day=sun --fresh
says_not 'is skipped now' 'a new run leaves what an earlier one has made'
exits 0 cairn resume 1
says 'week.txt was made by week, which is skipped now'
exits 0 cairn clean --stale --yes w.yaml
ok 'it is still not what the run with these params has made' test -e week.txt

# Members of a group, some gone and some skipped; a fork.
rm -rf ./.cairn ./*
members() { # TO FROM: those below FROM are skipped
    printf 'name: g\ntasks:\n  m: {foreach: {i: {range: [1, %s]}}, if: "i >= %s", run: "echo $i >$i.o", outputs: ["${{ i }}.o"]}\n  z: {run: ":"}\n' "$1" "$2" >g.yaml
}
members 6 1
exits 0 cairn run g.yaml -q
members 4 3
exits 0 cairn plan
says '5.o, 6.o were made by members of m that are gone;' 'members that are gone'
says '1.o, 2.o were made by members of m that are skipped now;' 'members that are skipped'
exits 0 cairn resume 1 --from workflow:7
says '1.o, 2.o were made by members of m that are skipped now;' 'a run that forks from it names them, too'
exits 0 cairn plan
says '1.o, 2.o were made by members of m that are skipped now;' 'and continues doing so'
exits 0 cairn clean --stale --yes
is "$(echo ./*.o)" './3.o ./4.o' 'all of them are removed'

# ---- What a member has left that failed, and is gone ----
mkdir failed && cd failed || exit 1
failing() { # VALUES: members of which 3 and 4 fail; 4 has written nothing
    cat >w.yaml <<END
name: failing
tasks:
  m:
    foreach: {part: [$1]}
    run: 'test "\$part" != 4 && mkdir -p d.\$part && echo x >out.\$part && test "\$part" -lt 3'
    outputs: ['out.\${{ part }}', 'd.\${{ part }}']
END
}
echo mine >out.4
sleep 0.02
failing '1, 2, 3, 4'
exits 1 cairn run w.yaml -k
failing '1, 2'
exits 0 cairn plan
says "out.3 was made by m[part=3], which is gone; \`cairn clean --stale --run 3\` removes it"
exits 0 cairn clean --stale w.yaml --dry-run
is "$(cat out)" out.3 'what the failed attempt has written, not what was there before'
says 'kept the directory d.3 of m[part=3]'
echo changed >out.3
exits 0 cairn clean --stale w.yaml --yes
says 'kept out.3: it is not what m[part=3] made any more'
ok 'both are there' test -e out.3 -a -e out.4
rm out.3
failing '1, 2, 3'
exits 1 cairn resume w.yaml -k
failing '1, 2'
exits 0 cairn clean --stale w.yaml --yes
says 'removed 1 file'
is "$(echo out.*)" 'out.1 out.2 out.4' 'the others stay'
exits 0 cairn clean --stale w.yaml --yes
says 'no recorded output of a task that is gone'
cd .. || exit 1

# ---- Outputs whose names cannot be made are no reason not to save a failure ----
mkdir nameless && cd nameless || exit 1
# shellcheck disable=SC2016
for key in 'outputs: ["${{ tasks.x.outputs.missing }}"]' \
    'outputs: [a], cwd: "${{ tasks.x.outputs.missing }}"'; do
    rm -rf .cairn
    printf 'name: w\ntasks:\n  x: {run: "true"}\n  a: {needs: x, run: "true", %s}\n' "$key" >w.yaml
    exits 1 cairn run w.yaml -k
    ok 'it is saved' sh -c '! grep -q DEGRADED out err'
    says 'was not set' "$key"
    exits 0 cairn status
    says '1 completed, 1 failed' 'the failure is stored'
done
cd .. || exit 1

# ---- What was there before its task is not removed: it may be a file of the user ----
mkdir own && cd own || exit 1
export CAIRN_STORE="$PWD/.cairn"
tasks() { printf 'name: own\ntasks:\n  k: {run: "true"}\n%s\n' "${1-}" >w.yaml; }
for how in completes fails 'fails twice' 'is stopped' 'is killed'; do
    rm -rf .cairn ./*
    then='' code=0
    case $how in
    fails*) then='; false' code=1 ;;
    is*) then='; : >here; while [ ! -e go ]; do sleep 0.02; done' ;;
    esac
    tasks "  change: {run: 'echo row >>mine.txt; echo new >new.txt$then', outputs: [mine.txt, new.txt], retries: $([ "$how" = 'fails twice' ] && echo 1 || echo 0)}"
    echo mine >mine.txt
    case $how in
    is*)
        cairn run w.yaml >run.out 2>&1 &
        pid=$!
        ok 'it runs' wait_for 20 test -e here
        kill -"$([ "$how" = 'is killed' ] && echo KILL || echo TERM)" $pid
        wait $pid 2>/dev/null
        touch go
        ;;
    *) exits $code cairn run w.yaml -k ;;
    esac
    tasks
    run cairn resume
    exits 0 cairn plan
    says "mine.txt was written by change, which is gone, and may have been there before: remove it if nothing in it is needed" "$how: it is named"
    exits 0 cairn clean --stale --yes
    says 'kept mine.txt of change, since it may have been there before' "$how: it is kept"
    grep -q '^mine$' mine.txt
    ok "$how: it is there" test $? = 0
    if [ "$how" = 'is killed' ]; then
        says 'kept new.txt of change' "$how: what an interrupted attempt wrote is kept, too"
    else
        ok "$how: what was made anew is removed" test ! -e new.txt
    fi
    exits 0 cairn plan
    says_not 'which is gone' "$how: neither is named again"
done
# What a task has made before is its own, as often as it runs, and under another name.
rm -rf .cairn ./*
tasks '  a: {run: "echo x >>out.txt", outputs: out.txt}'
exits 0 cairn run w.yaml
exits 0 cairn run w.yaml --fresh
tasks '  b: {run: "echo x >>out.txt", outputs: out.txt}'
exits 0 cairn run w.yaml
tasks
exits 0 cairn clean --stale --yes
ok 'it is removed' test ! -e out.txt
# Somebody has written another file in its place meanwhile.
tasks '  a: {run: "echo x >>out.txt", outputs: out.txt}'
exits 0 cairn run w.yaml --fresh
echo mine >out.txt
exits 0 cairn run w.yaml --fresh
tasks
exits 0 cairn clean --stale --yes
ok 'that is kept' grep -q mine out.txt
# What was made elsewhere.
rm -rf .cairn ./*
tasks '  a: {run: "echo x >out.txt", outputs: out.txt}
  ext: {external: "make it", outputs: ext.txt}'
run cairn run w.yaml --no-wait
echo mine >ext.txt
exits 0 cairn complete 1 ext
tasks
exits 0 cairn clean --stale --yes
ok 'what was made elsewhere is kept' test -e ext.txt
# A join of several members that stay.
rm -rf .cairn ./*
join() { # MEMBERS
    tasks "  part: {foreach: {n: [$1]}, run: 'echo x >p.\$n', outputs: 'p.\${{ n }}'}
  all: {needs: part, inputs: ['\${{ tasks.part.files }}'], run: 'cat p.* >o', outputs: o}"
}
join '1, 2, 3'
exits 0 cairn run w.yaml
join '1, 2'
exits 0 cairn resume
exits 0 cairn clean --stale --yes w.yaml
is "$(echo p.*)" 'p.1 p.2' 'what a join read of a member that is gone is removed'
cd .. || exit 1

# ---- What is printed removes what is named, however the run was chosen ----
mkdir printed && cd printed || exit 1
export CAIRN_STORE="$PWD/.cairn"
as_printed() { # FILE WHAT: the command of the notice removes that file
    command=$(sed -n 's/.*`cairn \(clean --stale [^`]*\)` removes.*/\1/p' err | tail -n 1)
    ok "$2: $1 is named" test -n "$command" -a -e "$1"
    eval "exits 0 cairn ${command:-clean} --yes"
    ok "$2: \`cairn $command\` removes it" test ! -e "$1"
    exits 0 cairn plan
    says_not 'was made' "$2: nothing is named afterwards"
}
anew() { rm -rf .cairn ./*; }
for when in resume plan; do
    cat >cairn.yaml <<'END'
name: list
tasks:
  split: {inputs: [n.txt], run: 'cp n.txt l.txt'}
  work:
    foreach: {part: {from: split, lines: l.txt}}
    run: echo $part >r.$part
    outputs: ['r.${{ part }}']
END
    printf 'a\nb\nc\n' >n.txt
    exits 0 cairn run -q
    printf 'a\nb\n' >n.txt
    exits 0 cairn resume
    [ $when = resume ] || exits 0 cairn plan
    as_printed r.c "a list that a task makes, $when"
    anew
    cat >cairn.yaml <<'END'
name: skips
tasks:
  a: {run: echo v=$(cat v) >>"$CAIRN_OUTPUT", inputs: [v]}
  p: {needs: a, if: tasks.a.outputs.v == 'yes', run: echo 1 >p.txt, outputs: [p.txt]}
END
    echo yes >v
    exits 0 cairn run -q
    echo no >v
    exits 0 cairn resume
    [ $when = resume ] || exits 0 cairn plan
    as_printed p.txt "a skipped task, $when"
    anew
done
cat >cairn.yaml <<'END'
name: cp
params: {min: {type: int, default: 1}, text: ''}
tasks:
  t:
    foreach: {n: [1, 2, 3], where: n >= params.min}
    run: echo $n >o.$n
    outputs: ['o.${{ n }}']
END
exits 0 cairn run -q
exits 0 cairn plan --param min=2
as_printed o.1 'a plan with a param'
exits 0 cairn run --param min=3 --param "text=it's"
says "--param min=3 --param" 'a run names its params'
as_printed o.2 'a run with params'
exits 0 cairn run --fresh -q
exits 0 cairn plan --fresh --param min=3
as_printed o.1 'another run'
sed -i s/o.1/n.1/ cairn.yaml
exits 0 cairn run --fresh --param "text=$(printf '%0300d' 1)"
says_not 0000 'a long param is not repeated'
anew
# What plan does not name is not removed: lines of a file are those of the run.
cat >cairn.yaml <<'END'
name: lines
tasks: {w: {foreach: {k: {lines: k.txt}}, run: 'echo $k >o.$k', outputs: ['o.${{ k }}']}}
END
printf 'a\nb\n' >k.txt
exits 0 cairn run -q
echo a >k.txt
exits 0 cairn plan
says_not 'was made' 'the run has both lines'
exits 0 cairn clean --stale --yes
ok 'no output of it is removed' test -e o.b
exits 0 cairn plan --fresh
as_printed o.b 'a new run does not'
exits 2 cairn clean --stale --yes cairn.yaml --run 1
says 'give only one of FILE, --run and --from'
cd .. || exit 1

# ---- Tasks that were added to a run are not gone in another one ----
mkdir added && cd added || exit 1
export CAIRN_STORE="$PWD/.cairn"
echo 'tasks: {sum: {needs: a, run: "echo 1 >sum.txt", outputs: [sum.txt]},
  m: {foreach: {i: [1, 2]}, run: "echo $i >o.$i", outputs: ["o.${{ i }}"]}}' >add.yaml
for how in outside inside; do
    rm -rf .cairn ./*.txt o.*
    printf 'name: w\nparams: {p: x}\ntasks: {a: {run: "%s"}, k: {run: echo k >k.txt, outputs: k.txt}, old: {run: echo o >old.txt, outputs: [old.txt]}}\n' \
        "$([ $how = outside ] || echo 'cairn add $CAIRN_RUN add.yaml;') true" >w.yaml
    exits 0 cairn run w.yaml -q
    [ $how = inside ] || exits 0 cairn add 1 add.yaml
    exits 0 cairn resume -q
    exits 0 cairn plan
    says_not gone "$how: nothing is gone"
    exits 0 cairn clean --stale --dry-run w.yaml
    is "$(cat out)" '' "$how: nothing would be removed"
    exits 0 cairn plan w.yaml --param p=y
    says_not gone "$how: nor for other params"
    exits 0 cairn plan w.yaml --fresh
    says_not gone "$how: nor for a new run"
    sed -i 's/, old: {.*}}$/}/' w.yaml
    exits 0 cairn clean --stale --yes w.yaml --param p=y
    says 'removed 1 file' "$how: what is gone is removed"
    is "$(echo ./*.txt o.*)" './k.txt ./sum.txt o.1 o.2' "$how: and nothing else"
    exits 0 cairn clean --stale --yes
    exits 0 cairn resume 1
    says '0 of 5 tasks to run' "$how: the run is whole"
done
# A file of a task that is gone, which an added one has made, too.
rm -rf .cairn ./*.txt o.*
printf 'name: w\ntasks: {a: {run: "true"}, old: {run: echo 1 >sum.txt, outputs: sum.txt}}\n' >w.yaml
exits 0 cairn run w.yaml
printf 'name: w\ntasks: {a: {run: "true"}}\n' >w.yaml
exits 0 cairn resume -q
exits 0 cairn add 1 add.yaml
exits 0 cairn resume -q
exits 0 cairn clean --stale --yes w.yaml
says 'kept sum.txt of old: sum makes it' 'a file that an added task makes stays'
# As long as a run has them, and no record of it is damaged.
rm sum.txt
printf 'name: w\ntasks: {a: {run: "true"}, old: {run: echo o >old.txt, outputs: old.txt}}\n' >w.yaml
exits 0 cairn resume -q
printf 'name: w\ntasks: {a: {run: "true"}}\n' >w.yaml
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE command SET sum = x'00' WHERE verb = 5"
exits 0 cairn plan w.yaml --fresh
says_not gone 'nothing is named while it is not known what was added'
run cairn clean --stale --yes w.yaml
says 'the record of tasks that were added to run 1 is damaged' 'cleaning says why it removes nothing'
ok 'and removes nothing' test -e old.txt -a -e o.1
cd .. || exit 1
# ---- What a newer run has made is not gone, though an older one does not have it ----
mkdir newer && cd newer || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >w.yaml <<'END'
name: w
params: {k: a}
tasks:
  split: {inputs: [n], run: 'echo "l=[$(cat n)]" >>"$CAIRN_OUTPUT"'}
  part: {foreach: {p: {from: split, value: l}}, run: 'echo $p >$p.out', outputs: ['${{ p }}.out']}
  own: {foreach: {o: ["${{ params.k }}"]}, run: 'echo $o >$o.own', outputs: ['${{ o }}.own']}
END
echo 1,2 >n
exits 0 cairn run w.yaml
echo 1,2,3 >n
exits 0 cairn run w.yaml --param k=b
exits 0 cairn clean --stale --run 1 --dry-run
says 'nothing to remove' 'of the older run nothing is gone'
exits 0 cairn clean --stale --run 1 --yes
is "$(echo ./*.out ./*.own)" './1.out ./2.out ./3.out ./a.own ./b.own' 'all files are there'
exits 0 cairn clean --stale --run 1 --dry-run --json
is "$(json_get '.files[0].user')" 'run 2' 'who has made it'
cp -r .cairn whole
for lost in 'SELECT graph FROM run WHERE run = 2' 'SELECT outputs FROM attempt WHERE run = 2'; do
    "$BUILD/tests/tools/sql" .cairn/cairn.db "DELETE FROM object WHERE digest IN ($lost)" >/dev/null
    run cairn clean --stale --run 1 --yes
    is "$(echo ./*.out ./*.own)" './1.out ./2.out ./3.out ./a.own ./b.own' "also where that cannot be read: $lost"
    rm -rf .cairn
    cp -r whole .cairn
done
exits 0 cairn run w.yaml --param k=b --fresh
exits 0 cairn clean --stale --run 1 --dry-run
says 'nothing to remove' 'nor what the newest of several has made'
echo 1 >n
exits 0 cairn run w.yaml --param k=b --fresh
exits 0 cairn clean --stale --run 4 --dry-run
is "$(sort out | tr '\n' ' ')" '2.out 3.out a.own ' 'what the newest does not have is gone'
cd .. || exit 1

# ---- stale: remove, before the join runs; keep ----
mkdir removing && cd removing || exit 1
export CAIRN_STORE="$PWD/.cairn"
joined() { # VALUES [DEFAULTS [KEY]]
    cat >w.yaml <<END
name: removing
${2-}
tasks:
  m:
    foreach: {i: [$1]}
    run: 'echo "\$i" >"part.\$i"; mkdir -p "dir.\$i"'
    outputs: ['part.\${{ i }}', 'dir.\${{ i }}']
    ${3-}
  join: {needs: m, inputs: [{glob: 'part.*'}], run: 'cat part.* >all', outputs: [all]}
END
}
joined 'a, b, c, d' '' 'stale: remove'
exits 0 cairn run w.yaml
joined 'a, b'
exits 0 cairn resume
is "$(tr '\n' ' ' <all)" 'a b c d ' 'with warn a pattern joins what is left over'
joined 'a, b' '' 'stale: remove'
exits 0 cairn plan
says 'part.c, part.d were made by members of m that are gone: `stale: remove` removes them before anything runs' 'plan names what a run removes'
is "$(planned)" join 'and says that the join runs, for which they are gone already'
says 'its input part.c is missing'
ok 'it removes nothing' test -e part.c
exits 0 cairn plan w.yaml --fresh
says '`stale: remove` removes them' 'so it does for a new run'
exits 0 cairn clean --stale --dry-run
is "$(cat out)" "$(printf 'part.c\npart.d')" 'clean lists them as before'
exits 0 cairn resume
says 'part.c, part.d were made by members of m that are gone: `stale: remove` removes them before anything runs' 'resume names them'
is "$(grep -c '^ok' err)" 1 'nothing but the join runs'
is "$(tr '\n' ' ' <all)" 'a b ' 'it joins what is there'
is "$(echo part.* dir.*)" 'part.a part.b dir.a dir.b dir.c dir.d' 'the files are removed, directories are not'
exits 0 cairn events
says '`stale: remove` removes them' 'the events have it'
exits 0 cairn plan
is "$(planned)" '' 'then nothing is left to do'
says_not 'removes them' 'and nothing is removed'
joined 'a, b, c' '' 'stale: remove'
exits 0 cairn resume
is "$(tr '\n' ' ' <all)" 'a b c ' 'a member that is back runs again'
echo mine >part.c
joined 'a, b' '' 'stale: remove'
exits 0 cairn resume
ok 'what was changed stays' grep -q mine part.c
rm part.c
joined 'a, b, c' '' 'stale: remove'
exits 0 cairn resume
joined 'a' '' 'stale: keep'
exits 0 cairn resume
says_not 'was made by' 'with keep nothing is named'
exits 0 cairn clean --stale --yes
says 'nothing to remove'
ok 'nor removed' test -e part.b -a -e part.c
# A task that is gone as a whole: as the defaults of the workflow say.
printf 'name: removing\ntasks:\n  other: {run: "true", stale: remove}\n' >w.yaml
exits 0 cairn plan w.yaml
says 'clean --stale' 'without defaults it is named'
printf 'name: removing\ndefaults: {stale: remove}\ntasks:\n  other: {run: "true", stale: keep}\n' >w.yaml
exits 0 cairn run w.yaml --fresh
is "$(echo part.* all)" 'part.* all' 'with them it is removed'
ok 'as are outputs of a renamed task' test ! -e all
# A run that has nothing to do removes what one has left that was killed behind its start.
rm -rf .cairn ./*
joined 'a, b, c' 'defaults: {stale: remove}'
exits 0 cairn run w.yaml
cp -p part.c kept
joined 'a, b' 'defaults: {stale: remove}'
cp -r .cairn before
exits 0 cairn resume
rm -r .cairn && mv before .cairn
cp -p kept part.c
exits 0 cairn resume
ok 'it is removed' test ! -e part.c
is "$(tr '\n' ' ' <all)" 'a b ' 'and the join is right'
# Read by name, or made by another task: it stays.
printf 'name: removing\ndefaults: {stale: remove}\ntasks:\n  x: {inputs: [part.a], run: "cat part.a"}\n  y: {run: "echo b >part.b", outputs: [part.b]}\n' >w.yaml
exits 0 cairn run w.yaml --fresh
ok 'what a task reads or makes stays' test -e part.a -a -e part.b
cd .. || exit 1

# Killed again and again while many files are removed: what is left is found, and never joined.
mkdir killed && cd killed || exit 1
export CAIRN_STORE="$PWD/.cairn"
many() { # N
    printf 'name: killed\ndefaults: {stale: remove}\ntasks:\n  m: {foreach: {i: {range: [1, %s]}}, run: "echo $i >part.$i", outputs: ["part.${{ i }}"]}\n  join: {needs: m, inputs: [{glob: "part.*"}], run: "cat part.* >all", outputs: all}\n' "$1" >w.yaml
}
many 300
run cairn run w.yaml -q
many 2
kills=0
while [ "$(find . -name 'part.*' | grep -c .)" -gt 250 ] && [ $kills -lt 20 ]; do
    cairn resume -q >/dev/null 2>&1 &
    pid=$!
    wait_for 20 test ! -e "part.$((300 - kills))" 2>/dev/null
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    kills=$((kills + 1))
done
exits 0 cairn resume
is "$(find . -name 'part.*' | grep -c .)" 2 'all are removed in the end'
is "$(sort all | tr '\n' ' ')" '1 2 ' 'and the join has none of them'
exits 0 cairn checkpoint verify
exits 0 cairn plan
is "$(planned)" '' 'nothing is left to do'
cd .. || exit 1

done_testing
