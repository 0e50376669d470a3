# make: sanitize
# shellcheck shell=sh
# What a checkpoint may be called, files as operands, and one comparison behind all forms
# of `checkpoint diff`.
. "$TESTS/cli/tap.sh"

run cairn session start s
run cairn session config files .
seq 9 >a
run cairn checkpoint create 'first try' --tag small
echo two >a
echo b >b
run cairn checkpoint create 'second try' --tag small
run cairn checkpoint label head v1
echo three >a
run cairn checkpoint create 'third, slow'
echo four >a

named() { # TEXT NUMBER: that checkpoint is meant
    exits 0 cairn checkpoint show "$1"
    is "$(sed -n '1s/debug:\([0-9]*\)-.*/\1/p' out)" "$2" "'$1' is checkpoint $2"
}
for name in head HEAD @ latest main now 3 third head~0; do named "$name" 3; done
for name in head~1 head~ head^ @- v1 small 'second try' 3~1 "$(cairn checkpoint show 2 --json | sed 's/.*"id":"\([^"]*\)".*/\1/')"; do
    named "$name" 2
done
for name in head~2 head^^ @-- v1^ v1~1 'first' 2~ 'head~1^'; do named "$name" 1; done
exits 10 cairn checkpoint show nothing
says 'a label, a tag' 'an unknown name: what may be given'
exits 10 cairn checkpoint show head~3
says 'only 2 checkpoints before'
echo 4 >c
run cairn checkpoint create 'second thoughts'
exits 2 cairn checkpoint show second
says '2 messages' 'a beginning that two messages have names none'
exits 10 cairn checkpoint show se
says "has no checkpoint 'se'" 'nor do two letters'
says 'how a message begins (3 bytes or more)' 'and how many are needed is said'
for command in 'show a1' 'restore a1 --yes' 'diff a1' 'cat a1:f' 'delete a1 --yes'; do
    # shellcheck disable=SC2086 # words
    exits 10 cairn checkpoint $command
    says "has no checkpoint 'a1': give an id, a label, a tag" "$command: names of all kinds are offered, whatever letters it has"
done
exits 2 cairn checkpoint show '2025-13-99 12:00'
says 'position 6' 'what is wrong in a time is shown'
for time in yesterday today monday 'last week' noon tomorrow 2026-11-01 14:30 '3 days' 'an hour' 'Last Friday'; do
    exits 2 cairn checkpoint at "$time"
    says "time '$time', position" "'$time' is a time that lacks something"
    ok "'$time': what to write is said" grep -q "write\|add hours\|as in" err
done

# A name that reads like something else is refused where it is given.
for name in 7 007 debug:2 workflow:9 DEBUG:x 9f3a 2-9f3ac1 deadbeefcafe head HEAD Head @ latest newest head~2 head^ @- @-- v1~1 v1~ x^ now Now \
    yesterday today 2026-11-01 2026-11 14:30 14:30:05 2025-01-20T14:30:05Z monday Noon; do
    exits 2 cairn checkpoint label 1 "$name"
    says "'$name' cannot be " "label $name"
done
for name in 42 9f3a head head~1 yesterday 2026-11-01; do
    exits 2 cairn checkpoint create 'not made' --tag "fine,$name"
    says "'$name' cannot be " "tag $name"
    exits 2 cairn branch start "$name"
    says "'$name' cannot be " "branch $name"
    exits 2 cairn checkpoint fork 1 --name "$name"
    says "'$name' cannot be " "fork --name $name"
done
# A word of hex letters may be one; where it could mean two checkpoints, it means none.
(
    CAIRN_STORE=$PWD/words
    export CAIRN_STORE
    run cairn session start w
    exits 0 cairn checkpoint create 'one' --tag dead,face
    exits 0 cairn checkpoint label 1 added
    exits 0 cairn branch start decade
    for word in added dead face decade; do
        exits 0 cairn checkpoint show "$word"
        matches '^debug:1-' "'$word' is what is called so"
    done
    for word in $(seq 400); do
        id=$(cairn checkpoint create "n $word" -q)
        begin=$(echo "$id" | sed -n 's/debug:[0-9]*-\([a-f]\{4\}\).*/\1/p')
        case $begin in '' | dead | face) ;; *) break ;; esac
    done
    exits 0 cairn checkpoint show "$begin"
    exits 0 cairn checkpoint label 1 "$begin"
    exits 2 cairn checkpoint show "$begin"
    says "'$begin' is the name of debug:1, and the digest of ${id%%-*} begins with it: give an id"
    echo "$tap_n $tap_failed" >counted
)
read -r tap_n tap_failed <counted
rm -r words
exits 2 cairn branch start '2 hours ago'
says "'2 hours ago' cannot be the name of a branch: it reads as a time: give another one, such as 'build-2026-11-01'"
is "$(cairn checkpoint list --session s --json | sed 's/.*"total":\([0-9]*\).*/\1/') $(cairn session list --json | sed 's/.*"total":\([0-9]*\).*/\1/')" '4 1' 'nothing was made'
for name in 1.2 v2 2026-11-01-release second last may 'today again' 3rd face-it my@host header nowhere; do
    exits 0 cairn checkpoint create "with $name" --tag "$name"
done
run cairn checkpoint prune --keep-last 4 --manual-too --yes
exits 2 cairn checkpoint show ''
# No checkpoint is found by the name of a session, so that may be a date.
for name in 2026-11-28 yesterday dead; do
    exits 0 cairn session start "$name" --store "$PWD/dates"
done
rm -r dates
# What has such a name from before keeps it, and comes with a file.
run cairn session export old
lines=$(($(wc -l <old) - 1))
sed '$d; s/"name":"s"/"name":"now"/; s/"name":"main"/"name":"head~1"/' old >old.now
printf '{"type":"end","lines":%d,"sha256":"%s"}\n' "$lines" "$(sha256sum <old.now | cut -c1-64)" >>old.now
exits 0 cairn session import old.now --store "$PWD/elsewhere"
exits 0 cairn session switch now --store "$PWD/elsewhere"
exits 0 cairn branch list --store "$PWD/elsewhere"
matches 'head~1'
exits 0 cairn checkpoint show 1 --store "$PWD/elsewhere"
rm -r old old.now elsewhere

run cairn session start other
exits 10 cairn checkpoint show v1
says 'session other has no' 'names are those of one session'
exits 0 cairn checkpoint show v1 --session s
for command in show 'delete --yes' 'label x' 'note x' verify; do
    # shellcheck disable=SC2086
    set -- $command
    exits 10 cairn checkpoint "$1" 2 --session other ${2+"$2"}
    says 'is not one of session other' "$1: an id of another session"
done
run cairn session switch s

# Every command that takes one, in its own words.
exits 0 cairn checkpoint files v1
exits 0 cairn checkpoint cat v1:a
is "$(cat out)" two 'CHECKPOINT:PATH'
exits 0 cairn checkpoint cat v1 a
is "$(cat out)" two 'CHECKPOINT PATH'
exits 0 cairn checkpoint grep two v1
exits 0 cairn checkpoint export --tar v1 v1.tar
exits 0 cairn checkpoint note v1 'a note'
exits 0 cairn checkpoint label v1 keep
exits 0 cairn checkpoint verify v1
exits 0 cairn checkpoint at v1
exits 0 cairn checkpoint at 'first try'
exits 0 cairn note list --at v1
exits 0 cairn report v1 head
exits 0 cairn branch start side --from v1
exits 0 cairn branch switch main
exits 0 cairn checkpoint fork v1 ../fork
is "$(cat ../fork/a)" two 'fork CHECKPOINT DIR'
rm -r ../fork
exits 0 cairn checkpoint bisect --good first --bad head~1 -- true
echo four >a
exits 0 cairn checkpoint restore v1 a --dry-run
matches '0 added, 1 changed, 0 removed' 'restore CHECKPOINT FILE: only that one'
rm b
exits 0 cairn checkpoint restore v1 a --yes
is "$(cat a) $(test -e b || echo gone)" 'two gone' 'and it is back alone'
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint delete 'second thoughts' --yes
exits 10 cairn checkpoint show 'second thoughts'

# FILE is that file, from the working directory, and no pattern.
mkdir -p src lib
for f in a.c src/a.c lib/a.c '[id].js' i.js 'sp ' sp; do echo 1 >"$f"; done
exits 0 cairn checkpoint create 'many of one name'
for f in a.c src/a.c lib/a.c '[id].js' i.js 'sp ' sp; do echo 2 >"$f"; done
cd src || exit 1
exits 0 cairn checkpoint restore head ./a.c --yes
cd ..
is "$(cat src/a.c lib/a.c a.c | tr -d '\n')" 122 'the one in the working directory'
exits 0 cairn checkpoint restore 'many of' '[id].js' 'sp ' --yes
is "$(cat '[id].js' i.js 'sp ' sp | tr -d '\n')" 1212 'a name with signs of a pattern in it'
exits 0 cairn checkpoint restore 'many of' src/../lib/a.c "$PWD/a.c" --yes
is "$(cat lib/a.c a.c | tr -d '\n')" 11 'by other ways to it'
(cd lib && cairn checkpoint diff 1 'many of' . >../out 2>../err)
is "$(grep -c ' file ' out) $(grep -c lib/ out)" '2 2' 'the working directory'
exits 2 cairn checkpoint restore head ../elsewhere --yes
says 'is not below the directory'
rm -r src lib '[id].js' i.js 'sp ' sp a.c

# One comparison.
echo five >a
for form in '' ' --patch' ' --stat' ' --json' ' --worktree'; do
    # shellcheck disable=SC2086
    exits 0 cairn checkpoint diff$form
    matches 'a' "diff$form sees the file on the disk"
done
exits 0 cairn checkpoint diff 1 2
is "$(tail -n 1 out | sed 's/;[^;]*$//')" '2 files, links and directories differ; on the board: no difference' 'two checkpoints'
text=$(tail -n 1 out)
exits 0 cairn checkpoint diff 1 2 --json
is "$(json_get .text)" "$text" 'the text in JSON is the one that is printed'
exits 0 cairn checkpoint diff 1 2 b
is "$(grep -c file out) $(grep -c 'b$' out)" '2 1' 'diff FROM TO FILE: only that one'
run cairn session config files off
exits 0 cairn checkpoint diff
silent_on err
run cairn session config files .
mkdir away && run cairn session config files away && rmdir away
exits 0 cairn checkpoint diff
says 'were not compared' 'files that cannot be read are said not to be compared'
exits 75 cairn checkpoint diff --worktree
done_testing
