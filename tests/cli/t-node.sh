# @cairn/node (bindings/node): built as npm would build it, then runs of functions: what they
# return, their errors, stops; killed, ended and resumed; states of threads.
. "$TESTS/cli/tap.sh"
. "$TESTS/node/package.sh"
node_package

# What is missing is named.
run env CC=/nowhere/cc node "$package/build.mjs"
is "$status" 1 'no compiler'
says 'the compiler in CC (/nowhere/cc) does not run' 'it is named'
run env CAIRN_BUILD="$PWD" node "$package/build.mjs"
is "$status" 1 'no library'
says 'has no libcairn.so' 'it is named, too'

part() { # PART NAME
    timeout 300 node --expose-gc engine.mjs "$1" >tap 2>err
    status=$?
    report
    is "$status" 0 "$2"
}
cp "$TESTS/node/engine.mjs" .
part run 'runs of functions'
CRASH=1 node engine.mjs begin >out 2>err
is $? 137 'killed inside a function'
exits 2 cairn resume --store crash.cairn
says 'calls `fetch`, a function that this program does not have' 'the command refuses to resume it'
part resume 'resumed in another process'
is "$(cat shell.out)" 22 'the command after it has its value'
run node engine.mjs exit
is "$status" 3 'process.exit with a function at work'
exits 0 cairn status --store exit.cairn
says 'interrupted' 'its run can be resumed'
part worker 'a worker that is terminated'
part threads 'states of threads'
exits 0 cairn checkpoint verify --store threads.cairn

done_testing
