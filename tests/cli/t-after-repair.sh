# What stands after `cairn doctor --repair`: nothing that must not runs twice, no number is
# used twice, what is wrong is named by every command.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

# The record in which an attempt's end stands. Its last byte changed, it is damaged.
record_of() { # run task
    "$sql" $db "SELECT checkpoint FROM attempt WHERE run = $1 AND task = $2 ORDER BY n DESC LIMIT 1"
}
spoil() { # from-seq
    "$sql" $db "UPDATE checkpoint SET record = flip(record, length(record) - 1) WHERE seq >= $1"
}

# ---- A task that must not run twice ----

cat >once.yaml <<'END'
name: once
tasks:
  a: {run: "echo a >>ran"}
  deploy: {once: true, needs: [a], run: "echo deploy >>ran"}
  c: {needs: [deploy], run: "echo c >>ran"}
END
exits 0 cairn run once.yaml
spoil "$(record_of 1 1)"
exits 5 cairn doctor --repair
says 'task deploy' 'the task whose end is lost is named'
says 'cairn resolve' 'and that it is not run again without a decision'
exits 0 cairn checkpoint verify
for from in 'a repair' 'one more resume'; do
    exits 0 cairn plan
    says 'depending on what becomes of deploy' "after $from the plan does not run deploy"
    run cairn explain deploy
    says 'must not run twice' "after $from explain says why"
    exits 0 cairn status --tasks
    matches 'unknown +deploy' "after $from status says: unknown"
    exits 8 cairn resume
    is "$(count deploy ran)" 1 "after $from it has run once"
done
exits 0 cairn resolve 1 deploy 'done'
exits 0 cairn resume
is "$(count deploy ran)" 1 'it counts as done as somebody decided'
is "$(count c ran)" 2 'what needs it runs again, as its end was lost'
exits 0 cairn checkpoint verify

# The same where its newest checkpoints were deleted.
rm -rf .cairn ran
exits 0 cairn run once.yaml
for seq in $("$sql" $db "SELECT seq FROM checkpoint WHERE seq >= $(record_of 1 1) ORDER BY seq DESC"); do
    exits 0 cairn checkpoint delete "$seq" --yes
done
exits 8 cairn resume
is "$(count deploy ran)" 1 'nor does it run twice where its checkpoint was deleted'

# The same where every record since an edit of the workflow is lost.
for repair in no yes; do
    rm -rf .cairn ran
    sed 's/"echo a >>ran"/"false"/' once.yaml >edited.yaml
    exits 1 cairn run edited.yaml
    next=$("$sql" $db 'SELECT max(seq) + 1 FROM checkpoint')
    { cat once.yaml; echo '  push: {once: true, needs: [deploy], run: "echo push >>ran"}'; } >edited.yaml
    exits 0 cairn resume
    is "$(count push ran)" 1 'a new task has run in the edited workflow'
    spoil "$next"
    [ $repair = no ] || exits 5 cairn doctor --repair
    exits 8 cairn resume
    is "$(count deploy ran) $(count push ran)" '1 1' "nor where an edit is lost (repair: $repair)"
done

# The same where the row of its attempt is damaged, too: that it began is known.
rm -rf .cairn ran
exits 0 cairn run once.yaml
spoil "$(record_of 1 1)"
"$sql" $db 'UPDATE attempt SET intent_ns = intent_ns + 1 WHERE task = 1'
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 8 cairn resume
is "$(count deploy ran)" 1 'nor where the row of its attempt is damaged'
exits 0 cairn resolve 1 deploy rerun
exits 0 cairn resume
is "$(count deploy ran)" 2 'unless somebody says so'

# ---- Tasks that run again are numbered on ----

cat >s.yaml <<'END'
name: s
tasks:
  a: {run: "echo a >>ran"}
  b: {needs: [a], run: "echo b >>ran"}
  c: {needs: [b], run: "echo c >>ran"}
END
rm -rf .cairn ran
exits 0 cairn run s.yaml
spoil "$(record_of 1 1)"
exits 5 cairn doctor --repair
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a b c b c ' 'the first resume runs what is lost'
exits 0 cairn checkpoint verify

# ---- The row of a run ----

rm -rf .cairn ran
cat >p.yaml <<'END'
name: p
params: {who: nobody}
tasks:
  a: {run: "echo a $who >>ran"}
  b: {needs: [a], run: "echo b >>ran"}
END
exits 0 cairn run p.yaml --param who=me
exits 0 cairn run s.yaml
exits 0 cairn runs --json
what_is_shown() { sed 's/"started":"[^"]*"//g; s/"ended":"[^"]*"//g' out; }
what_is_shown >runs.before
cp -r .cairn sound
for damage in 'ended_ns = ended_ns + 1' 'state = 0' 'file = file || 1' "params = x'00'" 'gen = 7' 'tasks = 1'; do
    rm -rf .cairn ran
    cp -r sound .cairn
    "$sql" $db "UPDATE run SET $damage WHERE run = 1"
    for command in 'status 1' 'status 1 --can-resume' 'resume 1' 'plan --run 1' 'run p.yaml --param who=me' 'log a --run 1'; do
        # shellcheck disable=SC2086
        exits 5 cairn $command
        says 'row of run 1' "$damage: $command says so"
    done
    ok 'and nothing has run' test ! -e ran
    exits 0 cairn runs
    exits 5 cairn checkpoint verify
    exits 5 cairn doctor --repair
    says 'row of run 1' "$damage: the repair tells it"
    exits 0 cairn checkpoint verify
    exits 0 cairn runs --json
    what_is_shown >runs.after
    ok "$damage: the run is what it was" cmp -s runs.before runs.after
    exits 0 cairn resume 1
    says 'nothing to do' 'and is resumed as such'
    exits 0 cairn checkpoint list
    ok 'every checkpoint has its workflow' sh -c '! grep -q "  *$" out'
done

# The name of its workflow; a fork; a keyed run.
rm -rf .cairn
cp -r sound .cairn
exits 0 cairn resume --from "$("$sql" $db 'SELECT max(seq) - 2 FROM checkpoint')"
exits 0 cairn runs --json
what_is_shown >runs.before
for damage in "UPDATE workflow SET name = name || 'x'" 'UPDATE run SET started_ns = 1' 'DELETE FROM run' 'DELETE FROM workflow'; do
    rm -rf damaged
    cp -r .cairn damaged
    "$sql" damaged/cairn.db "$damage"
    exits 5 cairn doctor --store damaged --repair
    exits 0 cairn checkpoint verify --store damaged
    exits 0 cairn runs --json --store damaged
    what_is_shown >runs.after
    ok "$damage: the runs are what they were" cmp -s runs.before runs.after
done
rm -rf .cairn
(umask 077 && head -c 32 /dev/urandom >key)
exits 0 cairn run s.yaml --key key
"$sql" $db 'UPDATE run SET ended_ns = ended_ns + 1'
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 5 cairn checkpoint verify --key key
exits 5 cairn resume --key key
says 'row was changed or forged' 'a row that was made again has no HMAC of the key'
run cairn resume
says 'is recorded with a key' 'and it is still a keyed run'
"$sql" $db 'UPDATE run SET sum = substr(sum, 1, 8)'
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
exits 5 cairn resume --key key
says 'row was changed or forged' 'nor has one that was stripped of it'

# Gone with all that named it, too: its number is not used again.
for gone in 'DELETE FROM run WHERE run = 2' 'DELETE FROM run WHERE run = 2; DELETE FROM event; DELETE FROM attempt' \
    'UPDATE run SET ended_ns = 3 WHERE run = 2; DELETE FROM checkpoint WHERE stream = 2'; do
    rm -rf .cairn ran
    cp -r sound .cairn
    "$sql" $db "$gone"
    exits 5 cairn checkpoint verify
    run cairn run s.yaml --fresh
    exits 5 cairn doctor --repair
    exits 0 cairn checkpoint verify
    exits 0 cairn run s.yaml --fresh
    exits 0 cairn checkpoint verify
    is "$("$sql" $db 'SELECT count(*) FROM run WHERE run > 2 AND state = 1') $("$sql" $db 'SELECT max(run) FROM run')" '2 4' \
        "$gone: number 2 is not given twice"
done

# ---- A run without checkpoints ----

rm -rf .cairn ran
cp -r sound .cairn
exits 0 cairn checkpoint prune --run 2 --keep 1
exits 0 cairn checkpoint delete "$("$sql" $db 'SELECT max(seq) FROM checkpoint')" --yes
for command in runs 'checkpoint timeline'; do
    # shellcheck disable=SC2086
    exits 0 cairn $command
    says 'no valid checkpoint' "$command says that one has none"
    matches ' p( |$)' "$command continues to the next one"
    # shellcheck disable=SC2086
    exits 0 cairn $command --json
    json_ok "$command --json is whole"
    is "$(json_get '.runs[0].checkpoint') $(json_get '.runs[1].run')" 'null 1' "$command --json shows both"
done
for command in status 'status --can-resume' plan resume 'checkpoint show 9'; do
    # shellcheck disable=SC2086
    run cairn $command
    matches 'no checkpoint left|was deleted|no checkpoint 9' "$command says what is wrong"
done
exits 5 cairn status --can-resume
exits 5 cairn plan
exits 0 cairn checkpoint verify

# ---- A store of a newer cairn ----

rm -rf .cairn
cp -r sound .cairn
"$sql" $db 'PRAGMA user_version = 99'
cp -r .cairn newer
for command in doctor 'doctor --repair'; do
    # shellcheck disable=SC2086
    run cairn $command
    says 'newer cairn' "$command refuses a newer store"
done
is "$status" 75 'with exit status 75'
ok 'which stays as it is' cmp -s $db newer/cairn.db
ok 'and nothing is put aside' sh -c '! ls -d .cairn/damaged-* .cairn/odd-* 2>/dev/null'
done_testing
