# Hooks of a session: a command for each kind of event, run by the cairn command that made
# it, after its commit; what becomes of it changes nothing.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
lines() { if [ -e "$1" ]; then wc -l <"$1" | tr -d ' '; else echo 0; fi; }

run cairn session start first
here=$PWD

# ---- The settings ----
exits 0 cairn session config
matches '^hook-timeout +10s +\(default\)$' 'the limit'
for kind in checkpoint task-failed contradiction hypothesis evidence belief dependency gap \
    note command check restore branch prune undo session; do
    matches "^hook\\.$kind +off +\\(default\\)\$" "a hook for $kind"
done
exits 2 cairn session config hook.nothing true
says 'nothing' 'a kind that there is not'
exits 2 cairn session config hook. true
exits 2 cairn session config hook.note ''
exits 2 cairn session config hook.note "$(head -c 5000 /dev/zero | tr '\0' x)"
exits 2 cairn session config hook.note "curl -H 'Authorization: Bearer abc.def-123' x"
says 'secret' 'a secret is not stored'
exits 2 cairn session config hook-timeout 0
exits 2 cairn session config hook-timeout off

# ---- Run for its kind, with the event ----
cat >note.sh <<'END'
cat >>"$OUT/stdin"
echo "$CAIRN_EVENT|$CAIRN_SESSION|$CAIRN_STORE|$CAIRN_HOOK|$PWD|$$" >>"$OUT/seen"
echo 'to stdout'
echo 'to stderr' >&2
END
export OUT="$here"
exits 0 cairn session config hook.hypothesis "sh '$here/note.sh'"
exits 0 cairn session config
matches '^hook.checkpoint +off' 'they are listed'
mkdir elsewhere
exits 0 sh -c 'cd elsewhere && exec cairn hypothesis add one'
is "$(cat out)" h1 'stdout has the id and nothing else'
is "$(cat err)" "to stdout
to stderr" 'what the hook writes is on stderr'
is "$(sed 's/|[0-9]*$//' seen)" "hypothesis|first|$here/.cairn|1|$here/elsewhere" 'kind, session, store, directory'
json_ok 'the event is JSON' stdin
is "$(json_get .type stdin)" hypothesis 'of that kind'
is "$(json_get .id stdin)" h1 'about that item'
is "$(json_get .text stdin)" one 'with its text'
is "$(json_get .session_name stdin)" first 'and its session'
grep -v position stdin >one
cairn events --session first --json | grep '"type":"hypothesis"' >other
ok 'it is what cairn events prints' cmp -s one other
run cairn note add x
is "$(lines seen)" 1 'another kind starts none'
exits 0 cairn hypothesis list
exits 0 cairn events
exits 2 cairn hypothesis confirm h7x
exits 2 cairn hypothesis update h1 --prior 7
is "$(lines seen)" 1 'reading starts none, nor does what is refused'

# ---- Other kinds ----
for kind in checkpoint contradiction gap restore branch prune undo check command session; do
    run cairn session config "hook.$kind" 'echo "$CAIRN_EVENT" >>"$OUT/kinds"'
done
rm -f kinds
kinds() { [ -e kinds ] && tr '\n' ' ' <kinds; rm -f kinds; }
run cairn checkpoint create manual
is "$(kinds)" 'checkpoint ' 'a checkpoint'
manual=$(cat out)
run cairn hypothesis test h1
is "$(kinds)" 'checkpoint ' 'one that was made by itself'
run cairn belief add x --confidence 0.9 --subject cache --claim warm --denied
run cairn belief add y --confidence 0.9 --subject cache --claim warm
is "$(kinds)" 'contradiction checkpoint ' 'a contradiction, and the checkpoint because of it'
run cairn gap add why
is "$(kinds)" 'gap ' 'a gap'
run cairn note add z
run cairn session undo
is "$(kinds)" 'undo ' 'taking something back'
run cairn exec -- sh -c 'exit 3'
is "$status $(kinds)" '3 command ' 'a command, whose exit status counts'
run cairn check add ok --run true
run cairn check run v1
is "$(kinds | tr ' ' '\n' | sort -u | tr '\n' ' ')" 'check checkpoint ' 'a check'
run cairn branch start side
is "$(kinds | tr ' ' '\n' | grep -c branch)" 1 'a branch'
run cairn checkpoint restore "$manual" --yes
is "$(kinds | tr ' ' '\n' | grep -c restore)" 1 'a restore'
run cairn session config interval 9m
is "$(kinds)" 'session ' 'a setting'
run cairn session end
is "$(kinds)" 'session ' 'the end'
run cairn session switch first
is "$(kinds)" 'session ' 'going on'

# ---- A failed task of a run ----
run cairn session config hook.task-failed 'cat >"$OUT/failed"'
echo 'tasks: {boom: {run: "exit 4"}}' >flow.yaml
printf 'name: flow\n' | cat - flow.yaml >f && mv f flow.yaml
exits 1 cairn run flow.yaml
is "$(json_get .type failed)" task-failed 'the failure of a task'
is "$(json_get .reason failed)" task-failed 'by its trigger'

# ---- What becomes of it changes nothing ----
for kind in checkpoint contradiction gap restore branch prune undo check command session hypothesis task-failed; do
    run cairn session config "hook.$kind" off
done
exits 0 cairn session config hook.gap off
exits 0 cairn session config hook.note 'exit 9'
exits 0 cairn note add a
says 'the hook for note of session first failed (exit 9)' 'that it failed is told'
is "$(lines err)" 1 'in one line'
exits 0 cairn session config hook.note '/nowhere/notify.sh'
exits 0 cairn note add b
says 'failed (exit 127)' 'so is one that is missing'
exits 0 cairn session config hook-timeout 1s
exits 0 cairn session config hook.note 'echo $$ >"$OUT/pid"; sleep 60'
begun=$(date +%s)
exits 0 cairn note add c
says 'it took longer than 1000 ms' 'so is one that is slow'
ok 'it was ended' test $(($(date +%s) - begun)) -lt 30
ok 'with what it had started' sh -c '! kill -0 "$(cat pid)" 2>/dev/null'
exits 0 cairn session config hook.note 'kill -9 $$'
exits 0 cairn note add d
says 'failed (exit 137)' 'and one that a signal ended'
is "$(get .total cairn note list)" 5 'all notes are there'
exits 0 cairn session config hook.note 'exec >&- 2>&-; exit 0'
exits 0 cairn note add e
is "$(lines err)" 0 'of one that succeeds nothing is told'

# ---- A hook that changes the session starts no hooks ----
exits 0 cairn session config hook-timeout 10s
exits 0 cairn session config hook.note 'echo x >>"$OUT/times"; cairn note add "from the hook" >/dev/null'
exits 0 cairn note add f
is "$(lines times)" 1 'its own changes start none'
is "$(get .total cairn note list)" 8 'but are made'
exits 0 env CAIRN_HOOK=1 cairn note add g
is "$(lines times)" 1 'nor do those of any process below it'

# ---- The commit comes first; each event has its own ----
exits 0 cairn session config hook.note 'cairn note show "$(sed "s/.*\"id\":\"\([^\"]*\)\".*/\1/")" >"$OUT/shown"'
exits 0 cairn note add 'seen by its hook'
ok 'the hook finds what was done' grep -q 'seen by its hook' shown

# ---- What it writes in the directory of the files is no edit to the watch ----
mkdir work
exits 0 cairn session start written -q
exits 0 cairn session config files work
exits 0 cairn session config settle 1s
exits 0 cairn session config hook.checkpoint 'cairn checkpoint create inner -q; date +%N >"$OUT/work/stamp"; date >>"$OUT/work/log"'
cairn session watch >watch.out 2>watch.err &
watch=$!
made() { grep -c 'checkpoint *debug:.*files settled' watch.out; }
at_least() { [ "$(made)" -ge "$1" ]; }
ok 'files are watched' wait_for 20 grep -q 'watched in' watch.err
echo one >work/a
ok 'an edit is stored' wait_for 20 at_least 1
sleep 2.5 # what is not to happen is waited for
is "$(made)" 1 'what the hook wrote makes no checkpoint of its own'
ok 'which is said' grep -q 'stamp: this changed while a hook' watch.err
is "$(grep -c inner watch.out)" 1 'one that it makes itself starts no hook'
echo two >work/a
ok 'the next edit is stored' wait_for 20 at_least 2
second=$(awk '/files settled/ { id = $5 } END { print id }' watch.out)
exits 0 cairn checkpoint cat "$second" work/stamp
kill "$watch"
wait "$watch" 2>/dev/null
exits 0 cairn session end

# ---- Its session is deleted while it runs ----
exits 0 cairn session start going -q
exits 0 cairn session config hook.checkpoint 'cairn session delete going --yes; cairn note add late --session going'
exits 0 cairn checkpoint create last
says "there is no session 'going'" 'the hook is told that it is gone'
exits 10 cairn session show going
exits 0 cairn checkpoint verify
run cairn session switch first

# ---- Off ----
exits 0 cairn session config hook.note off
exits 0 cairn session config hook.note
says off 'off removes it'
exits 0 cairn note add h
is "$(lines times)" 1 'and it is not run'

# ---- An imported session brings none ----
run cairn session config hook.note 'echo imported >>"$OUT/imported"'
run cairn session config environment PATH
run cairn session export session.cairn
ok 'no hook is in the file' sh -c '! grep -q "imported" session.cairn'
exits 0 cairn --store imports session import session.cairn
exits 0 cairn --store imports session config --session first
ok 'settings are not imported' sh -c '! grep -q imported out'
exits 0 cairn --store imports note add x --session first
ok 'and nothing is run' test ! -e imported
exits 0 cairn note add x
ok 'as it is here' test -e imported
exits 0 cairn checkpoint verify
done_testing
