# The definition of a run is lost: its states are numbers of tasks that nothing names. With
# the workflow's file as it was the run continues; without it, damage is said, and the way out.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db
definition='WHERE digest IN (SELECT graph FROM run)'

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: echo a >>ran}
  b: {run: 'echo b >>ran; test -e go', needs: a}
  c: {run: echo c >>ran, needs: b}
END
exits 1 cairn run w.yaml
cp -r .cairn sound
for damage in "DELETE FROM object $definition" "UPDATE object SET data = flip(data, 9) $definition"; do
    rm -rf .cairn go
    cp -r sound .cairn
    "$sql" $db "$damage"
    exits 5 cairn doctor
    says "go on only with the workflow's file as it was" "doctor says what that means ($damage)"
    for when in before after; do # a repair
        exits 5 cairn status
        says 'cairn run FILE --fresh' "a command that needs it names the way out ($when a repair)"
        mv w.yaml away.yaml
        exits 5 cairn resume
        says "run 1 continues only with the workflow's file as it was"
        sed 's/echo c/echo edited; &/' away.yaml >w.yaml
        exits 5 cairn resume
        says 'file as it was' 'nothing can be compared with an edited file'
        exits 5 cairn plan
        says 'file as it was' 'which plan says, too'
        mv away.yaml w.yaml
        [ $when = after ] || exits 5 cairn doctor --repair
    done
    : >ran
    touch go
    is "$(planned)" b 'plan: with the file as it was'
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'b c ' 'which continues where it was'
    exits 0 cairn status
    exits 0 cairn doctor
done
"$sql" $db "DELETE FROM object $definition"
sed 's/echo c/echo edited; &/' w.yaml >x && mv x w.yaml
exits 5 cairn resume
exits 0 cairn run w.yaml --fresh
says 'run 2' 'from the beginning'
done_testing
