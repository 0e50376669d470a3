# A file that a finished task of a run made is written by somebody else while the run is
# at work: what reads it afterwards fails before it starts, and does not use it.
. "$TESTS/cli/tap.sh"

hold='touch here; while [ ! -e go ]; do sleep 0.02; done'
flow() { # LINES of tasks
    printf 'name: w\ntasks:\n' >w.yaml
    printf '  %s\n' "$@" >>w.yaml
}
begin() { # COMMAND...: until a task holds it
    rm -f here go
    "$@" >run.out 2>&1 &
    pid=$!
    ok "$*: a task holds it" wait_for 20 test -e here
}
finish() { # WANTED
    touch go
    wait $pid
    is $? "$1" "and it exits $1"
}
in_dir() {
    mkdir "$1" && cd "$1" || exit 1
    export CAIRN_STORE="$PWD/.cairn"
}
top=$PWD

printf 'name: other\ntasks:\n  a: {run: "echo 2 >x", outputs: x}\n' >other.yaml
for how in run resume; do
    cd "$top" && in_dir "by-$how"
    cp ../other.yaml .
    flow 'a: {run: "echo 1 >x; echo a >>ran", outputs: x}' "s: {needs: a, run: '$hold'}" \
        'b: {needs: s, run: "cat x >y", inputs: x, outputs: y, retries: 3}'
    if [ $how = resume ]; then
        begin cairn run w.yaml
        kill -KILL $pid
        wait $pid 2>/dev/null
        begin cairn resume
    else
        begin cairn run w.yaml
    fi
    exits 0 cairn run other.yaml
    finish 1
    ok 'the task has not run' test ! -e y
    is "$(grep -c 'attempt [2-9]' run.out)" 0 'and is not retried'
    run cat run.out
    says 'FAILED b' 'it failed'
    says 'its input x is not what a made: a of run 2 has written it since' 'with the file, who made it and who wrote it'
    exits 0 cairn explain a --run 1
    says 'a of run 2 has written it since' 'explain says who has written it'
    exits 0 cairn resume 1
    is "$(cat y)" 1 'resume makes it again, and what needs it has the right one'
    is "$(count a ran)" 2 'it ran once more'
done

# A directory.
cd "$top" && in_dir directory
sed 's/echo 2 >x/mkdir -p d; echo 2 >d\/x/; s/outputs: x/outputs: d/' ../other.yaml >other.yaml
flow 'a: {run: "mkdir -p d; echo 1 >d/x", outputs: d}' "s: {needs: a, run: '$hold'}" \
    'b: {needs: s, run: "cat d/x >y", inputs: d, outputs: y}'
begin cairn run w.yaml
exits 0 cairn run other.yaml
finish 1
run cat run.out
says 'its input d is not what a made: a of run 2 has written it since' 'a directory is compared, too'
begin cairn resume 1
finish 0
is "$(cat y)" 1 'and made again'

# By a task of the run that does not declare it, or by hand: that may be meant.
cd "$top" && in_dir undeclared
flow 'a: {run: "echo 1 >x", outputs: x}' 'change: {needs: a, run: "echo 2 >>x"}' \
    'b: {needs: change, foreach: {n: {range: [1, 3]}}, run: "cat x >y.$n", inputs: x}'
exits 0 cairn run w.yaml
is "$(cat y.3)" "$(printf '1\n2')" 'a task that changes a file in place need not declare it'

# By a run that was edited since, so that its writer is of an earlier generation.
cd "$top" && in_dir edited
flow 'a: {run: "echo 1 >x", outputs: x}' "s: {needs: a, run: '$hold'}" \
    'b: {needs: s, run: "cat x >y", inputs: x}'
printf 'name: other\ntasks:\n  t: {run: "echo 2 >x", outputs: x}\n  u: {needs: t, run: "false"}\n' >other.yaml
begin cairn run w.yaml
cairn run other.yaml >other.out 2>&1
sed -i 's/false/true/' other.yaml
exits 0 cairn resume 2
finish 1
run cat run.out
says 't of run 2 has written it since' 'the writer is found in an earlier generation'

# By a run that a task of this one has begun: that is this run's doing.
cd "$top" && in_dir nested
printf 'name: inner\ntasks:\n  t: {run: "echo 2 >>x", outputs: x}\n' >inner.yaml
flow 'a: {run: "echo 1 >x", outputs: x}' 'm: {needs: a, run: "cairn run inner.yaml"}' \
    'b: {needs: m, run: "cat x >y", inputs: x}'
exits 0 cairn run w.yaml
is "$(tr '\n' ' ' <y)" '1 2 ' 'what an inner run has changed is used'

# With the content that an earlier run had: that was over before.
cd "$top" && in_dir earlier
flow 'fetch: {run: "cat server >x", outputs: x}' 'tidy: {needs: fetch, run: "sort -o x x"}' \
    'b: {needs: tidy, run: "cat x >y", inputs: x}'
printf '1\n2\n' >server
exits 0 cairn run w.yaml
printf '2\n1\n' >server
exits 0 cairn run --fresh w.yaml
is "$(tr '\n' ' ' <y)" '1 2 ' 'no earlier run is taken for the writer'

# What changes a file in place by design.
cd "$top" && in_dir in-place
flow 'a: {run: "echo 1 >x", outputs: x}' \
    'b: {needs: a, run: "echo 2 >>x", inputs: x, outputs: x}' \
    'c: {needs: b, run: "echo 3 >>x; [ $(grep -c 3 x) = 2 ]", inputs: x, outputs: x, retries: 2}' \
    'd: {needs: c, run: "cat x >y", inputs: x, outputs: y}'
exits 0 cairn run w.yaml
is "$(tr '\n' ' ' <y)" '1 2 3 3 ' 'the later of two makers counts, and a retry begins with what is there'

# Directories that several tasks fill, or make anew.
cd "$top" && in_dir filled
flow 'a: {run: "mkdir -p d; echo 1 >d/x", outputs: [d, d/x]}' \
    'b: {needs: a, run: "echo 2 >d/y", outputs: d/y}' \
    'c: {needs: b, run: "cat d/* >e", inputs: d, outputs: e}' \
    'f: {needs: c, run: "rm -r d; mkdir d; echo 3 >d/x", outputs: d}' \
    'g: {needs: f, run: "cat d/x >>e", inputs: d/x}'
exits 0 cairn run w.yaml
is "$(tr '\n' ' ' <e)" '1 2 3 ' 'outputs in the output of another task are no change of it'

# The same file once more, or only touched.
cd "$top" && in_dir touched
flow 'a: {run: "echo 1 >x", outputs: x}' "s: {needs: a, run: '$hold'}" \
    'b: {needs: s, run: "cat x >y", inputs: x, outputs: y}'
begin cairn run w.yaml
cp x z && mv z x
finish 0

# Who asks only whether outputs are there has what is there.
cd "$top" && in_dir exist
flow 'a: {run: "echo 1 >x", outputs: x}' "s: {needs: a, run: '$hold'}" \
    'b: {needs: s, run: "cat x >y", inputs: x, outputs: y}'
begin cairn run w.yaml --check-outputs=exist
echo 2 >x
finish 0
is "$(cat y)" 2 'with --check-outputs=exist'
done_testing
