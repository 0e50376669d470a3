# shellcheck shell=sh disable=SC2154
# Where a merge begins: what was merged before is known, whatever was deleted or lost since.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

text_of() { # ID: the text of a note, or nothing
    cairn note show "$1" --json >doc.json 2>/dev/null && json_get .text doc.json
}
fresh() {
    rm -rf .cairn
    exits 0 cairn session start bases -q
}

# ---- x is merged into main, continues, and c begins from it ----
side_branch() { # keep-last N (or nothing), and what deletes old checkpoints
    fresh
    [ -z "$1" ] || exits 0 cairn session config keep-last "$1"
    exits 0 cairn note add 'of both'
    exits 0 cairn checkpoint create first -q
    exits 0 cairn branch start x -q
    exits 0 cairn note add 'of x, later changed by c' -q
    exits 0 cairn note add 'of x, later removed by c' -q
    exits 0 cairn branch switch main -q
    exits 0 cairn branch merge x -q
    exits 0 cairn branch switch x -q
    for i in 1 2 3 4 5; do
        cairn note add "later $i" -q >notes
        cairn checkpoint create --trigger code-modified -q >notes
    done
}
merge_c() {
    exits 0 cairn branch start c -q
    exits 0 cairn note update n2 --text 'changed by c' -q
    exits 0 cairn note remove n3 -q
    exits 0 cairn branch switch main -q
    exits 0 cairn branch merge c --json
    is "$(json_get '.conflicts[0]') $(json_get .base_lost) $(json_get .merge_lost)" ' null null' 'both changed nothing, and nothing is lost'
    is "$(text_of n2)" 'changed by c' 'as c has it'
    is "$(text_of n3)" '' 'and what it removed'
    exits 0 cairn branch switch x -q
    exits 0 cairn branch merge main -q
    is "$(text_of n2)" 'changed by c' 'and the other way round'
    exits 0 cairn checkpoint verify
}
checkpoints() {
    cairn checkpoint list --session bases --limit 100 --json >list.json
    json_get .total list.json
}
side_branch 2
ok 'checkpoints were deleted' test "$(checkpoints)" -lt 8
ok 'what was merged was not' cairn checkpoint show 2
merge_c
side_branch ''
exits 0 cairn checkpoint prune --session bases --keep-last 1 --dry-run --json
planned=$(json_get .deleted)
exits 0 cairn checkpoint prune --session bases --keep-last 1 --json
is "$(json_get .deleted)" "$planned" 'a prune, as the dry run said'
ok 'that is some' test "$planned" -gt 0
merge_c
side_branch ''
exits 2 cairn checkpoint delete 2 --yes
matches 'checkpoint debug:2 is kept: it was merged into branch [a-z0-9-]+, and later merges'
merge_c
exits 0 cairn checkpoint delete 5 --yes

# ---- What was merged into what was merged, and what that comes from ----
fresh
exits 0 cairn note add 'of both'
exits 0 cairn branch start y -q
exits 0 cairn note add 'of y' -q
exits 0 cairn branch start x -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge x -q
exits 0 cairn branch switch y -q
exits 0 cairn note update n2 --text 'changed by y' -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge y --json
is "$(json_get '.conflicts[0]')$(text_of n2)" 'changed by y' 'x comes from y: main has what y had then'
fresh
exits 0 cairn note add 'of both'
exits 0 cairn branch start y -q
exits 0 cairn branch switch main -q
exits 0 cairn branch start x -q
exits 0 cairn branch switch y -q
exits 0 cairn note add 'of y' -q
exits 0 cairn branch start z -q
exits 0 cairn branch switch x -q
exits 0 cairn branch merge y -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge x -q
exits 0 cairn branch switch z -q
exits 0 cairn note update n2 --text 'changed by z' -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge z --json
is "$(json_get '.conflicts[0]')$(text_of n2)" 'changed by z' 'y was merged into x, and that into main'

# ---- Several newest states in common: each item as the one that had changed it last ----
several() { # what is in common: of p and of q
    fresh
    exits 0 cairn note add 'of both'
    exits 0 cairn branch start p -q
    exits 0 cairn note add 'of p, later changed by x' -q
    exits 0 cairn note add 'of p, later removed by x' -q
    exits 0 cairn branch start p2 -q
    exits 0 cairn branch switch main -q
    exits 0 cairn branch start q -q
    exits 0 cairn note add 'of q, later changed by x' -q
    exits 0 cairn note add 'of q, later removed by x' -q
    exits 0 cairn note update n1 --text 'of both, changed by q' -q
    exits 0 cairn branch start q2 -q
    exits 0 cairn branch switch main -q
    exits 0 cairn branch merge p -q
    exits 0 cairn branch merge q -q
    exits 0 cairn branch switch p2 -q
    exits 0 cairn branch start x -q
    exits 0 cairn branch merge q2 -q
}
several
for n in 2 4; do
    exits 0 cairn note update n$n --text 'changed by x' -q
done
exits 0 cairn note update n1 --text 'of both, changed by x' -q
for n in 3 5; do
    exits 0 cairn note remove n$n -q
done
exits 0 cairn branch switch main -q
exits 0 cairn branch merge x --json
is "$(json_get '.conflicts[0]') $(json_get .changed) $(json_get .removed)" ' 3 2' 'x alone has changed these'
is "$(text_of n2), $(text_of n4), $(text_of n1)" 'changed by x, changed by x, of both, changed by x' 'all are as x has them'
is "$(text_of n3)$(text_of n5)" '' 'and what it removed'
several
exits 0 cairn branch switch main -q
exits 0 cairn note update n2 --text 'changed by main' -q
exits 0 cairn note remove n5 -q
exits 0 cairn branch merge x --json
is "$(json_get '.conflicts[0]') $(text_of n2) $(text_of n5)" ' changed by main ' 'main alone has changed these'
# Both had changed it before, and each has decided for itself since.
fresh
exits 0 cairn note add 'of both'
exits 0 cairn branch start p -q
exits 0 cairn note update n1 --text 'of p' -q
exits 0 cairn branch start p2 -q
exits 0 cairn branch switch main -q
exits 0 cairn branch start q -q
exits 0 cairn note update n1 --text 'of q' -q
exits 0 cairn branch start q2 -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge p -q
exits 0 cairn branch merge q --take ours -q
exits 0 cairn branch switch p2 -q
exits 0 cairn branch start x -q
exits 0 cairn branch merge q2 --take theirs -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge x --json
is "$(json_get '.conflicts[0]') $(text_of n1)" 'n1 of p' 'what is unclear is told'

# ---- What an older cairn has deleted: the newest common state that is there ----
deleted_base() { # SQL
    side_branch ''
    exits 0 cairn branch start c -q
    exits 0 cairn note update n2 --text 'changed by c' -q
    exits 0 cairn branch switch main -q
    "$sql" $db "$1"
    exits 0 cairn branch merge c --take theirs
    says 'debug:2, where the two branches were last the same, cannot be read any more: debug:1-' 'what was taken is told'
    is "$(text_of n2)" 'changed by c' 'as it was asked for'
}
deleted_base 'DELETE FROM checkpoint WHERE seq = 2'
deleted_base "UPDATE checkpoint SET record = flip(record, 99) WHERE seq = 2"
side_branch ''
exits 0 cairn branch start c -q
exits 0 cairn branch switch main -q
"$sql" $db 'DELETE FROM checkpoint WHERE seq = 2'
exits 0 cairn branch merge c --json
is "$(json_get .base_lost)" 'debug:2' 'as JSON'

# ---- The log is lost: the merges are noted elsewhere ----
side_branch ''
"$sql" $db 'DELETE FROM session_log'
exits 5 cairn doctor --repair
merge_c
# The note is lost: the log has them.
side_branch ''
"$sql" $db "UPDATE meta SET value = value || '9' WHERE key = 'merges.1'"
merge_c
# Both are lost, or never were there.
side_branch ''
"$sql" $db 'DELETE FROM session_log' "DELETE FROM meta WHERE key = 'merges.1'"
exits 5 cairn doctor --repair
exits 0 cairn branch start c -q
exits 0 cairn note update n2 --text 'changed by c' -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge c
says 'it is not known any more which state of branch x was merged' 'that is told'
done_testing
