# Restores taken back one after the other, and done again: board, messages and files as
# they were each time. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
# Everything that a state is: what files say, how many notes and messages, the branch.
state() {
    (cd p && find . -type f -printf '%m %T@ %p ' -exec cat {} \; | sort)
    get .total cairn note list
    get .messages cairn session show
    get .branch cairn session show
}
keep() { # NAME
    state >"state.$1"
}
same() { # NAME TEXT
    state >state.got
    ok "$2" cmp "state.$1" state.got
    cmp -s "state.$1" state.got || diff "state.$1" state.got | sed 's/^/# /'
}
change() { # WORD
    echo "$1" >p/f
    echo "$1" >"p/$1"
    run cairn note add "$1"
    run cairn session message add "$1"
}

run cairn session start undo
mkdir p
run cairn session config files p
exits 2 cairn checkpoint undo-restore
says 'there is no restore to undo'
exits 2 cairn checkpoint redo-restore
says 'nothing to redo'
change one
run cairn checkpoint create one
one=$(cat out)
change two
run cairn checkpoint create two
two=$(cat out)
change three
keep main
exits 2 cairn checkpoint redo-restore

# ---- Two restores with work between them ----
exits 0 cairn checkpoint restore "$one" --yes
change four
keep first
exits 0 cairn checkpoint restore "$two" --yes
change five
keep second

exits 0 cairn checkpoint undo-restore
says 'redo-restore'
same first 'the last one is taken back'
exits 0 cairn checkpoint undo-restore
same main 'and the one before'
exits 2 cairn checkpoint undo-restore
says 'all were undone'
same main 'then there is no more'
exits 0 cairn checkpoint redo-restore --dry-run
same main 'a dry run changes nothing'
exits 0 cairn checkpoint redo-restore
same first 'the first one again, with what was done then'
exits 0 cairn checkpoint redo-restore --json
json_ok 'as JSON'
same second 'and the second one'
exits 2 cairn checkpoint redo-restore
says 'nothing to redo'
same second 'then there is no more'

# ---- There and back, again and again ----
for n in 1 2 3; do
    exits 0 cairn checkpoint undo-restore
    same first "round $n: back"
    exits 0 cairn checkpoint undo-restore
    same main "round $n: and back"
    exits 0 cairn checkpoint redo-restore
    same first "round $n: forward"
    exits 0 cairn checkpoint undo-restore
    same main "round $n: back in the middle"
    exits 0 cairn checkpoint redo-restore
    exits 0 cairn checkpoint redo-restore
    same second "round $n: forward to the end"
done
exits 0 cairn checkpoint verify
run cairn session log --json
ok 'the log tells of both' grep -q '"redid-restore"' out

# ---- Touching a file changes nothing ----
exits 0 cairn checkpoint undo-restore
touch p/f
exits 0 cairn checkpoint redo-restore
same second 'a time of change ends nothing'

# ---- What one of the states ignores ends nothing, and stays ----
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint undo-restore
cp -a p plain
cp -a .cairn plain-store
printf 'log\n' >p/.gitignore
echo log >p/log
run cairn checkpoint create ignoring
ignoring=$(cat out)
rm p/.gitignore
echo other >p/f
run cairn checkpoint create 'not ignoring'
keep plain
exits 0 cairn checkpoint restore "$ignoring" --yes
keep ignoring
for n in 1 2; do
    exits 0 cairn checkpoint undo-restore
    same plain "ignored, round $n: back"
    exits 0 cairn checkpoint redo-restore
    same ignoring "ignored, round $n: forward"
done
is "$(cat p/log)" log 'it is there in both'
rm -rf p .cairn
mv plain p
mv plain-store .cairn
exits 0 cairn checkpoint redo-restore
exits 0 cairn checkpoint redo-restore

# ---- What ends it ----
ended() { # WHAT COMMAND...: from the state "second"
    ended_by=$1
    shift
    exits 0 cairn checkpoint undo-restore
    run "$@"
    keep ended
    exits 2 cairn checkpoint redo-restore
    says 'nothing to redo' "$ended_by ends it"
    says 'goes to the state' 'what it would have gone to is named'
    same ended 'nothing was changed'
    other=$(sed -n 's/.*checkpoint restore \([0-9]*\)`.*/\1/p' err)
    exits 0 cairn checkpoint restore "$other" --yes
    state | sed '$d' >state.got
    sed '$d' state.second >state.wanted
    ok 'and there it is' cmp state.wanted state.got
    keep second
}
cp -a p second
cp -a .cairn store
edit() {
    echo edited >p/f
}
mode() {
    chmod 600 p/f
}
fresh() {
    rm -rf p .cairn
    cp -a second p
    cp -a store .cairn
    keep second
}
ended 'a note' cairn note add 'in between'
fresh
ended 'a message' cairn session message add 'in between'
fresh
ended 'a change of a file' edit
fresh
ended 'a mode' mode
fresh
exits 0 cairn checkpoint undo-restore
run cairn note add 'in between'
exits 0 cairn session undo
exits 2 cairn checkpoint redo-restore
fresh
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint restore "$one" --yes
exits 2 cairn checkpoint redo-restore
says 'nothing to redo' 'another restore ends it'
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint undo-restore
same main 'which can be undone itself, and what was before it'
fresh

# ---- A change in the middle of what was undone ----
exits 0 cairn checkpoint undo-restore
echo between >p/between
keep between
exits 0 cairn checkpoint undo-restore
same main 'an undo takes no offence at changes'
exits 0 cairn checkpoint redo-restore
same between 'they are there again'
exits 2 cairn checkpoint redo-restore
says 'nothing to redo' 'what comes behind them is not'
fresh

# ---- Branches ----
exits 0 cairn checkpoint undo-restore
run cairn branch start aside
exits 2 cairn checkpoint redo-restore
exits 2 cairn checkpoint undo-restore
says 'the last move was to branch aside; `cairn branch switch main-2` goes back'
fresh

# ---- session undo, behind restores and branches ----
rm -rf undo
mkdir undo
cd undo || exit
export CAIRN_STORE="$PWD/.cairn"
run cairn session start u
run cairn note add first
exits 0 cairn checkpoint create one
run cairn note add second
exits 0 cairn checkpoint restore 1 --yes
run cairn note add 'after the restore'
exits 0 cairn session undo
exits 2 cairn session undo
says 'the last thing that was done is '"'restored', which \`cairn checkpoint undo-restore\` takes back"
run cairn note add 'given up'
exits 0 cairn checkpoint undo-restore
exits 0 cairn session undo
matches second 'a restore that was taken back is not in the way'
is "$(get .total cairn note list)" 1 'what it had made is not what is undone'
exits 0 cairn session undo
is "$(get .total cairn note list)" 0 'and so on'
run cairn note add third
exits 0 cairn checkpoint restore 1 --yes
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint redo-restore
exits 2 cairn session undo
says "'redid-restore', which \`cairn checkpoint undo-restore\` takes back"
exits 0 cairn branch start 'a b'
exits 2 cairn session undo
says "'branched'; \`cairn branch switch main-3\` goes back"
exits 0 cairn branch switch main
exits 2 cairn session undo
says "'switched'; \`cairn branch switch 'a b'\` goes back"
cd ..
unset CAIRN_STORE

# ---- A part of the files, the messages ----
exits 0 cairn checkpoint restore "$one" --yes --paths f
keep paths
exits 0 cairn checkpoint restore "$one" --yes --messages-only
keep messages
exits 0 cairn checkpoint undo-restore
same paths 'messages: back'
exits 0 cairn checkpoint undo-restore
same second 'some of the files: back'
exits 0 cairn checkpoint redo-restore
same paths 'some of the files: again'
exits 0 cairn checkpoint redo-restore
same messages 'messages: again'
fresh

# ---- A branch on which nothing was done ----
exits 0 cairn checkpoint restore "$one" --yes
keep empty
exits 0 cairn checkpoint undo-restore
same second 'back from it'
exits 0 cairn checkpoint redo-restore
same empty 'and there again'
run cairn branch list
ok 'where work continues' grep -q '^current .*main-4$' out
is "$(grep -c abandoned out)" 0 'it is no abandoned one'
fresh

# ---- Killed at every seventh call of the system, or fewer ----
if can_sweep 'killed in the middle' 7; then
    files() {
        (cd p && find . -type f -printf '%m %T@ %p ' -exec cat {} \; | sort)
    }
    exits 0 cairn checkpoint undo-restore
    files >files.old
    cp -a p killed-p
    cp -a .cairn killed-store
    exits 0 cairn checkpoint redo-restore
    files >files.new
    calls=0 bad=0 old=0 new=0
    while :; do
        calls=$((calls + apart))
        rm -rf p .cairn
        cp -a killed-p p
        cp -a killed-store .cairn
        strace -f -o strace.out -e inject=all:signal=KILL:when=$calls \
            cairn checkpoint redo-restore >out 2>err
        run cairn checkpoint create next
        noted=$status
        branch=$(get .branch cairn session show)
        files >files.got
        if cmp -s files.got files.old && [ "$branch" = main-2 ]; then
            old=$((old + 1))
        elif cmp -s files.got files.new && [ "$branch" = main-3 ]; then
            new=$((new + 1))
        else
            bad=$calls
        fi
        [ "$noted" = 0 ] && [ ! -e .cairn/restore ] || bad=$calls
        [ "$bad" = 0 ] || break
        grep -q 'killed by SIGKILL' strace.out || break
    done
    is "$bad" 0 "redo killed: all old ($old) or all new ($new)"
    ok 'before it was decided and after that' test "$old" -gt 5 -a "$new" -ge 1
    exits 0 cairn checkpoint verify
fi
done_testing
