# shellcheck shell=sh disable=SC2154
# A session whose row was lost is made again by a repair, and continues.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
store=$CAIRN_STORE

exits 0 cairn session start lost -q
exits 0 cairn note add 'one'
exits 0 cairn hypothesis add 'it is the cache'
exits 0 cairn note add 'two'
exits 0 cairn note remove n2
exits 0 cairn checkpoint create 'before'

exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" 'DELETE FROM session'
exits 5 cairn checkpoint verify
says 'session 1' err
exits 5 cairn doctor --repair
exits 0 cairn session list
says 'recovered-1' out
exits 0 cairn session show 1
exits 0 cairn session switch 1
exits 0 cairn note list
says 'one' out
exits 0 cairn note add 'three'
is "$(cat out)" n3 'no number is used again'
exits 0 cairn session config
exits 0 cairn checkpoint create 'after'
exits 0 cairn checkpoint restore debug:1 --yes
exits 0 cairn note list
is "$(grep -c '^n[0-9]' out)" 1 'the restored state has one note'
exits 0 cairn checkpoint verify

# And its branches.
exits 0 "$BUILD/tests/tools/sql" "$store/cairn.db" 'DELETE FROM session; DELETE FROM branch'
exits 5 cairn doctor --repair
exits 0 cairn session list
exits 0 cairn session switch 1
exits 0 cairn note add 'four'
is "$(cat out)" n4 'no number is used again'
exits 0 cairn checkpoint create 'on a new branch'
exits 0 cairn branch list
says 'recovered' out
exits 0 cairn checkpoint verify
done_testing
