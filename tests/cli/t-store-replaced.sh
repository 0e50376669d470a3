# The store of a live run is removed, or moved with its project, and a new run begins in
# its place: the old one stops, and nothing of it reaches the new one.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE # each project has its own
write_flows() {
    cat >old.yaml <<'END'
name: w
tasks:
  a:
    run: |
      write() {
          until test -e began.new; do sleep 0.05; done
          echo v=from-the-old-run >>"$CAIRN_OUTPUT"
          touch wrote
      }
      trap 'write; exit 0' TERM
      touch began.old
      until test -e go; do sleep 0.05; done
      write
  b: {needs: [a], run: echo b >>old.ran}
END
    cat >new.yaml <<'END'
name: w
tasks:
  a:
    run: |
      echo v=from-the-new-run >>"$CAIRN_OUTPUT"
      touch began.new
      until test -e wrote; do sleep 0.05; done
  b: {needs: [a], exec: [sh, -c, 'echo "$1" >got', sh, "${{ tasks.a.outputs.v }}"]}
END
}

mkdir removed
cd removed || exit 1
write_flows
timeout 60 cairn run old.yaml >old.out 2>&1 &
old=$!
wait_for 30 test -e began.old
rm -r .cairn
timeout 60 cairn run new.yaml >new.out 2>&1 &
new=$!
wait_for 30 test -e began.new
touch go # for an owner that has not noticed
wait $new
is $? 0 'the new run completes'
wait $old
is $? 5 'the owner of the store that was removed stops with 5'
ok 'and says why' grep -q 'removed or replaced' old.out
is "$(cat got)" from-the-new-run 'the new run has the values of its own task'
is "$(cat old.ran 2>/dev/null)" '' 'the old one starts nothing more'
exits 0 cairn status 1 --tasks
says 'completed' 'the new run is as it was'
exits 0 cairn checkpoint verify
exits 0 cairn run --fresh new.yaml
cd ..

# The new task sets no value, and ends while the old one, which has written its own, lives.
mkdir silent
cd silent || exit 1
cat >w.yaml <<'END'
name: w
params: {who: old}
tasks:
  a:
    run: |
      trap '' TERM
      touch began.$who
      test $who = old || { until test -e wrote; do sleep 0.05; done; exit 0; }
      until test -e began.new; do sleep 0.05; done
      echo v=from-the-old-run >>"$CAIRN_OUTPUT"
      touch wrote
      until test -e ended; do sleep 0.05; done
  b:
    needs: [a]
    exec: [sh, -c, 'echo "$1" >got', sh, "${{ default(tasks.a.outputs.v, 'none') }}"]
END
timeout 60 cairn run w.yaml >old.out 2>&1 &
old=$!
wait_for 30 test -e began.old
rm -r .cairn
exits 0 timeout 60 cairn run w.yaml --param who=new
is "$(cat got)" none 'a value of the old run is none of the new one'
touch ended
wait $old
is $? 5 'the owner of the removed store stops with 5, though its task ignores SIGTERM'
cd ..

# The project is moved while a run lives: the run stops, and continues where it is now.
mkdir here
cd here || exit 1
cat >w.yaml <<'END'
name: w
tasks:
  first: {run: echo first >>ran}
  long: {needs: [first], run: "echo long >>ran; touch began; test -e go || sleep 60"}
END
timeout 60 cairn run w.yaml >../moved.out 2>&1 &
old=$!
wait_for 30 test -e began
cd ..
mv here there
wait $old
is $? 5 'an owner whose project was moved stops'
ok 'and says so' grep -q 'removed or replaced' moved.out
cd there || exit 1
touch go
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'first long long ' 'it continues where it is now'
cd ..

# A task that outlives cairn writes its values by path. If the store has been moved
# meanwhile they are nowhere, and the task has not completed.
mkdir kept
cd kept || exit 1
cat >w.yaml <<'END'
name: w
on_crash: adopt
tasks:
  a:
    run: |
      echo a >>ran
      until test -e go; do sleep 0.05; done
      echo v=here >>"$CAIRN_OUTPUT"
      touch wrote
  b: {needs: [a], exec: [sh, -c, 'echo "$1" >got', sh, "${{ tasks.a.outputs.v }}"]}
END
cairn run w.yaml >../kept.out 2>&1 &
old=$!
wait_for 30 test -e ran
kill -9 $old
wait $old
mv .cairn moved
mkdir -p .cairn/live # another one
touch go
wait_for 30 test -e wrote
exits 0 cairn resume --store moved
is "$(cat got)" here 'what is missing is made again'
cd ..

# ---- The store goes away while an input is read ----
# Its look continues, or is over when that is noticed: nobody waits for the task.
reads() { # FILE: has cairn ($old) the file open?
    # shellcheck disable=SC2010 # the names are those of descriptors
    ls -l "/proc/$old/fd" 2>/dev/null | grep -q "$1"
}
for size in 1T 1G; do
    mkdir "reads-$size"
    cd "reads-$size" || exit 1
    cat >w.yaml <<'END'
name: w
tasks:
  a: {run: 'true'}
finally:
  f: {run: echo f >>ran, inputs: [big]}
END
    if truncate -s $size big 2>/dev/null; then
        cairn run w.yaml >old.out 2>&1 &
        old=$!
        ok "an input of $size is being read" wait_for 20 reads big
        mv .cairn moved
        gone() { ! kill -0 $old 2>/dev/null; }
        ok 'without its store the run ends' wait_for 60 gone
        kill -9 $old 2>/dev/null
        wait $old
        is $? 5 'and says that it is damaged'
        is "$(cat ran 2>/dev/null)" '' 'the task does not start'
    else
        skip "an input of $size" 'no such sparse files here'
    fi
    cd ..
done

# ---- What is left of a store that was removed is in nobody's way ----
cat >left.yaml <<'END'
name: left
on_crash: adopt
tasks:
  a: {run: 'echo $$ >pid; sleep 20'}
END
export CAIRN_STORE="$PWD/left"
cairn run left.yaml >out 2>err &
owner=$!
wait_for 10 test -s pid
kill -9 $owner
wait $owner 2>wait.err
ls "$CAIRN_STORE"/live/*.keep >keeps
is "$(wc -l <keeps)" 1 'the file of an attempt is there'
find "$CAIRN_STORE" -type f ! -name '*.keep' -delete
kill "$(cat pid)" # its keeper ends then
sed -i 's/sleep 20/true/' left.yaml
exits 0 cairn run left.yaml
says 'created a store' 'a new store'
done_testing
