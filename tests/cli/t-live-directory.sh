# shellcheck shell=sh
# A task has its fingers in cairn's live directory.
. "$TESTS/cli/tap.sh"

hands_in() { # what it does, with $live
    rm -rf .cairn
    cat >flow.yaml <<END
name: w
jobs: 2
tasks:
  bad: {run: "live=.cairn/live; $1; sleep 0.2"}
  beside: {foreach: {n: {range: [1, 5]}}, run: sleep 0.05}
  after: {needs: [bad, beside], run: "true"}
END
    exits 0 cairn run flow.yaml
    says '7 completed' "all tasks complete: $1"
    is "$(ls .cairn/live)" '' 'nothing is left in it'
}

hands_in 'for f in $live/*; do : >$f; done'
hands_in 'for f in $live/*.slots; do truncate -s 1 $f; done'
hands_in 'for f in $live/*.slots; do head -c 4096 /dev/urandom >$f; done'
hands_in 'for f in $live/*.slots; do rm $f; mkfifo $f; done'
hands_in 'rm -f $live/*'

# Who looks at a run sees what can be seen, and the next run finds the processes.
cat >flow.yaml <<'END'
name: w
tasks:
  bad: {run: ": >.cairn/live/run-1.slots; echo >>started; until [ -e go ]; do sleep 0.05; done"}
END
rm -rf .cairn
cairn run flow.yaml >out.first 2>&1 &
first=$!
wait_for 20 test -e started
exits 0 cairn status --tasks
kill -9 $first
wait $first 2>/dev/null
touch go
exits 0 cairn resume
exits 0 cairn checkpoint verify

# What a task writes fast does not stay on the disk until it ends: 400 MB in 2 s.
cat >flow.yaml <<'END'
name: w
tasks:
  flood:
    run: |
      exec 3>&1
      i=0
      while [ $i -lt 40 ]; do
          head -c 10000000 /dev/zero
          sleep 0.05
          stat -L -c %b /proc/self/fd/3 >>blocks
          i=$((i + 1))
      done
END
rm -rf .cairn
exits 0 cairn run flow.yaml
most=$(sort -n blocks | tail -n 1)
ok 'at most 130 MB of its output are on the disk at once' [ $((most * 512)) -lt 130000000 ]
echo "# $((most * 512)) bytes"
done_testing
