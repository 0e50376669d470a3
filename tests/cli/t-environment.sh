# make: sanitize
# The environment that checkpoints keep: an allow-list, without secrets; shown, compared,
# listed by recover, exported; no state. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
checkpoints() { get .checkpoints cairn session show; }

run cairn session start env
unset EDITOR_OF_TEST
export PLAN_A=alpha PLAN_B='two words' OTHER=planted-other-value

# ---- Nothing by default ----
is "$(get '.settings[2].name' cairn session config)" redact 'settings are listed'
exits 0 cairn session config environment
says off 'nothing is kept unless somebody asks for it'
exits 0 cairn checkpoint create plain
plain=$(cat out)
is "$(get .environment cairn checkpoint show "$plain")" null 'a checkpoint without one'
exits 0 cairn checkpoint recover
ok 'and no step to go where it was made' sh -c '! grep -q " cd " out'

# ---- The setting ----
for value in 'A B' '*' 'A,,B' 'A,A' 'A,' '1A' 'A*B' 'A,A*'; do
    exits 2 cairn session config environment "$value"
done
says 'NAME*' 'what it can be'
exits 0 cairn session config environment 'PLAN_*,TOKEN,URL,EMPTY,GONE,PWD'
exits 0 cairn session config environment
says 'PLAN_*,TOKEN,URL,EMPTY,GONE,PWD' 'it is shown'

# ---- What is kept ----
mkdir -p work/deep
export DB_PASSWORD='hunter2-of-the-db' EMPTY=''
TOKEN=ghp_$(printf '%036d' 7)
export TOKEN URL="postgres://app@db/x?p=$DB_PASSWORD"
run cairn session config redact DB_PASSWORD
exits 0 sh -c 'cd work/deep && exec cairn checkpoint create with'
with=$(cat out)
exits 0 cairn checkpoint show "$with"
says "directory $PWD/work/deep" 'the working directory'
says 'PLAN_A=alpha'
says 'PLAN_B=two words'
says 'URL=postgres://app@db/x?p=[REDACTED]' 'the value of a variable that is secret is taken out of another one'
says 'TOKEN=[REDACTED]' 'so is one that can be told by how it looks'
ok 'what is not listed is not kept' sh -c '! grep -q OTHER out'
ok 'a variable that is not set is not there' sh -c '! grep -q GONE out'
exits 0 cairn checkpoint show "$with" --json
json_ok 'as JSON'
is "$(json_get .environment.directory out)" "$PWD/work/deep" 'the directory'
is "$(json_get '.environment.variables[0].name' out)" EMPTY 'variables by name'
is "$(json_get '.environment.variables[0].value' out)" '' 'one that is empty'
is "$(json_get '.environment.variables[4].partial' out)" true 'whether something was left out'
is "$(json_get .items out)" 0 'they are no items'
ok 'no secret is in the store' sh -c '! grep -rqa -e hunter2-of-the-db -e ghp_0000 -e planted-other .cairn'
run cairn session export session.cairn
ok 'nor in an export' sh -c '! grep -qa -e hunter2-of-the-db -e ghp_0000 session.cairn'

# A value too short to be found in others: none is kept.
SHORT=abc exits 0 cairn session config redact SHORT
exits 0 env SHORT=abc PLAN_A=xabcx cairn checkpoint create short
exits 0 cairn checkpoint show "$(cat out)"
says 'PLAN_A=[REDACTED]' 'a secret too short to be found leaves no value'
run cairn session config redact DB_PASSWORD
exits 0 env PLAN_A="$(head -c 9000 /dev/zero | tr '\0' x)" PLAN_B="$(printf 'a\377b')" cairn checkpoint create long
exits 0 cairn checkpoint show "$(cat out)" --json
is "$(json_get '.environment.variables[1].value' out | wc -c)" 4102 'a long value is cut'
is "$(json_get '.environment.variables[2].value' out)" 'a\xffb' 'bytes that are no UTF-8'

# ---- It is no state ----
exits 0 cairn hypothesis add one
run cairn checkpoint create again
before=$(checkpoints)
exits 0 env PLAN_A=changed cairn checkpoint create --trigger code-modified
says 'unchanged' 'another environment alone makes no automatic checkpoint'
is "$(checkpoints)" "$before" 'none was made'
exits 0 env PLAN_A=changed cairn checkpoint create by-hand
second=$(cat out)

# ---- Compared ----
exits 0 cairn checkpoint diff "$with" "$second"
says 'PLAN_A: alpha -> changed' 'a variable that differs'
says '(directory): ' 'another directory'
ok 'one that is the same is not listed' sh -c '! grep -q PLAN_B out'
exits 0 env -u PLAN_B cairn checkpoint create without-b
exits 0 cairn checkpoint diff "$second" "$(cat out)" --json
json_ok 'as JSON'
is "$(json_get '.environment[1].name' out)" PLAN_B 'one that is gone'
is "$(json_get '.environment[1].after' out)" null 'is null'
exits 0 cairn checkpoint diff "$plain" "$second" --json
is "$(json_get '.environment[0].name' out)" '' 'nothing where one has none'
exits 0 env PLAN_A=now cairn checkpoint diff "$second"
says 'PLAN_A: changed -> now' 'with the present: what a checkpoint would keep now'
exits 0 cairn checkpoint diff "$second" "$second"
ok 'equal ones have no difference' sh -c '! grep -q environment out'

# ---- Listed by recover, and never set ----
exits 0 sh -c 'cd work/deep && exec cairn checkpoint create newest'
newest=$(cat out)
exits 0 cairn checkpoint recover
says "cd '$PWD/work/deep'" 'where it was made'
says "export PLAN_B='two words'" 'a variable, as a line for a shell'
says 'TOKEN was set' 'of one that was not kept whole the name'
is "$(get '.steps[0].kind' cairn checkpoint recover)" environment 'the kind of the step'
# A pattern takes any name; one that is more than a name would be run.
run env 'PLAN_C;touch hurt;X=1' "PLAN_D
touch hurt #=2" cairn checkpoint create odd
exits 0 cairn checkpoint recover
ok 'odd names are no lines for a shell' sh -c '! grep "export PLAN_[CD]" out'
says 'PLAN_C;touch hurt;X was set; that is not a name for a shell' 'they are named'
says 'PLAN_D?touch hurt # was set' 'on one line'
ok 'the lines for a shell run nothing' sh -c "sed -n 's/^ *[0-9]*  environment  //p' out | sh && test ! -e hurt"
ok 'nor do those of JSON' sh -c 'cairn checkpoint recover --json | grep -v "export PLAN_[CD]" | grep -q "PLAN_C;touch"'
exits 0 env PLAN_A=mine cairn checkpoint restore "$second" --yes
ok 'restoring sets nothing' sh -c '! grep -q PLAN_A out err'

# ---- Exported, and copied ----
run cairn session export session.cairn
exits 0 cairn --store other session import session.cairn
exits 0 cairn --store other checkpoint list --json
exits 0 cairn --store other checkpoint show "$(json_get '.checkpoints[0].id' out)"
says 'PLAN_B=two words' 'an import has it'
exits 0 cairn --store other session config --session env environment
says off 'but not the setting'
exits 0 cairn checkpoint verify

# ---- Off again ----
exits 0 cairn session config environment off
exits 0 cairn checkpoint create off
is "$(get .environment cairn checkpoint show "$(cat out)")" null 'nothing is kept any more'
is "$(get .environment.directory cairn checkpoint show "$newest")" "$PWD/work/deep" 'what is kept stays'

# ---- What a workflow of the store declares as secrets ----
mkdir declared
cd declared || exit 1
CAIRN_STORE=$PWD/.cairn
sql=$BUILD/tests/tools/sql
cat >w.yaml <<'END'
name: w
secrets: [DEPLOY_KEY, DEPLOY_PIN]
tasks:
  a: {secrets: [DEPLOY_KEY], run: 'echo key is $DEPLOY_KEY; exit 1'}
END
export DEPLOY_HOST=web-3
exits 0 cairn session start s
exits 0 cairn session config environment 'DEPLOY_*'
exits 1 env DEPLOY_KEY=planted-declared DEPLOY_URL=x://planted-declared@web DEPLOY_PIN=planted-pin cairn run w.yaml
exits 0 cairn checkpoint list --session s --json
exits 0 cairn checkpoint show "$(json_get '.checkpoints[0].id' out)" --json
is "$(json_get '.environment.variables[0].name' out) $(json_get '.environment.variables[1].name' out) $(json_get '.environment.variables[2].name' out)" 'DEPLOY_HOST DEPLOY_URL ' 'the run that declares it stores neither'
is "$(json_get '.environment.variables[1].value' out)" 'x://[REDACTED]@web' 'nor its value in another one'
exits 1 env DEPLOY_URL=x://planted-given@web cairn resume --secrets-fd 3 3<<END
DEPLOY_KEY=planted-given
DEPLOY_PIN=planted-pin
END
exits 0 cairn checkpoint list --session s --json
exits 0 cairn checkpoint show "$(json_get '.checkpoints[0].id' out)"
says 'DEPLOY_URL=x://[REDACTED]@web' 'nor one that the run was given in another way'
exits 0 env DEPLOY_KEY=planted-later DEPLOY_PIN=12 DEPLOY_N=12 DEPLOY_URL=x://planted-later@web cairn checkpoint create by-hand
exits 0 cairn checkpoint show "$(cat out)"
ok 'nor does another process' sh -c '! grep -q -e DEPLOY_KEY -e DEPLOY_PIN out'
says 'DEPLOY_URL=x://[REDACTED]@web'
says 'DEPLOY_N=12' 'one that is too short to be a secret hides nothing else'
exits 0 env DEPLOY_KEY=planted-now cairn checkpoint diff
ok 'nor is it told of the present' sh -c '! grep -q -e DEPLOY_KEY -e planted out'
exits 0 env DEPLOY_KEY=planted-exec cairn exec -- sh -c 'echo says planted-exec'
exits 0 cairn command show c1
says 'says [REDACTED]' 'what is recorded of a command does not have it'
exits 0 cairn check add fails --run 'echo $DEPLOY_KEY; false' --retries 0
run env DEPLOY_KEY=planted-check cairn check run v1
exits 0 cairn check show v1
says '[REDACTED]' 'nor of a check'
exits 2 env DEPLOY_KEY=planted-check cairn check add no --run 'echo planted-check'
exits 2 env DEPLOY_KEY=planted-hook cairn session config hook.note 'echo planted-hook'
# One that is declared later, by an edit of the file.
sed 's/DEPLOY_PIN\]/DEPLOY_PIN, DEPLOY_NEW]/' w.yaml >edited.yaml
mv edited.yaml w.yaml
exits 1 env DEPLOY_KEY=planted-edit DEPLOY_NEW=planted-new cairn resume
exits 0 env DEPLOY_NEW=planted-new cairn checkpoint create edited
exits 0 cairn checkpoint show "$(cat out)"
ok 'is one since' sh -c '! grep -q DEPLOY_NEW out'
# A store that does not note them: of an older cairn, or after damage.
for damaged in 0 1; do
    if [ $damaged = 0 ]; then
        "$sql" .cairn/cairn.db "DELETE FROM meta WHERE key = 'secrets'"
    else
        "$sql" .cairn/cairn.db "UPDATE meta SET value = 'X' WHERE key = 'secrets'"
        exits 5 cairn doctor --repair
    fi
    exits 0 env DEPLOY_NEW=planted-new cairn exec -- echo planted-new
    exits 0 cairn command list
    ok 'they come from the definitions' sh -c '! grep -q planted out'
    exits 0 env DEPLOY_NEW=planted-new DEPLOY_KEY=planted-key cairn checkpoint create again
    exits 0 cairn checkpoint show "$(cat out)"
    ok 'of all runs' sh -c '! grep -q -e DEPLOY_NEW -e DEPLOY_KEY out'
    is "$("$sql" .cairn/cairn.db "SELECT value FROM meta WHERE key = 'secrets'")" 'DEPLOY_KEY,DEPLOY_NEW,DEPLOY_PIN' 'and are noted'
done
run cairn session export all.cairn
ok 'no secret is in the store or the export' sh -c '! grep -rqa planted- .cairn all.cairn'
exits 0 cairn checkpoint verify
done_testing
