# A directory that somebody turns into a link to another place, again and again, while
# restores write below it: nothing changes there.
. "$TESTS/cli/tap.sh"

mkdir -p p/d/e outside
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "a $i" >"p/d/e/f$i"
    echo precious >"outside/f$i"
done
cp -r outside wanted
run cairn session start s
run cairn session config files p
run cairn checkpoint create one
for i in 1 2 3 4 5 6 7 8 9 10; do echo "b $i" >"p/d/e/f$i"; done
run cairn checkpoint create two

swap() {
    while [ ! -e stop ]; do
        mv p/d/e p/d/real && ln -s ../../outside p/d/e
        rm -f p/d/e
        mv -T p/d/real p/d/e
    done 2>swap.err
}
swap &
swapper=$!
done_once=0
round=0
while [ $round -lt 40 ]; do
    round=$((round + 1))
    cairn checkpoint restore $((round % 2 + 1)) --yes --files-only >out 2>err && done_once=$((done_once + 1))
done
touch stop
wait $swapper
ok 'nothing outside has changed' diff -r wanted outside
ok 'some of them were carried out' test $done_once -gt 0
[ -d p/d/e ] || mkdir -p p/d/e

# What was begun is finished, or given up; then all is as it was.
run cairn checkpoint create after
[ "$status" = 0 ] || run cairn session config files p
rm -rf p/d/real
exits 0 cairn checkpoint restore 1 --yes --files-only
is "$(cat p/d/e/f1 p/d/e/f10)" "$(printf 'a 1\na 10')" 'without it all are put back'
done_testing
