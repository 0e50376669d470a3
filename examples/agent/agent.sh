#!/bin/sh
# An agent that is taken back, without a network: its steps are written down here, and
# each goes through the hook as those of a real agent do. It works on a small project,
# goes wrong by a shell command, is taken back to where the tests passed, and finishes
# from there. Run it in an empty directory.
set -eu
id=4f1d2c3b-0a9b-4c8d-9e7f-112233445566
session=agent-4f1d2c3b
home=$(pwd -P)
transcript=$home/transcript.jsonl

say() {
    printf '\n# %s\n' "$*"
}

# ---- What an agent does anyway: it tells its hooks ----
event() { # NAME FIELDS: as it comes on stdin of a hook
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"%s"%s}\n' \
        "$id" "$transcript" "$home/project" "$1" "${2:-}" | cairn session hook >>"$home/answers"
}
line() { # ROLE TEXT: into the transcript
    n=$((${n:-0} + 1))
    printf '{"type":"%s","uuid":"line-%d","message":{"role":"%s","content":"%s"}}\n' \
        "$1" "$n" "$1" "$2" >>"$transcript"
}
user() { # PROMPT
    line user "$1"
    event UserPromptSubmit ",\"prompt\":\"$1\""
}
tool() { # NAME WHY COMMAND: a tool is used, here always a shell in the project
    line assistant "$2"
    event PreToolUse ",\"tool_name\":\"$1\",\"tool_input\":{}"
    (cd project && sh -c "$3") || echo "(the command failed)"
    event PostToolUse ",\"tool_name\":\"$1\",\"tool_input\":{},\"tool_response\":{}"
}

# ---- The project ----
mkdir -p project/src project/tests project/data
cd project
# shellcheck disable=SC2016
printf '#!/bin/sh\nwc -l <"$1"\n' >src/count.sh
printf 'one two\nthree\n' >data/sample.txt
cat >tests/run.sh <<'END'
#!/bin/sh
# Lines always; words once it can count them.
set -e
[ "$(sh src/count.sh data/sample.txt)" -eq 2 ]
[ ! -e src/words.sh ] || [ "$(sh src/words.sh data/sample.txt)" -eq 3 ]
echo 'tests: passed'
END
cairn session install-hooks
cd ..

say 'The agent works'
event SessionStart ',"source":"startup"'
user 'Count words, too, in src/words.sh, and tidy up.'
# shellcheck disable=SC2016
tool Write 'I write src/words.sh.' 'printf "%s\n" "#!/bin/sh" "wc -w <\"\$1\"" >src/words.sh'
tool Bash 'Do the tests pass?' 'sh tests/run.sh'
tool Read 'I look at it once more.' 'cat src/words.sh'

say 'It goes wrong'
tool Bash 'Now I tidy up.' 'rm -r data tests && sed -i "s/wc/rm/" src/words.sh && ls -R'
tool Bash 'Do the tests still pass?' 'sh tests/run.sh'
event Stop

say 'Back to where the tests passed, by a script'
cd project
cairn checkpoint list --session $session --quiet | awk 'NR > 1 { print $1 }' >../ids
good=
while read -r checkpoint; do
    cairn checkpoint restore "$checkpoint" --session $session --yes
    if [ -e tests/run.sh ] && sh tests/run.sh; then
        good=$checkpoint
        break
    fi
done <../ids
[ -n "$good" ] || exit 1
cd ..

say 'The agent continues from there'
user 'That removed the tests. Only remove what the tests do not need.'
tool Edit 'I say what the project does.' 'echo "Counts lines and words." >README'
tool Bash 'Do the tests pass?' 'sh tests/run.sh'
event Stop
event SessionEnd ',"reason":"other"'

say 'What became of it'
cd project
cairn branch list --session $session
cairn checkpoint list --session $session
cairn session message list --session $session --last 4
cairn checkpoint diff "$good" --session $session --stat
sh tests/run.sh
