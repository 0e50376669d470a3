# cairn session install-hooks: entries in .claude/settings.json, with every other byte as
# it was; refused files, links, modes, kills.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE

file=.claude/settings.json
entries() { grep -o '"command": "cairn session hook' "$1" | wc -l; }

# ---- What belongs there ----
exits 0 cairn session install-hooks --print
json_ok 'what is printed is JSON'
is "$(entries out)" 7 'for seven events'
cp out printed
is "$(json_get '.hooks.PreToolUse[0].matcher' out)" '*' 'of all tools'
is "$(json_get '.hooks.Stop[0].hooks[0].type' out)" command 'commands'
ok 'nothing was written' sh -c '[ ! -e .claude ] && [ ! -e .cairn ]'
exits 0 cairn session install-hooks --print --strategy per_prompt
says '"cairn session hook --strategy per_prompt"'
exits 2 cairn session install-hooks --strategy often
exits 2 cairn session install-hooks --print --remove
exits 10 cairn session install-hooks --remove
says 'there is no store'

# ---- A project without such a file ----
exits 0 cairn session install-hooks
says 'created a store in'
ok 'the file is what was printed' cmp printed $file
is "$(stat -c %a $file)" 644 'with the usual mode'
inode=$(stat -c %i $file)
exits 0 cairn session install-hooks
says 'nothing had to be changed'
is "$(stat -c %i $file)" "$inode" 'a second call writes nothing'
mkdir -p sub/dir
(cd sub/dir && cairn session install-hooks --json >../../out 2>../../err)
is "$(json_get .changed out)" false 'from below it is the same file'
is "$(json_get .file out)" "$(pwd -P)/$file" 'and says which'
exits 0 cairn session install-hooks --strategy per_tool_use
is "$(grep -c 'hook --strategy per_tool_use"' $file)" 7 'another strategy'
exits 0 cairn session install-hooks --remove
is "$(cat $file)" '{}' 'and out again'
exits 0 cairn session install-hooks --remove
says 'nothing had to be changed'
rm -r .claude
exits 0 cairn session install-hooks --remove
ok 'nothing is made to take something out' [ ! -e .claude ]

# ---- What else is there ----
mkdir .claude
cat >$file <<'END'
{
	"permissions" : { "allow": ["Bash(ls:*)"],   "deny": [ ] },
	"model":"opus",	"hooks": {
		"PostToolUse": [
			{"matcher": "Edit|Write", "hooks": [{"type":"command","command":"npx prettier \"$F\""}]}
		],
		"Notification": [{"hooks": [{"type": "command", "command": "notify-send \u00e9"}]}]
	},
	"env": {"A": "1", "B": "2"}, "big": 123456789012345678901234567890.10
}
END
cp $file before
chmod 640 $file
exits 0 cairn session install-hooks
json_ok 'it is JSON still' $file
is "$(entries $file)" 7 'with the entries'
is "$(stat -c %a $file)" 640 'and its mode'
diff before $file | grep '^<' >gone
is "$(grep -vc ',$\|"\]$\|}\]$\|}$\|\]$' gone)" 0 'lines are only added to, by a comma'
ok 'the order is kept' sh -c "grep -n 'prettier\|notify-send\|permissions\|\"big\"' $file | cut -d: -f2- | sed 's/,\$//' >order &&
    grep 'prettier\|notify-send\|permissions\|\"big\"' before | sed 's/,\$//' | cmp - order"
exits 0 cairn session install-hooks --remove
ok 'taken out, it is what it was, byte for byte' cmp before $file
printf '{"a":1,"hooks":{}}' >$file
exits 0 cairn session install-hooks
is "$(wc -l <$file)" 0 'a file of one line stays one'
exits 0 cairn session install-hooks --remove
is "$(cat $file)" '{"a":1}' 'and is one again'

# ---- What is refused ----
refused() { # CONTENT WHY
    printf '%s' "$1" >$file
    cp $file before
    exits 2 cairn session install-hooks
    says "$2"
    ok 'it was left as it is' cmp before $file
}
refused '{"a": 1,}' 'it is not valid JSON (byte 9, line 1)'
refused '{"a": 1' 'it ends too early (byte 8, line 1)'
refused '// mine
{}' 'it is not valid JSON (byte 1, line 1)'
refused '[]' 'not a JSON object'
refused '{"hooks": []}' 'its "hooks" is not an object'
refused '{"hooks": {"Stop": 1}}' 'is not a list'
refused '{"hooks": {}, "hooks": {}}' '"hooks" twice'
says 'cairn session install-hooks --print'
head -c 5000000 /dev/zero | tr '\0' ' ' >$file
exits 2 cairn session install-hooks
says 'more than 4 MiB'
rm $file
mkfifo $file
exits 2 cairn session install-hooks
says 'is not a regular file'
rm $file
mkdir $file
exits 2 cairn session install-hooks
says 'is not a regular file'
rmdir $file
ln -s nowhere $file
exits 75 cairn session install-hooks
says 'cannot read'
rm $file
echo '{"dotfiles": true}' >real.json
ln -s ../real.json $file
exits 0 cairn session install-hooks
ok 'a link stays one' [ -L $file ]
is "$(entries real.json)" 7 'and what it leads to is changed'
rm -r .claude
echo x >.claude
exits 75 cairn session install-hooks
rm .claude

# ---- Killed ----
if can_sweep 'killed in the middle' 5; then
    mkdir .claude
    calls=0 killed=0 wrong=
    while :; do
        calls=$((calls + apart))
        rm -f .claude/*
        echo '{"x": 1}' >$file
        cp $file old
        strace -f -o strace.out -e inject=all:signal=KILL:when=$calls \
            cairn session install-hooks >out 2>err
        cmp -s old $file || [ "$(entries $file)" = 7 ] || wrong="$wrong $calls"
        grep -q 'killed by SIGKILL' strace.out || break
        killed=$((killed + 1))
    done
    is "$wrong" '' "killed at $killed places: the old file or the new one"
    ok 'it was killed at some' [ $killed -gt 5 ]
fi

# ---- Whose it is ----
if [ "$(id -u)" -eq 0 ] && mkdir -p owned/.claude && echo '{}' >owned/.claude/settings.json &&
    chown 1234:1234 owned/.claude/settings.json 2>/dev/null; then
    (cd owned && cairn session install-hooks --store .cairn) >out 2>err
    is "$(stat -c %u:%g owned/.claude/settings.json)" 1234:1234 'a file that root edits stays that of its owner'
else
    skip 'the owner of the file' 'only root can give a file away'
fi
done_testing
