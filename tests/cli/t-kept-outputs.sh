# make: sanitize
# shellcheck shell=sh disable=SC2016
# Copies of outputs that are put back (`reuse: {keep}`). Each task that runs leaves a line
# in a log beside.
. "$TESTS/cli/tap.sh"

ran() { # the tasks that ran since the last call, sorted
    [ ! -f ran.log ] || sort ran.log | tr '\n' ' '
    rm -f ran.log
}
left() { # what a put-back has left beside the files
    find . -name '.cairn-restore-*' -o -name '*.before-restore*' | tr '\n' ' '
}
state() { # of everything that is an output
    for f in a.txt d d/e d/e/b d/h big; do stat -c '%n %a %Y %s %F' "$f"; done 2>&1
    sha256sum a.txt d/e/b d/h big 2>&1
    readlink d/l
}
sql() { "$BUILD/tests/tools/sql" .cairn/cairn.db "$1"; }

cat >w.yaml <<'END'
name: w
tasks:
  a:
    run: 'echo a >>ran.log; cat in >a.txt; chmod 750 a.txt; touch -d 2020-02-02 a.txt; echo said; echo v=7 >>"$CAIRN_OUTPUT"'
    inputs: in
    outputs: a.txt
    reuse: {keep: 7d}
  b:
    needs: a
    run: |
      echo b >>ran.log; mkdir -p d/e; cp a.txt d/e/b; ln -sf e/b d/l; echo h >d/h; chmod 400 d/h
      head -c 9000000 /dev/urandom >big; touch -d 2019-01-01 d/e big
    inputs: a.txt
    outputs: [d, big]
    reuse: {keep: 7d}
  c: {needs: b, run: 'echo c >>ran.log; cat d/l >c.txt', outputs: c.txt, reuse: true}
  v: {needs: a, run: 'echo v >>ran.log; echo "w=$x" >>"$CAIRN_OUTPUT"', env: {x: '${{ tasks.a.outputs.v }}'}, reuse: true}
END
echo 1 >in
exits 0 cairn run w.yaml
is "$(ran)" 'a b c v ' 'at first all tasks run'
state >was

# ---- Outputs that are gone, or changed, come back as they were ----
rm -rf a.txt d big
run cairn plan --all w.yaml
matches '^keep +a +run 1 has done it with all of the same; its outputs would be put back from there$'
matches '^may +b +unless it can be reused once what it needs has ended; it never ran$' 'what reads them is decided when they are there'
matches '^keep +v +run 1 has done it with all of the same$' 'what reads no files is decided'
exits 0 cairn run w.yaml --fresh
matches '^ok +a .* put back from run 1 [(][0-9]+ bytes[)]$'
is "$(ran)" '' 'nothing runs'
state >now
ok 'modes, times, links and contents are those of before' cmp was now
is "$(left)" '' 'nothing is left beside them'
run cairn explain b
matches 'attempt 1 +completed .* put back from run 1'
exits 0 cairn log a
says said 'the log comes along'
exits 0 cairn values v
says 7 'and the values'
exits 0 cairn stats
grep -A 2 '^tasks_put_back' out | grep -q 'w  *2$'
is $? 0 'stats count them'
is "$(grep -A 1 '^kept_output_tasks' out | tail -n 1 | tr -d ' ')" 4 'and the copies'
says '17.2 MiB' 'with their bytes'
exits 0 cairn run w.yaml --fresh
matches '^ok +a .* reused from run 1$' 'then they are there'
echo more >>a.txt
echo x >d/extra
rm d/h
echo y >big
exits 0 cairn run w.yaml --fresh
is "$(ran)" '' 'what was changed is put back, too'
state >now
ok 'as it was' cmp was now
ok 'and what was in the directory beside it is gone' [ ! -e d/extra ]
rm -rf d && echo file >d && mkdir big
exits 0 cairn run w.yaml --fresh
is "$(ran)" '' 'a file in the place of a directory, and the other way round'
state >now
ok 'as it was, again' cmp was now
exits 0 cairn checkpoint verify
exits 0 cairn clean --stale --dry-run

# ---- Another content: two sets of outputs, back and forth ----
echo 2 >in
exits 0 cairn run w.yaml
is "$(ran)" 'a b c v ' 'another input runs them'
is "$(cat d/e/b)" 2 'for another content'
echo 1 >in
exits 0 cairn run w.yaml
is "$(ran)" 'c ' 'the first input: what is kept is put back, and the rest runs'
state >now
ok 'the first contents' cmp was now
is "$(cat c.txt)" 1 'and what runs sees them'
exits 0 cairn run w.yaml --fresh --no-reuse
is "$(ran)" 'a b c v ' '--no-reuse runs all'

# ---- Time, gc, removed runs ----
cat >t.yaml <<'END'
name: t
tasks:
  a: {run: 'echo a >>ran.log; echo 1 >ta', outputs: ta, reuse: {keep: 1s}}
  b: {run: 'echo b >>ran.log; echo 1 >tb', outputs: tb, reuse: {keep: 1h}}
END
exits 0 cairn run t.yaml
ran >/dev/null
sleep 1.2
rm ta tb
run cairn plan t.yaml
matches '^run +a +run [0-9]+ did it, but its output ta is missing, and no copy of it is kept any more$'
exits 0 cairn run t.yaml --fresh --no-reuse
sed -i 's/echo 1 >ta/echo 2 >ta/' t.yaml
exits 0 cairn run t.yaml --fresh
sed -i 's/echo 2 >ta/echo 1 >ta/' t.yaml
ran >/dev/null
sleep 1.2
run cairn plan t.yaml
matches '^run +a +run [0-9]+ did it, but its output ta is another one by now, and no copy of it is kept any more$' 'also where the newest run did something else'
exits 0 cairn gc --dry-run --json
is "$(json_get .expired_outputs)" 3 'a dry run of gc counts what is over'
exits 0 cairn gc --json
is "$(json_get .expired_outputs)" 3 'gc lets it go'
exits 0 cairn run t.yaml --fresh
is "$(ran)" 'a ' 'what is over runs, the other is put back'
exits 0 cairn gc --keep-runs 1 --any-params
rm tb
exits 0 cairn run t.yaml --fresh
matches '^ok +b .* put back from run'
is "$(ran)" '' 'copies stay with the newest run that used them'
exits 0 cairn checkpoint verify
exits 0 cairn doctor
cat >k.yaml <<'END'
name: k
tasks:
  a: {run: 'echo 1 >ka', outputs: ka, artifacts: {files: ka, keep: 1ms}, reuse: {keep: 1h}}
  b: {run: 'cat in >kb', inputs: in, outputs: kb, reuse: {keep: 1h}}
  c: {run: 'echo 1 >kc', outputs: kc, reuse: {keep: 1h}}
END
exits 0 cairn run k.yaml
sleep 0.1
exits 0 cairn gc
rm ka kb kc
echo 3 >in
run cairn plan --all k.yaml
matches '^run +a +run [0-9]+ did it, but its artifacts are not kept any more$' 'the copies are, which does not help'
matches '^run +b +run [0-9]+ did it with another content of in$' 'it runs for its input, of which there are copies or not'
matches '^keep +c .*put back'
sed -i 's/files: ka/files: [ka, kx]/' k.yaml
run cairn plan k.yaml
matches '^run +a +run [0-9]+ did it with other artifacts$'
echo 1 >in

# ---- A budget: what was used last stays ----
mkdir budget
cat >budget.yaml <<'END'
name: budget
tasks:
  old: {run: 'echo old >>ran.log; head -c 100000 /dev/urandom >old', outputs: old, cwd: budget, reuse: {keep: 1h}}
  new: {run: 'echo new >>ran.log; head -c 100000 /dev/urandom >new', outputs: new, cwd: budget, reuse: {keep: 1h}}
END
export CAIRN_STORE="$PWD/budget/.cairn"
exits 0 cairn run budget.yaml
exits 0 cairn run budget.yaml --fresh --no-reuse
exits 0 cairn gc --keep-outputs 1M --json
is "$(json_get .dropped_outputs)" 0 'nothing goes that fits'
exits 0 cairn gc --keep-outputs 250K --dry-run --json
is "$(json_get .dropped_outputs)" 2 'those of the older run would go'
ok 'and so much be free' [ "$(json_get .freed_bytes)" -gt 199000 ]
exits 0 cairn gc --keep-outputs 250K
says 'removed the copies of the outputs of 2 tasks, beyond --keep-outputs'
exits 0 cairn gc --keep-outputs 250K --json
is "$(json_get .dropped_outputs) $(json_get .freed_bytes)" '0 0' 'all at once'
rm budget/old budget/new budget/ran.log
exits 0 cairn run budget.yaml --fresh
ok 'the newest are put back' [ ! -e budget/ran.log ]
exits 0 cairn gc --keep-outputs 150K
rm budget/old budget/new
exits 0 cairn run budget.yaml --fresh
is "$(wc -l <budget/ran.log)" 1 'there is room for one'
exits 2 cairn gc --keep-outputs lots
exits 0 cairn checkpoint verify
unset CAIRN_STORE

# ---- Damage: never a wrong file ----
cat >p.yaml <<'END'
name: p
tasks:
  a: {run: 'echo a >>ran.log; seq 1 2000 >pa; seq 3 >pb', outputs: [pa, pb], reuse: {keep: 1h}}
  after: {needs: a, run: 'echo after >>ran.log; cat pa pb >pc', inputs: [pa, pb], outputs: pc, reuse: true}
END
exits 0 cairn run p.yaml
ran >/dev/null
sum=$(cat pa pb | sha256sum)
hex() { od -An -tx1 | tr -d ' \n'; }
sql "UPDATE object SET data = x'$(printf '1\n2\n4\n' | hex)' WHERE data = x'$(printf '1\n2\n3\n' | hex)'" >/dev/null
echo changed >pa
exits 0 cairn run p.yaml --fresh
says 'cannot be put back, so it runs' 'a poisoned copy is named'
is "$(ran)" 'a ' 'the task runs, and makes what it made'
is "$(cat pa pb | sha256sum)" "$sum" 'and its outputs are right'
is "$(left)" '' 'with nothing left beside'

# ---- All of them or none ----
cat >n.yaml <<'END'
name: n
tasks:
  a: {run: 'echo a >>ran.log; mkdir -p n1 n2; rm -f n2/y; echo 1 >n1/x; echo 1 >n2/y', outputs: [n1/x, n2/y], reuse: {keep: 1h}}
END
exits 0 cairn run n.yaml
ran >/dev/null
mkdir away && mv n2 away && ln -s away/n2 n2
echo other >n1/x
rm away/n2/y
exits 0 cairn run n.yaml --fresh
says 'cannot be put back, so it runs' 'nothing is put through a link'
is "$(ran)" 'a ' 'so the task runs'
rm n2 && mv away/n2 .
exits 0 cairn run n.yaml --fresh --no-reuse
rm -r n1 && echo in-the-way >n1
run cairn run n.yaml --fresh
says 'cannot be put back' 'nor where a file is in the place of a directory above'
ok 'and the other one is not touched either' [ "$(cat n1)" = in-the-way ]
rm n1 && ran >/dev/null

# ---- What cannot be kept is said, and is no failure ----
cat >o.yaml <<'END'
name: o
tasks:
  out: {run: 'echo out >>ran.log; echo 1 >../outside', outputs: ../outside, reuse: {keep: 1h}}
  link: {run: 'echo link >>ran.log; echo 1 >target; ln -sf target name', outputs: name, reuse: {keep: 1h}}
  behind: {run: 'echo behind >>ran.log; mkdir -p real; ln -sfn real dir; echo 1 >dir/f', outputs: dir/f, reuse: {keep: 1h}}
END
exits 0 cairn run o.yaml
says 'no copies of the outputs of out are kept' 'a file elsewhere'
says 'does not lie below the directory of the workflow' 'which is said'
says 'no copies of the outputs of link are kept: name is a symbolic link' 'a link'
says 'no copies of the outputs of behind are kept' 'what is behind one'
ran >/dev/null
exits 0 cairn run o.yaml --fresh
is "$(ran)" '' 'they are reused as without keep'
rm ../outside name dir/f
exits 0 cairn run o.yaml --fresh
is "$(ran)" 'behind link out ' 'and else run'
rm -f ../outside

# ---- Which tasks ----
for t in "run: 'true', outputs: x, once: true" "run: 'true', outputs: x, undo: 'true'"; do
    printf 'name: bad\ntasks:\n  a: {%s, reuse: {keep: 1d}}\n' "$t" >bad.yaml
    exits 3 cairn validate bad.yaml
    says '`reuse` has no meaning for task `a`'
done
printf 'name: bad\ntasks:\n  a: {run: "true", reuse: {keep: 1d}}\n' >bad.yaml
exits 3 cairn validate bad.yaml
says '`reuse` of task `a` has nothing to keep: it has no `outputs`'
printf 'name: bad\ntasks:\n  a: {run: "true", outputs: x, reuse: {}}\n' >bad.yaml
exits 3 cairn validate bad.yaml
says '`reuse` needs `keep`'
cat >def.yaml <<'END'
name: def
defaults: {reuse: {keep: 1h}}
tasks:
  a: {run: 'echo a >>ran.log; echo v=1 >>"$CAIRN_OUTPUT"'}
  b: {run: 'echo b >>ran.log; echo 1 >db', outputs: db}
  c: {run: 'echo c >>ran.log; echo 1 >dc', outputs: dc, reuse: true}
  d: {run: 'echo d >>ran.log; echo 1 >dd', outputs: dd, once: true, check: 'true'}
END
exits 0 cairn run def.yaml
ran >/dev/null
rm db dc dd
exits 0 cairn run def.yaml --fresh
is "$(ran)" 'c d ' 'by defaults those with outputs that may be reused'

# ---- A service is not started for it ----
cat >s.yaml <<'END'
name: s
tasks:
  redis: {run: 'echo redis >>ran.log; touch up; exec sleep 60', service: true, ready: test -e up}
  uses: {needs: redis, run: 'echo uses >>ran.log; echo u >u.out', outputs: u.out, reuse: {keep: 1h}}
END
exits 0 cairn run s.yaml
is "$(ran)" 'redis uses ' 'a task and its service'
rm u.out
exits 0 cairn run s.yaml --fresh
is "$(ran)$(cat u.out)" u 'what needs it is put back, so it is not started'

# ---- Killed in the middle, and begun by two at once ----
rm -rf a.txt d big
cat >slow.yaml <<'END'
name: slow
tasks:
  a: {run: 'echo a >>ran.log; head -c 60000000 /dev/zero | tr "\0" x >s1; echo 1 >s2', outputs: [s1, s2], reuse: {keep: 1h}}
END
exits 0 cairn run slow.yaml
ran >/dev/null
sums=$(sha256sum s1 s2)
echo old >s1 && echo old >s2
cairn run slow.yaml --fresh >/dev/null 2>&1 &
pid=$!
wait_for 20 sh -c 'ls -d .cairn/.cairn-restore-put-* >/dev/null 2>&1'
kill -9 $pid
wait $pid
case $(cat s1 s2 | head -c 8) in
old*) ok 'killed while they are written beside: the old ones are there' [ "$(cat s1 s2)" = 'old
old' ] ;;
*) is "$(sha256sum s1 s2)" "$sums" 'killed after that: the new ones are there' ;;
esac
exits 0 cairn run slow.yaml
is "$(sha256sum s1 s2)" "$sums" 'the next run has them right'
is "$(left)" '' 'and removes what was left'

# ---- A directory of that name that others may write in is not emptied ----
mkdir .cairn-restore-put-ours .cairn-restore-put-theirs
touch .cairn-restore-put-ours/x .cairn-restore-put-theirs/x
chmod 700 .cairn-restore-put-ours
chmod 777 .cairn-restore-put-theirs
exits 0 cairn run slow.yaml --fresh
is "$(left)" './.cairn-restore-put-theirs ' 'of two directories the one that only its owner can write in goes'
ok 'what is in the other stays' [ -f .cairn-restore-put-theirs/x ]

# ---- Directories that may not be written ----
as_user() { # without what lets root write everywhere
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search \
            --inh-caps -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
cat >locked.yaml <<'END'
name: locked
tasks:
  a:
    run: |
      echo a >>ran.log; [ ! -e shut ] || stat -c %a shut >>seen; ls shut >>seen 2>&1 || true
      [ ! -e shut ] || chmod -R u+w shut; rm -rf shut; mkdir -p shut/in to
      echo x >shut/in/f; echo y >to/f; chmod 555 shut/in shut
    outputs: [shut, to/f]
    reuse: {keep: 1h}
END
if ! as_user true 2>err; then
    skip 'directories that may not be written' 'there is no setpriv'
else
    exits 0 as_user cairn run locked.yaml
    ran >/dev/null
    chmod 755 shut/in && echo changed >shut/in/f && chmod 555 shut/in
    exits 0 as_user cairn run locked.yaml --fresh
    is "$(ran)$(cat shut/in/f to/f | tr '\n' ' ') $(stat -c %a shut shut/in | tr '\n' ' ')" 'x y  555 555 ' \
        'one is put back in the place of another one'
    chmod 755 shut && mv shut/in shut/other && chmod 555 shut
    mv to elsewhere && ln -s elsewhere to
    exits 0 as_user cairn run locked.yaml --fresh
    says 'cannot be put back, so it runs: putting back to/f: '
    is "$(ran)" 'a ' 'where not all can be put back the task runs'
    is "$(tail -n 2 seen | tr '\n' ' ')" '555 other ' 'and finds what was there, with its mode'
fi

done_testing
