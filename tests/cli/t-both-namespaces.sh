# make: sanitize
# Checkpoints of runs and of sessions side by side: list, show, delete, timeline, exported
# heads, verify.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}

cat >one.yaml <<'END'
name: one
tasks: {a: {run: "true"}}
END
cairn session start cache >/dev/null 2>&1
make() { # MESSAGE [OPTION...]: a checkpoint of a state that is new; its id
    cairn note add "$1" >/dev/null 2>&1
    cairn checkpoint create "$@" 2>/dev/null
}
first=$(make 'before
the upgrade' --tag risky,cache)
exits 0 cairn run one.yaml
second=$(make second)
cairn branch start side >/dev/null 2>&1
aside=$(make aside)

# ---- List ----
exits 0 cairn checkpoint list
is "$(grep -c '^workflow:' out) $(grep -c '^debug:' out)" '3 3' 'without a filter both are listed'
says 'cache/main  before  [risky,cache]' 'a session, its branch, the first line of the message, the tags'
says 'cache/side  aside  head' 'the newest one of a branch is marked'
exits 0 cairn checkpoint list --run 1
is "$(grep -c '^debug:' out)" 0 'with --run only those of runs'
exits 0 cairn checkpoint list --workflow one
is "$(grep -c '^debug:' out)" 0 'with --workflow, too'
exits 0 cairn checkpoint list --sort seq --json
is "$(json_get '.checkpoints[0].namespace') $(json_get '.checkpoints[0].session_name') $(json_get '.checkpoints[0].branch_name')" \
    'debug cache main' 'JSON of one of a session'
is "$(json_get '.checkpoints[0].message')" 'before\nthe upgrade' 'its message, whole'
is "$(json_get '.checkpoints[0].tags[0]') $(json_get '.checkpoints[0].tags[1]')" 'risky cache' 'its tags'
is "$(json_get '.checkpoints[1].namespace') $(json_get '.checkpoints[1].run')" 'workflow 1' 'JSON of one of a run'
is "$(json_get .total)" 6 'the total'
long=$(printf '%0300d' 7)
make "$long" >/dev/null
is "$(get '.checkpoints[0].message' cairn checkpoint list | sed 's/0*/0/')" '0…' 'a long message is cut in lists'
is "$(get .message cairn checkpoint show 7)" "$long" 'and whole where one is shown'

# ---- By id ----
for id in "$second" "${second%%-*}" "${second#debug:}" "$(echo "${second#debug:}" | cut -d- -f1)"; do
    is "$(get .id cairn checkpoint show "$id")" "$second" "found as $id"
done
exits 0 cairn checkpoint show "$second"
says 'session   cache, branch main'
says 'parent    debug:1'
exits 10 cairn checkpoint show "workflow:${second#debug:}"
says 'is a debugging checkpoint' 'an id of the other namespace is refused'
exits 10 cairn checkpoint show "$second" --tasks
exits 10 cairn resume --from "$second"

# ---- Timeline ----
exits 0 cairn checkpoint timeline
is "$(grep -n 'run 1  completed' out | cut -d: -f1)" 1 'runs come first'
says '  current  ' 'the current session is marked'
is "$(grep -c '^  \* branch main  active' out) $(grep -c "^    \* branch side  current  from $second" out)" '1 1' \
    'a branch is below the one that it starts from'
says 'second  head  branch: side' 'where it starts'
is "$(get '.sessions[0].tree[1].checkpoints[1].id' cairn checkpoint timeline)" "$aside" 'the same as JSON'
is "$(json_get '.sessions[0].tree[0].checkpoints_total' doc.json) $(json_get '.runs[0].checkpoints_total' doc.json)" '2 3' 'how many there are'
is "$(get '.sessions[0]' cairn checkpoint timeline --workflow one)" '' 'sessions belong to no workflow'
exits 0 cairn checkpoint timeline --limit 1
says '| ... 1 more' 'how many are left out'

# ---- Exported heads ----
cairn checkpoint head >head.txt
is "$(grep -c '^branch ' head.txt) $(grep -c '^run ' head.txt)" '2 1' 'a line for each branch'
cairn checkpoint head --json >head.json
exits 0 cairn checkpoint verify --head head.txt
says '3 runs and branches were compared'
exits 0 cairn checkpoint verify --head head.json
sed 's/^branch \([0-9]*\) seq \([0-9]*\) \(.*\) sha256 ..../branch \1 seq \2 \3 sha256 abcd/' head.txt >other.txt
exits 5 cairn checkpoint verify --head other.txt
says 'the record was replaced' 'of a branch, too'
sed 's/^branch 0*[0-9]* /branch 0 /' head.txt >zero.txt
exits 2 cairn checkpoint verify --head zero.txt

# ---- Delete ----
exits 2 cairn checkpoint delete "$second" --yes
says 'is kept: branch' 'where a branch starts from stays'
exits 0 cairn checkpoint delete "$first" --yes
exits 0 cairn checkpoint list
is "$(grep -c '^debug:' out)" 3 'one is gone'
exits 0 cairn checkpoint prune --keep 1
is "$(get .total cairn checkpoint list)" 4 'prune --keep looks at runs'
exits 0 cairn gc
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint verify --head head.txt

# ---- Damage ----
"$BUILD/tests/tools/sql" .cairn/cairn.db 'UPDATE object SET data = flip(data, 0) WHERE id = (SELECT max(id) FROM object)'
exits 5 cairn checkpoint verify
matches '^object [0-9a-f]{64} is damaged: .*; it is the section of checkpoint debug:7; they cannot be restored$' \
    'a damaged section is named with the checkpoint that needs it'
exits 5 cairn checkpoint verify 7
exits 0 cairn checkpoint verify "$second"
exits 5 cairn doctor --repair
says 'the section of checkpoint debug:7' 'a repair says what is lost'
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint list --limit 1
matches '^debug:7-.*  head  PART LOST$' 'the record is sound, and marked'
done_testing
