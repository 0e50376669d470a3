# make: sanitize
# examples/agent: an agent goes wrong by a shell command, is taken back headless to where
# the tests passed, and finishes on a new branch.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE CAIRN_SESSION CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE

mkdir scene
cd scene || exit 1
exits 0 sh "$root/examples/agent/agent.sh"
says '(the command failed)' 'it went wrong'
says 'Auto: after tool: Bash' 'what the shell did is in a checkpoint'
matches 'files +4 added, 1 changed, 0 removed' 'and is taken back whole'
is "$(grep -c '^tests: passed' out)" 4 'the tests pass before, where it was taken back, and at the end'
matches '^current .* main-3$' 'work continues on a new branch'
matches '^active .* main$' 'the old line stays'
says 'That removed the tests.' 'with what was said since'
is "$(grep -c systemMessage answers)" 0 'no hook failed'
is "$(grep -c . answers)" 1 'and only the first one had something to say'
cd project || exit 1
is "$(cat README)" 'Counts lines and words.' 'what it did then'
is "$(sh src/words.sh data/sample.txt | tr -d ' ')" 3 'and before'
exits 0 cairn branch switch main --session agent-4f1d2c3b
ok 'the bad line can be looked at' [ ! -e tests ]
exits 0 cairn branch switch main-3 --session agent-4f1d2c3b
exits 0 sh tests/run.sh
exits 0 cairn checkpoint verify
done_testing
