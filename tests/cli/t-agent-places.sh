# make: sanitize
# Whose files the session of an agent has: those of the project in which its hook was
# called, wherever the store lies, and whatever other agents are called.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE
top=$(pwd -P)

hook() { # EVENT SESSION_ID DIRECTORY
    printf '{"hook_event_name":"%s","session_id":"%s","cwd":"%s","tool_name":"Bash"}' "$@" |
        (cd "$3" && cairn session hook) >>hook.out 2>&1
}
in_dir() { (cd "$1" && shift && "$@"); }
files_of() { in_dir "$1" cairn session config files --session "$2"; }

# ---- .cairn is a link to a store elsewhere ----
mkdir -p project elsewhere/store
ln -s ../elsewhere/store project/.cairn
echo one >project/a
echo other >elsewhere/foreign
agent=11111111-1111-4111-8111-111111111111
exits 0 in_dir project cairn session install-hooks
ok 'the settings are those of the project' test -s project/.claude/settings.json
ok 'and not of where the store lies' test ! -e elsewhere/.claude
hook SessionStart $agent "$top/project"
hook PreToolUse $agent "$top/project"
is "$(files_of project agent-11111111)" "$top/project" 'its files are those of the project'
echo two >project/a
hook PostToolUse $agent "$top/project"
exits 0 in_dir project cairn checkpoint restore 1 --yes
is "$(cat project/a)" one 'which go back'
is "$(cat elsewhere/foreign)" other 'and no others'

# ---- A fork, whose store is that of the original ----
mkdir original
echo one >original/a
cd original || exit 1
run cairn session start s
run cairn session config files .
run cairn checkpoint create m
exits 0 cairn checkpoint fork 1 --to ../try
cd "$top" || exit 1
agent=22222222-7c10-4abc-8def-000000000001
hook SessionStart $agent "$top/try"
hook PreToolUse $agent "$top/try"
echo 'by the agent' >try/a
echo new >try/new
hook PostToolUse $agent "$top/try"
echo 'work of the original' >original/a
is "$(files_of try agent-22222222)" "$top/try" 'an agent in a fork has the files of the fork'
id=$(in_dir try cairn checkpoint list --session agent-22222222 --sort seq --json | tr '{' '\n' |
    sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | head -n 1)
exits 0 in_dir try cairn checkpoint restore "$id" --session agent-22222222 --yes
is "$(cat try/a)" one 'they go back'
ok 'what is new goes' test ! -e try/new
is "$(cat original/a)" 'work of the original' 'those of the original stay'

# ---- The agent goes into a fork that it has made ----
mkdir home
echo one >home/a
exits 0 in_dir home cairn session install-hooks
agent=55555555-7c10-4abc-8def-000000000001
export CLAUDE_PROJECT_DIR="$top/home"
hook SessionStart $agent "$top/home"
hook PreToolUse $agent "$top/home"
export CAIRN_SESSION=agent-55555555 # which the hook has set for its commands
exits 0 in_dir home cairn checkpoint fork 1 --to ../away
echo 'work of the user' >home/a
echo two >away/a
exits 0 in_dir away cairn checkpoint create 'in the fork'
says 'not $CAIRN_SESSION (agent-55555555)' 'the variable does not count there, which is said'
in_fork=$(grep '^debug:' out)
is "$(in_dir away cairn checkpoint cat "$in_fork:a")" two 'the files are those of the fork'
echo three >away/a
exits 0 in_dir away cairn checkpoint restore "$in_fork" --yes
is "$(cat away/a)" two 'they go back'
is "$(cat home/a)" 'work of the user' 'and not those of the original'
hook PreToolUse $agent "$top/away"
echo four >away/a
hook PostToolUse $agent "$top/away"
place=$(in_dir home cairn session list --quiet | grep -o 'agent-55555555-[0-9a-f]*')
is "$(files_of home "$place")" "$top/away" 'what its hook tells there is kept there'
unset CAIRN_SESSION

# ---- A directory below with a store of its own ----
mkdir home/pkg
exits 0 in_dir home/pkg cairn session start own --store .cairn
hook PreToolUse $agent "$top/home/pkg"
echo 'edited from below' >home/a
hook PostToolUse $agent "$top/home/pkg"
newest=$(in_dir home cairn checkpoint list --session agent-55555555 --limit 1 --json |
    sed -n 's/.*"id": *"\(debug:[^"]*\)".*/\1/p')
is "$(in_dir home cairn checkpoint cat "$newest:a")" 'edited from below' 'the project is still kept'
is "$(in_dir home/pkg cairn session list --quiet | grep -c agent)" 0 'nothing goes to the other store'
unset CLAUDE_PROJECT_DIR

# ---- A session that somebody has named, and that keeps nothing ----
exits 0 in_dir home cairn session start by-hand --no-switch
run in_dir home cairn session config files off --session by-hand
printf '{"hook_event_name":"SessionStart","session_id":"%s","cwd":"%s"}' $agent "$top/home" >event
(cd home && CAIRN_SESSION=by-hand cairn session hook) <event >out 2>err
says 'makes no checkpoints while you work' 'the agent and its user are told'
run in_dir home cairn session config strategy smart --session by-hand
(cd home && CAIRN_SESSION=by-hand cairn session hook) <event >out 2>err
says 'keeps no files' 'also that it keeps no files'

# ---- A fork whose store has gone, and another one is in its place ----
rm -r original
mkdir original
exits 0 in_dir original cairn session start other
printf '{"hook_event_name":"SessionStart","session_id":"%s","cwd":"%s"}' 44444444-7c10-4abc-8def-000000000001 "$top/try" >event
(cd try && cairn session hook <../event) >out 2>err
says 'which has none of that number' 'the agent is told that its files are not kept'
is "$(in_dir original cairn session list --quiet | grep -c agent-)" 0 'nothing is made in the other store'
run in_dir try cairn note add x
is "$status" 10 'nor does another command find it'
says 'remove that file if the session was deleted' 'which says what to do, too'

# ---- Identifiers that begin with the time ----
mkdir twins
exits 0 in_dir twins cairn session install-hooks
for agent in 0193a5b2-7c10-7abc-8def-000000000001 0193a5b2-9d22-7abc-8def-000000000002; do
    hook SessionStart $agent "$top/twins"
    date >"twins/$agent"
    hook PreToolUse $agent "$top/twins"
done
is "$(in_dir twins cairn session list --quiet | grep -c agent-0193a5b2-00000000000)" 2 'agents that start together have a session each'
# ---- Work trees of git that are no part of the project ----
if command -v git >/dev/null; then
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    git init -q repo && cd repo || exit 1
    printf '.claude/worktrees\nvendor\n' >.gitignore
    echo x >f
    git add . && git -c user.name=n -c user.email=e@x commit -qm first
    run cairn session install-hooks
    git worktree add -q .claude/worktrees/w1 2>err
    git worktree add -q ../outside 2>err
    git init -q part && echo x >part/f
    cd "$top" || exit 1
    agent=33333333-7c10-4abc-8def-000000000001
    for place in repo/.claude/worktrees/w1 outside repo/part repo; do
        export CLAUDE_PROJECT_DIR="$top/repo"
        hook SessionStart $agent "$top/$place"
        hook PreToolUse $agent "$top/$place"
        echo "agent in $place" >$place/f
        hook PostToolUse $agent "$top/$place"
    done
    unset CLAUDE_PROJECT_DIR
    names=$(in_dir repo cairn session list --quiet | grep -o 'agent-33333333[-0-9a-f]*' | sort)
    is "$(echo "$names" | wc -l)" 3 'one session for each work tree, and one for the project with what is part of it'
    for name in $names; do files_of repo "$name"; done | sort >roots
    printf '%s\n' . "$top/outside" .claude/worktrees/w1 | sort >wanted
    is "$(cat roots)" "$(cat wanted)" 'each with its own files'
    inside=$(for name in $names; do
        [ "$(files_of repo "$name")" != .claude/worktrees/w1 ] || echo "$name"
    done)
    echo "the user's" >repo/f
    first=$(in_dir repo cairn checkpoint list --session "$inside" --sort seq --json | tr '{' '\n' |
        sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | head -n 1)
    exits 0 in_dir repo/.claude/worktrees/w1 cairn checkpoint restore "$first" --session "$inside" --yes
    is "$(cat repo/.claude/worktrees/w1/f)" x 'what the agent did goes back'
    is "$(cat repo/f)" "the user's" 'and nothing else'
else
    skip 'work trees of git' 'there is no git'
fi
ok 'no other hook had trouble' test "$(grep -c systemMessage hook.out)" -eq 0
done_testing
