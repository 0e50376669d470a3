# The commands that messages suggest do what they say where they are printed: they name the
# store, the session and the file, in words of a shell.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE

hint() { # runs the first suggestion that fits the pattern
    hinted=$(cat out err | grep -o "$1" | head -n 1 | tr -d '`')
    run timeout 5 sh -c "${hinted:-false}"
}

# ---- A store beside the file ----
mkdir else wf
printf 'name: w\ntasks:\n  a: {run: "test -e ready"}\n  c: {run: "test -e more", needs: [a]}\n  b: {external: "do it"}\n' >wf/cairn.yaml
cd else || exit 1
exits 1 cairn run ../wf/cairn.yaml --no-wait
hint 'cairn log a --run 1.*'
is "$status" 0 "the log of what failed: $hinted"
exits 1 cairn run ../wf/cairn.yaml --no-wait
says 'resume with: cairn resume 1 --store ../wf/.cairn' 'the store is named as the file was'
touch ../wf/ready
hint 'cairn resume 1.*'
is "$status" 1 "what it resumes with: $hinted"
touch ../wf/more
exits 7 cairn resume ../wf/cairn.yaml --no-wait
exits 0 cairn status ../wf/cairn.yaml
hint 'cairn next 1.*'
is "$status" 0 "a store that was found beside a file: $hinted"
says 'claim it with: cairn claim 1 b --store ../wf/.cairn'
cd ../wf || exit 1
exits 0 cairn status cairn.yaml
ok 'a store that is found without it is not named' sh -c '! grep -q -e --store out err'
mkdir below
cd below || exit 1
exits 0 cairn status ../cairn.yaml
ok 'nor one above' sh -c '! grep -q -e --store out err'
cd ../.. || exit 1
mkdir "a b" "c d"
cp wf/cairn.yaml "a b"
cd "c d" || exit 1
exits 1 cairn run '../a b/cairn.yaml' --no-wait
hint 'cairn resume 1.*'
is "$status" 1 "names with blanks: $hinted"
cd .. || exit 1

# ---- Options in suggestions of the library ----
exits 10 cairn run nosuch.yaml --store 'x y'
hint 'cairn init [^`]*'
is "$status" 0 "$hinted"
exits 10 cairn run 'no such.yaml'
hint '`cairn init [^`]*`'
ok 'a file with a blank' test -e 'no such.yaml'
exits 0 cairn session start 'slow login' --store 'x y'
exits 2 cairn session start 'slow login' --store 'x y'
hint '`cairn session switch [^`]*`'
is "$status" 0 "$hinted"
for name in 'a & b' 'a -- b' 'a `b` --store' "it's FILE > c"; do
    cairn session start "$name" --store 'x y' >out 2>err
    exits 2 cairn session start "$name" --store 'x y'
    hinted=$(sed -n 's/.*already: `\(.*\)` goes on with it$/\1/p' err)
    run sh -c "${hinted:-false}"
    is "$status" 0 "$hinted"
done
exits 0 cairn session switch 'slow login' --store 'x y'
exits 0 cairn session end --store 'x y'
exits 2 cairn note add text --session 'slow login' --store 'x y'
hint '`cairn session switch [^`]*`'
is "$status" 0 "$hinted"
exits 0 cairn session start other --store 'x y'
exits 0 cairn session config files . --session 'slow login' --store 'x y'
exits 10 cairn checkpoint diff --session 'slow login' --store 'x y'
matches "cairn checkpoint create MESSAGE --store 'x y' --session 'slow login'" 'the session is named'
exits 0 cairn branch start one --session 'slow login' --store 'x y'
exits 2 cairn branch start one --session 'slow login' --store 'x y'
says 'there is a branch '"'one'"' already: it is the current one'
exits 2 cairn branch start main --session 'slow login' --store 'x y'
hint '`cairn branch switch [^`]*`'
is "$status" 0 "$hinted"
exits 0 cairn hypothesis add h --session 'slow login' --store 'x y'
exits 0 cairn checkpoint create c --session 'slow login' --store 'x y'
exits 0 cairn hypothesis add h2 --session 'slow login' --store 'x y'
exits 0 cairn checkpoint restore "$(cairn checkpoint list --session 'slow login' --store 'x y' --json | grep -o 'debug:[0-9a-f-]*' | tail -n 1)" --yes --session 'slow login' --store 'x y'
hint 'cairn checkpoint undo-restore.*'
is "$status" 0 "$hinted"
exits 2 cairn run wf/cairn.yaml --fresh --run 1 --store 'x y'
says 'cairn run --help`' 'help needs no store'

# ---- A checkpoint that others need: what lets it go ----
goes() { # runs the hint; the checkpoint can be deleted then, or went with it
    hinted=$(grep -o '`cairn [^`]*`' err | head -n 1 | tr -d '`')
    case $hinted in *'session delete'*) hinted="$hinted --yes" ;; esac
    run sh -c "${hinted:-false}"
    is "$status" 0 "$hinted"
    run cairn checkpoint delete "$1" --yes --session "$2" --store 'k k'
}
run cairn session start 'my work' --store 'k k'
mkdir tree && run cairn session config files tree --store 'k k'
run cairn checkpoint create one --store 'k k'
run cairn checkpoint create two --store 'k k'
run cairn checkpoint fork 1 forked --name 'its fork' --store 'k k'
exits 2 cairn checkpoint delete 1 --yes --session 'my work' --store 'k k'
says 'debug:1 is kept: session its fork was forked from it'
goes 1 'my work'
is "$status" 0 'and it can be deleted'
run cairn session switch 'my work' --store 'k k'
run cairn branch start spike --from 2 --store 'k k'
run cairn checkpoint create three --store 'k k'
newest=$(cairn checkpoint list --store 'k k' --json | grep -o 'debug:[0-9]*' | head -n 1)
run cairn branch switch main --store 'k k'
exits 2 cairn checkpoint delete "$newest" --yes --session 'my work' --store 'k k'
says 'it is the newest of branch spike'
goes "$newest" 'my work'
is "$status" 0 'and it can be deleted'
exits 2 cairn checkpoint delete 2 --yes --store 'k k'
says 'debug:2 is kept: branch spike begins at it'
goes 2 'my work'
is "$status" 10 'it went with its session'
printf 'name: r\ntasks:\n  a: {run: "true"}\n' >r.yaml
exits 0 cairn run r.yaml --store 'k k'
exits 0 cairn resume --store 'k k' --from "$(cairn checkpoint list --run 1 --store 'k k' --json | grep -o 'workflow:[0-9a-f-]*' | head -n 1)"
exits 0 cairn run r.yaml --store 'k k' --fresh
from=$(cairn checkpoint list --run 1 --store 'k k' --json | grep -o 'workflow:[0-9]*' | head -n 1)
exits 2 cairn checkpoint delete "$from" --yes --store 'k k'
says "$from is kept: run 2 was started from it"
goes "$from" x
exits 10 cairn status 2 --store 'k k'
done_testing
