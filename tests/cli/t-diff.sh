# `cairn diff`: what differs between two runs.
. "$TESTS/cli/tap.sh"

cat >w.yaml <<'EOF'
name: w
on_failure: continue
params: {n: {default: "3"}}
tasks:
  a: {run: 'echo $n >a.txt; echo v=$n >>"$CAIRN_OUTPUT"', outputs: [a.txt]}
  b: {run: 'test $n = 3', needs: [a]}
  c: {run: 'echo c', needs: [b]}
  many: {foreach: {i: [1, 2, 3]}, run: 'echo $i'}
EOF
exits 10 cairn diff
exits 0 cairn run w.yaml
exits 10 cairn diff
says 'there is no run of w before run 1: give both runs'
sed -i 's/echo c/echo other/; s/1, 2, 3/2, 3, 4/' w.yaml
exits 1 cairn run w.yaml --param n=4
cat >wanted <<'EOF'
param n: 3 -> 4
~ a
    value v: 3 -> 4
    output a.txt: 2 bytes, sha256 1121cfccd591 -> 2 bytes, sha256 7de1555df0c2
~ b
    state: completed -> failed
    exit: none -> 1
~ c
    state: completed -> skipped
    definition command: echo c -> echo other
- many[i=1]  completed
+ many[i=4]  completed
runs 1 (completed) and 2 (failed) of w: 3 tasks changed, 1 added, 1 removed, 2 the same
EOF
exits 0 cairn diff
ok 'the newest run and the one before' cmp -s wanted out
exits 0 cairn diff 1 2
ok 'two that are named' cmp -s wanted out
exits 0 cairn diff w.yaml
ok 'the newest one of a file' cmp -s wanted out
exits 0 cairn diff 2 1 --stat
is "$(cat out)" 'runs 2 (failed) and 1 (completed) of w: 3 tasks changed, 1 added, 1 removed, 2 the same' 'counts alone'
exits 0 cairn diff 1 1
is "$(cat out)" 'runs 1 (completed) and 1 (completed) of w: 0 tasks changed, 0 added, 0 removed, 6 the same' 'with itself'
exits 0 cairn diff --json
json_ok 'diff --json'
says '{"task":"c","change":"changed","fields":[{"field":"state","name":null,"from":"completed","to":"skipped"},{"field":"definition","name":"command","from":"echo c","to":"echo other"}]}'
says '"changed":3,"added":1,"removed":1,"same":2}'
exits 0 cairn diff --json --stat
is "$(cat out)" '{"from":{"run":1,"workflow":"w","state":"completed"},"to":{"run":2,"workflow":"w","state":"failed"},"changed":3,"added":1,"removed":1,"same":2}' 'counts alone, as JSON'

# ---- Attempts, other workflows, texts that are harmful or long ----
cat >slow.yaml <<'EOF'
name: slow
tasks:
  t: {run: 'test -e tried || { : >tried; exit 1; }', retries: 1}
  u: {run: 'printf "text<<E\n%s\nE\n" "$(cat words)" >>"$CAIRN_OUTPUT"'}
EOF
: >tried
echo one >words
exits 0 cairn run slow.yaml
rm tried
printf 'two\033[31m\nlines %0100d\n' 7 >words
exits 0 cairn run slow.yaml
exits 0 cairn diff
says '    attempts: 1 -> 2' 'tried again'
matches '^    value text: one -> two\^\[\[31m lines 0+…$' 'the beginning of a text, in one line'
exits 0 cairn diff 1 4
says 'run 1 of w (completed) and run 4 of slow (completed): 0 tasks changed, 2 added, 6 removed, 0 the same'
exits 10 cairn diff 1 99
exits 2 cairn diff 1 x
exits 2 cairn diff 1 2 3

# ---- A run without records, and one that runs ----
cat >live.yaml <<'EOF'
name: live
tasks:
  s: {run: 'until test -e go; do sleep 0.05; done'}
EOF
: >go
exits 0 cairn run live.yaml
rm go
cairn run live.yaml >/dev/null 2>&1 &
running() { cairn status --line | grep -q '1 running'; }
wait_for 20 running
exits 0 cairn diff
says '    state: completed -> running' 'one that runs'
: >go
wait
done_testing
