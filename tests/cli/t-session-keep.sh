# Checkpoints that the settings of a session let go, without being asked to prune. Every
# command is a process of its own.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
n=0
auto() { # COUNT: checkpoints that are neither manual nor significant
    auto_left=$1
    while [ "$auto_left" -gt 0 ]; do
        n=$((n + 1))
        auto_left=$((auto_left - 1))
        cairn note add "note $n" -q >/dev/null || return
        cairn checkpoint create --trigger code-modified --tag "n$n" -q >made.id || return
    done
}
total() { get .total cairn checkpoint list --session "${1:-kept}" --limit 1; }
setting() { get '.settings[0].value' cairn session config "$1"; }

exits 0 cairn session start kept

# ---- The settings ----
for name in keep-last keep-days keep-hourly keep-tag; do
    is "$(setting $name)" off "$name is off by default"
done
for wrong in 'keep-last 0' 'keep-last 10001' 'keep-last many' 'keep-days 0' \
    'keep-days 36501' 'keep-hourly 1' 'keep-hourly yes' 'keep-tag a,a' 'keep-tag a,,b' 'keep-tag a,'; do
    # shellcheck disable=SC2086 # two words
    exits 2 cairn session config $wrong
    says 'is not a value of keep-' "$wrong is refused"
done
exits 2 cairn session config keep-tag ''
exits 2 cairn session config keep-weekly on
says 'there is no setting'
is "$(total)" 0 'nothing of that was stored'

# ---- None: everything stays ----
auto 12
is "$(total)" 12 'without a rule nothing goes'

# ---- The newest N ----
exits 0 cairn session config keep-last 5
is "$(setting keep-last)" 5 'the setting is told'
is "$(total)" 12 'setting it deletes nothing'
is "$(get .deleted cairn checkpoint prune --session kept --dry-run)" 7 \
    'a dry run without rules takes those of the session'
cairn note add 'one more' -q >/dev/null
exits 0 cairn checkpoint create --trigger code-modified
says '8 older checkpoints were deleted, by the settings of the session'
is "$(total)" 5 'the next one lets all go that are too many'
is "$(get .deleted cairn checkpoint prune --session kept --dry-run)" 0 'then nothing is left to prune'
cairn note add 'and one' -q >/dev/null
exits 0 cairn checkpoint create --trigger code-modified --json
json_ok 'as JSON'
is "$(json_get .pruned)" 1 'how many went'
exits 0 cairn session log --json
ok 'the log tells of it' grep -q '"verb": *"pruned".*8 checkpoints, by the settings' out
exits 0 cairn checkpoint verify

# ---- What always stays ----
exits 0 cairn checkpoint create 'by hand'
manual=$(cat out)
exits 0 cairn hypothesis add 'the cache is stale'
exits 0 cairn hypothesis test h1
exits 0 cairn hypothesis confirm h1 --json
significant=$(json_get .checkpoint)
auto 1
labelled=$(cat made.id)
exits 0 cairn checkpoint label "$labelled" keep
auto 1
fork=$(cat made.id)
exits 0 cairn branch start other --from "$fork"
exits 0 cairn branch switch main
auto 1
gone=$(cat made.id)
auto 20
for id in "$manual" "$significant" "$labelled" "$fork"; do
    exits 0 cairn checkpoint show "$id"
done
exits 10 cairn checkpoint show "$gone"
is "$(get .deleted cairn checkpoint prune --session kept --dry-run)" 0 'and no more than a prune by hand keeps'
exits 0 cairn branch switch other
exits 0 cairn branch switch main
exits 0 cairn checkpoint verify

# ---- Changes of the board, commands and checks let some go, too ----
exits 0 cairn gap add 'which hosts?'
exits 0 cairn gap fill g1 'the first two' --json
is "$(json_get .pruned)" 1 'a change of the board tells it'
exits 0 cairn gap add 'which hour?'
exits 0 cairn gap fill g2 'noon'
says '1 older checkpoint was deleted, by the settings of the session'
exits 0 cairn check add 'it is there' --run 'true'
exits 0 cairn check run v1 --json
is "$(json_get ".checks[0].pruned")" 1 'a check tells it'

# ---- Undo goes past it; a restore is undone with it ----
exits 0 cairn gap add 'which one?'
exits 0 cairn gap fill g3 'both'
is "$(get .status cairn gap show g3)" filled 'filled'
exits 0 cairn session undo
is "$(get .status cairn gap show g3)" open 'what let some go is undone like any other change'
cairn note list --json --limit 100 --sort number | sed 's/"spent[^,]*,//' >before
exits 0 cairn checkpoint restore "$manual" --yes
auto 8
exits 0 cairn checkpoint undo-restore
cairn note list --json --limit 100 --sort number | sed 's/"spent[^,]*,//' >after
ok 'a restore can be undone whatever went since' cmp -s before after
exits 0 cairn checkpoint verify

# ---- Other rules ----
exits 0 cairn session start tags
exits 0 cairn session config keep-tag rare,never
exits 0 cairn session config keep-last 2
auto 3
cairn note add 'tagged' -q >/dev/null
exits 0 cairn checkpoint create --trigger code-modified --tag rare
rare=$(cat out)
auto 6
exits 0 cairn checkpoint show "$rare"
is "$(total tags)" 3 'what has the tag stays'
exits 0 cairn session config keep-days 1
auto 6
is "$(total tags)" 9 'what is of today stays besides'
exits 0 cairn session config keep-days off
auto 1
is "$(total tags)" 3 'without that rule it goes'
exits 0 cairn session config keep-last off
exits 0 cairn session config keep-tag off
auto 4
is "$(total tags)" 7 'without any rule nothing goes'

# In one hour; where it ends meanwhile there are two.
exits 0 cairn session start hourly
exits 0 cairn session config keep-hourly on
auto 6
count=$(total hourly)
ok 'the newest of the hour stays' test "$count" -le 2
is "$(get .deleted cairn checkpoint prune --session hourly --dry-run)" 0 'as a prune by hand has it'

# ---- Another branch has its turn ----
exits 0 cairn session start turns
auto 6
exits 0 cairn branch start second
auto 6
exits 0 cairn branch start third
is "$(total turns)" 12 'three branches, of which two have six'
exits 0 cairn session config keep-last 3
auto 6
is "$(get .deleted cairn checkpoint prune --session turns --dry-run)" 0 'each was looked at'

# ---- Many at once go in several turns, and each number is used once ----
exits 0 cairn session start many
auto 120
exits 0 cairn session config keep-last 10
auto 1
is "$(total many)" 71 'fifty at a time, the oldest first'
auto 2
is "$(total many)" 10 'until all have gone'
exits 0 cairn checkpoint verify
exits 0 cairn gc
exits 0 cairn doctor

# ---- Damage keeps nothing else from being done, and what is damaged stays ----
exits 0 cairn session start damaged
auto 8
seq=$(sed 's/debug:\([0-9]*\).*/\1/' made.id)
"$sql" "$CAIRN_STORE/cairn.db" "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $((seq - 5))"
exits 0 cairn session config keep-last 3
auto 1
is "$(cairn checkpoint list --session damaged --limit 100 --json | grep -o 'debug:[0-9]*' | sort -u | wc -l)" 5 \
    'three, the damaged one and the one before it'
is "$(get .deleted cairn checkpoint prune --session damaged --dry-run)" 0 'as a prune by hand has it'
exits 5 cairn checkpoint verify

# ---- An export has them no more; a restart keeps the settings ----
exits 0 cairn session export many.cairn --session many
exits 0 cairn --store elsewhere session import many.cairn
is "$(get .total cairn --store elsewhere checkpoint list --limit 1)" 10 'an export has those that are left'
exits 0 cairn session switch many
is "$(setting keep-last)" 10 'settings are of the session'
done_testing
