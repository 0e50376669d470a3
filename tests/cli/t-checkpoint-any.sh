# Any checkpoint may go, and the others are what they were: by prune, one by one, in a run
# with a key.
. "$TESTS/cli/tap.sh"

{
    printf 'name: chain\njobs: 1\ntasks:\n  t1: {run: "true"}\n'
    for i in $(seq 2 60); do
        printf '  t%d: {run: "true", needs: [t%d]}\n' "$i" "$((i - 1))"
    done
} >chain.yaml
ids() { # of a run, newest first
    cairn checkpoint list --json --run "$1" --limit 100 >list.json
    "$BUILD/tests/tools/json" flat list.json | awk -F '\t' '$1 ~ /\.id$/ { print $2 }'
}
states() { # FILE of ids: what each of them says
    while read -r id; do
        cairn checkpoint show "$id" --tasks 2>&1 || echo "$id: status $?"
    done <"$1"
}

exits 0 cairn run chain.yaml --keep 0 --checkpoint=required
ids 1 >all
ok "60 tasks one by one have checkpoints ($(wc -l <all))" test "$(wc -l <all)" -ge 60
head -n 50 all >newest
states newest >before
is "$(grep -c status before)" 0 'each of them is shown'
exits 0 cairn checkpoint head
cp out head
exits 0 cairn checkpoint prune --keep 50
silent_on err
ids 1 >now
is "$(cat now)" "$(cat newest)" 'the newest 50 stay, under their ids'
states newest >after
diff before after >changed
is "$(grep -vc '^[<>] parent\|^[^<>]' changed)" 0 'and each is what it was, but for the parent of the first one'
exits 0 cairn checkpoint verify --head head

# The first one, one in the middle, and a full one.
full=$(cairn checkpoint list --json --run 1 --limit 100 | tr '}' '\n' | grep '"full"' | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | tail -n 1)
for id in "$(sed -n 50p all)" "$(sed -n 25p all)" "${full:-$(sed -n 30p all)}"; do
    exits 0 cairn checkpoint delete "$id" --yes
    exits 10 cairn checkpoint show "$id"
    exits 0 cairn checkpoint verify
    grep -v "$id" newest >rest
    mv rest newest
done
is "$(ids 1)" "$(cat newest)" 'nothing else is gone'
states newest >after
is "$(grep -c status after)" 0 'the rest is shown'
for id in $(sed -n '1p;2p;23p;24p;46p;47p' newest); do
    exits 0 cairn checkpoint show "$id" --tasks
    exits 0 cairn resume --from "$id"
done
exits 0 cairn checkpoint verify --head head
exits 0 cairn gc
exits 0 cairn checkpoint verify

# With a key the note needs it.
CAIRN_STORE=$PWD/keyed
export CAIRN_STORE
head -c 32 /dev/urandom >key
chmod 600 key
exits 0 cairn run chain.yaml --keep 0 --checkpoint=required --key key
ids 1 >all
middle=$(sed -n 20p all)
exits 2 cairn checkpoint delete "$middle" --yes
says 'give it with --key' 'without the key nothing is deleted'
exits 0 cairn checkpoint prune --keep 10
says 'of a run with a key only with that key' 'only whole segments go'
exits 0 cairn checkpoint delete "$middle" --yes --key key
exits 0 cairn checkpoint prune --keep 10 --key key
is "$(ids 1 | wc -l)" 10 'with it exactly 10 stay'
exits 0 cairn checkpoint verify --key key
exits 0 cairn checkpoint verify
for n in 1 5 10; do
    exits 0 cairn resume --from "$(sed -n "${n}p" all)" --key key
done
exits 0 cairn checkpoint verify --key key

done_testing
