# Projects that are moved or copied with their store: what continues is the one that is
# here, and nothing that was done is done again.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE # each project has its own
mkdir -p first/flows
cd first || exit 1
mkdir .cairn
cat >flows/w.yaml <<'END'
name: w
tasks:
  t: {foreach: {i: {range: [1, 20]}}, run: "echo $i >>ran; touch o.$i", outputs: ["o.${{ i }}"]}
  e: {needs: [t], run: "pwd >>where; echo e >>ran; test -e mended"}
END
exits 1 cairn run flows/w.yaml
is "$(wc -l <flows/ran)" 21 'all have run'
cd ..

# Moved.
mv first second
cd second || exit 1
exits 0 cairn plan
says 'started from' 'it is said where the file is now'
is "$(planned)" e 'moved: only what had failed'
exits 0 cairn status
says "$PWD/flows/w.yaml" 'the file is named where it is'
exits 0 cairn status flows/w.yaml
exits 0 cairn runs --json
is "$(json_get '.runs[0].file')" "$PWD/flows/w.yaml" 'in the list of runs, too'
touch flows/mended
exits 0 cairn resume flows/w.yaml
ok 'nothing is said of another place' sh -c '! grep -q "continues there" err'
exits 0 cairn plan
says 'cairn run flows/w.yaml' 'what begins a new run is the file that is here'
is "$(tail -n 1 flows/where)" "$PWD/flows" 'and it runs where it is now'
is "$(wc -l <flows/ran)" 22 'nothing else ran again'
exits 0 cairn resume
says 'nothing to do'
cd ..

# Copied: the copy does not touch what it is a copy of.
cp -r second third
cd third || exit 1
rm flows/o.7
sed -i 's/echo e /echo edited /' flows/w.yaml
is "$(planned)" 't[i=7] e' 'copied: what is missing here, and what was edited here'
exits 0 cairn resume
is "$(tail -n 1 flows/where)" "$PWD/flows" 'it runs in the copy'
is "$(tail -n 2 flows/ran | tr '\n' ' ')" '7 edited ' 'in the form that it has there'
is "$(wc -l <../second/flows/ran)" 22 'the first one is as it was'
cd ..
rm -r second

# Moved again, from where an earlier run began.
mv third fourth
cd fourth || exit 1
is "$(planned)" '' 'moved twice: nothing to do'
exits 0 cairn run --fresh flows/w.yaml
cd ..
mv fourth fifth
cd fifth || exit 1
is "$(planned)" '' 'the newest run'
is "$(planned --run 1)" '' 'and the first one'
cd ..

# The store is elsewhere, and the directory of the workflow is gone.
mkdir away
cp fifth/flows/w.yaml away/
CAIRN_STORE=$PWD/kept
export CAIRN_STORE
touch away/mended
exits 0 cairn run away/w.yaml
mv away gone
exits 10 cairn resume
says "$PWD/away" 'what is gone is named'
says 'cairn run FILE' 'and what helps'
exits 0 cairn status --json
is "$(json_get .completed)" 21 'what was done stays done'
mv gone away
exits 0 cairn resume
says 'nothing to do'

# What is undone, where the project is now: of a task that had completed before, and of one
# in a directory of its own.
unset CAIRN_STORE
mkdir undone undone/.cairn undone/sub
cd undone || exit 1
cat >w.yaml <<'END'
name: w
tasks:
  a: {run: touch a.made, undo: "pwd >>undone; rm a.made"}
  b: {needs: [a], cwd: sub, run: touch b.made, undo: "pwd >>../undone; rm b.made"}
  c: {needs: [b], run: "false"}
END
exits 1 cairn run w.yaml
cd ..
cp -r undone aside
mv undone moved
cd moved || exit 1
exits 0 cairn undo 1
is "$(tr '\n' ' ' <undone)" "$PWD/sub $PWD " 'undo runs where the project was moved to'
ok 'and takes back what the tasks made' test ! -e a.made -a ! -e sub/b.made
cd ..
mv moved undone
cd aside || exit 1
exits 0 cairn undo 1
is "$(tr '\n' ' ' <undone)" "$PWD/sub $PWD " 'in a copy it takes back what is there'
is "$(wc -l <../undone/undone)" 2 'and leaves the first one alone'

# Also while a run continues.
cat >w.yaml <<'END'
name: later
on_failure: {undo: all}
tasks:
  a: {run: touch a.made, undo: "pwd >>later; rm a.made"}
  b: {needs: [a], run: "touch at-b; while [ -e wait ]; do sleep 0.05; done; false"}
END
touch wait
killed_at at-b cairn run w.yaml
cd ..
mv aside further
cd further || exit 1
rm wait
exits 1 cairn resume
is "$(cat later)" "$PWD" 'a run that continues elsewhere undoes there what it did before'
cd ..


# ---- A copy whose .cairn is a link to the store of the original ----
unset CAIRN_STORE
top=$(pwd -P)
mkdir -p linked data/store
ln -s "$top/data/store" linked/.cairn
printf 'name: linked\ntasks:\n  a: {run: test -e go}\n' >linked/flow.yaml
(cd linked && cairn run flow.yaml) >out 2>err
cp -a linked copied
touch linked/go
(cd copied && cairn resume) >out 2>err
says "run 1 is one of $top/linked, and continues there" 'where it continues is said'
cd "$top" || exit 1

# ---- What is printed of a run names the file that it continues with here ----
# names_here [FILE]: the last output names nothing of the original, and FILE if given.
names_here()
{
    ok "$tap_name: names nothing of the original" test -z "$(cat out err |
        grep -v 'was started from' | grep "$top/origin")"
    [ $# = 0 ] || says "$1" "$tap_name: but the file here"
}
mkdir -p origin/.cairn
printf 'name: w\ntasks:\n  a: {run: "date +%%s%%N >made; pwd", outputs: made}\n' \
    >origin/w.yaml
(cd origin && cairn run w.yaml) >out 2>err
cp -a origin replica
was=$(cat origin/made)
cd replica || exit 1
exits 0 cairn plan
names_here '`cairn run w.yaml --fresh` begins a new run'
exits 0 cairn status
names_here "file        $top/replica/w.yaml"
exits 0 cairn status w.yaml
names_here
exits 0 cairn status --json
is "$(json_get .file)" "$top/replica/w.yaml" 'so does JSON'
exits 0 cairn plan w.yaml
names_here 'run 1 of this file is completed'
exits 0 cairn doctor
names_here
exits 0 cairn explain a
names_here
exits 0 cairn rerun a
names_here
exits 0 cairn resume
names_here
cd ..
cp -a origin replica2
cd replica2 || exit 1
exits 0 cairn resume
names_here
rm w.yaml
exits 0 cairn plan
names_here
ok 'no command names a file that is gone' test -z "$(grep 'begins a new run' err)"
cd ..
is "$(cat origin/made)" "$was" 'and the original is as it was'
rm -r replica
mv origin replica
cd replica || exit 1
rm w.yaml
cairn resume >out 2>err
ok 'a directory that is gone is not where a run continues' test -z "$(grep 'continues there' err)"
cd ..

# With a key the recorded path is used, and that is said by each that continues.
head -c 32 /dev/urandom >key
chmod 600 key
mkdir -p signed/.cairn
printf 'name: w\ntasks:\n  a: {run: pwd}\n' >signed/w.yaml
(cd signed && cairn --key ../key run w.yaml) >out 2>err
cp -a signed forged
cd forged || exit 1
for command in plan resume 'rerun a'; do
    # shellcheck disable=SC2086 # words
    exits 0 cairn --key ../key $command
    says "run 1 is one of $top/signed, and continues there" "$command: says where it continues"
done
cd ..
done_testing
