# make: sanitize
# shellcheck shell=sh disable=SC2016
# `artifacts` of a task: files that are stored with the run when it has completed, and
# `cairn artifact list` and `get`, which give them back.
. "$TESTS/cli/tap.sh"

mkdir proj && cd proj || exit 1
unset CAIRN_STORE
sum() { sha256sum "$1" | cut -c1-64; }
listed() { # PATH ... of each
    cairn artifact list "$@" --json 2>/dev/null >listed
    "$BUILD/tests/tools/json" flat listed | awk -F '\t' '$1 ~ /[.]path$/ { printf "%s ", $2 }'
}
newest() { cairn runs --json >newest.json; json_get .runs[0].run newest.json; }

# ---- They are stored, and stay when the files change or go ----
cat >w.yaml <<'EOF'
name: w
tasks:
  pack:
    run: |
      mkdir -p dist/sub
      echo a >dist/a.tar.gz; echo b >dist/b.tar.gz; echo c >dist/sub/c
      chmod 750 dist/a.tar.gz; touch -d 2020-02-02 dist/b.tar.gz
      ln -sf a.tar.gz dist/latest.tar.gz
      head -c 9000000 /dev/urandom >dist/big
      echo dist >.gitignore
    artifacts: ["dist/*.tar.gz", ./dist//sub/, dist/big, dist/sub/c, 'no/*.such']
EOF
exits 0 cairn run w.yaml
says 'no file matches the artifact no/*.such of pack' 'a pattern that matches nothing is named'
exits 0 cairn artifact list
is "$(cairn artifact list 2>/dev/null | wc -l)" 5 'each file once, in spite of .gitignore'
says 'dist/latest.tar.gz -> a.tar.gz' 'a link as one'
big=$(sum dist/big)
cp -a dist was
rm -r dist
exits 0 cairn artifact get 1 -o got/here
ok 'all of them come back' diff -r --no-dereference was got/here/dist
is "$(stat -c '%a %Y' got/here/dist/a.tar.gz got/here/dist/b.tar.gz)" \
    "$(stat -c '%a %Y' was/a.tar.gz was/b.tar.gz)" 'with mode and time'
is "$(sum got/here/dist/big)" "$big" 'also what is stored in parts'
is "$(find got | grep -c cairn)" 0 'nothing is left beside them'
exits 0 cairn artifact get 1 dist/sub -o sub
is "$(cd sub && find . -type f)" ./dist/sub/c 'a directory means what is below it'
exits 0 cairn artifact get 1 '*.gz' -o gz
is "$(find gz -name '*.gz' | wc -l)" 3 'a pattern'
exits 10 cairn artifact get 1 nothing -o none
says 'run 1 has no artifact nothing' 'a name that is not there'
exits 10 cairn artifact get 7 -o none
exits 0 cairn artifact list 1 --json
json_ok 'the list as JSON'
cp out list
is "$(json_get .artifacts[0].sha256 list)" "$(sum was/a.tar.gz)" 'with the SHA-256'

# ---- Nothing is overwritten ----
exits 2 cairn artifact get 1 -o got/here
says 'is there already' 'nothing is put over a file'
rm got/here/dist/b.tar.gz
echo other >got/here/dist/a.tar.gz
exits 2 cairn artifact get 1 '*.gz' -o got/here
ok 'and then nothing is put at all' [ ! -e got/here/dist/b.tar.gz ]
exits 0 cairn artifact get 1 '*.gz' -o got/here --force
is "$(cat got/here/dist/a.tar.gz)$(find got/here -name '*before-restore*')" a '--force replaces it'
mkdir trap outside && ln -s ../outside trap/dist
exits 2 cairn artifact get 1 -o trap --force
says 'is a symbolic link: nothing is put through one' 'and that is said'
is "$(ls outside)" '' 'nothing is put through a link'
mkdir -p file && : >file/dist
exits 2 cairn artifact get 1 -o file --force
ok 'nor in the place of a file where a directory is to be' [ -f file/dist ]

# ---- They go with their run, and at their time ----
cat >keep.yaml <<'EOF'
name: keep
params: {v: 1}
tasks:
  a: {run: 'echo "$v" >k.txt', artifacts: {files: k.txt, keep: 300ms}}
  b: {run: 'echo "b$v" >l.txt', artifacts: l.txt}
  c: {run: 'echo c >m.txt', artifacts: {files: m.txt, keep: 1h}}
EOF
exits 0 cairn run keep.yaml
is "$(listed)" 'k.txt l.txt m.txt ' 'kept for a time, and for ever'
sleep 0.4
exits 0 cairn gc --dry-run --json
is "$(json_get .expired_artifacts)" 1 'a dry run counts it'
is "$(listed)" 'k.txt l.txt m.txt ' 'and leaves it'
exits 0 cairn gc --json
is "$(json_get .expired_artifacts)" 1 'gc lets it go'
is "$(listed)" 'l.txt m.txt ' 'the others stay'
exits 10 cairn artifact get 2 --task a -o none
says '`keep` is over and `cairn gc` has removed them' 'what is gone by its time is told so'
exits 0 cairn artifact get 2 -o late
is "$(cat late/l.txt)" b1 'whole'
sed -i 's/300ms/1h/' keep.yaml
exits 0 cairn run keep.yaml --param v=2
exits 0 cairn run keep.yaml --param v=1 --fresh
exits 0 cairn gc --keep-runs 1 --any-params
is "$(cairn artifact list 4 2>/dev/null | wc -l)" 3 'those of the newest run stay'
exits 10 cairn artifact list 2
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint prune --keep 1
exits 0 cairn artifact get 4 -o pruned
exits 0 cairn doctor

# ---- What cannot be stored whole is a failure ----
fails() { # NAME, WHAT IS SAID: of the tasks on stdin
    { echo "name: $1"; echo 'tasks:'; cat; } >f.yaml
    exits 1 cairn run f.yaml
    says "$2" "$1: it says so"
    is "$(cairn artifact list 2>/dev/null | wc -l)" 0 "$1: nothing is stored"
}
fails none 'no file matches the artifact x.y' <<'EOF'
  a: {run: 'true', artifacts: {files: x.y, none: fail}}
EOF
fails behind 'lies behind a symbolic link' <<'EOF'
  a: {run: 'mkdir -p real; echo 1 >real/f; ln -sfn real dir', artifacts: dir/f}
EOF
fails out 'lies behind a symbolic link' <<'EOF'
  a: {run: 'ln -sfn /etc etc', artifacts: 'etc/host*'}
EOF
fails pipe 'is a socket, device or pipe' <<'EOF'
  a: {run: 'mkdir -p p; rm -f p/f; mkfifo p/f', artifacts: p}
EOF
fails store 'has a name that is never stored' <<'EOF'
  a: {run: 'true', artifacts: .cairn/cairn.db}
EOF
fails value 'leads out of the task' <<'EOF'
  v: {run: 'echo "up=../up" >>$CAIRN_OUTPUT'}
  a: {needs: v, run: 'true', artifacts: '${{ tasks.v.outputs.up }}'}
EOF
cat >f.yaml <<'EOF'
name: f
tasks:
  a: {run: 'true', artifacts: ["../x"]}
  b: {run: 'true', artifacts: [/etc/passwd]}
  c: {run: 'true', artifacts: ["./"]}
  d: {run: 'true', artifacts: ["d/**"]}
  f: {run: 'true', artifacts: ['!x']}
  s: {run: 'true', service: true, ready: 'true', artifacts: x}
  e: {external: x, artifacts: x}
EOF
exits 3 cairn validate f.yaml
for text in 'leads out of the task' 'is an absolute path' 'is the whole directory' \
    'a directory is stored with all' 'leaves nothing out' 'has no meaning for the service' \
    'has no meaning for task `e`'; do
    says "$text" "$text"
done

# ---- Values, groups, checks, rounds, retries, resume ----
cat >g.yaml <<'EOF'
name: g
tasks:
  part:
    foreach: {n: [1, 2]}
    run: 'mkdir -p w.$n; echo "$n" >w.$n/part; echo "$n" >w.$n/p.$n; cp -r w.$n keep.$n'
    artifacts: ['w.${{ n }}/p.*']
  same: {foreach: {n: [1, 2]}, cwd: 'keep.${{ n }}', run: 'echo "$n" >same', artifacts: same, needs: part}
  round: {run: 'echo "n=$CAIRN_ROUND" >>$CAIRN_OUTPUT; echo $CAIRN_ROUND >r', artifacts: r, repeat: {until: outputs.n == 3, max: 5}}
  checked: {run: 'echo old >c', check: 'echo new >c', artifacts: c}
  again: {run: 'echo $CAIRN_ATTEMPT >t; [ $CAIRN_ATTEMPT = 2 ]', retries: 1, artifacts: t}
  call: {run: 'exit 1', artifacts: r, may_fail: true}
finally:
  end: {run: 'echo end >end', artifacts: end}
EOF
exits 0 cairn run g.yaml
is "$(listed --task part)" 'w.1/p.1 w.2/p.2 ' 'members of a group'
run_g=$(newest)
exits 2 cairn artifact get "$run_g" -o g
says 'both same[n=1] and same[n=2] have an artifact same' 'the same name of two tasks'
ok 'nothing was put' [ ! -e g/same ]
exits 0 cairn artifact get "$run_g" --task 'same[n=2]' -o g
is "$(cat g/same)" 2 'of one of them'
for t in round checked again end; do exits 0 cairn artifact get "$run_g" --task $t -o g; done
is "$(cat g/r g/c g/t g/end | tr '\n' ' ')" '3 new 2 end ' 'the last round, after the check, the attempt that completed'
is "$(listed --task call)" '' 'one that failed leaves none'
cat >r.yaml <<'EOF'
name: r
tasks:
  a: {run: 'echo one >ra', artifacts: ra}
  b: {needs: a, run: 'test -e go'}
EOF
exits 1 cairn run r.yaml
sed -i 's/artifacts: ra/artifacts: [ra, go]/' r.yaml
touch go
is "$(planned r.yaml)" b 'an edit of artifacts runs nothing again'
exits 0 cairn resume
is "$(listed)" 'ra ' 'a resumed run still has them'
exits 0 cairn rerun a
is "$(listed)" 'go ra ' 'a new attempt has those of its own'

# ---- Of tasks that failed ----
cat >when.yaml <<'EOF'
name: when
tasks:
  bad: {run: 'echo bad >bad.log; exit 1', artifacts: {files: bad.log, when: failure}, may_fail: true}
  any: {run: 'echo $CAIRN_ATTEMPT >any.log; exit 1', retries: 1, artifacts: {files: any.log, when: always}, may_fail: true}
  gate: {run: 'echo gate >gate.log', check: 'exit 1', artifacts: {files: [gate.log, gone.log], when: always, none: fail}, may_fail: true}
  late: {run: 'echo late >late.log; sleep 60', timeout: 300ms, artifacts: {files: late.log, when: failure}, may_fail: true}
  good: {run: 'echo good >good.log', artifacts: {files: good.log, when: failure}}
  usual: {run: 'echo usual >usual.log; exit 1', artifacts: usual.log, may_fail: true}
EOF
exits 0 cairn run when.yaml
is "$(listed)" 'any.log bad.log late.log ' 'those that ended as `when` says'
says 'the artifacts of gate, which failed, are not stored' 'what cannot be stored of a failure is said'
exits 0 cairn artifact get "$(newest)" -o when
is "$(cat when/any.log)" 2 'of the newest try'

cat >unstored.yaml <<'EOF'
name: unstored
tasks:
  a: {run: 'mkdir -p u/.git; echo 1 >u/.git/x', artifacts: u/.git/x, check: 'true'}
EOF
exits 1 cairn run unstored.yaml
run cairn explain a
matches 'attempt 1  failed  .*it ended well, but its artifacts are not stored: ' 'its check, which has passed, is not what it failed by'

# ---- Much at once holds nothing up, nor does a collection that goes on ----
cat >big.yaml <<'EOF'
name: big
jobs: 2
tasks:
  big: {run: 'head -c 60000000 /dev/urandom >big.bin', artifacts: big.bin}
  other: {needs: first, run: 'echo other >>order'}
  first: {run: 'true'}
EOF
exits 0 cairn run big.yaml
exits 0 cairn artifact get "$(newest)" -o bigger
is "$(sum bigger/big.bin)" "$(sum big.bin)" 'a large one is whole'

# ---- With reuse ----
cat >u.yaml <<'EOF'
name: u
params: {v: 1}
tasks:
  a: {run: 'echo a >>ran; echo 1 >ua; echo 2 >ub', outputs: ua, artifacts: {files: ub, keep: 1h}, reuse: true}
EOF
exits 0 cairn run u.yaml
rm ub
exits 0 cairn run u.yaml --fresh
is "$(wc -l <ran)" 1 'it is reused'
exits 0 cairn artifact list
says 'ub  a' 'with the artifacts of the run that made them'
exits 0 cairn gc --keep-runs 1 --any-params
exits 0 cairn artifact get "$(newest)" -o u
is "$(cat u/ub)" 2 'which stay when that run is gone'
sed -i 's/keep: 1h/keep: 20ms/' u.yaml
exits 0 cairn run u.yaml --fresh
sleep 0.05
exits 0 cairn gc
sed -i 's/20ms/1h/' u.yaml
exits 0 cairn run u.yaml --fresh
is "$(wc -l <ran)" 2 'without them it is not reused'

# ---- Damage is never given back ----
cat >d.yaml <<'EOF'
name: d
tasks:
  a: {run: 'mkdir -p dd; seq 1 3000 >dd/one; echo second >dd/two', artifacts: dd}
EOF
exits 0 cairn run d.yaml
run_d=$(newest)
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = x'$(printf 'bad second' | od -An -tx1 | tr -d ' \n')' WHERE data = x'$(printf 'second\n' | od -An -tx1 | tr -d ' \n')'" >/dev/null 2>&1
exits 5 cairn artifact get "$run_d" -o dam
is "$(find dam -type f 2>/dev/null | wc -l)" 0 'no file of the task is put where one is damaged'
exits 5 cairn checkpoint verify

done_testing
