# More than 32 items of a kind are a tree in a checkpoint: what later commands make of it,
# each in a process of its own, also after old checkpoints are gone and with damage.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db
texts() { cairn note list --limit 100 | sed -n 's/^n[0-9]* .*Z*  *\(note.*\)$/\1/p' | sort | tr '\n' ';'; }

exits 0 cairn session start one
i=0
while [ $i -lt 40 ]; do
    i=$((i + 1))
    cairn note add "note $i" >/dev/null || ok "note $i" false
done
exits 0 cairn checkpoint create first
before=$(texts)
exits 0 cairn note update n3 --text 'note 3, changed'
exits 0 cairn note remove n35
exits 0 cairn note add 'note 41'
exits 0 cairn checkpoint create second
after=$(texts)
exits 0 cairn checkpoint diff debug:1 debug:2
is "$(grep -c '^[-+~!] *n' out)" 3 'a difference has what differs'
exits 0 cairn checkpoint verify
says 'undamaged'

# ---- What the first one had alone is collected ----
cp -r .cairn whole
exits 0 cairn checkpoint prune --session one --keep-last 1 --manual-too
says 'deleted 1 of 2 checkpoints'
exits 0 cairn gc
exits 0 cairn checkpoint verify
says '1 checkpoint ' 'undamaged'
exits 0 cairn note remove n1
exits 0 cairn checkpoint restore debug:2 --yes
is "$(texts)" "$after" 'the other one restores its notes'
rm -rf .cairn
cp -r whole .cairn
exits 0 cairn checkpoint restore debug:1 --yes
is "$(texts)" "$before" 'each has its own'

# ---- In a file, and in another store ----
exits 0 cairn session export one.export
mkdir other
cd other || exit 1
exits 0 cairn session import ../one.export
is "$(texts)" "$before" 'an import has the notes'
exits 0 cairn checkpoint diff debug:1 debug:2
is "$(grep -c '^[-+~!] *n' out)" 3 'and the same difference'
exits 0 cairn checkpoint verify
cd .. || exit 1

# ---- Damage of any of its objects is named ----
for object in $("$sql" whole/cairn.db 'SELECT id FROM object'); do
    rm -rf .cairn
    cp -r whole .cairn
    "$sql" $db "UPDATE object SET data = flip(data, length(data) / 2) WHERE id = $object"
    exits 5 cairn checkpoint verify
    exits 5 cairn doctor
done
exits 5 cairn doctor --repair
run cairn note add 'note 42'
exits 0 cairn checkpoint create third
exits 0 cairn checkpoint diff debug:3 debug:3
done_testing
