# shellcheck shell=sh disable=SC2154
# What a user did to a run or to the store is in the log: deleting, pruning, collecting,
# repairing. Each step in a new process.
. "${TESTS:?}/cli/tap.sh"
sql=$BUILD/tests/tools/sql

{
    printf 'name: w\ntasks:\n'
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "  t$i: {foreach: {n: {range: [1, 20]}}, run: 'echo \$n of $i'}"
    done
} >w.yaml
for i in 1 2 3; do
    exits 0 cairn run w.yaml --fresh --keep 1000 -q
done
exits 0 cairn events --maintenance
says 'nothing was collected or repaired' 'a new store has no such events'

newest=$(cairn checkpoint list --run 3 --limit 1 --json | grep -o '"seq":[0-9]*' | cut -d: -f2)
exits 0 cairn checkpoint delete "workflow:$newest" --yes
exits 0 cairn events 3
is "$(tail -n 1 out | grep -c "deleted workflow:$newest\$")" 1 'a deleted checkpoint is the last event of its run'
exits 0 cairn checkpoint prune --run 2 --keep 1 --dry-run
exits 0 cairn events 2
is "$(grep -c pruned out)" 0 'a dry run is no event'
exits 0 cairn checkpoint prune --run 2 --keep 1
exits 0 cairn events 2 --json
is "$(tail -n 1 out | grep -c '"type":"checkpoints_pruned".*"run":2')" 1 'pruning is one of its run'
exits 0 cairn events 1
is "$(grep -c pruned out)" 0 'and of no other'

exits 0 cairn gc --keep-runs 2 --dry-run
exits 0 cairn gc --keep-runs 2
exits 0 cairn gc --keep-runs 2
exits 0 cairn events --maintenance
is "$(wc -l <out)" 1 'a collection that removed nothing is no event'
says 'collected 1 run' 'what was removed is said'
exits 0 cairn events --maintenance --json
json_ok 'as JSON'
is "$(json_get .type) $(json_get .run)" 'collected null' 'an event of no run'
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# It is in the log of the repaired store, beside what the damaged one had in its own.
"$sql" .cairn/cairn.db "UPDATE object SET data = x'00' WHERE id = 2"
exits 5 cairn checkpoint verify
run cairn doctor --repair
exits 0 cairn events --maintenance
is "$(sed 's/.*  \(c[a-z]*\|r[a-z]*\)[ :].*/\1/' out | tr '\n' ' ')" 'collected repaired ' 'in this order'
exits 0 cairn checkpoint verify
exits 0 cairn runs --json
is "$(grep -o '"run":[0-9]*' out | tr '\n' ' ')" '"run":3 "run":2 ' 'no run was made of them'
exits 0 cairn gc
exits 0 cairn events --maintenance
matches 'collected.*' 'and they stay'

# Rows of no run are guarded like the others.
"$sql" .cairn/cairn.db "UPDATE event SET kind = 17 WHERE run = 0 AND turn = 1"
exits 5 cairn checkpoint verify
says 'event of run 0' 'a changed one is named'
exits 2 cairn events 2 --maintenance
says 'give no RUN' 'two subjects at once are refused'
done_testing
