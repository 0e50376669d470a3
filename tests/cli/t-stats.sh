# `cairn stats`: what is counted, each step in a process of its own.
. "$TESTS/cli/tap.sh"

# The value of a figure, as Prometheus reads it: NAME{LABELS}
figure() { cairn stats --prometheus | sed -n "s/^cairn_$1 //p"; }

exits 10 cairn stats
exits 2 cairn stats --json --prometheus
exits 2 cairn stats extra

cat >flow.yaml <<'END'
name: 'a "name"'
on_failure: continue
tasks:
  first: {run: echo 12345}
  slow: {run: sleep 5, timeout: 100ms, needs: [first]}
  bad: {run: exit 1, needs: [first], retries: {max: 2, delay: 1ms}}
END
printf 'name: other\ntasks:\n  one: {run: exit 0}\n' >other.yaml
exits 1 cairn run flow.yaml
exits 1 cairn resume
exits 0 cairn run other.yaml
name='workflow="a \\"name\\""'

exits 0 cairn stats
says 'attempt_seconds: attempts of tasks that have ended' 'what is counted is said'
says 'a "name"' 'the workflow'
is "$(figure "runs{$name,state=\"failed\"}")" 1 'a run that failed'
is "$(figure 'runs{workflow="other",state="completed"}')" 1 'and one that did not'
is "$(figure 'run_starts{how="new"}')" 2 'runs that were begun'
is "$(figure 'run_starts{how="resumed"}')" 1 'and resumed'
is "$(figure "attempt_seconds_count{$name,end=\"completed\"}")" 1 'attempts that completed'
is "$(figure "attempt_seconds_bucket{$name,end=\"completed\",le=\"+Inf\"}")" 1 'the last bucket has all'
is "$(figure "attempt_output_bytes{$name,end=\"completed\"}")" 6 'what they wrote'
sql=$BUILD/tests/tools/sql
is "$(figure "attempt_seconds_count{$name,end=\"failed\"}")" \
    "$("$sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM attempt WHERE outcome = 2 AND NOT ifnull(flags, 0) & 1')" \
    'those that failed, retries too'
is "$(figure "attempt_seconds_count{$name,end=\"timed-out\"}")" \
    "$("$sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM attempt WHERE flags & 1')" \
    'and those that took too long'
is "$(figure 'checkpoint_bytes_count{namespace="workflow"}')" \
    "$("$sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM checkpoint')" 'checkpoints'
is "$(figure "attempt_wait_seconds_count{$name}")" \
    "$("$sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM attempt a JOIN run r USING (run) JOIN workflow w ON w.id = r.workflow WHERE a.wait_ns IS NOT NULL AND w.name <> "other"')" \
    'how long attempts waited for their start'
ok 'which were some' test "$(figure "attempt_wait_seconds_count{$name}")" -gt 4
is "$(figure 'sessions{state="open"}')" '' 'what is not there is not told'

# ---- Every line is one that Prometheus reads ----
cairn stats --prometheus >text
is "$(grep -cvE '^# (HELP cairn_[a-z_]+ .+|TYPE cairn_[a-z_]+ (gauge|histogram))$|^cairn_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+$' text)" 0 \
    'each line is a comment or a sample'
is "$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' text | sort | uniq -d | wc -l)" 0 'each family comes once'
is "$(grep -v '^#' text | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l)" 0 'and each sample'

# ---- The same as JSON ----
run cairn stats --json
json_ok 'the document'
is "$(json_get '.families[0].name')" store_bytes 'it begins with the store'
is "$(json_get '.families[0].figures[0].value')" "$(figure 'store_bytes{part="used"}')" 'with the same figures'

# ---- The index of searches ----
is "$(figure search_index_bytes)" 0 'there is no index yet'
exits 0 cairn search anything
run cairn stats --prometheus
is "$(figure search_index_bytes)" "$(wc -c <"$CAIRN_STORE/search.db" | tr -d ' ')" 'its size'

# ---- Sessions ----
run cairn session start s
run cairn hypothesis add 'the cache is stale'
run cairn note add 'look at the log'
run cairn checkpoint create one
run cairn checkpoint create two --tag keep
run cairn session message add --role user --tokens-in 7 'why?'
exits 3 cairn exec -- sh -c 'sleep 0.12; exit 3'
exits 0 cairn exec -- true
exits 0 cairn exec -- true
exits 0 cairn check add 'it is there' --run 'sleep 0.02'
exits 0 cairn check add 'never run' --run 'sleep 0.02'
exits 0 cairn check run v1
run cairn session start t
run cairn session end
is "$(figure 'session_seconds_count')" 1 'sessions that have ended, by how long they took'
is "$(figure 'command_seconds_count{kind="command",end="completed"}')" 2 'commands that were run'
is "$(figure 'command_seconds_count{kind="command",end="failed"}')" 1 'and failed'
is "$(figure 'command_seconds_bucket{kind="command",end="failed",le="0.1"}')" 0 'which took longer than that'
is "$(figure 'command_seconds_bucket{kind="command",end="failed",le="60"}')" 1 'but not longer than this'
is "$(figure 'command_seconds_count{kind="check",end="completed"}')" 1 'and checks that were run'
is "$(figure 'command_seconds_count{kind="check",end="failed"}')" '' 'of which none failed'
is "$(figure 'sessions{state="open"}')" 1 'a session that is open'
is "$(figure 'sessions{state="ended"}')" 1 'and one that has ended'
is "$(figure 'session_checkpoints_made{trigger="manual"}')" 2 'checkpoints by hand'
is "$(figure 'checkpoint_bytes_count{namespace="debug"}')" \
    "$("$sql" "$CAIRN_STORE/cairn.db" 'SELECT count(*) FROM checkpoint WHERE namespace = 2')" 'all of sessions'
is "$(figure 'board_items{kind="note"}')" 1 'notes'
is "$(figure 'board_items{kind="hypothesis"}')" 1 'hypotheses'
is "$(figure 'messages{role="user"}')" 1 'messages'
is "$(figure 'message_tokens_in{role="user"}')" 7 'their tokens'

# ---- What is deleted is counted no more, but as deleted ----
first=$(cairn checkpoint list --session s --sort seq --json | tr '{' '\n' | sed -n 's/.*"id": *"\(debug:[^"]*\)".*/\1/p' | head -n 1)
had=$(figure 'checkpoint_bytes_count{namespace="debug"}')
exits 0 cairn checkpoint delete "$first" --yes
is "$(figure 'checkpoint_bytes_count{namespace="debug"}')" $((had - 1)) 'one less'
is "$(figure 'checkpoints_deleted{namespace="debug"}')" 1 'one deleted'
exits 0 cairn checkpoint prune --keep 1
is "$(figure 'maintenance{what="prune"}')" 2 'both runs were pruned'

# ---- A store that cannot be written ----
before=$(cksum <"$CAIRN_STORE/cairn.db")
run cairn stats --json
is "$(cksum <"$CAIRN_STORE/cairn.db")" "$before" 'nothing is written'
done_testing
