# Help, usage errors and version.
. "$TESTS/cli/tap.sh"

exits 0 cairn --help
says 'usage: cairn COMMAND'
says '`cairn help all` lists all commands.'
is "$(grep -c '^[A-Z].*:$' out)" 5 'five headed groups'
ok 'of them the daily commands' test "$(grep -c '^  [a-z][a-z ]*  ' out)" -le 16
ok 'on one page' test "$(grep -c '' out)" -le 52
ok 'and the names of the others' grep -q '^  also: .*validate' out
exits 0 cairn help all
listed() { # the commands that the page in `out` lists
    awk '/^commands:/ { on = 1; next } /^[a-z]/ { on = 0 }
        on && /^  [a-z]/ { print substr($0, 3, 23) }' out | sed 's/ *$//'
}
listed >commands
sed -n 's/^  \([a-z]*\) COMMAND .*/\1/p' out >groups
for command in run resume plan explain status watch runs log graph validate cancel doctor gc \
    'checkpoint list' 'checkpoint show' 'checkpoint timeline' 'checkpoint verify' \
    'checkpoint delete' 'checkpoint prune'; do
    ok "cairn help all lists $command" grep -qxF "$command" commands
done
for group in session hypothesis evidence belief gap note branch; do
    ok "cairn help all names the group $group" grep -qxF "$group" groups
done
while read -r group; do
    exits 0 cairn "$group" --help
    listed >members
    ok "cairn $group --help lists its commands" grep -q "^$group [a-z]" members
    cat members >>commands
done <groups
while read -r command; do
    # shellcheck disable=SC2086
    exits 0 cairn $command --help
    says 'EXAMPLE' "cairn $command --help shows an example"
    matches '^ +cairn ' "the example of $command is a command"
    silent_on err
done <commands
exits 0 cairn help run
says 'usage: cairn run'
exits 0 cairn checkpoint --help
says 'checkpoint verify'

exits 0 cairn --version
is "$(cat out)" "cairn $(cat "$root/VERSION")" 'the version is that of the file VERSION'

exits 2 cairn
exits 2 cairn stauts
says 'status' 'a mistyped command: the nearest is named'
exits 2 cairn checkpoint lst
says 'checkpoint list' 'the same for a command of two words'
exits 2 cairn hypothesis lst
says 'hypothesis list' 'the same in a group'
exits 2 cairn sesion
says 'cairn session' 'a mistyped group: the nearest is named'
exits 2 cairn run --job 3
says '--jobs' 'a mistyped option: the nearest is named'
exits 2 cairn run --paralel 3
says '--jobs' 'what other programs call it is known'
exits 2 cairn resume --fresh
says 'cairn run --fresh FILE' 'an option of another command: which'
exits 2 cairn run -j 4097
says '1 to 4096' 'the limit of --jobs is told'
exits 2 cairn run -j 0
exits 2 cairn run -j many
says 'many' 'what is not a number is named'
exits 10 cairn run a.yaml b.yaml
exits 2 cairn explain
exits 2 cairn resume --sync=sometimes
says 'full' 'the words of a choice are listed'
exits 2 cairn run
says 'cairn.yaml' 'run without a file says which it looks for'
exits 2 cairn run --json --nonsense
json_ok 'an error of usage is JSON with --json'
exits 2 cairn bogus --json
is "$(json_get .error.exit_status)" 2 'so is one of an unknown command'
ok 'and made no store' test ! -e .cairn

# ---- What was probably meant ----
while IFS='|' read -r words meant; do
    # shellcheck disable=SC2086
    exits 2 cairn $words
    says "did you mean \`cairn $meant\`?" "$words: $meant is meant"
done <<'END'
hyp add x|hypothesis
restore 3|checkpoint restore
bisect|checkpoint bisect
prune|checkpoint prune
rnu|run
session sta|session start
END
exits 2 cairn note add '--prior is wrong'
says 'a text that begins with a dash goes after --'
exits 2 cairn note add '-5 degrees'
says 'a text that begins with a dash goes after --'
exits 2 cairn hypothesis add x --likelihood 0.3
ok 'a word is an option' sh -c '! grep -q "after --" err'
exits 2 cairn shell 'a task' env
says "put -- before a command: cairn shell 'a task' -- env"
exits 2 cairn exec make
says "unexpected operand 'make': put -- before the command"


exits 0 cairn help belief --json
is "$(tr '{' '\n' <out | grep '"operands"' | grep -vc '"name":"belief ')" 0 'a group as JSON has only its commands'
ok 'all of them' grep -q '"name":"belief cascade"' out
done_testing
