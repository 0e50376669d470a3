# shellcheck shell=sh disable=SC2016
# A store in a place where others could have put something, or can: nothing is written into
# it, and nothing is read from it, unless it was named (docs/security.md, "Other users").
. "$TESTS/cli/tap.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can act as two users'
command -v setpriv >/dev/null || skip_all 'there is no setpriv'

# Users and groups that nobody has. What they use lies where both can go.
victim=61001 other=61002 shared=61099
base=$(mktemp -d /tmp/cairn-planted.XXXXXX) || exit 1
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
cp "$BUILD/cairn" "$base/cairn"
as() { # UID COMMAND...
    as_uid=$1
    shift
    setpriv --reuid "$as_uid" --regid "$as_uid" --groups $shared -- \
        env -u CAIRN_STORE HOME="$base" TMPDIR="$base" PATH="$base:$PATH" "$@"
}
as $victim cairn version >/dev/null 2>&1 || skip_all 'the command cannot be run as another user'
mkdir "$base/home" && chown $victim:$victim "$base/home"
cat >"$base/home/w.yaml" <<'END1'
name: w
secrets: [WORD]
tasks:
  a: {run: 'echo "n=$WORD" >>"$CAIRN_OUTPUT"', secrets: [WORD]}
  b: {run: "true", needs: [a]}
END1
chown $victim:$victim "$base/home/w.yaml"
export WORD=a-secret-word

# place MODE OWNER:GROUP: an empty directory to work in.
place() {
    cd "$base" && rm -rf place && mkdir place && chown "$2" place && chmod "$1" place && cd place || exit 1
    cp -p "$base/home/w.yaml" planted.yaml
}
# Runs in the place; out and err are not of it.
try() { # UID COMMAND...
    tap_last=$*
    "as" "$@" >"$base/out" 2>"$base/err" </dev/null
    status=$?
}
try_run() {
    try "$1" cairn run planted.yaml
}
# refused NAME TEXT: the last command was, with these words, and nothing was written.
refused() {
    cp "$base/out" "$base/err" "$OLD" 2>/dev/null
    is "$status" 2 "$1"
    ok "and says: $2" grep -qF -e "$2" "$base/err"
    is "$(find . "$base/bait" -type f ! -name 'planted*' 2>/dev/null)" '' 'and writes nothing'
}
OLD=$PWD

# ---- Something that another user left, where everybody may make names ----

plant() {
    rm -rf "$base/bait"
    case $1 in
    empty) as $other mkdir -m 777 .cairn ;;
    live) as $other sh -c 'umask 0; mkdir -p .cairn/live' ;;
    link) as $other sh -c "umask 0; mkdir '$base/bait' 2>/dev/null; ln -s '$base/bait' .cairn" ;;
    link-to-own)
        mkdir -m 700 "$base/bait" && chown $victim:$victim "$base/bait"
        as $other ln -s "$base/bait" .cairn
        ;;
    dangling) as $other ln -s "$base/nowhere" .cairn ;;
    fork) as $other sh -c "printf 'cairn fork 1\nstore $base/bait\nsession 1\n' >.cairn" ;;
    esac
}
for kind in empty live link link-to-own dangling; do
    for command in "run planted.yaml" 'session start s' 'session install-hooks'; do
        place 1777 0:0
        [ "$kind" != link ] || { rm -rf "$base/bait" && mkdir -m 777 "$base/bait" && chown $other "$base/bait"; }
        plant $kind
        # shellcheck disable=SC2086
        try $victim cairn $command
        refused "$kind: $command" "belongs to another user (uid $other)"
    done
    ok 'the remedy is named' grep -qF -e '--store' "$base/err"
    try 0 cairn run "planted.yaml"
    refused "$kind: so it is for root" "belongs to another user (uid $other)"
done
place 1777 0:0
plant fork
try $victim cairn session start s
is "$status" 2 'a file that leads to a store elsewhere'
ok 'says whose it is' grep -qF "belongs to another user (uid $other)" "$base/err"

# Above, where everybody may make names, it keeps nobody from working below.
for mode in 755 700; do
    place 1777 0:0
    as $other sh -c "mkdir .cairn; : >.cairn/cairn.db; chmod $mode .cairn"
    mkdir below && cp planted.yaml below && chown $victim below && cd below || exit 1
    try $victim cairn status
    is "$status" 10 "one of another user with mode $mode, in a place for all: below it there is no store"
    try_run $victim
    is "$status" 0 'and one is made'
    cd ..
    try $victim cairn status
    is "$status" 2 'but beside it it is not passed over'
    chmod 755 . && cd below && rm -rf .cairn || exit 1
    try $victim cairn session start s
    refused 'nor below a directory in which only its owner makes names' "belongs to another user (uid $other)"
done

# Beside the workflow file, where the command is run elsewhere.
place 1777 0:0
as $other mkdir -m 777 .cairn
cp "$base/home/w.yaml" .
mkdir "$base/home/else" 2>/dev/null && chown $victim "$base/home/else"
(cd "$base/home/else" && try $victim cairn run "$base/place/w.yaml" && exit "$status")
is "$(ls .cairn)" '' 'nor is it used beside the workflow file'
rm -rf "$base/home/else"

# Their hooks' notes about failures go nowhere else, either.
place 1777 0:0
as $other sh -c 'umask 0; mkdir .cairn; : >.cairn/cairn.db'
echo keep >"$base/home/kept" && chown $victim "$base/home/kept"
ln "$base/home/kept" .cairn/hook-failures
echo '{}' | as $victim cairn session hook >"$base/out" 2>"$base/err"
is "$(cat "$base/home/kept")" keep 'a note about a failure is not written into a store of another user'

# ---- A directory whose names others can change ----

works() {
    is "$status" 0 "$1"
    cp "$base/out" "$base/err" "$OLD" 2>/dev/null
    is "$(stat -c '%a' .cairn 2>/dev/null | tail -c 4)" 700 'and only they can enter the store'
}
place 755 $victim:$victim && try_run $victim && works 'a directory of their own'
place 2775 $victim:$victim && try_run $victim && works 'one that their private group can write to'
place 2775 $victim:$shared && try_run $victim && refused 'one that a group can write to' "mode 2775, group $shared"
place 3775 $victim:$shared && try_run $victim && works 'where nobody else can rename: the sticky bit'
place 777 $victim:$victim && try_run $victim && refused 'one that everybody can write to' 'mode 0777'
place 775 0:0 && chgrp $shared . && try_run $victim && refused 'one of root that a group can write to' 'mode 0775'
place 1777 0:0 && try_run $victim && works 'as /tmp is'
place 1777 $other:$other && try_run $victim && refused 'its owner could rename all the same' "(uid $other)"
place 755 $victim:$victim
mkdir -m 777 in && cd in && chown $victim . && mkdir -m 1777 tmp && cd tmp && chown 0 . || exit 1
cp ../../planted.yaml .
try_run $victim
refused 'one above it, behind a sticky one' 'mode 0777'
ok 'the remedy is named' grep -qF "\`chmod o-w $base/place/in\` (or +t)" "$base/err"
# What is listed counts: the group of the user, with nobody else in it.
group() { # NAME MEMBERS PASSWD-LINE
    printf 'root:x:0:\n%s:x:%s:%s\n' "$1" $shared "$2" >"$base/group"
    printf 'root:x:0:0::/:/bin/sh\nme:x:%s:%s::/:/bin/sh\n%s' $victim $shared "$3" >"$base/passwd"
    place 2775 $victim:$shared
    # shellcheck disable=SC2016 # of the inner shell
    try 0 unshare -m sh -c 'mount --bind "$1/group" /etc/group && mount --bind "$1/passwd" /etc/passwd &&
        exec setpriv --reuid "$2" --regid "$3" --clear-groups -- cairn run planted.yaml' sh "$base" $victim $shared
}
if unshare -m true 2>/dev/null; then
    group me '' '' && works 'a group that has the name of its user'
    group team me '' && works 'a group that lists only the user'
    group team '' '' && refused 'a group that lists nobody' "group $shared"
    group me you '' && refused 'one that lists somebody else' "group $shared"
    group me '' "you:x:61003:$shared::/:/bin/sh
" && refused 'one that is the first group of somebody else' "group $shared"
else
    skip 'groups that are listed' 'no namespace of mounts can be made'
fi
for named in --store CAIRN_STORE; do
    place 2775 $victim:$shared
    if [ $named = --store ]; then
        try $victim cairn run planted.yaml --store .cairn
    else
        try $victim env CAIRN_STORE=.cairn cairn run "planted.yaml"
    fi
    works "$named trusts them"
    try $victim cairn status
    is "$status" 2 'the store that is found there is refused again'
    try $victim cairn status --store .cairn
    is "$status" 0 'looking into it by its name is not'
done
place 755 $other:$other && try_run 0 && works 'root in the directory of another user, as in a container'
place 2775 $other:$other && try_run 0 && works 'with their private group'

# ---- Rights that an ACL gives: the group bits of the mode are its mask then ----

acl() {
    "$BUILD/tests/tools/acl" access "$@"
}
# acl_place OWNER:GROUP GROUP MASK [u|g ID PERM]...: a place with this ACL.
acl_place() {
    place 755 "$1"
    shift
    acl . "$@" && try_run $victim
}
mkdir "$base/acl" && acl "$base/acl" 5 7 u $other 7 2>/dev/null
if [ $? -eq 77 ]; then
    skip 'rights that an ACL gives' 'this file system has no ACLs'
else
    own=$victim:$victim
    acl_place $own 5 7 u $other 7 && refused 'an ACL lets another user write' "mode 0775, user $other by its ACL"
    ok 'the remedy is named' grep -qF "\`chmod g-w $base/place\`" "$base/err"
    chmod g-w . && try_run $victim && works 'which takes the right from the mask'
    acl_place 0:0 5 7 u $other 7 && refused 'so may it not in a directory of root' "user $other by its ACL"
    acl_place $own 5 5 u $other 7 g $shared 7 && works 'what the mask takes away does not count'
    acl_place $own 7 7 u $other 5 g $shared 5 && works 'nor does reading, beside a private group that writes'
    acl_place $own 5 7 g $shared 7 && refused 'nor may another group' "group $shared by its ACL"
    acl_place $own 5 7 u $victim 7 u 0 7 g $victim 7 g 0 7 && works 'the user, root and private groups may'
    acl_place $victim:$shared 7 7 u $victim 7 && refused "the directory's own group may not" "group $shared)"
    acl_place $victim:$shared 5 7 u $victim 7 && works 'but where only the mask has the right, nobody else has it'
    place 755 $own && acl . 5 7 u $other 7 && chmod +t . && try_run $victim && works 'where nobody else can rename: the sticky bit'
    acl_place $own 5 7 u $other 7
    mkdir -m 1777 in && cd in && cp ../planted.yaml . && try_run $victim
    refused 'nor in a directory above' "$base/place (mode 0775, user $other by its ACL)"
    place 755 $own && try_run $victim && acl .cairn 5 7 u $other 7
    try $victim cairn status
    is "$status" 2 'a store that an ACL lets another user write into'
    ok 'says so' grep -qF "/.cairn (mode 0775, user $other by its ACL)" "$base/err"
    try $victim cairn status --store .cairn
    is "$status" 0 'named, it is trusted'
    place 755 $own && try_run $victim && acl .cairn/live 5 7 u $other 7
    try $victim cairn run --fresh planted.yaml --store .cairn
    is "$status" 2 'live/ that an ACL lets another user write into is refused by name, too'
    # A default ACL, which new files take over, as far as the mode that they are made with has it.
    place 755 $own && "$BUILD/tests/tools/acl" default . 7 7 u $other 7 g $shared 7
    printf '%s\n' 'name: p' 'tasks:' '  a: {run: "umask 0; find .cairn -perm /077 -print; echo n=1 >>$CAIRN_OUTPUT"}' >planted.yaml
    try_run $victim && works 'a default ACL'
    as $victim cairn session start s >/dev/null 2>&1 && as $victim cairn search one >/dev/null 2>&1
    is "$(as $victim cairn log a 2>/dev/null)$(find .cairn -perm /077)" '' 'gives nobody rights in the store'
    as $victim mkdir elsewhere && rm -rf .cairn && as $victim ln -s elsewhere .cairn && try_run $victim
    refused 'but in a directory that was made without cairn' "/elsewhere (mode 0775, user $other by its ACL)"
fi

# ---- Their own directory, in which others can write, or could ----

place 755 $victim:$victim
as $victim sh -c 'umask 0; mkdir .cairn'
try_run $victim
refused 'a .cairn that everybody can write to' 'mode 0777'
ok 'the remedy is named' grep -qF 'chmod' "$base/err"
place 755 $victim:$victim
as $victim sh -c 'umask 002; mkdir .cairn'
try_run $victim
is "$status" 0 'one made with umask 002 is as good as any'
place 755 $victim:$victim
as $victim sh -c 'mkdir elsewhere; ln -s elsewhere .cairn'
try_run $victim
is "$status" 0 'a link of their own is followed'
place 755 $victim:$victim
mkdir elsewhere && chown $other elsewhere && as $victim ln -s elsewhere .cairn
try_run $victim
refused 'but not to a directory of another user' "belongs to another user (uid $other)"

for name in live cairn.db lock open search.db search.lock making outputs.1 repair restore damaged-1; do
    place 755 $victim:$victim
    as $victim mkdir -m 777 .cairn
    as $other sh -c "umask 0; case $name in live | restore) mkdir .cairn/$name ;; *) : >.cairn/$name ;; esac"
    chmod 700 .cairn
    for command in "run planted.yaml" 'doctor --repair --store .cairn'; do
        # shellcheck disable=SC2086
        try $victim cairn $command
        is "$status" 2 "$name of another user: ${command%% *}"
        ok 'names it' grep -qF -e "/.cairn/$name belongs to another user (uid $other)" "$base/err"
    done
    is "$(find .cairn -type f -size +0)" '' 'and writes nothing'
    as $victim mv ".cairn/$name" away
    try_run $victim
    is "$status" 0 'once it is moved away all is well'
done
place 755 $victim:$victim
try_run $victim
chmod 777 .cairn/live
try $victim cairn run --fresh planted.yaml --store .cairn
is "$status" 2 'live/ that others can write to is refused by name, too'
ok 'with the remedy' grep -qF "\`chmod o-w $base/place/.cairn/live\`" "$base/err"
chmod 777 .cairn .cairn/live
as $other sh -c 'echo n=planted >.cairn/live/run-2.0.values.0'
chmod 700 .cairn .cairn/live
try $victim cairn run --fresh "planted.yaml"
is "$status" 2 'a file of another user in live/'
ok 'names it' grep -qF -e "/live/run-2.0.values.0 belongs to another user (uid $other)" "$base/err"

# ---- Beside files of a session that lie on another file system than the store ----

place 755 0:0
cat >steps <<'END2'
mkdir files && mount -t tmpfs -o mode=1777 none files || exit 99
export CAIRN_STORE=$PWD/.cairn
echo one >files/f
{ cairn session start s && cairn session config files files && cairn checkpoint create one; } || exit 98
id=$("$1" .cairn/cairn.db "SELECT value FROM meta WHERE key = 'place'" | grep -oE '[0-9a-f]{32}' | head -n 1)
echo two >files/f
mkdir "files/.cairn-restore-$id" && chown "$2" "files/.cairn-restore-$id"
cairn checkpoint restore 1 --yes
code=$?
[ "$(cat files/f) $(ls "files/.cairn-restore-$id")" = 'two ' ] || exit 97
rmdir "files/.cairn-restore-$id"
cairn checkpoint restore 1 --yes && [ "$(cat files/f)" = one ] || exit 96
exit $code
END2
try 0 unshare -m sh steps "$BUILD/tests/tools/sql" $other
if [ "$status" = 99 ] || ! unshare -m true 2>/dev/null; then
    skip 'where a restore writes first' 'no file system can be mounted'
else
    is "$status" 2 'where a restore writes first is not a directory of another user'
    ok 'and says whose it is' grep -qF "belongs to another user (uid $other)" "$base/err"
fi

# ---- Named: trusted, with a word ----

place 1777 0:0
as $other mkdir -m 777 .cairn
try $victim cairn run planted.yaml --store .cairn
is "$status" 0 'a directory of another user that is named is used'
ok 'and says whose it is' grep -qF "/.cairn belongs to another user (uid $other)" "$base/err"

# ---- A file with two names ----

for name in cairn.db lock; do
    place 755 $victim:$victim
    try_run $victim
    ln ".cairn/$name" other-name
    try $victim cairn run --fresh "planted.yaml"
    is "$status" 2 "$name with a second name (a hard link)"
    ok 'says so' grep -qF -e 'hard link' "$base/err"
    rm other-name
    try $victim cairn status
    is "$status" 0 'without it all is well'
done

cd "$OLD" || exit 1
done_testing
