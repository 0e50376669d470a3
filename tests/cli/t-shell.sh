# cairn shell: what an attempt was given, once more, by hand. A task and a shell in its
# place print the same environment; nothing of the run or the store changes.
. "$TESTS/cli/tap.sh"

# The environment in `FILE` as NAME=value, without what is new each time.
settled() {
    tr '\n\0' '~\n' <"$1" | grep -vE '^(CAIRN_OUTPUT|CAIRN_TOKEN|OLDPWD|SHLVL|_)=' | LC_ALL=C sort
}
same_env() { # FILE-OF-THE-TASK NAME SHELL-ARGUMENT...
    tap_theirs=$1
    tap_what=$2
    shift 2
    run cairn shell "$@" -- env -0
    settled "$tap_theirs" >theirs
    settled out >ours
    if [ -s theirs ] && cmp -s theirs ours; then
        tap_report ok "$tap_what: the environment is that of the task"
    else
        tap_report 'not ok' "$tap_what: the environment is that of the task"
        diff theirs ours | sed 's/^/# /'
        tap_context
    fi
}
seen() { # ARGUMENT...: what `cairn shell ARGUMENT... -- sh -c` prints for $ROWS
    # shellcheck disable=SC2016
    cairn shell "$@" -- sh -c 'echo "$ROWS"' 2>&1
}
scratch_is_gone() {
    ok "${1:-the scratch directory is removed}" sh -c '! ls -d "$TMPDIR"/cairn-shell-* 2>/dev/null'
}
mkdir tmp sub
TMPDIR=$PWD/tmp
export TMPDIR

# ---- The same environment, directory and values ----
cat >w.yaml <<'END'
name: w
params: {day: "2026-01-01", quote: "it's \"odd\" $HOME `x` \\"}
env: {LC_ALL: C, INHERITED: changed}
secrets: [API_TOKEN, OTHER_TOKEN]
on_failure: continue
tasks:
  make: {run: 'echo "rows=$(cat rows)" >>"$CAIRN_OUTPUT"'}
  text:
    foreach: {part: [a, "b c"]}
    needs: [make]
    cwd: sub
    secrets: [API_TOKEN]
    env: {ROWS: "${{ tasks.make.outputs.rows }}", LINES3: "a\nCAIRN_X=1\n'q'", NTH: "${{ run.attempt }}"}
    run: |
      env -0 >"../text.$part"; pwd >"../text.pwd"
      test -e ../mended
  words: {needs: [make], cwd: sub, run: env -0}
  bash: {needs: [make], params: [day], shell: [bash, -c], run: 'env -0 >bash.env; exit 4'}
  args: {needs: [make], cwd: sub, exec: [env, -0]}
  more: {needs: [make], exec: [sh, -c, "exit 3", "${{ tasks.make.outputs.rows }}"]}
  gate: {needs: [make], env: {G: "1"}, run: 'true', check: 'env -0 >gate.env; exit 1'}
  again: {needs: [make], env: {NTH: "${{ run.attempt }}"}, retries: 1, run: 'env -0 >"again.$CAIRN_ATTEMPT"; exit 1'}
  late: {needs: [text], run: 'true'}
  person: {needs: [make], external: 'look at it'}
finally:
  last: {env: {HOW: "${{ run.status }} ${{ tasks.make.status }}"}, run: 'env -0 >last.env; exit 3'}
END
echo 41 >rows
export API_TOKEN=secret-of-the-api OTHER_TOKEN=another-secret INHERITED=original quote=mine
CAIRN_NOISE=1 exits 1 cairn run w.yaml --no-wait
exits 0 cairn fail 1 person
exits 1 cairn resume
cairn log words >words.env
cairn log args >args.env
state() {
    cairn status --tasks --json
    cairn events --json
    cairn runs --json
    cksum .cairn/cairn.db
}
state >before
export CAIRN_NOISE=1
same_env text.a 'a text' 'text[part=a]'
same_env 'text.b c' 'a member with a blank' 1 'text[part=b%20c]'
same_env words.env 'words without a shell' words
same_env bash.env 'another shell' bash
same_env args.env 'exec' args
same_env again.4 'a retry' again
same_env again.3 'the attempt before it' again --attempt 3
same_env last.env 'finally' last
settled gate.env >theirs
cairn shell gate -- env -0 >out
settled out >ours
is "$(cat ours)" "$(cat theirs)" 'a check has the environment of its task'
run cairn shell 'text[part=a]' -- pwd
is "$(cat out)" "$(cat text.pwd)" 'and the directory'
is "$(seen 'text[part=a]')" 41 'the value of the task that it needs'
run cairn shell last -- printenv HOW CAIRN_RUN_STATUS
is "$(tr '\n' ' ' <out)" 'failed completed failed ' 'finally knows how the run ended'
unset CAIRN_NOISE
state >after
ok 'nothing of the run or the store has changed' cmp before after

# ---- Files of an attempt ----
# shellcheck disable=SC2016
run cairn shell make -- sh -c 'test -f "$CAIRN_OUTPUT" && test ! -s "$CAIRN_OUTPUT" && echo rows=1 >>"$CAIRN_OUTPUT" &&
    : >"$(dirname "$CAIRN_OUTPUT")/more" && dirname "$CAIRN_OUTPUT"'
is "$status" 0 'CAIRN_OUTPUT is an empty file'
ok 'in TMPDIR' test "$(dirname "$(cat out)")" = "$TMPDIR"
scratch_is_gone 'it is removed, with what else is there'
# shellcheck disable=SC2016
is "$(cairn shell make -- sh -c 'echo ${CAIRN_TOKEN%%.*}')" shell 'the token is of no attempt'

# ---- Exit statuses and signals ----
exits 7 cairn shell make -- sh -c 'exit 7'
# shellcheck disable=SC2016
exits 137 cairn shell make -- sh -c 'kill -9 $$'
exits 127 cairn shell make -- no-such-program
says no-such-program
exits 126 cairn shell make -- "$PWD/rows"
scratch_is_gone 'after signals and failures, too'
cairn shell make -- sh -c 'trap "exit 9" TERM; : >ready; while :; do sleep 0.05; done' >/dev/null 2>&1 &
pid=$!
ok 'the command runs' wait_for 20 test -e ready
kill -TERM $pid
wait $pid
is $? 9 'SIGTERM is handed on, and its exit status counts'
scratch_is_gone

# ---- The user's shell ----
# shellcheck disable=SC2016
is "$(echo 'echo "$day"' | SHELL=/bin/sh cairn shell make 2>err)" 2026-01-01 'a shell that reads commands from a pipe'
says 'task make of run 1, attempt 1' 'what it is stands on stderr'
says 'echo "rows=$(cat rows)" >>"$CAIRN_OUTPUT"' 'and the command'
SHELL=/bin/sh run cairn shell more
says "sh -c 'exit 3' 41" 'of exec the words, with their values'
SHELL=/bin/sh run cairn shell more --quiet
silent_on err

# ---- Secrets ----
unset API_TOKEN
exits 2 cairn shell 'text[part=a]'
says 'needs the secret API_TOKEN' 'one that is missing is named'
scratch_is_gone
printf 'API_TOKEN=from-a-descriptor\n' >fd
cairn shell 'text[part=a]' --secrets-fd 3 -- printenv API_TOKEN >out 3<fd
is "$(cat out)" from-a-descriptor 'from a descriptor'
API_TOKEN=short exits 2 cairn shell 'text[part=a]' -- true
says API_TOKEN 'one that is too short is refused'
API_TOKEN=secret-of-the-api exits 1 cairn shell 'text[part=a]' -- printenv OTHER_TOKEN
exits 1 cairn shell make -- printenv OTHER_TOKEN

# ---- As a script ----
exits 0 cairn shell 'text[part=b%20c]' --print
cp out again.sh
ok 'it can be read by sh' sh -n again.sh
exits 2 sh again.sh
says API_TOKEN 'without its secret it says so'
cp 'text.b c' theirs.env
(cd tmp && API_TOKEN=secret-of-the-api CAIRN_NOISE=1 sh ../again.sh) >out 2>&1
is $? 1 'it runs the command, from any directory'
settled theirs.env >theirs
settled 'text.b c' >ours
is "$(cat ours)" "$(cat theirs)" 'with the same environment'
is "$(ls tmp)" '' 'and leaves no file'
touch mended
(cd tmp && API_TOKEN=secret-of-the-api sh ../again.sh) >out 2>&1
is $? 0 'once the cause is gone it completes'
rm mended
exits 0 cairn shell bash --print
cp out bash.sh
exits 4 sh bash.sh
# shellcheck disable=SC2016
exits 0 cairn shell bash --print -- printf '%s\n' "it's" '$day'
cp out command.sh
# shellcheck disable=SC2016
is "$(sh command.sh)" "it's
\$day" 'a script of another command'
API_TOKEN=2026-01-01 exits 0 cairn shell 'text[part=a]' --print
ok 'no value of a secret is shown' sh -c '! grep 2026-01-01 out'
says '[REDACTED]'
API_TOKEN=secret-of-the-api exits 0 cairn shell 'text[part=a]' --print --json
json_ok 'as JSON'
is "$(json_get .task) $(json_get .run) $(json_get .attempt) $(json_get .generation)" 'text[part=a] 1 2 1' 'which attempt'
is "$(json_get .directory)" "$PWD/sub" 'its directory'
is "$(json_get '.argv[0]') $(json_get '.argv[1]')" 'sh -eu' 'its command line'
is "$(json_get '.secrets[0]') $(json_get '.withheld[0]')" 'API_TOKEN OTHER_TOKEN' 'its secrets'
ok 'no secret is in it' sh -c '! grep -e secret-of -e another-secret out'
exits 2 cairn shell make --json
scratch_is_gone

# ---- What is refused ----
exits 10 cairn shell late
says 'has not started'
exits 10 cairn shell mkae
says make 'the nearest is named'
exits 10 cairn shell 9 make
exits 10 cairn shell make --attempt 7
exits 2 cairn shell person
says 'cairn next' 'an external task: what to do instead'
exits 2 cairn shell make words
says 'not the number of a run'
exits 2 cairn shell make --
says 'missing command'
exits 2 cairn shell
"$BUILD/examples/embed" >/dev/null
exits 2 cairn shell --store embed.cairn b
says 'function of the program' 'a callback'

# ---- An earlier attempt: its definition, and the values of then ----
export API_TOKEN=secret-of-the-api
mkdir old
cd old || exit 1
export CAIRN_STORE=$PWD/.cairn
cat >w.yaml <<'END'
name: old
tasks:
  make: {run: 'echo "rows=$(cat rows)" >>"$CAIRN_OUTPUT"', undo: 'true'}
  use: {needs: [make], env: {ROWS: "${{ tasks.make.outputs.rows }}", OLD: "1"}, run: 'test -e mended'}
  more: {needs: [use], foreach: {i: {range: [1, 70]}}, run: 'true'}
END
echo 41 >rows
exits 1 cairn run w.yaml
echo 42 >rows
sed -i -e 's/OLD: "1"/NEW: "1"/' -e 's/cat rows/cat <rows/' w.yaml
exits 1 cairn resume
is "$(seen use) $(seen use --attempt 1)" '42 41' 'each attempt has the value of its time'
exits 0 cairn shell use --attempt 1 -- printenv OLD
exits 1 cairn shell use --attempt 1 -- printenv NEW
exits 0 cairn shell use -- printenv NEW
exits 0 cairn shell use --attempt 1 --print --json
is "$(json_get .generation)" 1 'the definition of its generation'
touch mended
exits 0 cairn resume
exits 0 cairn checkpoint prune --keep 1
is "$(seen use) $(seen use --attempt 2) $(seen use --attempt 1)" '42 42 41' 'also without its checkpoints'
exits 0 cairn undo 1 make
exits 2 cairn shell make --attempt 3 -- true
says 'its undo' 'the attempt that ran the undo is none at the task'
exits 0 cairn shell make -- true
# With a key, only what has its HMAC counts.
head -c 32 /dev/urandom >key
chmod 600 key
rm -f mended
sed -i 's/NEW/OLD/' w.yaml
exits 1 cairn run w.yaml --key key --store keyed
echo 43 >rows
sed -i -e 's/OLD: "1"/NEW: "1"/' -e 's/cat <rows/cat rows/' w.yaml
exits 1 cairn resume --key key --store keyed
is "$(seen --key key --store keyed use --attempt 1)" 42 'with a key'
touch mended
exits 0 cairn resume --key key --store keyed
exits 0 cairn checkpoint prune --keep 1 --key key --store keyed
exits 10 cairn shell --key key --store keyed use --attempt 1
says HMAC 'what only rows without an HMAC say is refused'
is "$(seen --key key --store keyed use)" 43 'the newest is as it was'
exits 2 cairn shell --store keyed use -- true
cd ..

# ---- Beside a live run, and in a project that was moved ----
mkdir -p live/sub
cd live || exit 1
export CAIRN_STORE=$PWD/.cairn
cat >w.yaml <<'END'
name: live
tasks:
  make: {run: 'echo rows=1 >>"$CAIRN_OUTPUT"'}
  slow: {needs: [make], cwd: sub, env: {ROWS: "${{ tasks.make.outputs.rows }}"}, run: ': >started; while [ ! -e go ]; do sleep 0.05; done; exit 1'}
END
cairn run w.yaml >/dev/null 2>&1 &
pid=$!
ok 'a task runs' wait_for 20 test -e sub/started
is "$(seen slow)" 1 'beside the live run'
cairn shell slow -- sh -c ': >shell; while [ ! -e end ]; do sleep 0.05; done; echo alive >end' 2>err &
shell=$!
ok 'a shell is open' wait_for 20 test -e sub/shell
kill -KILL $pid
wait $pid 2>/dev/null
touch sub/go
exits 1 cairn resume
: >sub/end
wait $shell
is $? 0 'the next owner of the run does not take the shell for a left-over'
is "$(cat sub/end)" alive 'it could go on'
is "$(seen slow --attempt 1)" 1 'an attempt that was interrupted'
cd ..
mv live moved
cd moved || exit 1
export CAIRN_STORE=$PWD/.cairn
run cairn shell slow -- pwd
is "$(cat out)" "$PWD/sub" 'a project that was moved: where it is now'
rmdir sub/gone 2>/dev/null
rm -r sub
exits 10 cairn shell slow -- true
says sub 'a directory that is gone is named'
cd ..
export CAIRN_STORE=$PWD/.cairn

# ---- On a terminal ----
if ! command -v script >/dev/null; then
    skip 'on a terminal' 'no program script to make one'
    done_testing
fi
unset API_TOKEN
typed() { # TEXT: once WAIT-FOR-TEXT stands in `out`
    ok "the terminal shows: $2" wait_for 20 grep -qF -e "$2" out
    printf '%s\n' "$1" >&9
}
mkfifo keys
: >out
: >err
SHELL=/bin/sh script -qec "cairn shell 'text[part=a]'" /dev/null >out 2>&1 <keys &
pid=$!
exec 9>keys
typed hidden-secret 'secret API_TOKEN of task text[part=a]:'
# shellcheck disable=SC2016
typed 'test "$API_TOKEN" = hidden-secret && echo it"-is-"given; test -t 0 && echo a-"terminal"' 'its command is'
ok 'the secret that was typed is given' wait_for 20 grep -q it-is-given out
ok 'the shell has the terminal' wait_for 20 grep -q a-terminal out
is "$(head -n 3 out | grep -c hidden-secret)" 0 'and was not shown'
# In the foreground, Ctrl-C ends what the shell runs and neither the shell nor cairn.
printf '%s\n' 'sh -c "echo is-"sleeping"; exec sleep 60"' >&9
ok 'a command in the foreground' wait_for 20 grep -q is-sleeping out
printf '\003' >&9
printf '%s\n' 'echo still-"here"; exit 5' >&9
ok 'Ctrl-C is for that command' wait_for 20 grep -q still-here out
wait $pid
is $? 5 'the exit status of the shell'
exec 9>&-
# A shell that is killed has not given the terminal back.
: >out
SHELL=/bin/sh script -qec 'cairn shell make; echo "ended-with-$?"; read line && echo "got-$line"' /dev/null >out 2>&1 <keys &
pid=$!
exec 9>keys
# shellcheck disable=SC2016
typed 'kill -9 $$' 'its command is'
typed after 'ended-with-137'
ok 'the terminal is ours again' wait_for 20 grep -q got-after out
wait $pid
exec 9>&-
scratch_is_gone
done_testing
