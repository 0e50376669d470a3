# shellcheck disable=SC3045 # every shell here has ulimit -H and -S
# More jobs than there are descriptors for: the soft limit is raised to the hard one, which
# tasks do not get; what is still too much waits, and that is said. No task fails of it.
. "$TESTS/cli/tap.sh"

if [ "$(ulimit -H -n)" != unlimited ] && [ "$(ulimit -H -n)" -lt 2000 ]; then
    skip_all 'the hard limit of descriptors is too low here'
fi

# ---- A soft limit ----

cat >soft.yaml <<'YAML'
name: soft
jobs: 300
tasks:
  t:
    foreach: {i: {range: [1, 300]}}
    run: 'touch at-$i; ulimit -S -n >limit-$i; ulimit -H -n >>limit-$i; flock -s all true'
YAML
: >all
exec 8<all
flock 8 # until all of them run
(
    ulimit -S -n 256
    exec 8<&-
    exec env --default-signal=INT,QUIT cairn run soft.yaml
) >run.out 2>run.err &
pid=$!
# shellcheck disable=SC2010 # the names are plain
all_run() { [ "$(ls | grep -c '^at-')" -eq 300 ]; }
ok 'as many run at once as are asked for' wait_for 60 all_run
exec 8<&-
wait $pid
is "$?" 0 'and all of them complete'
is "$(cat limit-* | sort -u)" "$(printf '256\n%s\n' "$(ulimit -H -n)" | sort)" \
    'tasks have the limits that cairn was started with'
is "$(grep -c "not enough descriptors" run.err)" 0 'nothing needs to be said'
rm -f at-* limit-* all

# ---- A hard one ----

cat >hard.yaml <<'YAML'
name: hard
jobs: 300
tasks:
  t: {foreach: {i: {range: [1, 400]}}, run: 'sleep 0.1; echo $i; echo $i >&2; echo $i >>ran', check: 'true'}
YAML
hard() { # NUMBER, FILE: with so few descriptors
    run sh -c 'ulimit -n "$1"; exec cairn run --fresh "$2"' sh "$@"
    is "$status" 0 "with $1 descriptors $2 completes"
}
hard 256 hard.yaml
matches 'at most [0-9]+ of 300 jobs .*descriptors' 'that fewer run at once is said'
is "$(sort -u ran | grep -c .)" 400 'all of them have run'
rm -f ran
hard 1024 hard.yaml
is "$(sort -u ran | grep -c .)" 400 'also with more'
sed 's/^name: .*/name: kept\non_crash: adopt/' hard.yaml >kept.yaml
rm -f ran
hard 256 kept.yaml
is "$(sort -u ran | grep -c .)" 400 'under keepers, too'
sed 's/^name: .*/name: secret\nsecrets: [TOKEN]/' hard.yaml >secret.yaml
rm -f ran
export TOKEN=not-to-be-told
hard 256 secret.yaml
is "$(sort -u ran | grep -c .)" 400 'and with secrets'

# One job needs few, and gets them.
cat >one.yaml <<'YAML'
name: one
jobs: 1
tasks: {a: {run: 'echo a'}}
YAML
hard 64 one.yaml
silent_on out
is "$(grep -c "not enough descriptors" err)" 0 'one job is as many as were asked for'

done_testing
