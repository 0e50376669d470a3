# A need that is only for the order: it is waited for, and that is all.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

flow() { # COMMAND of dir, needs of use
    cat >w.yaml <<END
name: w
tasks:
  dir: {run: "$1; echo dir >>log"}
  use: {needs: $2, run: "mkdir -p d; echo x >d/x; echo use >>log", outputs: d/x}
  then: {needs: use, run: "cat d/x; echo then >>log"}
  last: {needs: then, run: "test -e ready"}
END
}
order='[{task: dir, order: true}]'
flow 'sleep 0.1' "$order"
exits 1 cairn run w.yaml -k
is "$(tr '\n' ' ' <log)" 'dir use then ' 'it was waited for'
flow 'sleep 0.01' "$order"
is "$(planned w.yaml -k)" 'dir last' 'it runs again, and what came after it does not'
exits 0 cairn explain use
says 'completed' 'explain says that it stays'
exits 1 cairn run w.yaml -k
is "$(tr '\n' ' ' <log)" 'dir use then dir ' 'that is what happens'
is "$(planned w.yaml -k)" last 'nothing else changed'
flow 'sleep 0.01' '[]'
is "$(planned w.yaml -k)" last 'a need that was taken away runs nothing again'
exits 1 cairn run w.yaml -k
flow 'sleep 0.02' "$order"
is "$(planned w.yaml -k)" 'dir last' 'nor one that was added'
flow 'sleep 0.01' '[dir]'
is "$(planned w.yaml -k)" 'use then last' 'one that counts does'
exits 0 cairn explain use
says 'needs changed' 'and is named'
flow 'sleep 0.03' "$order"
rm d/x
is "$(planned w.yaml -k)" 'dir use then last' 'both run again'
: >log
exits 1 cairn run w.yaml -k
is "$(tr '\n' ' ' <log)" 'dir use then ' 'and wait for each other'
exits 1 cairn rerun dir -k
is "$(tr '\n' ' ' <log)" 'dir use then dir ' 'rerun takes only it, and what failed'

# When it fails, or is skipped, so does what needs it and has not run.
flow 'exit 1' "$order"
rm d/x
exits 1 cairn run w.yaml -k
run cairn status --tasks
says 'skipped' 'a failed one: what needs it is skipped'
flow 'sleep 0.04' "$order"
exits 1 cairn run w.yaml -k
is "$(tail -n 3 log | tr '\n' ' ')" 'dir use then ' 'then it runs'
flow 'exit 1' "$order"
exits 1 cairn run w.yaml -k
is "$(planned w.yaml -k)" 'dir last' 'what had completed stays, though it fails now'

# Killed while it runs again.
flow 'touch at; while [ ! -e go ]; do sleep 0.02; done' "$order"
: >log
cairn run w.yaml -k >killed 2>&1 &
pid=$!
ok 'it runs' wait_for 20 test -e at
kill -KILL $pid
wait $pid 2>/dev/null
is "$(planned w.yaml -k)" 'dir last' 'what had completed stays'
touch go ready
exits 0 cairn resume
is "$(tr '\n' ' ' <log)" 'dir ' 'it alone ran'

# What such a task made, and the other one has read: it runs again together with it.
mkdir build && cd build || exit 1
cat >w.yaml <<'END'
name: build
tasks:
  header:
    foreach: {n: [1, 2]}
    inputs: ["v$n"]
    run: 'mkdir -p gen; echo "int v$n = $(cat v$n);" >gen/$n.h; echo header $n >>log'
    outputs: ["gen/$n.h"]
  all: {needs: [header], run: 'echo all >>log'}
  cc:
    foreach: {n: [1, 2]}
    needs: [{task: all, order: true}]
    run: 'cat gen/$n.h >$n.o; echo "$n.o: ./x/../gen//$n.h" >$n.d; echo cc $n >>log'
    outputs: ["$n.o"]
    depfile: "$n.d"
  link: {needs: [cc], run: 'cat 1.o 2.o >prog; echo link >>log', outputs: [prog]}
END
sed -i 's/\$n/${n}/g' w.yaml
sed -i 's/inputs: \[.*/inputs: ["v${{ n }}"]/; /outputs\|depfile/s/${n}/${{ n }}/g' w.yaml
mkdir x
echo 1 >v1
echo 1 >v2
exits 0 cairn run w.yaml -j1
echo 2 >v2
: >log
is "$(planned)" 'header[n=2] all cc[n=2] link' 'who has read it runs again'
exits 0 cairn explain 'cc[n=2]'
says 'header[n=2], which it needs, runs again'
exits 0 cairn resume -j1
is "$(tr '\n' ' ' <log)" 'header 2 all cc 2 link ' 'in the same run'
is "$(cat prog)" "$(cat gen/1.h gen/2.h)" 'what is made of it is new, too'
exits 0 cairn resume
says 'nothing to do' 'and nothing is left'
# Killed between the two.
sed -i 's/echo all >>log/&; test ! -e stop || { touch at; sleep 20; }/' w.yaml
touch stop
echo 3 >v1
killed_at at cairn resume -j1
rm stop
exits 0 cairn resume -j1
is "$(cat prog)" "$(cat gen/1.h gen/2.h)" 'and after a kill'
# Outputs that are a directory; what must not run twice is asked about.
cat >tree.yaml <<'END'
name: tree
tasks:
  make: {inputs: [v1], run: 'mkdir -p tree; cp v1 tree/a', outputs: [tree]}
  pay: {needs: {task: make, order: true}, once: true, inputs: [tree/a], run: 'echo pay >>paid'}
END
exits 0 cairn run tree.yaml
echo 4 >v1
run cairn resume
says 'pay' 'it is asked about'
is "$(cat paid)" pay 'and has not run twice'
cd .. || exit 1

# A group, a part, a handler; values are refused.
cat >group.yaml <<'END'
name: group
jobs: 1
tasks:
  g: {foreach: {n: [1, 2], m: [1, 2]}, run: 'echo "$n$m" >>glog; test "$n$m" != "${bad-}"'}
  part: {needs: {task: 'g[n=2]', order: true}, run: 'echo part >>glog'}
  all: {needs: [{task: g, order: true}], run: 'echo all >>glog'}
  handler: {needs: [{task: g, order: true}], when: failed, run: 'echo handler >>glog'}
END
exits 0 cairn run group.yaml
is "$(tail -n 2 glog | sort | tr '\n' ' ')" 'all part ' 'groups and parts of them'
exits 0 env bad=12 cairn run group.yaml --fresh -k
is "$(grep -c 'all\|part' glog)" 3 'a failed member is that of a need'
is "$(grep -c handler glog)" 1 'a handler runs'
cat >values.yaml <<'END'
name: values
tasks:
  a: {run: 'echo n=1 >>"$CAIRN_OUTPUT"'}
  b: {needs: [{task: a, order: true}], exec: [echo, '${{ tasks.a.outputs.n }}']}
END
exits 3 cairn validate values.yaml
says '4:58: task `b` needs `a` only for the order' 'values are refused with their place'
sed -i 's/order: true/order: false/' values.yaml
exits 0 cairn validate values.yaml
printf 'name: v\ntasks:\n  a: {run: x}\n  b: {needs: {task: a, order: true}, run: x}\n  c: {needs: b, run: x, if: "tasks.a.status == 1"}\n' >far.yaml
exits 3 cairn validate far.yaml
says 'does not need' 'also those behind such a need'
printf 'name: v\ntasks:\n  a: {needs: {task: b, order: true}, run: x}\n  b: {needs: a, run: x}\n' >circle.yaml
exits 3 cairn validate circle.yaml
says 'a -> b' 'a circle is one'
printf 'name: v\ntasks:\n  a: {run: x}\n  b: {needs: [a, {task: a, order: true}], run: x}\n' >twice.yaml
exits 3 cairn validate twice.yaml
says 'is needed twice'
printf 'name: v\ntasks:\n  a: {run: x}\n  b: {needs: [{order: true}], run: x}\n' >none.yaml
exits 3 cairn validate none.yaml
says 'a need is a task, or {task: NAME, order: true}'
done_testing
