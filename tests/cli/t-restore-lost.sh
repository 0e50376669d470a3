# A restore that was killed, and whose directory then went away, hinders its own session
# alone, and what the message says helps. A restore without /proc.
. "$TESTS/cli/tap.sh"

if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'a directory that went away' 'there is no strace, or it may not trace'
else
    # A restore of session one is decided, and nothing of it done; two has other files.
    killed() {
        rm -rf .cairn p q away
        mkdir p q
        run cairn session start one
        run cairn session config files p
        echo 1 >p/f
        echo 1 >p/g
        run cairn checkpoint create first
        echo 2 >p/f
        echo 2 >p/g
        run cairn session start two
        run cairn session config files q
        echo 1 >q/f
        run cairn checkpoint create first
        two=$(sed 's/^debug:\([0-9]*\).*/\1/' out)
        strace -f -o strace.out -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 \
            cairn checkpoint restore 1 --yes --session one >out 2>err
        ok 'the restore was killed' grep -q 'killed by SIGKILL' strace.out
        ok 'and has begun' test -e .cairn/restore
    }
    killed
    mv p away
    echo 2 >q/f
    exits 0 cairn checkpoint create second --session two
    exits 0 cairn checkpoint restore "$two" --yes --session two
    is "$(cat q/f)" 1 'another session restores its files'
    exits 0 cairn checkpoint undo-restore --session two
    exits 0 cairn note add 'a note' --session one
    run cairn checkpoint create no --session one
    ok 'its own session is hindered' [ "$status" -ne 0 ]
    says 'cairn session config files off'
    exits 0 cairn gc

    # It is finished when the directory is back.
    mv away p
    exits 0 cairn checkpoint create back --session one
    is "$(cat p/f p/g)" "$(printf '1\n1')" 'it is finished where the directory is back'
    ok 'nothing waits any more' sh -c '! ls .cairn | grep -q restore'
    exits 0 cairn checkpoint undo-restore --session one
    is "$(cat p/f p/g)" "$(printf '2\n2')" 'and taken back'

    # It is given up.
    killed
    echo precious >.cairn/restore/0
    rm -r p
    exits 0 cairn checkpoint create second --session two
    exits 0 cairn session config files off --session one
    exits 0 cairn checkpoint create on --session one
    is "$(cat .cairn/kept-*/0)" precious 'what nobody knows of what was taken out is kept'
    ok 'the rest of it goes' sh -c '! ls .cairn | grep -q restore; test "$(ls .cairn/kept-*)" = 0'
    mkdir p
    exits 0 cairn session config files p --session one
    exits 0 cairn checkpoint restore 1 --yes --session one
    is "$(cat p/f p/g)" "$(printf '1\n1')" 'and all is in the checkpoint'
    exits 0 cairn checkpoint verify

    # Given up before another session has come by.
    killed
    rm -r p
    exits 0 cairn session config files off --session one
    ok 'nothing waits any more' sh -c '! ls .cairn | grep -Eq "restore|kept"'
fi

# ---- Without /proc ----
rm -rf .cairn p
mkdir -p p/d p/locked
run cairn session start noproc
run cairn session config files p
echo 1 >p/f
echo 1 >p/mode
chmod 600 p/mode
echo 1 >p/locked/in
chmod 500 p/d p/locked
run cairn checkpoint create one
chmod 755 p/d p/locked
echo 2 >p/f
chmod 644 p/mode
rm -r p/locked
# Sanitizers themselves cannot do without /proc.
if [ "$(id -u)" -eq 0 ] && ! ldd "$BUILD/cairn" | grep -q libasan &&
    unshare -m mount -t tmpfs none /proc 2>/dev/null; then
    exits 0 unshare -m sh -c 'mount -t tmpfs none /proc && exec cairn checkpoint restore 1 --yes'
    is "$(cat p/f p/mode p/locked/in)" "$(printf '1\n1\n1')" 'files are restored without /proc'
    is "$(stat -c %a p/mode p/d p/locked | tr '\n' ' ')" '600 500 500 ' 'with their modes'
    ok 'and nothing waits' [ ! -e .cairn/restore ]
else
    skip 'a restore without /proc' 'needs root and mount namespaces'
fi
done_testing
