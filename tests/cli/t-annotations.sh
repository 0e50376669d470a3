# shellcheck shell=sh disable=SC2154
# Labels and notes of checkpoints of runs and of sessions: what they decide, and that they go
# with their checkpoint.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
store=$CAIRN_STORE

cat >w.yaml <<'Y'
name: w
tasks:
  a: {run: echo a}
  b: {run: 'test -e go', needs: [a]}
Y
exits 1 cairn run w.yaml --keep 0
cairn checkpoint list --json --limit 100 >list
head=$(json_get '.checkpoints[0].id' list)

# ---- Broken ----
exits 0 cairn checkpoint label "$head" broken
exits 2 cairn checkpoint label "$head" broken
says 'has the label' err
touch go
exits 2 cairn resume
says 'is labelled broken' err
exits 2 cairn run w.yaml
exits 2 cairn run w.yaml --fresh --from "$head"
exits 2 cairn resume --from "$head"
says 'is labelled broken' err
exits 0 cairn checkpoint show "$head" --json
is "$(json_get '.labels[0]' out)" broken 'shown with it'
exits 0 cairn checkpoint label "$head" broken --remove
exits 2 cairn checkpoint label "$head" broken --remove
says 'has no label' err
exits 0 cairn checkpoint label "$head" broken
exits 0 cairn resume --force
is "$(cairn status --json >s; json_get '.state' s)" completed 'forced, it continues'

# ---- Notes ----
exits 0 cairn checkpoint note "$head" 'before the disk was changed' --severity warning
printf 'of two\nlines\n' >text
exits 0 sh -c "cairn checkpoint note $head - <text"
exits 0 cairn checkpoint show "$head"
says 'warning: before the disk was changed' out
exits 0 cairn checkpoint show "$head" --json
is "$(json_get '.notes[1].severity' out)" info 'info unless said'
exits 2 cairn checkpoint note "$head" ''
exits 10 cairn checkpoint note 4711 'no such'
exits 2 cairn checkpoint label "$head" 'two words'
exits 2 cairn checkpoint label "$head" ''
exits 0 cairn checkpoint verify

# ---- Keep ----
cairn checkpoint list --json --limit 100 --sort seq >list
first=$(json_get '.checkpoints[0].id' list)
exits 0 cairn checkpoint label "$first" keep
exits 0 cairn checkpoint prune --keep 1
cairn checkpoint list --json --limit 100 >list
is "$(json_get '.total' list)" 2 'the newest stays, and the labelled one'
exits 0 cairn checkpoint show "$first"
exits 0 cairn checkpoint verify
exits 10 cairn checkpoint show "$head"
is "$("$BUILD/tests/tools/sql" "$store/cairn.db" 'SELECT count(*) FROM annotation')" 1 'the others went with their checkpoints'
exits 0 cairn checkpoint label "$first" keep --remove
exits 0 cairn checkpoint prune --keep 1
exits 10 cairn checkpoint show "$first"

# ---- Of a session ----
exits 0 cairn session start s -q
exits 0 cairn hypothesis add 'one' -q
exits 0 cairn hypothesis test h1 -q
exits 0 cairn checkpoint list --json
auto=$(json_get '.checkpoints[0].id' out)
exits 0 cairn note add 'later' -q
exits 0 cairn checkpoint create 'by hand' -q
exits 0 cairn checkpoint label "$auto" broken
exits 2 cairn checkpoint restore "$auto" --yes
says 'is labelled broken' err
exits 0 cairn checkpoint restore "$auto" --yes --force
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint label "$auto" keep
exits 0 cairn branch start other -q
exits 0 cairn branch switch main -q
exits 0 cairn checkpoint prune --keep-last 1
exits 0 cairn checkpoint show "$auto"
exits 2 cairn checkpoint delete "$auto" --yes
says 'begins at it' err
exits 0 cairn checkpoint verify

# ---- Damage ----
exits 0 cairn checkpoint list --json
id=$(json_get '.checkpoints[0].id' out)
exits 0 cairn checkpoint note "$id" 'to be damaged'
exits 0 cairn checkpoint note "$id" 'to be saved'
exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" "UPDATE annotation SET text = 'other' WHERE text = 'to be damaged'"
exits 5 cairn checkpoint show "$id"
says 'annotation of checkpoint' err
exits 5 cairn checkpoint verify
exits 5 cairn doctor --repair
says 'the annotation of checkpoint' out
exits 0 cairn checkpoint show "$id"
says 'to be saved' out
exits 0 cairn checkpoint verify
# ---- Labels in lists ----
export CAIRN_STORE="$PWD/lists.cairn"
exits 0 cairn run w.yaml --keep 0
cairn checkpoint list --json --limit 100 >list
head=$(json_get '.checkpoints[0].id' list)
exits 0 cairn checkpoint label "$head" broken
exits 0 cairn checkpoint list
ok 'a list shows the label' grep -q "^$head .*  label: broken\$" out
is "$(grep -c 'label:' out)" 1 'of that one alone'
exits 0 cairn checkpoint label "$head" seen
exits 0 cairn checkpoint timeline
ok 'so does the timeline' grep -q "$head .*  label: broken, seen" out
exits 0 cairn checkpoint list --label seen --json
is "$(json_get .total) $(json_get '.checkpoints[0].id')" "1 $head" 'those with a label alone'
is "$(json_get '.checkpoints[0].labels[1]')" seen 'and which it has'
exits 0 cairn checkpoint list --label see
says '0 of 0 checkpoints' 'the whole label must be the same'
exits 0 cairn checkpoint timeline --json
json_ok 'the timeline as JSON'
exits 0 cairn session start lists
for i in 1 2 3; do
    cairn checkpoint create "number $i" --tag "odd$((i % 2)),all" >>made 2>&1
done
exits 0 cairn checkpoint list --tag odd1
is "$(grep -c '^debug:' out)" 2 'those with a tag'
says '2 of 2 checkpoints'
exits 0 cairn checkpoint list --tag all --limit 1 --offset 1
matches '^debug:.*  number 2  ' 'by pages'
says '1 of 3 checkpoints'
exits 0 cairn checkpoint label "$(sed -n 2p made)" broken
exits 0 cairn checkpoint list --tag all --label broken --session lists
matches '^debug:.*  number 2  \[odd0,all\]  label: broken$' 'with both'
says '1 of 1 checkpoint'
exits 0 cairn checkpoint timeline
ok 'in the tree of a session' grep -q '  number 2  \[odd0,all\]  label: broken$' out
long=$(printf 'tag-%050d,' 1 2 3 4 5 6 7 8)last
exits 0 cairn checkpoint create 'with many tags' --tag "$long"
exits 0 cairn checkpoint list --tag last
says '1 of 1 checkpoint' 'also one that is cut where it is listed'
exits 0 cairn checkpoint list --any-tag last --any-tag odd0 --session lists
says ' number 2 ' 'with one of two tags'
says ' with many tags ' 'or with the other'
both=$(grep -c '^debug:' out)
exits 0 cairn checkpoint list --any-tag last --any-tag odd0 --tag all --session lists
is "$(grep -c '^debug:' out)" $((both - 1)) 'and with a third one as well'
second=$(sed -n 's/^debug:\([0-9]*\)-.* number 2 .*/\1/p' out | head -n 1)
exits 0 cairn checkpoint list --from-seq "$second" --to-seq "$second"
says '1 of 1 checkpoint' 'those between two numbers'
says ' number 2 '
exits 0 cairn checkpoint list --to-seq "$second" --from-seq $((second + 1))
says '0 of 0 checkpoints' 'nothing lies between them'
exits 2 cairn checkpoint list --from-seq 0
exits 0 cairn checkpoint note "$(sed -n 2p made)" 'looked at'
exits 0 cairn checkpoint list --from-seq "$second" --to-seq "$second"
matches '  label: broken  1 note$' 'how many notes it has'
exits 0 cairn checkpoint list --from-seq "$second" --to-seq "$second" --json
says '"trigger":"manual"' 'why it was made'
says '"note_count":1'
exits 0 cairn session end

# ---- Secrets: of the session that a checkpoint belongs to, and of the current one ----
OF_FIRST=mulberry-4711-first OF_SECOND=mulberry-4711-second
export OF_FIRST OF_SECOND
exits 0 cairn session start first
exits 0 cairn session config redact OF_FIRST
exits 0 cairn checkpoint create 'of the first'
of_first=$(cat out)
exits 0 cairn session start second
exits 0 cairn session config redact OF_SECOND
exits 0 cairn checkpoint create 'of the second'
of_second=$(cat out)
exits 0 cairn checkpoint note "$of_first" "with $OF_FIRST and $OF_SECOND in it"
exits 0 cairn checkpoint note "$of_second" "with $OF_SECOND in it"
exits 0 cairn checkpoint note "$head" "with $OF_SECOND in it"
for secret in "$OF_FIRST" "$OF_SECOND"; do
    exits 2 cairn checkpoint label "$of_first" "is-$secret"
    says 'is in the label, at byte 3, and a name is stored as it is' "a label with $secret"
done
exits 0 cairn session end
exits 0 cairn checkpoint note "$of_second" "again $OF_SECOND, without a current session"
for id in "$of_first" "$of_second" "$head"; do
    cairn checkpoint show "$id" --json
done >shown 2>&1
is "$(grep -c 'in it' shown)" 3 'the notes are there'
is "$(grep -c mulberry shown)" 0 'and have no secrets'
is "$(cat "$store"/* 2>/dev/null | grep -c mulberry)" 0 'nor has the store'

done_testing
