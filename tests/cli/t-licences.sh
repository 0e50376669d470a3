# What `make demo` shows, on few and on all licences.
. "$TESTS/cli/tap.sh"
demo="$root/examples/licences/demo.sh"

mkdir texts
for n in 1 2 3 4 5 6; do
    i=0
    while [ $i -lt 300 ]; do
        echo "line $i of kind $((n % 2)) is here and text $n says $((i * n * 7919 % 1000))"
        i=$((i + 1))
    done >"texts/text-$n"
done
ln -s text-1 texts/other-name
exits 0 sh "$demo" "$BUILD/cairn" "$PWD/texts"
matches '^ +0 of those that had ended ran twice' 'no task that had ended ran twice'
says 'text-6' 'the report has every text'
says 'other-name' 'and other names'
ok 'the demo leaves nothing behind' sh -c '! ls -d cairn-demo.* 2>/dev/null'

if [ -d /usr/share/common-licenses ]; then
    exits 0 sh "$demo" "$BUILD/cairn"
    matches '^ +0 of those that had ended ran twice' 'no task that had ended ran twice, over all licences'
else
    skip 'the licences of Debian' 'there is no /usr/share/common-licenses'
fi
# A demo that cannot fail shows nothing: a task log that is not kept must be noticed.
cp -R "$root/examples/licences" broken
sed 's/echo "$1" >>done.log/echo "$1" >>done.log; echo "$1" >>done.log/' \
    "$root/examples/licences/steps/common.sh" >broken/steps/common.sh
exits 1 sh broken/demo.sh "$BUILD/cairn" "$PWD/texts"
says 'FAILED' 'the demo fails when tasks run twice'

done_testing
