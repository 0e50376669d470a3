# Outputs of attempts that were interrupted: cairn deletes none of them, whoever has made
# them; and where a file is made by one task and changed by the next, a kill on the way
# does not have it changed twice.
. "$TESTS/cli/tap.sh"

# Runs w.yaml until a task has made `here`, and kills it then.
kill_at_here() {
    rm -f here go
    cairn run w.yaml >run.out 2>&1 &
    pid=$!
    ok "$1: the task runs" wait_for 20 test -e here
    kill -KILL $pid
    wait $pid 2>/dev/null
    touch go
}
in_dir() {
    mkdir "$1" && cd "$1" || exit 1
    export CAIRN_STORE="$PWD/.cairn"
}
flow() { # LINES of tasks
    printf 'name: w\ntasks:\n' >w.yaml
    printf '  %s\n' "$@" >>w.yaml
}
top=$PWD
hold='touch here; while [ ! -e go ]; do sleep 0.02; done'
content() { tr '\n' ' ' <"$1"; }

for when in before after; do
    if [ $when = before ]; then
        change="$hold; echo row >>f"
    else
        change="echo row >>f; $hold"
    fi

    # ---- Both tasks declare the file ----
    cd "$top" && in_dir both-$when
    flow "a: {run: 'rm -f f; echo header >f', outputs: f}" \
        "b: {needs: a, run: '$change', outputs: f}"
    kill_at_here "both, $when"
    exits 0 cairn resume
    is "$(content f)" 'header row ' "killed $when the change, both declare it: made anew and changed once"

    # ---- It is replaced by a rename, with the content that it had ----
    cd "$top" && in_dir renamed-$when
    if [ $when = before ]; then
        sorted="$hold; sort f >g; mv g f; echo row >>f"
    else
        sorted="sort f >g; mv g f; echo row >>f; $hold"
    fi
    flow "a: {run: 'rm -f f; echo header >f', outputs: f}" \
        "b: {needs: a, run: '$sorted', outputs: f}"
    kill_at_here "renamed, $when"
    exits 0 cairn resume
    is "$(content f)" 'header row ' "killed $when the change, replaced by a rename: the same"
done

# ---- Replaced, and not yet changed, so that its maker stays finished ----
cd "$top" && in_dir replaced
flow "a: {run: 'echo header >f', outputs: f}" \
    "b: {needs: a, run: 'sort f >g; mv g f; $hold; echo row >>f', outputs: f}"
kill_at_here replaced
exits 0 cairn resume
is "$(content f)" 'header row ' 'what a finished task has for its output is kept'

# ---- Only the last task declares it ----
cd "$top" && in_dir last
flow "a: {run: 'echo header >f'}" \
    "b: {needs: a, run: '$hold; echo row >>f', outputs: f}"
kill_at_here last
exits 0 cairn resume
is "$(content f)" 'header row ' 'what an earlier task made without declaring it is kept'

# ---- It is input and output, and a person made it ----
cd "$top" && in_dir input
flow 'a: {run: "true"}' "b: {needs: a, run: '$hold; echo row >>f', inputs: f, outputs: f}"
echo header >f
kill_at_here input
exits 0 cairn resume
is "$(content f)" 'header row ' 'an input that is changed in place is there when the task is repeated'
cd "$top" && in_dir input-renamed
flow 'a: {run: "true"}' \
    "b: {needs: a, run: 'sed s/header/changed/ f >g; mv g f; $hold', inputs: f, outputs: f}"
echo header >f
kill_at_here 'input, renamed'
exits 0 cairn resume
is "$(content f)" 'changed ' 'also if it was replaced before the kill'

# ---- What the attempt itself has made ----
cd "$top" && in_dir own
flow "a: {run: 'echo half >>f; ln -sf f l; ls f l >>there; $hold', outputs: [f, l]}"
kill_at_here own
exits 0 cairn resume
is "$(content f)" 'half half ' 'what the attempt left is there when it is repeated'
is "$(content there)" 'f l f l ' '... and a link'

# ---- A task that makes the file anew before the second kill ----
cd "$top" && in_dir anew
flow "a: {run: 'rm -f f; echo header >f', outputs: f}" \
    "s: {needs: a, run: '[ ! -e stop ] || { touch here2; while [ -e stop ]; do sleep 0.02; done; }'}" \
    "b: {needs: s, run: 'echo row >>f; $hold', outputs: f}"
kill_at_here anew
touch stop
cairn resume >run.out 2>&1 &
pid=$!
ok 'the maker has run again, and the next one runs' wait_for 20 test -e here2
kill -KILL $pid
wait $pid 2>/dev/null
rm stop
exits 0 cairn resume
is "$(content f)" 'header row ' 'what another task made since is kept'

# ---- Members of a group that append to one file ----
cd "$top" && in_dir group
flow "g: {foreach: {i: [p, q]}, run: 'echo \$i >>f; [ \$i = p ] || { $hold; }', outputs: f}" \
    'r: {needs: g, run: "true"}'
sed -i 's/^tasks:/jobs: 1\ntasks:/' w.yaml
kill_at_here group
exits 0 cairn resume
ok 'what another member wrote is kept' grep -q p f

# ---- An output that was declared after the interruption ----
cd "$top" && in_dir edited
flow "b: {run: '$hold; echo row >>made', outputs: made}"
echo mine >notes
kill_at_here edited
sed -i 's/made/notes/g' w.yaml
exits 0 cairn resume
is "$(content notes)" 'mine row ' 'a file that the attempt did not declare is kept'
done_testing
