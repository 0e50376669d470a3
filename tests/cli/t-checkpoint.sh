# Checkpoints: list, show, ids, timeline, delete, prune, retention.
. "$TESTS/cli/tap.sh"

cat >many.yaml <<'END'
name: many
jobs: 1
tasks:
  step: {foreach: {n: {range: [1, 30]}}, run: "true"}
  last: {run: "true", needs: [step]}
END
listed() { # number of checkpoints, as the list itself says
    cairn checkpoint list --json "$@" >list.json
    json_get .total list.json
}
exits 0 cairn run many.yaml --keep 0 --jobs 1
total=$(listed)
ok 'a run of 31 tasks has checkpoints' test "$total" -ge 5
exits 0 cairn checkpoint list
ok 'ten are listed unless asked otherwise' test "$(grep -c 'workflow:' out)" -le 10
says "$total" 'with the total'
exits 0 cairn checkpoint list --limit 3 --offset 1 --sort seq
is "$(grep -c 'workflow:' out)" 3 'pages have the asked length'
exits 10 cairn checkpoint list --workflow nobody
exits 2 cairn checkpoint list --limit 101

cairn checkpoint list --json --limit 1 >list.json
"$BUILD/tests/tools/json" flat list.json | awk -F '\t' '$1 ~ /\.id$/ { print $2 }' >ids
id=$(head -n 1 ids)
matches_id=$(echo "$id" | grep -cE '^workflow:[0-9]+-[0-9a-f]{12}$')
is "$matches_id" 1 "the id $id has the documented form"
seq=${id#workflow:}
seq=${seq%-*}
hex=${id#*-}
for name in "$id" "$seq" "workflow:$seq" "$hex"; do
    exits 0 cairn checkpoint show "$name"
    says "$id" "$name names it"
done
exits 0 cairn checkpoint show "$id" --tasks --all
says 'step[n=30]' 'the outcome of every task'
run cairn checkpoint show "workflow:$seq-000000000000"
ok 'an id with another digest is refused' test "$status" -ne 0
exits 10 cairn checkpoint show 999999
says 'there is no checkpoint 999999'
exits 10 cairn checkpoint show 123456789012
says 'no checkpoint has a digest that begins with 123456789012' 'so many digits are those of a digest'
exits 2 cairn checkpoint show ''
exits 0 cairn checkpoint timeline
says 'many' 'the timeline names the workflow'
exits 0 cairn checkpoint timeline --offset 1000 --json
cp out doc.json
is "$(json_get '.runs[0].run' doc.json)" '' 'a page behind the last run is empty'
cairn runs --json >runs.json
is "$(json_get .runs_total doc.json)" "$(json_get .total runs.json)" 'and says how many there are'
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint verify "$id"

exits 0 cairn checkpoint prune --keep 3 --dry-run
is "$(listed)" "$total" 'a dry run deletes nothing'
exits 2 cairn checkpoint prune
exits 0 cairn checkpoint prune --keep 3
is "$(listed)" 3 'pruning leaves exactly 3'
exits 0 cairn checkpoint verify
exits 0 cairn resume
says 'nothing to do' 'a pruned run is still known'
exits 2 cairn checkpoint delete "$id"
says '--yes' 'deleting without a terminal needs --yes'
run cairn checkpoint delete "$id" --yes
ok 'the newest may go, or is refused with a reason' test "$status" -eq 0 -o -s err
exits 0 cairn checkpoint verify
exits 10 cairn checkpoint delete 999999 --yes

# Retention at the end of a run.
exits 0 cairn run many.yaml --keep 5 --fresh
second=$(listed --run 2)
exits 0 cairn run many.yaml --keep 0 --fresh
third=$(listed --run 3)
ok "--keep 5 keeps fewer ($second) than --keep 0 ($third)" test "$second" -le "$third"
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# More stay than were asked for: the reason is told, once, and only then.
cairn checkpoint list --json --run 3 --sort seq --limit 1 >list.json
exits 0 cairn resume --from "$(json_get '.checkpoints[0].id' list.json)"
exits 0 cairn checkpoint prune --run 3 --keep 2
says '1 more than --keep asks for: none is deleted that a run forked from' 'prune: why more stay than asked for'
is "$(listed --run 3)" 3 'the fork point stays'
exits 0 cairn checkpoint prune --run 3 --keep 2 -q
silent_on err
exits 0 cairn checkpoint prune --run 3 --keep 3
silent_on err

done_testing
