# What no checkpoint has is never moved or lost by a restore, an undo or a switch: where it
# lies in a directory in whose place a file or link is to come, the command is refused
# before anything is touched, and says what is in the way.
. "$TESTS/cli/tap.sh"

listing() {
    (cd "$1" && find . -path ./.cairn -prune -o \( -type l -printf 'l %p %l\n' \) -o \
        -printf '%y %m %p\n' | sort
        find . -path ./.cairn -prune -o -type f -exec sha256sum {} + | sort -k 2)
}
begin() { # a fresh project
    rm -rf p .cairn
    mkdir p
    run cairn session start s
    run cairn session config files p
}
# Each way to another state, all refused, naming what is in the way: nothing changes.
refused() { # PATH CHECKPOINT
    listing p >before
    for way in "checkpoint restore $2 --yes" "checkpoint restore $2 --dry-run" \
        "checkpoint restore $2 --yes --files-only" "branch start aside --from $2"; do
        # shellcheck disable=SC2086 # words
        exits 2 cairn $way
        says "$1" "$way names what is in the way"
        says 'nothing was changed'
    done
    listing p >after
    ok "nothing was touched: $1" cmp before after
}

# ---- A link, later a directory with ignored content ----
begin
echo 'node_modules/' >p/.gitignore
ln -s ../shared p/node_modules
echo 1 >p/app.js
run cairn checkpoint create one
rm p/node_modules
mkdir -p p/node_modules/dep
echo precious >p/node_modules/dep/index.js
echo 2 >p/app.js
run cairn checkpoint create two
refused node_modules/dep 1
exits 2 cairn checkpoint restore 1 --yes --paths node_modules
says node_modules/dep 'some paths alone'
exits 0 cairn checkpoint restore 1 --yes --paths app.js
is "$(cat p/app.js p/node_modules/dep/index.js)" "$(printf '1\nprecious')" 'others are restored'
exits 0 cairn checkpoint undo-restore

# ---- What comes into the way after a restore ----
rm -r p/node_modules
exits 0 cairn checkpoint restore 1 --yes
ok 'without it the link is back' [ -L p/node_modules ]
exits 0 cairn checkpoint undo-restore
ok 'and gone' [ ! -e p/node_modules ]
mkdir p/node_modules
echo new >p/node_modules/new
exits 2 cairn checkpoint redo-restore
says node_modules/new 'a way forward is refused, too'
rm -r p/node_modules
exits 0 cairn checkpoint redo-restore
ok 'without it it is not' [ -L p/node_modules ]
rm p/node_modules
mkdir p/node_modules
echo new >p/node_modules/new
exits 0 cairn checkpoint undo-restore
is "$(cat p/node_modules/new p/app.js)" "$(printf 'new\n2')" 'what the other state does not have is no obstacle'

# ---- A switch of branches ----
begin
ln -s /nowhere p/lib
run cairn checkpoint create one
exits 0 cairn branch start other
rm p/lib
mkdir -p p/lib/.git
echo ref >p/lib/.git/HEAD
echo c >p/lib/c
listing p >before
exits 2 cairn branch switch main
says lib/.git 'a repository in the place of a link'
listing p >after
ok 'a switch that is refused touches nothing' cmp before after
refused lib/.git 1

# ---- A pipe, a kept file ----
begin
echo f >p/d
run cairn checkpoint create one
rm p/d
mkdir -p p/d/deep/er
mkfifo p/d/deep/er/pipe
refused d/deep/er/pipe 1
rm p/d/deep/er/pipe
echo k >p/d/deep/er/x.before-restore
refused d/deep/er/x.before-restore 1
rm p/d/deep/er/x.before-restore
echo t >p/d/deep/tracked
echo t >p/d-e
exits 0 cairn checkpoint restore 1 --yes
is "$(cat p/d)" f 'a directory with what checkpoints have makes room'
exits 0 cairn checkpoint undo-restore
is "$(cat p/d/deep/tracked p/d-e)" "$(printf 't\nt')" 'and comes back'

# ---- An ignored file, where a directory was ----
begin
mkdir p/build
echo f >p/build/x
run cairn checkpoint create one
rm -r p/build
echo precious >p/build
echo build >p/.gitignore
listing p >before
exits 0 cairn checkpoint restore 1 --yes
is "$(cat p/build/x)" f 'the directory is there'
exits 0 cairn checkpoint undo-restore
listing p >after
ok 'taken back, with nothing left beside it' cmp before after
exits 0 cairn checkpoint redo-restore
is "$(cat p/build/x)" f 'and forward again'

# ---- What was kept beside is in no checkpoint ----
begin
for kept in f.before-restore g.before-restore-12; do
    echo k >"p/$kept"
done
for other in f.before-restore.c before-restore-1 g.before-restore- before-restore; do
    echo o >"p/$other"
done
exits 0 cairn checkpoint create one
run cairn checkpoint files 1
matches 'before-restore\.c' 'other names are'
ok 'names of what was kept are not' sh -c '! grep -Eq "f\.before-restore$|-12$" out'
rm p/f.before-restore.c
exits 0 cairn checkpoint restore 1 --yes
is "$(cat p/f.before-restore p/g.before-restore-12 p/f.before-restore.c)" "$(printf 'k\nk\no')" 'and they stay'

# ---- What has to stay keeps its mode, and is named ----
mode() { stat -c %a "$1"; }
begin
mkfifo p/b p/gone
run cairn checkpoint create one
rm p/b p/gone
mkdir p/b
echo precious >p/b/x
mkfifo p/pipe
chmod 500 p/b
listing p >before
for way in "checkpoint restore 1 --dry-run" "checkpoint restore 1 --yes"; do
    # shellcheck disable=SC2086 # words
    exits 0 cairn $way
    says 'b is in the checkpoint by name alone (is a socket, device or pipe): what is there stays'
    says 'gone is in the checkpoint by name alone (is a socket, device or pipe): it does not come back'
    says 'pipe is a socket, device or pipe, which no checkpoint stores: it stays'
done
listing p >after
ok 'a directory of which the checkpoint has the name keeps its mode' cmp before after
exits 0 cairn checkpoint restore 2 --yes
is "$(grep -c pipe err)" 0 'what is on both sides is not named'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do
    mkfifo "p/more$i"
done
exits 0 cairn checkpoint restore 1 --yes
is "$(grep -c 'device or pipe' err)" 20 'not all of many are named'
says 'p has 4 more like these' 'but counted'
chmod 700 p/b

begin
run cairn checkpoint create one
mkdir -p p/d/e
echo '*.ign' >p/.gitignore
echo precious >p/d/e/x.ign
echo t >p/d/e/t
chmod 500 p/d/e p/d
exits 0 cairn checkpoint restore 1 --yes
is "$(ls p/d/e)" x.ign 'what is ignored stays, and the rest goes'
is "$(mode p/d) $(mode p/d/e)" '500 500' 'the directories that stay keep their modes'
chmod 700 p/d p/d/e
done_testing
