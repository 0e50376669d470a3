# shellcheck shell=sh
# System calls that a sandbox refuses, although cairn can do without them.
. "$TESTS/cli/tap.sh"
refuse=$BUILD/tests/tools/refuse

"$refuse" getrandom=ENOSYS true || skip_all 'system calls cannot be refused here'

cat >flow.yaml <<'END'
name: w
secrets: [WORD]
tasks:
  a: {secrets: [WORD], retries: {max: 2, jitter: true, delay: 10ms}, run: 'echo $WORD; mkdir first 2>/dev/null && exit 1; echo x=1 >>$CAIRN_OUTPUT'}
  b: {needs: [a], run: 'echo ${CAIRN_TOKEN:+has} a token'}
END
export WORD=quite-a-secret
for error in ENOSYS EPERM; do
    rm -rf .cairn first
    exits 0 "$refuse" getrandom=$error cairn run flow.yaml
    says '2 completed' "all tasks complete without getrandom ($error)"
    exits 0 cairn checkpoint verify
done

# Neither from getrandom nor from /dev/urandom: nothing is made that could be guessed.
if unshare -m sh -c 'mount --bind /dev/null /dev/urandom' 2>/dev/null; then
    rm -rf .cairn first
    # shellcheck disable=SC2016
    exits 75 unshare -m sh -c 'mount --bind /dev/null /dev/urandom && exec "$0" getrandom=ENOSYS cairn run flow.yaml' "$refuse"
    says 'random' 'it says what is missing'
    exits 0 cairn run flow.yaml
    rm -rf first
    exits 75 unshare -m sh -c 'mount --bind /dev/null /dev/urandom && exec "$0" getrandom=EPERM cairn run flow.yaml' "$refuse"
    exits 0 cairn checkpoint verify
else
    skip 'no random numbers at all' 'mounting is not allowed here'
fi

# The guard and the keepers are programs without a name in the file system.
sleepy() { # what else is in the file
    cat >flow.yaml <<END
name: w
$1
tasks:
  a: {run: "echo \$\$ >pid; exec sleep 1000.$$"}
END
}
for error in ENOSYS EPERM; do
    rm -rf .cairn pid
    sleepy ''
    "$refuse" execveat=$error cairn run flow.yaml >out 2>err &
    owner=$!
    ok "a task starts without execveat ($error)" wait_for 20 test -s pid
    kill -9 $owner
    wait $owner 2>/dev/null
    gone() { ! lives "sleep 1000.$$"; }
    ok "the guard ends it ($error)" wait_for 20 gone

    rm -rf .cairn pid
    sleepy 'on_crash: adopt'
    "$refuse" execveat=$error cairn run flow.yaml >out 2>err &
    owner=$!
    ok "a task starts under a keeper ($error)" wait_for 20 test -s pid
    kill -9 $owner
    wait $owner 2>/dev/null
    ok "the task outlives cairn ($error)" lives "sleep 1000.$$"
    exits 0 cairn cancel
    ok "it can be cancelled ($error)" wait_for 20 gone
    rm -rf .cairn
    exits 0 "$refuse" execveat=$error memfd_create=$error sh -c 'sed -i "s/exec sleep.*\"/true\"/" flow.yaml && exec cairn run flow.yaml'
done

# The end of a task is looked for in /proc where waitid is refused; without it a keeper
# would wait for ever.
cat >flow.yaml <<'END'
name: w
on_crash: adopt
tasks:
  a: {run: "exit 3"}
END
for error in ENOSYS EPERM; do
    rm -rf .cairn
    exits 1 timeout -s KILL 60 "$refuse" waitid=$error cairn run flow.yaml
    says 'exit 3' "a keeper learns how its task ended without waitid ($error)"
done
# A file system without holes: what a running task writes cannot be bounded, which is said.
cat >flow.yaml <<'END'
name: w
tasks:
  a: {run: "yes | head -c 40000000; touch at; while [ ! -e go ]; do sleep 0.02; done"}
END
rm -rf .cairn at go
"$refuse" fallocate=EOPNOTSUPP cairn run flow.yaml >out 2>err &
owner=$!
ok 'a task writes much' wait_for 20 test -e at
told() { grep -q 'takes ever more room' err; }
ok 'that it cannot be bounded is said' wait_for 20 told
touch go
wait $owner
is "$?" 0 'and nothing fails of it'
is "$(grep -c 'takes ever more room' err)" 1 'it is said once'

done_testing
