# make: sanitize
# Two sessions in one directory: going back to a checkpoint of the one leaves what the
# other one has changed since, and says so. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE CAIRN_SESSION CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE

in_p() { (cd p && "$@"); }
hook() { # SESSION EVENT
    printf '{"hook_event_name":"%s","session_id":"%s","cwd":"%s","tool_name":"Write"}' \
        "$2" "$1" "$PWD/p" >event.json
    cairn session hook <event.json >hook.out 2>hook.err
}
# An agent does something with a tool.
tool() { # SESSION COMMAND...
    tool_by=$1
    shift
    hook "$tool_by" PreToolUse
    "$@"
    hook "$tool_by" PostToolUse
}
put() { # FILE TEXT
    mkdir -p "$(dirname "p/$1")"
    echo "$2" >"p/$1"
}
begin() {
    rm -rf p
    mkdir p
    echo .claude >p/.gitignore
    in_p run cairn session install-hooks
    put start s
}
listing() {
    (cd p && find . -name .cairn -prune -o \( -type l -printf 'l %p %l\n' \) -o -printf '%y %m %p\n' | sort
        find . -name .cairn -prune -o -type f -exec sha256sum {} + | sort -k 2)
}
newest() { # SESSION: its newest checkpoint
    in_p cairn branch list --session "$1" --json >branches.json
    "$BUILD/tests/tools/json" flat branches.json | awk -F '\t' '
        $1 ~ /current$/ { current = $2 == "true" }
        $1 ~ /head$/ { head[$1] = $2; last = $2 }
        END { split(last, part, /[:-]/); print part[2] }'
}
A=agent-aaaaaaaa B=agent-bbbbbbbb
a=aaaaaaaa-0000-4000-8000-000000000001 b=bbbbbbbb-0000-4000-8000-000000000002
restore() { # CHECKPOINT OPTION...
    in_p cairn checkpoint restore "$@" --session $A >out 2>err
    status=$?
    tap_last="cairn checkpoint restore $*"
}
undo() { in_p cairn checkpoint undo-restore --session $A >out 2>err; status=$?; tap_last=undo-restore; }
redo() { in_p cairn checkpoint redo-restore --session $A >out 2>err; status=$?; tap_last=redo-restore; }
has() { # FILE TEXT, or nothing: it is not there
    is "$(cat "p/$1" 2>/dev/null)" "${2-}" "${3-$1 is ${2:-not there}}"
}

# ---- The case: A writes a, B writes b, A writes a ----
begin
tool $a put a 1
one=$(newest $A)
tool $b put b 1
tool $a put a 2
listing >before
restore "$one" --dry-run
is $status 0 'a dry run'
says "b was changed since by $B: it stays" 'it names what others have made'
listing >after
ok 'and changes nothing' cmp before after
restore "$one" --yes
is $status 0 'the restore'
says "b was changed since by $B: it stays"
has a 1
has b 1
undo
is $status 0 'the undo'
listing >after
ok 'an undo takes it back' cmp before after
redo
is $status 0 'forward again'
has a 1
has b 1
undo
restore "$one" --yes --all
has a 1
has b '' '--all takes everything back'
undo
listing >after
ok 'which an undo takes back' cmp before after
restore "$one" --dry-run --json
json_ok 'as JSON'
is "$(json_get '.files.others[0].path') $(json_get '.files.others[0].session')" "b $B" 'with what others have changed'

# ---- Changed by both ----
tool $b put a 3
listing >before
restore "$one" --dry-run
says "a was changed since by $B, too: what was there is kept beside it" 'a dry run'
restore "$one" --yes
is $status 0 'a file that both have changed'
says "a was changed since by $B, too: what was there is kept beside it"
has a 1
has a.before-restore 3
has b 1
undo
has a 3
listing >after
ok 'taken back, with nothing left beside it' cmp before after
restore "$one" --yes
put a.before-restore other
undo
has a.before-restore other 'what was changed there stays'
rm p/a.before-restore

# ---- Nobody known; directories ----
begin
put dir/keep k
tool $a put a 1
one=$(newest $A)
put user/own u
tool $b put b/deep/x 1
tool $b rm p/dir/keep
tool $a put made/by/a 1
tool $b put made/by/b 1
tool $a put gone/y 1
tool $a rm p/start
restore "$one" --yes
is $status 0 'directories'
has user/own u 'what nobody known has made stays'
says 'user was changed since by nobody known: it stays'
has b/deep/x 1
says "b was changed since by $B: it stays" 'a directory stands for all in it'
ok 'for what is in it nothing is said' sh -c '! grep -q deep err'
has dir/keep '' 'what another has removed stays removed'
has made/by/a '' 'in a directory of both what is its own goes'
has made/by/b 1
ok 'its own directory goes' [ ! -e p/gone ]
has start s 'what it has removed is back'

# ---- A directory that both have made: it stays with what the other one has in it ----
begin
tool $a put a 1
one=$(newest $A)
tool $b put both/b 1
tool $a chmod 700 p/both
tool $a put both/a 1
for option in --dry-run --yes; do
    restore "$one" $option
    says "both/b was changed since by $B: it stays"
    ok "restore $option: it is not said to go back" sh -c '! grep -q "it goes back" err'
done
has both/a ''
has both/b 1

# ---- What is not on the disk neither stays nor is kept beside ----
begin
tool $a put both 1
tool $a put theirs 1
tool $a put between 1
one=$(newest $A)
tool $b put both 2
tool $a rm p/both
tool $b rm p/theirs
tool $b chmod 600 p/between
tool $a chmod 640 p/between
for option in --dry-run --yes; do
    restore "$one" $option
    is $status 0 "restore $option"
    says "both was changed since by $B, too, and was not there: it comes back"
    says "theirs was removed since by $B: it stays removed"
    says "between was changed since by $B, too: it goes back" 'of a mode nothing is kept'
    ok 'nothing is said to be kept' sh -c '! grep -q "kept beside" err'
done
has both 1
has theirs ''
ok 'nothing is' [ ! -e p/both.before-restore ]
undo
restore "$one" --dry-run --json
is "$(json_get '.files.others[2].there') $(json_get '.files.others[2].stays')" 'false true' 'as JSON'

# ---- A long tool of A, with tools of B in between ----
begin
tool $a put a 1
one=$(newest $A)
hook $a PreToolUse
put long/1 l
hook $b PreToolUse
put b b
put long/2 l
hook $b PostToolUse
tool $b put b2 b
put long/3 l
hook $a PostToolUse
restore "$one" --yes
has b b 'a tool of another within a long one'
has b2 b
has long/1 '' 'what was there before that tool is the own'
has long/3 '' 'as is what came after it'

# ---- Nobody else: everything goes back ----
begin
tool $a put a 1
one=$(newest $A)
put by/hand h
tool $a put a 2
put last l
restore "$one" --yes
has a 1
has by/hand '' 'alone, what nobody has shown goes, too'
has last ''
ok 'and nothing is said of others' sh -c '! grep -q "changed since" err'
undo
has last l
has a 2

# ---- Sessions by hand ----
begin
in_p cairn session start mine >out 2>err
in_p cairn session config files . >out 2>err
put m 1
in_p cairn checkpoint create one -q >out 2>err
one=$(sed -n 's/.*debug:\([0-9]*\)-.*/\1/p' out err | head -n 1)
[ -n "$one" ] || one=1
tool $b put b 1
put m 2
put own 1
in_p cairn checkpoint restore "$one" --yes --session mine >out 2>err
status=$?
is $status 0 'a session by hand'
has m 1
has own '' 'what no other session has shown is its own'
has b 1
in_p cairn checkpoint undo-restore --session mine >out 2>err
has m 2
has own 1

# ---- Going to another branch leaves what others have made, as a restore does ----
begin
in_p cairn session start mine >out 2>err
in_p cairn session config files . >out 2>err
mine() {
    in_p cairn "$@" --session mine >out 2>err
    status=$?
    tap_last="cairn $*"
}
put m 1
put both 1
mine checkpoint create one
one=$(sed -n 's/^debug:\([0-9]*\)-.*/\1/p' out)
mine branch start spike
put m 2
put both 2
mine checkpoint create two
tool $b put b 1
tool $b put both 3
put m 3
listing >before
for command in 'switch main' "start other --from $one"; do
    mine branch $command --dry-run
    is $status 0 "branch $command --dry-run"
    says "b was changed since by $B: it stays"
    says "both was changed since by $B, too: what was there is kept beside it"
    says 'nothing was changed: that is what would be'
    listing >after
    ok 'nothing is changed' cmp before after
    mine branch list
    matches '^current .* spike$' 'the branch is the same'
    ok 'and no other one is made' sh -c '! grep -q " other" out'
    mine branch $command --dry-run --json
    is "$(json_get '.files.others[0].path') $(json_get .dry_run)" 'b true' 'as JSON'
done
for command in 'switch main' "start other --from $one"; do
    mine branch $command
    is $status 0 "branch $command"
    says "b was changed since by $B: it stays"
    has b 1 'what another session has made stays'
    has m 1 'what this one has made goes back'
    has both 1
    has both.before-restore 3 'and what both have made is kept beside'
    says 'to go back: cairn branch switch spike --session mine'
    mine checkpoint undo-restore
    is $status 2 'that is no restore'
    says '`cairn branch switch spike --session mine` goes back' 'but how to go back is said'
    rm p/both.before-restore
    mine branch switch spike
    is $status 0 'and back'
    has m 3
    has b 1
    has both 3 'also to what another one had made'
done
mine branch start all --from "$one" --all
has b '' '--all takes all files of the other state up'
has both 1
mine branch switch spike
listing >after
ok 'and the way back brings them again' cmp before after
# There and back again, with an agent's session.
begin
put s 1
tool $a put a 1
one=$(newest $A)
tool $b put b 1
tool $a put a 2
(in_p cairn branch start spike --session $A) >out 2>err
tool $a put a 3
tool $b put b 2
for turn in 1 2; do
    (in_p cairn branch switch main --session $A) >out 2>err
    [ "$turn" = 2 ] || says "b was changed since by $B: it stays"
    has a 2 "to main, $turn"
    has b 2
    (in_p cairn branch switch spike --session $A) >out 2>err
    has a 3 'and back'
    has b 2
done
(in_p cairn branch start third --from "$one" --session $A) >out 2>err
has a 1 'from an older state'
has b 2
(in_p cairn branch switch main --session $A) >out 2>err
has a 2
has b 2
ok 'nothing is kept beside' [ ! -e p/a.before-restore ]

# ---- Another's checkpoint between the newest own one and the restore ----
# Then none is made before it, and what it puts there is its own all the same.
for kind in '' --all; do
    begin
    put g 0
    tool $a put g 1
    hook $b PreToolUse
    restore 1 --yes ${kind:+"$kind"}
    has g 0 "back${kind:+, with $kind}"
    undo
    has g 1 'the undo'
    ok 'for which nobody is named' sh -c '! grep -q "changed since" err'
    redo
    is $status 0 'the redo'
    has g 0 'forward again'
    restore 2 --yes
    has g 1 'restored forward'
    undo
    has g 0 'which is taken back'
    hook $b PostToolUse # of a tool that all of that came within
    put other o
    hook $b PreToolUse
    restore 2 --yes
    has g 1 'also where that tool ends then'
    ok 'nothing is kept beside' [ ! -e p/g.before-restore ]
    has other o
    undo
    has g 0 'and that is taken back'
done

# ---- What a restore has left is not what came after it ----
c=cccccccc-0000-4000-8000-000000000003
begin
hook $a PreToolUse
hook $a PostToolUse
tool $b put d 1
restore 1 --yes
has d 1
hook $a Stop
tool $c put c 1
restore 1 --yes
has d 1 'what a restore has left stays also at the next one'
says "d was changed since by $B: it stays"
ok 'nothing is kept beside it' [ ! -e p/d.before-restore ]
has c 1
tool $a put d 2
restore 1 --yes
has d '' 'what it has changed itself then goes'
has d.before-restore 2 'with what was there beside it'
undo
has d 2
has c 1

# ---- Changed by nobody known, then by the session ----
begin
put b 0
put x 0
tool $a put b 1
two=$(newest $A)
tool $b put e 1
put b user
hook $a PreToolUse
put b 2
put x 1
hook $b PreToolUse # within the tool
put x 2
hook $a PostToolUse
listing >before
restore "$two" --yes
has b 1 'what nobody known and the session have changed goes back'
has b.before-restore 2 'is kept beside'
says 'b was changed since by nobody known, too: what was there is kept beside it'
has x 0
ok 'what another one has only seen within its tool is its own' [ ! -e p/x.before-restore ]
has e 1
undo
listing >after
ok 'and is taken back' cmp before after

# ---- The same restore again and again, with a tool of another meanwhile ----
begin
put g 0
tool $a put g 1
hook $b PreToolUse
restore 1 --yes
hook $b PostToolUse
undo
restore 1 --yes
undo
has g 1 'the undo of the second one'
ok 'with nothing beside' [ ! -e p/g.before-restore ]

# ---- Killed in the middle ----
if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'killed in the middle' 'there is no strace, or it may not trace'
else
    begin
    tool $a put a 1
    tool $a put gone 1
    one=$(newest $A)
    odd="o\\d
d"
    tool $b put "$odd" 1
    tool $b put b 1
    tool $a put a 2
    tool $a rm p/gone
    tool $b put a 3
    cp -a p saved
    rename=1 killed=0 bad=
    while [ $rename -le 12 ]; do
        rm -rf p
        cp -a saved p
        (cd p && strace -f -o ../strace.out -e trace=renameat2,syncfs \
            -e inject=renameat2,syncfs:signal=KILL:when=$rename \
            cairn checkpoint restore "$one" --yes --session $A >../out 2>../err)
        grep -q 'killed by SIGKILL' strace.out || break
        killed=$((killed + 1))
        in_p cairn note add next --session $A >out 2>err || bad="$bad note:$rename"
        grep -q 'a was changed since by another session, too: what was there is kept beside it, as a.before-restore' err ||
            bad="$bad unnamed:$rename"
        [ "$(cat p/a p/a.before-restore p/b "p/$odd" p/gone 2>/dev/null)" = "$(printf '1\n3\n1\n1\n1')" ] ||
            bad="$bad $rename"
        rename=$((rename + 1))
    done
    is "$bad" '' "killed at $killed places: finished as it was decided"
    ok 'at some places' [ "$killed" -ge 3 ]
fi
done_testing
