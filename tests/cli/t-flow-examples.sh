# The examples of docs/guide-flow.md do what they say: conditional, try and catch,
# parallel, gates, undo, and a workflow of external steps driven from a shell loop.
. "$TESTS/cli/tap.sh"
mkdir flow && cp "$root"/examples/flow/*.yaml flow && cd flow || exit 1

for file in *.yaml; do
    exits 0 cairn validate "$file"
    ok "$file: without a warning" sh -c '! grep -q warning err'
done

# counts STATE COMPLETED FAILED SKIPPED: of the newest run
counts() {
    run cairn status --json
    is "$(json_get .state) $(json_get .completed) $(json_get .failed) $(json_get .skipped)" "$*" \
        "the run: state, completed, failed, skipped"
}
# wrote FILE WORD...: the lines of a file, in this order
wrote() {
    tap_file_name=$1
    shift
    is "$(cat "$tap_file_name" 2>/dev/null)" "$(printf '%s\n' "$@")" "what $tap_file_name says"
}

# ---- Conditional: four ways ----
taken() { # WORD...: what was taken, in any order, and the join after it
    is "$(sed '$d' taken.txt | sort | tr '\n' ' ')" "$1 " 'the branches that were taken'
    is "$(tail -n 1 taken.txt)" "$2" 'the join comes last and knows which'
    rm -f taken.txt
}
exits 0 cairn run conditional.yaml
taken 'else small' 'join, small is true'
counts completed 4 1 2
is "$(task_state probe)" failed 'the failure that was taken care of is still told'
exits 0 cairn resume
says 'nothing to do' 'but there is nothing left to do'
ok 'and nothing ran' test ! -e taken.txt
exits 0 cairn run conditional.yaml --param rows=500 --param installed=true
taken 'large then' 'join, small is false'
counts completed 5 0 2
exits 0 cairn run conditional.yaml --param rows=100
taken 'else large' 'join, small is false'
exits 0 cairn run conditional.yaml --param rows=99 --param installed=true
taken 'small then' 'join, small is true'
exits 2 cairn run conditional.yaml --param rows=many
says 'rows' 'a parameter of the wrong type is named'
ok 'and nothing ran' test ! -e taken.txt

# ---- Try, catch, finally: three ways ----
exits 0 cairn run trycatch.yaml
wrote log.txt caught after 'finally, the run has completed'
counts completed 3 1 0
rm log.txt
exits 0 cairn run trycatch.yaml --param works=true
wrote log.txt after 'finally, the run has completed'
counts completed 3 0 1
rm log.txt
exits 1 cairn run trycatch.yaml --param rescue=false
wrote log.txt after 'finally, the run has failed'
counts failed 2 2 0
rm log.txt

# ---- Parallel: all at once, and one that fails ----
exits 0 cairn run parallel.yaml
wrote joined.txt a b c d
exits 1 cairn run parallel.yaml --param bad=c
says 'part[who=c]' 'the member that failed is named'
ok 'the join was skipped' test ! -e joined.txt
counts failed 4 1 1

# ---- Gates ----
exits 0 cairn run gate.yaml
wrote published.txt 'Guten Tag'
rm published.txt
exits 0 cairn run gate.yaml --param confidence=0.8
says '80 %' 'a confidence below the warning is told'
wrote published.txt 'Guten Tag'
rm published.txt
exits 0 cairn run gate.yaml --param confidence=0.85
exits 0 cairn run gate.yaml --param confidence=0.7
wrote published.txt 'Guten Tag'
rm published.txt
exits 1 cairn run gate.yaml --param confidence=0.699
says '69 %' 'a confidence below the least is told'
counts failed 0 1 1
ok 'nothing was built on it' test ! -e published.txt
exits 1 cairn run gate.yaml --param confidence=1.5
exits 2 cairn run gate.yaml --param confidence=high

# ---- Undo ----
exits 1 cairn run undo.yaml
number=$(cairn status --json | sed -n 's/.*"run":\([0-9]*\),.*/\1/p')
wrote ledger.txt audit reserve charge 'undo ship' 'undo charge' 'undo reserve'
is "$(task_state audit) $(task_state reserve) $(task_state charge) $(task_state ship)" \
    'completed undone undone failed' 'what was taken back is told'
rm ledger.txt
touch stock
exits 0 cairn resume
wrote ledger.txt reserve charge ship
rm ledger.txt
exits 0 cairn undo "$number"
is "$(grep -v audit ledger.txt)" "$(printf 'undo %s\n' ship charge reserve)" 'all is undone, the last first'
is "$(grep -c 'undo audit' ledger.txt)" 1 'also what was not needed'
rm ledger.txt
exits 0 cairn resume
is "$(sort ledger.txt | tr '\n' ' ')" 'audit charge reserve ship ' 'undone tasks run again'

# ---- External steps ----
cd .. && mkdir external && cp "$root"/examples/external/* external && cd external || exit 1
exits 7 cairn run --no-wait workflow.yaml
number=$(cairn status --json | sed -n 's/.*"run":\([0-9]*\),.*/\1/p')
exits 0 cairn next --json
json_ok 'the next step is JSON'
says '"task":"outline"' 'the first step can be taken'
says 'outline of the handbook on Cairns' 'its text has the values in it'
ok 'it is the only one' sh -c '! grep -q "write\[" out'
exits 0 cairn claim "$number" outline --lease 4s
first=$(cat out)
exits 6 cairn claim "$number" outline --lease 10m
ok 'what was claimed is not offered' sh -c "! cairn next --json | grep -q '\"task\":\"outline\"'"
again() { cairn claim "$number" outline --lease 10m >second 2>err; }
ok 'it is again when the lease is over' wait_for 10 again
exits 6 cairn complete "$number" outline --token "$first" --output file=late.md
exits 6 cairn complete "$number" outline --output file=late.md
exits 2 cairn claim "$number" publish --lease 10m
exits 0 cairn complete "$number" outline --token "$(cat second)" --output file=outline.md
run cairn fail "$number" outline --token "$first" --message late
ok 'what was completed cannot be failed by a late holder' test "$status" -ne 0
exits 7 cairn run --no-wait workflow.yaml
exits 0 cairn next --json
says 'along the outline outline.md' 'what was answered reaches the next steps'
exits 0 ./drive.sh ./worker.sh
is "$(sort done.txt | tr '\n' ' ')" 'publish review write[chapter=one] write[chapter=two] ' \
    'the loop did the rest, each step once'
counts completed 5 0 1
rm done.txt

# Two loops beside each other; the other verdict.
export VERDICT=reject
exits 7 cairn run --no-wait workflow.yaml
./drive.sh ./worker.sh >one.out 2>one.err &
other=$!
run ./drive.sh ./worker.sh
one=$status
wait "$other"
is "$one $?" '0 0' 'two loops end well'
is "$(sort done.txt | tr '\n' ' ')" 'outline review revise write[chapter=one] write[chapter=two] ' \
    'each step was done once'
counts completed 5 0 1
rm done.txt

# A step that fails stops the loop; going on takes just that step again.
sed 's/^review).*/review) test -e mended \&\& echo "{\\"verdict\\": \\"approve\\"}" ;;/' worker.sh >picky.sh
chmod +x picky.sh
exits 7 cairn run --no-wait workflow.yaml
exits 1 ./drive.sh ./picky.sh
is "$(task_state review)" failed 'the step has failed'
run cairn status
matches 'review .*exit 1' 'with how its worker ended'
touch mended
exits 0 ./drive.sh ./picky.sh
is "$(sort done.txt | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" \
    '1 outline 1 publish 2 review 1 write[chapter=one] 1 write[chapter=two] ' \
    'only the failed step was done twice'

done_testing
