# Going back with a part of a checkpoint: some of the files, or the messages alone. All
# else stays as it is, and each is all or nothing. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
# Names, kinds, modes, times of files, targets, contents.
state_of() {
    (cd "$1" && find . -mindepth 1 \( -type l -printf 'l %p %l\n' \) -o \
        \( -type d -printf 'd %m %p\n' \) -o -printf '%y %m %T@ %p\n' | sort
        find . -type f -exec sha256sum {} + | sort -k 2)
}
same() { # DIR NAME
    state_of "$1" >state.got
    ok "$2" cmp "state.$3" state.got
}

run cairn session start part
mkdir -p p/src/deep p/doc p/turns
run cairn session config files p
echo 1 >p/src/a.c
echo 1 >p/src/b.h
echo 1 >p/src/deep/c.c
echo 1 >p/doc/text
echo 1 >p/top.c
echo 1 >p/turns/in
ln -s a.c p/src/link
odd=$(printf 'p/src/odd\377,[x] !name')
echo 1 >"$odd"
echo 1 >'p/#hash'
chmod 600 p/src/a.c
run cairn note add 'at one'
run cairn session message add first
run cairn checkpoint create one
one=$(cat out)
echo 22 >p/src/a.c
chmod 644 p/src/a.c
echo 22 >p/src/b.h
echo 22 >p/src/new.c
rm -r p/src/deep p/turns
echo file >p/turns
echo 22 >p/doc/text
echo 22 >p/top.c
echo 22 >"$odd"
echo 22 >'p/#hash'
rm p/src/link
echo .env >p/.gitignore
echo key >p/.env
run cairn note add 'at two'
run cairn checkpoint create two
two=$(cat out)
state_of p >state.two

# ---- What is refused ----
exits 10 cairn checkpoint restore "$one" --yes --paths nowhere
says "matches 'nowhere'"
exits 10 cairn checkpoint restore "$one" --yes --paths 'src,nowhere'
exits 2 cairn checkpoint restore "$one" --yes --paths ''
exits 2 cairn checkpoint restore "$one" --yes --paths 'src,,doc'
exits 2 cairn checkpoint restore "$one" --yes --paths src --board-only
exits 2 cairn checkpoint restore "$one" --yes --paths src --messages-only
exits 2 cairn checkpoint restore "$one" --yes --board-only --messages-only
exits 2 cairn checkpoint restore "$one" --paths src
says 'needs --yes'
exits 2 cairn checkpoint restore "$one" --yes --paths turns/in
says 'is not a directory now'
same p 'nothing was changed by any of them' two
is "$(get .branch cairn session show)" main 'and no branch was begun'

# ---- A dry run ----
exits 0 cairn checkpoint restore "$one" --dry-run --paths 'src/*.c' --json
json_ok 'a dry run as JSON'
is "$(json_get .files.changed out) $(json_get .files.removed out)" '1 1' \
    'it counts what would be'
same p 'it changes nothing' two
is "$(get .branch cairn session show)" main 'and begins no branch'

# ---- One file ----
exits 0 cairn checkpoint restore "$one" --yes --paths top.c
matches 'files +0 added, 1 changed, 0 removed'
is "$(cat p/top.c p/src/a.c)" "$(printf '1\n22')" 'the one, and no other'
is "$(get .total cairn note list)" 2 'the board is what it was'
exits 0 cairn checkpoint undo-restore
same p 'taken back' two

# ---- Patterns ----
exits 0 cairn checkpoint restore "$one" --yes --paths '*.c'
is "$(cat p/top.c p/src/a.c p/src/deep/c.c p/src/b.h)" "$(printf '1\n1\n1\n22')" \
    'one without a slash is for every directory, and makes those that it needs'
is "$(stat -c %a p/src/a.c)" 600 'with the mode'
ok 'a tracked file that the checkpoint does not have is removed' [ ! -e p/src/new.c ]
exits 0 cairn checkpoint undo-restore
same p 'taken back' two
exits 0 cairn checkpoint restore "$one" --yes --paths '/*.c,doc/'
is "$(cat p/top.c p/src/a.c p/doc/text)" "$(printf '1\n22\n1')" \
    'one with a slash is for its directory'
exits 0 cairn checkpoint undo-restore

# ---- A directory ----
exits 0 cairn checkpoint restore "$one" --yes --paths ./src
is "$(cat p/src/a.c p/src/b.h p/src/deep/c.c "$odd" p/doc/text)" \
    "$(printf '1\n1\n1\n1\n22')" 'all that is below it'
is "$(readlink p/src/link)" a.c 'links, too'
ok 'what is new there is gone' [ ! -e p/src/new.c ]
exits 0 cairn checkpoint restore "$one" --yes --paths src
says 'already matches the checkpoint'
run cairn branch list --json
n=$(grep -c '"status"' out)
exits 0 cairn checkpoint restore "$one" --yes --paths src
run cairn branch list --json
is "$(grep -c '"status"' out)" "$n" 'where nothing differs no branch is begun'
exits 0 cairn checkpoint undo-restore
same p 'taken back' two
exits 0 cairn checkpoint restore "$one" --yes --paths turns
is "$(cat p/turns/in)" 1 'a file becomes a directory again'
exits 0 cairn checkpoint undo-restore
same p 'and a file' two
exits 0 cairn checkpoint restore "$one" --yes --paths .
is "$(cat p/turns/in p/doc/text)" "$(printf '1\n1')" 'a dot is everything'
is "$(cat p/.env)" key 'what is ignored stays'
is "$(get .total cairn note list)" 2 'but the board'
exits 0 cairn checkpoint undo-restore
same p 'taken back' two

# ---- Odd names ----
exits 0 cairn checkpoint restore "$one" --yes --paths 'src/odd?\,\[x\] !name,#hash'
is "$(cat "$odd" 'p/#hash' p/src/b.h)" "$(printf '1\n1\n22')" \
    'a comma, brackets, a byte that is no UTF-8, a sign of comments'
exits 0 cairn checkpoint undo-restore
same p 'taken back' two

# ---- Messages ----
run cairn session message add second
run cairn checkpoint create three
exits 0 cairn checkpoint restore "$one" --yes --messages-only
matches 'messages +1, before 2'
same p 'the messages alone' two
is "$(get .total cairn note list)" 2 'not the board'
is "$(get .messages cairn session show)" 1 'but the messages'
exits 0 cairn checkpoint restore "$one" --yes --messages-only
says 'already matches the checkpoint'
exits 0 cairn checkpoint undo-restore
is "$(get .messages cairn session show)" 2 'taken back'
exits 0 cairn checkpoint verify

# ---- In a directory that may not be written ----
as_user() { # without what lets root write everywhere
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search \
            --inh-caps -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
if ! as_user true 2>err; then
    skip 'directories that may not be written' 'there is no setpriv'
else
    mkdir -p p/locked/below
    echo old >p/locked/below/file
    chmod 500 p/locked/below p/locked
    run cairn checkpoint create locked
    locked=$(cat out)
    chmod 700 p/locked p/locked/below
    echo new >p/locked/below/file
    echo more >p/locked/below/more
    chmod 500 p/locked/below p/locked
    exits 0 as_user cairn checkpoint restore "$locked" --yes --paths locked/below/file
    is "$(cat p/locked/below/file)" old 'a file in it is put back'
    exits 0 as_user cairn checkpoint restore "$locked" --yes --paths locked/below/more
    ok 'and another one removed' test ! -e p/locked/below/more
    is "$(stat -c '%a %a' p/locked p/locked/below | tr '\n' ' ')" '500 500 500 500 ' 'they keep their modes'
    exits 0 as_user cairn checkpoint undo-restore
    ok 'which is taken back' test -e p/locked/below/more
    chmod 700 p/locked p/locked/below
    rm -r p/locked
fi

# ---- Files that are not kept any more ----
run cairn session config files off
exits 2 cairn checkpoint restore "$one" --yes --paths src
says 'is off'
run cairn session config files p

# ---- Killed at every tenth call of the system, or fewer ----
if can_sweep 'killed in the middle' 10; then
    state_of p >state.old
    cp -a p before
    cp -a .cairn store
    exits 10 cairn checkpoint restore "$one" --yes --paths 'src,*.c,/odd*,turns,doc/*x*'
    exits 0 cairn checkpoint restore "$one" --yes --paths 'src,*.c,turns,doc/*x*'
    state_of p >state.new
    ok 'the two states differ' test "$(cmp state.old state.new | wc -c)" -gt 0
    calls=0 killed=0 bad=0 old=0 new=0
    while :; do
        calls=$((calls + apart))
        rm -rf p .cairn
        cp -a before p
        cp -a store .cairn
        strace -f -o strace.out -e inject=all:signal=KILL:when=$calls \
            cairn checkpoint restore "$one" --yes --paths 'src,*.c,turns,doc/*x*' \
            >out 2>err
        run cairn note add next
        noted=$status
        state_of p >state.got
        cmp -s state.got state.old && old=$((old + 1))
        cmp -s state.got state.new && new=$((new + 1))
        if [ "$noted" != 0 ] || [ -e .cairn/restore ] ||
            { ! cmp -s state.got state.old && ! cmp -s state.got state.new; }; then
            bad=$calls
            diff state.old state.got | head -n 20 | sed 's/^/# old and now: /'
            diff state.new state.got | head -n 20 | sed 's/^/# new and now: /'
            break
        fi
        grep -q 'killed by SIGKILL' strace.out || break
        killed=$((killed + 1))
    done
    is "$bad" 0 "killed at $killed places: all old ($old) or all new ($new)"
    ok 'before it was decided and after that' test "$old" -gt 5 -a "$new" -gt 1
    exits 0 cairn checkpoint verify
fi
done_testing
