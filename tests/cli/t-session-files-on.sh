# shellcheck shell=sh
# A session that starts in a project keeps the project's files.
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE
top=$PWD
export HOME="$top/home"
mkdir -p home project/deep git big

cd project/deep || exit 1
exits 0 cairn session start one --store "$top/project/.cairn"
says "hold the files of $top/project," 'the directory of the store, said once'
exits 0 cairn session config files
is "$(cat out)" . 'the setting names it'
echo a >a
exits 0 cairn checkpoint create first
silent_on err
exits 0 cairn checkpoint files 1
says deep/a
rm a
exits 0 cairn checkpoint restore head --yes
is "$(cat a)" a 'and it comes back'
exits 0 cairn session config files off
exits 0 cairn session config files on
exits 0 cairn session config files
is "$(cat out)" . '`on` is the directory of the project'
exits 0 cairn session start quiet --json
json_ok 'a document alone'
ok 'and the words beside it' grep -q 'hold the files' err

for place in "$HOME" "$top/elsewhere"; do
    mkdir -p "$place"
    cd "$place" || exit 1
    exits 0 cairn session start plain ${place:+--store "$place/store"}
    ok 'a store that is not .cairn says nothing of a project' sh -c '! grep -q "hold the files" err'
done
cd "$HOME" || exit 1
exits 0 cairn session start at-home
ok 'nor does the home directory' sh -c '! grep -q "hold the files" err'
exits 2 cairn session config files on
says '`files` takes a directory, or off' 'there `on` says what to give'
: >cairn.yaml
exits 0 cairn session start with-workflow
says "hold the files of $HOME," 'unless a workflow is at home there'
mkdir -p "$top/above/home" && cd "$top/above" || exit 1
exits 0 env HOME="$top/above/home" cairn session start above
ok 'nor a directory above the home directory' sh -c '! grep -q "hold the files" err'
cd "$top" || exit 1
exits 0 cairn session start from-outside --store project/.cairn
ok 'nor from outside of the project' sh -c '! grep -q "hold the files" err'

cd "$top/big" || exit 1
truncate -s 3G sparse
exits 0 cairn session start large
says 'more than 2 GiB' 'a large directory is not begun without being asked for'
exits 0 cairn session config files
is "$(cat out)" off 'and its files are off'
done_testing
