# Where the workflow file and the store are, if they are not named.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE
top=$PWD

mkdir -p project/deep/deeper elsewhere
cat >project/cairn.yaml <<'END'
name: project
tasks: {a: {run: pwd >where}}
END
cd project/deep/deeper || exit 1
exits 0 cairn validate
says '../../cairn.yaml' 'the file above is named'
exits 0 cairn run
says "created a store in $top/project/.cairn" 'a new store lies beside the workflow file'
ok 'not here' test ! -e .cairn
is "$(cat "$top/project/where")" "$top/project" 'and the task runs there, too'
exits 0 cairn run
exits 0 cairn status
exits 0 cairn run --quiet
ok 'nothing of that with --quiet' sh -c '! grep -q "^cairn:" err'
printf 'name: own\ntasks: {a: {run: "true"}}\n' >cairn.yaml
exits 0 cairn run
says "using the store $top/project/.cairn" 'a store further up is named'
rm cairn.yaml
cd "$top/project" || exit 1
exits 0 cairn run
ok 'here nothing is said of it' sh -c '! grep -q "using the store" err'
ok 'nor of the file' sh -c '! grep -q "workflow file" err'

# From somewhere else, by its name.
cd "$top/elsewhere" || exit 1
exits 0 cairn run ../project/cairn.yaml
is "$(ls -A)" 'err
out' 'nothing is made where one happens to stand'
exits 0 cairn plan ../project/cairn.yaml
exits 0 cairn status ../project/cairn.yaml
says 'run 6' 'its store is found beside it'
exits 0 cairn explain a ../project/cairn.yaml
exits 10 cairn status
mkdir other && printf 'name: o\ntasks: {a: {run: "true"}}\n' >other/o.yaml
exits 0 cairn run other/o.yaml
says "created a store in $top/elsewhere/other/.cairn" 'beside the file that is named'
exits 0 cairn resume other/o.yaml
mkdir .cairn another && cp other/o.yaml another/
exits 0 cairn run another/o.yaml
says "created a store in $top/elsewhere/.cairn" 'a directory .cairn that is here is taken'
rm -r .cairn
exits 0 cairn run other/o.yaml --store mine
ok 'a store that is named is where its name says' test -d mine

# What is not a directory.
touch file
exits 2 cairn status --store file
says 'is not a directory' '--store on a file'
exits 2 cairn run other/o.yaml --store file
says 'is not a directory' 'also for a run'
cd "$top" || exit 1
exits 2 cairn validate
says 'cairn init' 'without any file: how to have one'
done_testing
