# cairn log of groups, patterns, --all and --failed; --follow of several.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: logs
on_failure: continue
tasks:
  one: {run: 'echo from one; echo err one >&2'}
  conv: {foreach: {n: [1, 2, 3]}, run: 'echo conv $n; test $n != 2'}
  silent: {run: 'true'}
  after: {needs: conv, run: 'true'}
END2
exits 1 cairn run flow.yaml
exits 0 cairn log conv
is "$(cat out)" '==> conv[n=1] <==
conv 1

==> conv[n=2] <==
conv 2

==> conv[n=3] <==
conv 3' 'a group'
exits 0 cairn log 'conv[n=1]'
is "$(cat out)" 'conv 1' 'a member alone is as before'
exits 0 cairn log 'conv[n=3]' one
is "$(grep -c '==>' out) $(sed -n 2,3p out)" '2 from one
err one' 'two, in the order of the file'
exits 0 cairn log 'conv[n=3]' one --stdout
says 'one has one log of stdout and stderr' 'of which there is no stdout'
exits 0 cairn log 'o*' 'conv[n=?]'
is "$(grep -c '==>' out)" 4 'patterns'
exits 0 cairn log --all
is "$(grep -c '==>' out)" 5 '--all: what has started'
says 'err one'
exits 0 cairn log --failed
is "$(cat out)" '==> conv[n=2] <==
conv 2' '--failed'
exits 0 cairn log one --failed
is "$(cat out)" '' 'none of these has failed'
says 'no such task of run 1 has failed'
exits 0 cairn log conv --json
json_ok 'log of a group --json'
is "$(json_get '.logs[1].task')" 'conv[n=2]' 'its tasks'
is "$(json_get '.logs[1].log.text')" 'conv 2\n' 'what each wrote'
exits 10 cairn log noe one
says 'did you mean one?'
exits 10 cairn log 'x*'
exits 2 cairn log --all one
exits 2 cairn log conv --attempt 1
exits 2 cairn log --follow
exits 0 cairn log --all --follow
is "$(grep -c '^conv\[n=[123]\] | conv [123]$' out) $(grep -c '^one | ' out)" '3 2' '--follow of a run that has ended'

# A task that has become a group: the present definition says what the name means.
echo "{name: turn, tasks: {x: {run: 'echo plain; exit 1'}}}" >turn.yaml
exits 1 cairn run turn.yaml
echo "{name: turn, tasks: {x: {foreach: {n: [1, 2]}, run: 'echo member \$n'}}}" >turn.yaml
exits 0 cairn resume turn.yaml
exits 0 cairn log x
is "$(cat out)" '==> x[n=1] <==
member 1

==> x[n=2] <==
member 2' 'the group that the task has become'

cat >slow.yaml <<'END2'
name: slow
tasks:
  a: {run: 'echo a1; until test -e go; do sleep 0.05; done; echo a2'}
  b: {needs: a, run: 'echo b1'}
END2
cairn run slow.yaml >run.out 2>&1 &
pid=$!
begun() { cairn log a 2>/dev/null | grep -q a1; }
ok 'it runs' wait_for 20 begun
cairn log --all --follow >followed 2>&1 &
follower=$!
ok 'a line comes while it runs' wait_for 20 grep -q '^a | a1$' followed
touch go
wait $pid
wait $follower
is $? 0 'following ends with the run'
is "$(cat followed)" 'a | a1
a | a2
b | b1' 'each line once, also of what started later'

# ---- Of a task whose undo failed, the undo ----
cat >undo.yaml <<'END2'
name: undo
tasks:
  good: {run: 'echo made good', undo: 'echo cannot remove >&2; false'}
  bad: {needs: good, run: 'echo made half; false', undo: 'true'}
on_failure: {undo: all}
END2
exits 1 cairn run -q undo.yaml --fresh
exits 0 cairn log --failed
is "$(cat out)" '==> undo of good <==
cannot remove

==> bad <==
made half' '--failed: the output of the undo that failed'
exits 0 cairn log --failed good
is "$(sed -n 2p out)" 'cannot remove' 'of one task'
exits 0 cairn log --failed --follow
is "$(cat out)" 'good | cannot remove
bad | made half' '--follow, too'
exits 0 cairn log --failed --json
json_ok 'log --failed --json with an undo'
is "$(json_get '.logs[0].log.text') $(json_get '.logs[0].undo') $(json_get '.logs[0].attempt')" 'cannot remove\n true 2' 'and JSON'
is "$(json_get '.logs[1].log.text') $(json_get '.logs[1].undo')" 'made half\n false' 'of the other its own'
exits 0 cairn log --all
is "$(sed -n 2p out)" 'made good' '--all: what the task wrote'

done_testing
