# What is small and unfolds to much, and what cannot be: files of checkpoints (A2, A8).
. "$TESTS/cli/tap.sh"
command -v prlimit >/dev/null || skip_all 'there is no prlimit'
bombs=$BUILD/tests/tools/bombs

# Of processor time; and in 3 GB of memory, where the program is not built with a
# sanitizer, which reserves more.
memory=--as=3000000000
! grep -q __asan_init "$BUILD/cairn" || memory=
within() { # SECONDS COMMAND...
    seconds=$1
    shift
    # shellcheck disable=SC2086 # none, or one word
    prlimit --cpu="$seconds" $memory "$@"
}

exits 0 cairn session start s
exits 0 cairn session config files .
mkdir sub
echo text >sub/t.txt
exits 0 cairn checkpoint create one
cp -a .cairn clean
of_kind() { # KIND: a store whose second checkpoint has such files; $id: its id
    rm -rf .cairn
    cp -a clean .cairn
    id=$("$bombs" files "$1")
}

# ---- An export with such files ----
while read -r kind text; do
    of_kind "$kind"
    cairn session export x.cairn --session s >/dev/null 2>&1
    mkdir "in-$kind"
    CAIRN_STORE=$PWD/in-$kind/.cairn run within 5 cairn session import x.cairn
    is "$status" 5 "$kind: the import says that something is refused"
    matches "$id: its files: .*$text" "$kind: the checkpoint is named, and what is wrong"
    CAIRN_STORE=$PWD/in-$kind/.cairn run cairn checkpoint list
    says one "$kind: the other checkpoint is there"
    is "$(grep -c 'debug:' out)" 1 "$kind: it is the only one"
done <<'END'
shared more than 2000000 files and directories, counted up to 'a/a/a
wide more than 2000000 files and directories
long more than 268435456 bytes of paths
deep 'a/a/a.* too many directories
dots the directory '.': .* its entry 1 has a name
slash its entry 1 has a name
nul its entry 1 has a name
git its entry 1 has a name
empty-name its entry 1 has a name
order its entry 2 has
mode its entry 1 has a name, a mode
huge its entry 1 has
size 'x' has other sizes
chunks 'x' is not as large
counts the numbers of files
END
of_kind good-chunks
exits 0 cairn session export x.cairn --session s
mkdir in
CAIRN_STORE=$PWD/in/.cairn exits 0 cairn session import x.cairn
says '2 checkpoints' 'what is sound is imported'

# ---- A store that has them all the same ----
of_kind wide
exits 3 within 20 cairn checkpoint files "$id"
says "more than 2000000 files and directories, counted up to '" 'files: says where it stopped'
ok 'and shows the others' test "$(wc -l <out)" -gt 1999999
if [ "${LEVEL-}" = full ]; then # each takes seconds
    exits 3 within 40 cairn checkpoint diff 1 2
    says 'more than 2000000 files' 'diff: says where it stopped'
    exits 3 within 40 cairn checkpoint restore "$id" --yes
    says 'more than 2000000 files' 'restore: refuses'
    is "$(cat sub/t.txt)" text 'and changes nothing'
    exits 3 within 60 cairn checkpoint grep -F 'not there'
    says 'debug:2: more than 2000000 files' 'grep: says where it stopped'
    exits 0 within 200 cairn search text
    exits 0 within 2 cairn search text
fi
exits 0 within 5 cairn session size
exits 0 within 5 cairn checkpoint verify
rm -f out
done_testing
