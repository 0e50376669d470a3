# shellcheck shell=sh disable=SC2154
# A damaged state of a branch is never passed over for an older one, and what stands for a state
# that is replaced is whole.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
store=$CAIRN_STORE

exits 0 cairn session start damaged -q
exits 0 cairn note add 'on main' -q
exits 0 cairn branch start other -q
exits 0 cairn note add 'on the other' -q
exits 0 cairn checkpoint create 'of the other' -q
exits 0 cairn branch switch main -q
cairn checkpoint list --json --limit 100 >list
head=$(json_get '.checkpoints[0].seq' list)
exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $head"
exits 5 cairn branch switch other
says "debug:$head" err
exits 5 cairn branch merge other
exits 0 cairn note list
is "$(grep -c '^n[0-9]' out)" 1 'nothing was changed'
exits 0 cairn branch list
ok 'the list names it' grep -q "debug:$head.*other" out
exits 5 cairn doctor --repair
exits 0 cairn branch switch other

# The content of the newest checkpoint is damaged, the board is not: it is stored again.
exits 0 cairn branch switch main -q
exits 0 cairn note add 'only here' -q
exits 0 cairn checkpoint create 'whole' -q
cairn checkpoint list --json --limit 1 >list
newest=$(json_get '.checkpoints[0].seq' list)
exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" "UPDATE object SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) FROM object)"
exits 5 cairn checkpoint verify
exits 0 cairn checkpoint restore debug:1 --yes
exits 0 cairn checkpoint undo-restore
exits 0 cairn note list
says 'only here' out
exits 0 cairn checkpoint show "debug:$newest"
exits 0 cairn checkpoint verify

# What belongs to two sessions is not compared.
exits 0 cairn session start another -q
exits 2 cairn checkpoint diff debug:1
says 'of two sessions' err
exits 0 cairn checkpoint create 'of another' -q
cairn checkpoint list --json --limit 1 >list
exits 2 cairn checkpoint diff debug:1 "$(json_get '.checkpoints[0].id' list)"
exits 0 cairn checkpoint diff debug:1 --session damaged
exits 2 cairn note list --at debug:1
says 'is of session 1' err
exits 0 cairn note list --at debug:1 --session damaged
exits 0 cairn session switch damaged -q
exits 0 cairn branch switch other -q
exits 0 cairn note add 'newer, and on another branch' -q
exits 0 cairn branch switch main -q
exits 0 cairn checkpoint recover
ok 'what is newest on the current branch comes first' grep -q "debug:$newest" out
exits 0 cairn session switch another -q

exits 0 cairn hypothesis add 'h' -q
exits 10 cairn evidence add h9 'e' --strength 1

# What other items name is gone: that is damage, and what can be done about it works.
exits 0 cairn session start lost -q
exits 0 cairn hypothesis add 'h' -q
exits 0 cairn evidence add h1 'e' --strength 0.5 -q
exits 0 cairn gap add 'g' --hypothesis h1 -q
exits 0 cairn checkpoint create 'with h1' -q
cairn checkpoint list --json --limit 1 >list
id=$(json_get '.checkpoints[0].id' list)
of="session = (SELECT max(session) FROM session)"
refused() {
    for command in 'gap list' 'evidence list' 'hypothesis list' 'gap update g1 --text y'; do
        # shellcheck disable=SC2086
        exits 5 cairn $command
        says 'h1 is missing' err
    done
}
exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" "DELETE FROM item WHERE kind = 1 AND $of"
refused
exits 0 cairn doctor --repair
exits 0 cairn gap list
exits 0 cairn note add 'x'
# The same where nothing has it any more that a repair looks at.
gone() {
    exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" "DELETE FROM item WHERE kind = 1 AND $of;
        DELETE FROM session_log WHERE (kind = 1 OR verb IN (4, 5)) AND $of"
    exits 5 cairn doctor --repair
    says 'of the 4 items of session 3 is missing' out
}
gone
refused
exits 0 cairn checkpoint restore "$id" --yes
exits 0 cairn gap list
exits 0 cairn note add 'x'
gone
exits 0 cairn evidence remove e1
exits 0 cairn gap remove g1
exits 0 cairn hypothesis list
exits 0 cairn checkpoint verify
done_testing
