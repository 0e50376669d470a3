# shellcheck shell=sh disable=SC2154,SC2016
# Objects that somebody planted below and above a store: in the place of each file that a
# store with an interrupted run, sessions and an index has, and of those that it can have,
# each kind of object; and a .cairn that another user makes and removes all the time. No
# command hangs or crashes, what a link leads to is as it was, what belongs to another user
# is refused by its name, and no secret comes where others can read it. Where the kernel
# lets another user make a file by an ACL, whatever its entries, no store is used.
set -u
unset CAIRN_STORE
other=61002 victim=61001
bad=0 tries=0 refused=0
if [ "$(id -u)" != 0 ]; then
    echo 'skip|objects of other users, planted below and above a store|only root can make them'
    exit 0
fi
kinds='directory link loop fifo hardlink other'
mknod null c 1 3 2>/dev/null && rm null && kinds="$kinds device"
# Few of the trials in the short form: every STEPth, from one that the seed chooses.
step=11 races=15 acls=30 tried=0 shut=0
[ "$LEVEL" != full ] || { step=1 races=300 acls=600; }

wrong() {
    bad=$((bad + 1))
    echo "# $*"
    sed 's/^/#    /' "${said:-said}" | head -n 10
}

# ---- Below: a store that has every file that a run, a session and a search leave ----

mkdir -m 700 below && cd below || exit 1
export WORD=a-word-that-nobody-shall-see
for name in kill adopt; do
    cat >$name.yaml <<END1
name: $name
on_crash: $name
secrets: [WORD]
tasks:
  out: {run: 'echo x >out.$name', outputs: [out.$name]}
  stay:
    needs: [out]
    secrets: [WORD]
    run: 'echo "n=\$WORD" >>"\$CAIRN_OUTPUT"; echo \$WORD; echo \$\$ >>started.$name; until [ -e go ]; do sleep 0.05; done'
END1
    : >started.$name
done
mkdir tracked && echo one >tracked/file
{
    cairn run kill.yaml --store .cairn &
    first=$!
    cairn run adopt.yaml --store .cairn &
    second=$!
    tries=0
    until [ -s started.kill ] && [ -s started.adopt ] || [ $tries -gt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -9 $first $second
    wait
    touch go
    cairn session start s && cairn session config files tracked && cairn checkpoint create && cairn search one
} >said 2>&1
tries=0
rm -f go
cp -a .cairn kept
names=$(cd kept && find . -mindepth 1 -maxdepth 3 | sed 's,^\./,,' | sort)
names="$names
cairn.db-journal
making
open
open.tmp.aaaaaa
repair
repair.new
restore
search.db-journal
search.lock
hook-failures
files-1.index
outputs.1
live/run-3.slots
live/run-3.slots.new
live/run-3.wake
live/run-3.0.out
live/run-3.0.err
$(find kept/live -name '*.values.*' | sed -n 's,.*\.values\.,live/run-3.0.values.,p' | head -n 1)"
names=$(printf '%s\n' "$names" | grep . | sort -u)
n_names=$(printf '%s\n' "$names" | wc -l)
[ "$n_names" -ge 25 ] || wrong "only $n_names names: a store without a run"

plant() { # KIND PATH
    rm -rf "$2"
    case $1 in
    directory) mkdir "$2" && echo inside >"$2/file" ;;
    link) ln -s "$PWD/bait" "$2" ;;
    loop) ln -s "${2##*/}" "$2" ;;
    fifo) mkfifo "$2" ;;
    hardlink) ln bait "$2" ;;
    device) mknod "$2" c 1 3 ;;
    other)
        if [ -d "kept/${2#.cairn/}" ]; then mkdir "$2"; else echo n=planted >"$2"; fi
        chown $other "$2"
        ;;
    esac
}

at=$((SEED % step))
touch go
for name in $names; do
    for kind in $kinds; do
        for command in 'resume 1' 'resume 2' 'run --fresh kill.yaml' status 'checkpoint create m' 'search one' 'gc' 'doctor'; do
            at=$((at + 1))
            [ $((at % step)) -eq 0 ] || continue
            # The same directory, so that it is the same store.
            find .cairn -mindepth 1 -delete
            cp -a kept/. .cairn
            echo bait >bait
            touch -d 2020-01-01 bait
            was=$(stat -c '%s %a %Y' bait)
            plant "$kind" ".cairn/$name" 2>said || continue
            tries=$((tries + 1))
            # shellcheck disable=SC2086
            timeout -s KILL 20 cairn $command >said 2>&1 </dev/null
            status=$?
            case $status in
            0 | [1-9] | 1[0-9] | 75) ;;
            *) wrong "$kind in the place of $name: $command ends with $status" ;;
            esac
            [ "$(stat -c '%s %a %Y' bait) $(cat bait)" = "$was bait" ] ||
                wrong "$kind in the place of $name: $command changed what has its other name"
            if [ "$kind" = other ]; then
                refused=$((refused + 1))
                grep -qF "belongs to another user (uid $other)" said || status="$status, unnamed"
                [ "$status" = 2 ] ||
                    wrong "$name of another user: $command ends with $status"
            fi
        done
    done
done
cd ..

# ---- Above: another user makes and removes a .cairn while stores are made ----

made=0 left=0
if command -v setpriv >/dev/null; then
    top=$(mktemp -d /tmp/cairn-prove-planted.XXXXXX)
    chmod 755 "$top"
    cp "$BUILD/cairn" "$top/cairn"
    mkdir -m 1777 "$top/all" && mkdir -m 777 "$top/trap" && chown $other "$top/trap"
    cp below/kill.yaml "$top/w.yaml" && chmod 644 "$top/w.yaml" && touch "$top/go" && chmod 777 "$top"
    chmod +t "$top"
    sed -i "s,started.kill,/dev/null,; s,out\.kill,\"\$TMPDIR/o\",; s/, outputs: .*/}/; s,\[ -e go \],true," "$top/w.yaml"
    as() {
        uid=$1
        shift
        setpriv --reuid "$uid" --regid "$uid" --clear-groups -- \
            env HOME="$top" TMPDIR="$top" PATH="$top:$PATH" "$@"
    }
    : >"$top/on"
    as $other sh -c 'cd "$1/all" && umask 0 && while [ -e ../on ]; do
        mkdir -p .cairn/live; rmdir .cairn/live .cairn; ln -s "$1/trap" .cairn; rm -f .cairn
        mkdir .cairn; touch .cairn/lock; rm -rf .cairn; done' sh "$top" >/dev/null 2>&1 &
    planter=$!
    said=../said back=$PWD
    cd "$top/all" || exit 1
    for race in $(seq "$races"); do
        as $victim timeout -s KILL 20 cairn session start "s$race" >../said 2>&1
        status=$?
        case $status in
        0)
            made=$((made + 1))
            [ "$(stat -c %u .cairn .cairn/cairn.db | tr '\n' ' ')" = "$victim $victim " ] ||
                wrong "race $race: a store was made, and is not the user's"
            as $victim timeout -s KILL 20 cairn run ../w.yaml --store .cairn >../said 2>&1
            rm -rf .cairn
            ;;
        2) left=$((left + 1)) ;;
        75) ;; # it was gone in the middle of a look
        *) wrong "race $race: exit $status" ;;
        esac
        [ -z "$(find "$top/trap" -type f)" ] || wrong "race $race: something was written for the other user"
    done
    rm -f "$top/on"
    wait $planter

    # Random ACLs: the kernel says whether another user can write, cairn what it makes of it.
    for round in $(seq "$acls"); do
        rm -rf ../acl && mkdir ../acl && chown $victim:$((victim + round % 2)) ../acl && cd ../acl || exit 1
        # shellcheck disable=SC2046
        "$BUILD/tests/tools/acl" access . $(awk -v seed="$SEED$round" -v ids="u $victim u $other u 0 g $victim g $other g 0" '
            BEGIN { srand(seed); printf "%d %d", rand() * 8, rand() * 2 < 1 ? 7 : rand() * 8; n = split(ids, w)
                    for (i = 1; i < n; i += 2) if (rand() * 3 < 1) printf " %s %s %d", w[i], w[i + 1], rand() * 8 }') 2>../said
        [ $? -ne 77 ] || break
        tried=$((tried + 1))
        as $victim cairn session start s >../said 2>&1
        status=$?
        [ $status = 0 ] || [ $status = 2 ] || wrong "ACL $round: exit $status"
        if as $other sh -c ': >planted' 2>/dev/null; then
            shut=$((shut + 1))
            [ $status = 2 ] || wrong "ACL $round: another user can write, and a store was made"
        fi
    done
    cd "$back" || exit 1
    rm -rf "$top"
    [ $((made + left)) -gt 0 ] || wrong 'no race was run'
else
    echo 'skip|a .cairn that another user makes and removes all the time|there is no setpriv'
fi
echo "figure|G13|each kind of object in the place of each file of a store, and a .cairn that others make and remove, and random ACLs|$tries objects for $n_names names, $refused of other users; $made stores made and $left refused in races; $tried ACLs, $shut that let others write|0|0|0|$bad"
[ $bad -eq 0 ]
