# What an agent's hook tells: every recorded event, strategies, transcripts, several
# agents at once, hostile input, a store that is locked, kills. The status is always 0.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE CAIRN_SESSION CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE

recorded=$TESTS/data/hooks
mkdir -p p/build
dir=$(pwd -P)
told() { # NAME [SED...]: a recorded event, on stdout
    told_name=$1
    shift
    sed -e "s|@DIR@|$dir|g" "$@" "$recorded/$told_name.json"
}
# The event goes to the hook: $status, files out and err.
hook() { # NAME [SED...]
    told "$@" >event.json
    hook_file event.json
}
hook_file() { # FILE OPTION...
    hook_input=$1
    shift
    tap_last="cairn session hook $* <$hook_input"
    cairn session hook "$@" <"$hook_input" >out 2>err
    status=$?
}
# The same, and what was done in the words of --json: "made", why not, or the problem.
answer() {
    told "$@" >event.json
    cairn session hook --json <event.json >doc.json 2>err
    status=$?
    if [ "$(json_get .made doc.json)" = true ]; then
        echo made
    elif [ "$(json_get .problem doc.json)" != null ]; then
        json_get .problem doc.json
    else
        json_get .why doc.json
    fi
}
in_p() { (cd p && "$@"); }
checkpoints() { in_p cairn session show "${1:-agent-0b5e7c9a}" --json >shown.json 2>shown.err && json_get .checkpoints shown.json; }
messages() { in_p cairn session show "${1:-agent-0b5e7c9a}" --json >shown.json 2>shown.err && json_get .messages shown.json; }

# ---- No store ----
for event in session-start prompt write-before stop notification; do
    hook $event
    is "$status" 0 "$event without a store exits 0"
    silent_on out
done
hook write-before
says 'nothing is done, since there is no store' 'and says what to do'
ok 'nothing was made' [ ! -e p/.cairn ]

# ---- A session of the agent's own ----
exits 0 cairn session start mine --store p/.cairn
printf '#!/bin/sh\necho "Helo"\n' >p/greet.sh
hook notification
is "$status" 0 'an event that is not known is passed over'
hook subagent-stop
silent_on out
silent_on err
hook session-start
is "$status" 0 'a session begins'
json_ok 'the answer is JSON'
is "$(json_get .hookSpecificOutput.hookEventName out)" SessionStart 'for the event'
says 'cairn checkpoint restore ID --session agent-0b5e7c9a --yes' 'and tells the agent how to go back'
silent_on err
is "$(in_p cairn session config files --session agent-0b5e7c9a)" . 'with files'
is "$(in_p cairn session config strategy --session agent-0b5e7c9a)" smart 'and a strategy'
in_p cairn session show --json >shown.json
is "$(json_get .name shown.json)" mine 'a session of a person stays the current one'
exits 0 in_p cairn session log --session agent-0b5e7c9a
says 'configured' 'what it was given is in its log'

# ---- smart ----
is "$(answer read-before)" 'not asked for' 'a tool that reads'
is "$(checkpoints)" 0 'makes nothing'
is "$(answer write-before)" made 'before the first tool that writes'
is "$(answer write-before)" unchanged 'once'
printf '#!/bin/sh\necho "Hello, ${1:-world}"\n' >p/greet.sh
is "$(answer read-after)" 'not asked for' 'a tool that reads notes no change'
is "$(answer write-after)" made 'after it'
is "$(answer mcp-before)" unchanged 'nothing has changed since'
is "$(answer bash-before)" unchanged 'before a shell'
rm -rf p/build
is "$(answer bash-after)" made 'what a shell has removed'
is "$(answer stop)" unchanged 'the end of a turn'
echo mine >p/mine
is "$(answer stop)" made 'what nobody told of'
is "$(answer prompt)" 'not asked for' 'a prompt'
exits 0 in_p cairn checkpoint list --session agent-0b5e7c9a
says 'Auto: before tool: Write' 'a message says why'
says 'Auto: after tool: Bash'
says 'Auto: turn ended'
says 'auto,after-tool' 'and a tag'
id=$(awk '/before tool: Write/ { print $1 }' out)
exits 0 in_p cairn checkpoint restore "$id" --session agent-0b5e7c9a --yes
is "$(cat p/greet.sh)" "$(printf '#!/bin/sh\necho "Helo"')" 'and back'
ok 'also what a shell removed' [ -d p/build ]
exits 0 in_p cairn checkpoint undo-restore --session agent-0b5e7c9a
is "$(cat p/mine)" mine 'and forward'

# ---- What was said ----
is "$(messages)" 0 'there is no transcript yet'
cp "$recorded/transcript.jsonl" .
is "$(answer prompt)" 'not asked for' 'a prompt, with a transcript'
is "$(json_get .messages doc.json)" 5 'takes it'
is "$(answer prompt)" 'not asked for' 'again'
is "$(json_get .messages doc.json)" 0 'takes nothing'
is "$(answer write-after)" unchanged 'messages alone make no checkpoint after a tool'
is "$(answer compact)" made 'but before the context is compacted'
is "$(answer compact)" unchanged 'once'
tail -n 1 transcript.jsonl | sed 's/-000000000004"/-000000000005"/' >last
head -c 40 last >>transcript.jsonl
is "$(answer stop)" unchanged 'a torn line is waited for'
is "$(json_get .messages doc.json)" 0 'and not taken'
tail -c +41 last >>transcript.jsonl
is "$(answer stop)" unchanged 'the rest of it'
is "$(json_get .messages doc.json)" 1 'makes it one'
is "$(messages)" 6 'six messages'
rm -f p/.cairn/transcript-*.mark
is "$(answer session-end)" unchanged 'without what was remembered'
is "$(json_get .messages doc.json)" 0 'none is taken twice'
rm transcript.jsonl
mkfifo transcript.jsonl
is "$(answer stop)" "Stop: the transcript $dir/transcript.jsonl is not a regular file" 'a pipe is not read'
echo odd >p/odd
is "$(answer write-after)" made 'and keeps no checkpoint from being made'
hook stop
is "$status" 0 'a transcript that cannot be read blocks nothing'
is "$(json_get .systemMessage out)" "cairn: Stop: the transcript $dir/transcript.jsonl is not a regular file" \
    'the user is told'
exits 0 in_p cairn doctor
matches 'agent-hook +the hook of an agent failed [0-9]+ times, the last at .* is not a regular file' 'and doctor tells later'
rm transcript.jsonl p/.cairn/hook-failures
exits 0 in_p cairn doctor
says '0 warnings' 'until it is dealt with'

# ---- Strategies ----
strategy() { run in_p cairn session config strategy "$1" --session agent-0b5e7c9a; }
strategy per_prompt
is "$(answer prompt)" unchanged 'per_prompt: nothing is new'
cp "$recorded/transcript.jsonl" .
sed 's/-8000-/-9000-/g' transcript.jsonl >>transcript.jsonl.new
mv transcript.jsonl.new transcript.jsonl
is "$(answer prompt)" made 'a prompt, where only messages are new'
echo 1 >p/one
is "$(answer write-after)" 'not asked for' 'no tool'
is "$(answer prompt)" made 'and where files have changed'
exits 0 in_p cairn checkpoint list --session agent-0b5e7c9a
says 'Auto: prompt: Fix the greeting: it says “Helo”, and the test fails.' 'with what was wanted'
# shellcheck disable=SC2016
is "$(answer prompt -e 's|"prompt": "[^"]*"|"prompt": "use ghp_0123456789abcdefghijABCDEFGHIJ012345"|')" unchanged 'a secret'
echo 2 >p/one
run answer prompt -e 's|"prompt": "[^"]*"|"prompt": "use ghp_0123456789abcdefghijABCDEFGHIJ012345 now"|'
exits 0 in_p cairn checkpoint list --session agent-0b5e7c9a
says 'Auto: prompt: use [REDACTED] now' 'is not stored'
strategy per_tool_use
echo 3 >p/one
is "$(answer read-after)" made 'per_tool_use: any tool'
is "$(answer read-before)" unchanged 'where something has changed'
is "$(answer prompt)" 'not asked for' 'no prompt'
strategy manual
echo 4 >p/one
for event in prompt write-before write-after bash-after stop session-end; do
    is "$(answer $event)" 'not asked for' "manual: not for $event"
done
is "$(answer compact)" made 'only before the context is compacted'
strategy smart
run in_p cairn session config after-tool off --session agent-0b5e7c9a
echo 5 >p/one
is "$(answer write-after)" off 'each trigger can be switched off'
run in_p cairn session config after-tool on --session agent-0b5e7c9a
exits 0 in_p cairn session config tools 'Read,grep' --session agent-0b5e7c9a
is "$(answer write-after)" 'not asked for' 'other tools'
is "$(answer read-after)" made 'are destructive'
exits 0 in_p cairn session config tools Write,Edit,MultiEdit,NotebookEdit,Bash,delete,shell --session agent-0b5e7c9a
exits 2 in_p cairn session config strategy often
says "give manual, per_prompt, per_tool_use or smart"
exits 2 in_p cairn session config tools ''
exits 2 in_p cairn session config tools a,a
is "$(in_p cairn session config strategy)" manual 'of other sessions the strategy is manual'

# ---- Which session ----
export CAIRN_SESSION=mine
echo 6 >p/one
is "$(answer write-after)" 'not asked for' 'CAIRN_SESSION names it'
is "$(json_get .session doc.json)" mine 'that one'
CAIRN_SESSION=third
run answer write-before
is "$(json_get .started doc.json)" true 'one that is not there yet is started'
CAIRN_SESSION=99
is "$(answer write-before)" 'PreToolUse: there is no session 99: `cairn session list` shows those that there are' 'a number is not'
unset CAIRN_SESSION
hook stop -e 's/"session_id": "[^"]*", //'
is "$status" 0 'an event without a session_id'
says 'has no session_id' 'says so'
run in_p cairn session end agent-0b5e7c9a
is "$(answer stop | cut -c 1-40)" 'Stop: session agent-0b5e7c9a has ended: ' 'one that was ended stays so'
hook session-resume
is "$(answer stop)" made 'until the agent takes it up again'
hook stop -e 's/0b5e7c9a-1f2e-4a3b-8c4d-5e6f708192a3/..\/x $(touch owned)\\n/'
is "$status" 0 'a session_id of odd characters'
ok 'is a name' [ ! -e owned ]
echo "CAIRN_STORE=$dir/elsewhere" >envfile
CLAUDE_ENV_FILE=$dir/envfile cairn session hook <event.json >out 2>err
told session-start >event.json
CLAUDE_ENV_FILE=$dir/envfile cairn session hook <event.json >out 2>err
is "$(tail -n 1 envfile)" "export CAIRN_SESSION=agent-0b5e7c9a" 'commands of the agent get its session'
mkdir elsewhere
told stop -e 's|/p"|/elsewhere"|' >event.json
echo 7 >p/one
CLAUDE_PROJECT_DIR=$dir/p cairn session hook --json <event.json >doc.json 2>err
is "$(json_get .made doc.json)" true 'an agent that has left its project'
told stop -e 's|/p"|/gone"|' >event.json
echo 8 >p/one
(cd p && cairn session hook --json <../event.json >../doc.json 2>../err)
is "$(json_get .made doc.json)" true 'a directory that is gone'
mkdir -p p/sub/dir
told stop -e 's|/p"|/p/sub/dir"|' >event.json
hook_file event.json --json
is "$(json_get .made out)" true 'from below'

# ---- Several at once ----
agents() { # NAME OLD...: agents with ids that begin so, each a session and ten events
    n=0
    for digit in 1 2 3; do
        (
            for i in 0 1 2 3 4 5 6 7 8 9; do
                told write-before -e "s/0b5e7c9a/$digit$digit$digit$digit$digit$digit$digit$digit/" |
                    cairn session hook >>"agent.$digit" 2>&1 || echo "status $?" >>"agent.$digit"
                echo "$digit $i" >"p/agent.$digit"
                told write-after -e "s/0b5e7c9a/$digit$digit$digit$digit$digit$digit$digit$digit/" |
                    cairn session hook >>"agent.$digit" 2>&1 || echo "status $?" >>"agent.$digit"
            done
        ) &
        n="$n $!"
    done
    # shellcheck disable=SC2086
    wait ${n#0 }
}
rm -f transcript.jsonl
agents
for digit in 1 2 3; do
    is "$(cat agent.$digit)" '' "agent $digit is not disturbed by the others"
    of=agent-$digit$digit$digit$digit$digit$digit$digit$digit
    ok 'has checkpoints of its own' [ "$(checkpoints $of)" -ge 10 ]
    last=$(in_p cairn checkpoint list --quiet --session $of | awk '/head/ { print $1; exit }')
    is "$(in_p cairn checkpoint cat "$last:agent.$digit")" "$digit 9" 'with its last change'
done
pids=
for i in 1 2 3 4 5 6 7 8; do
    told session-start -e 's/0b5e7c9a/aaaaaaaa/' | cairn session hook >many.$i 2>&1 &
    pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
is "$(in_p cairn session list --quiet --limit 100 | grep -c 'agent-aaaaaaaa')" 1 'eight hooks of one new agent start one session'
is "$(cat many.? | grep -c systemMessage)" 0 'and none of them fails'

# ---- Hostile input ----
sessions=$(in_p cairn session list --quiet --limit 100 | wc -l)
told write-after >whole
size=$(wc -c <whole)
bad=
for n in 0 1 2 17 60 120 200 300 500 $((size - 3)) $((size - 2)); do
    head -c "$n" whole >torn
    hook_file torn
    [ "$status" = 0 ] && grep -q 'ends too early\|is empty\|not valid JSON' err || bad="$bad $n"
done
is "$bad" '' 'torn at any place: said, and status 0'
head -c 100000 /dev/zero | tr '\0' '[' >deep
hook_file deep
is "$status" 0 'deep nesting'
says 'not a JSON object'
{ printf '{"hook_event_name":"Stop",\n"x":' && cat deep; } >deeper
hook_file deeper
is "$status" 0 'deep nesting in an object'
says 'nested more than 512 levels deep (byte 543, line 2)' 'says so and where'
hook_file /dev/null
is "$status" 0 'nothing'
says 'stdin is empty: an agent'
printf '{"hook_event_name":"Stop"} x' >behind
hook_file behind
is "$status" 0 'something behind it'
says 'there is more text after its end (byte 28, line 1)'
{
    printf '{"hook_event_name":"Stop","x":"'
    head -c 17000000 /dev/zero | tr '\0' 'a'
    printf '"}'
} >large
hook_file large
is "$status" 0 'more than 16 MiB'
says 'more than 16 MiB'
head -c 4000 /dev/urandom >noise
hook_file noise
is "$status" 0 'noise'
printf '{"hook_event_name":"Stop","cwd":"/\\u0000x"}' >nul
hook_file nul
is "$status" 0 'a NUL in a path'
says 'NUL'
printf '{"hook_event_name":7}' >number
hook_file number
is "$status" 0 'a name that is none'
hook_file event.json --no-such-option
is "$status" 0 'wrong options do not block the agent either'
says 'no option --no-such-option'
hook_file event.json extra
is "$status" 0 'nor an operand'
told stop | cairn session hook >/dev/full 2>err
is "$?" 0 'nor an answer that cannot be written'
is "$(in_p cairn session list --quiet --limit 100 | wc -l)" "$sessions" 'and none of that starts a session'
mkfifo endless
sleep 100 >endless &
sleeper=$!
hook_file endless --time-limit 300ms
kill $sleeper
is "$status" 0 'stdin that does not end'
says 'gave up after 300 ms' 'is not waited for'
# An agent that leaves the pipe open is not held up: the object is complete.
left_open() { # NAME: its event, in parts, and no end of it
    told "$1" | tr -d '\n' >event.json
    {
        head -c 20 event.json
        tail -c +21 event.json
        exec sleep 100
    } >endless &
    sleeper=$!
    hook_file endless --json --time-limit 20s
    kill $sleeper
    wait $sleeper 2>/dev/null
}
left_open prompt
is "$status" 0 'stdin that is left open'
is "$(json_get .event)$(json_get .problem)" UserPromptSubmitnull 'the event is taken'
ok 'before the time is over' sh -c '! grep -q "gave up" err'
printf '{"hook_event_name":"Notification","session_id":"\\"}{[\\\\","a":[{}]}\n' >event.json
hook_file event.json --json
is "$(json_get .event)$(json_get .problem)" Notificationnull 'braces within strings end nothing'
printf '{"hook_event_name":"Notification"} {}' >event.json
hook_file event.json --json
ok 'what stands behind the object is looked at' test "$(json_get .problem)" != null
{ printf '\357\273\277'; told notification; } >event.json
hook_file event.json --json
is "$(json_get .event)$(json_get .problem)" Notificationnull 'a byte order mark'
hook_file event.json --time-limit 2h
says 'from 100ms to 1h' 'more than an hour is refused'
hook_file event.json --time-limit 1ms
says '--time-limit' 'no time at all is refused, with status 0'
is "$status" 0 'and status 0'

# ---- Damaged, read-only, newer: the agent works on ----
cp -a p/.cairn kept
for i in 1 2 3 4 5 6 7 8; do
    dd if=/dev/urandom of=p/.cairn/cairn.db bs=512 seek=$((i * 3)) count=2 conv=notrunc 2>dd.err
done
hook write-before
is "$status" 0 'a damaged store'
is "$(json_get .systemMessage out | cut -c 1-6)" cairn: 'is told to the user'
rm -rf p/.cairn
cp -a kept p/.cairn
printf x >p/.cairn/cairn.db
hook stop
is "$status" 0 'what is no database'
rm -rf p/.cairn
cp -a kept p/.cairn

# ---- Locked ----
if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'a store that is locked' 'there is no strace, or it may not trace'
else
    rm -f p/.cairn/hook-failures
    (
        cd p || exit
        exec strace -o ../hold.out -e trace=fdatasync,fsync -e inject=fdatasync:delay_enter=120s \
            cairn note add 'a slow disk' >../hold.said 2>&1
    ) &
    holder=$!
    wait_for 20 grep -q fdatasync hold.out
    echo 9 >p/one
    hook_file event.json --time-limit 1s
    is "$status" 0 'a store that is locked'
    says 'another cairn process is writing to the store' 'is waited for a while'
    is "$(grep -c 'is writing to the store' p/.cairn/hook-failures)" 1 'and what failed is noted'
    hook read-before
    is "$status$(cat out err)" 0 'what has nothing to do waits for nobody'
    kill -9 $holder # what it holds continues then
    wait $holder 2>wait.err
    told stop >event.json
    hook_file event.json --json
    is "$(json_get .made out)" true 'and the next one makes up for it'
fi

# ---- Killed at every seventh call of the system, or fewer ----
cp "$recorded/transcript.jsonl" .
if can_sweep 'killed in the middle' 7; then
    cp -a p before-kills
    calls=0 killed=0 wrong=
    while :; do
        calls=$((calls + apart))
        rm -rf p
        cp -a before-kills p
        told write-after -e 's/0b5e7c9a/bbbbbbbb/' >event.json
        strace -f -o strace.out -e inject=all:signal=KILL:when=$calls \
            cairn session hook <event.json >out 2>err
        grep -q 'killed by SIGKILL' strace.out || break
        killed=$((killed + 1))
        hook_file event.json --json
        files=$(in_p cairn session config files --session agent-bbbbbbbb 2>config.err)
        took=$(messages agent-bbbbbbbb)
        [ "$status$files$took$(checkpoints agent-bbbbbbbb)" = 0.51 ] || wrong="$wrong $calls"
    done
    is "$wrong" '' "killed at $killed places: the next event finds all or nothing"
    ok 'it was killed at some' [ "$killed" -gt 5 ]
    exits 0 in_p cairn checkpoint verify
fi

# ---- The session is deleted meanwhile ----
cat >moment.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int access(const char *path, int mode)
{
    int (*next)(const char *, int) = dlsym(RTLD_NEXT, "access");
    const char *run = getenv("RUN"), *end = strrchr(path, '/');
    if (run && end && !strcmp(end, "/restore")) {
        unsetenv("RUN");
        if (system(run) < 0)
            abort();
    }
    return next(path, mode);
}
END
if ! ${CC:-cc} -shared -fPIC -o moment.so moment.c -ldl 2>err; then
    skip 'a session that is deleted while its hook is at work' 'there is no compiler'
else
    echo meanwhile >p/one
    told write-before >event.json
    before=$(in_p cairn session list --json | sed 's/.*"session":\([0-9]*\),"name":"agent-0b5e7c9a".*/\1/')
    ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0" \
        RUN="cd '$dir/p' && cairn session delete agent-0b5e7c9a --yes" LD_PRELOAD="$PWD/moment.so" \
        cairn session hook --json <event.json >doc.json 2>err
    is "$(json_get .problem doc.json)" null 'no problem'
    is "$(json_get .made doc.json) $(json_get .started doc.json)" 'true true' 'another one is started'
    ok 'with another number' test "$before" != "$(in_p cairn session list --json | sed 's/.*"session":\([0-9]*\),"name":"agent-0b5e7c9a".*/\1/')"
fi
done_testing
