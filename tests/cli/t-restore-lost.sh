# A restore that was killed is shown, finished by nothing that reads, and finished with
# each file named that was changed since. One whose directory then went away hinders its
# own session alone, and what the message says helps. A restore without /proc.
. "$TESTS/cli/tap.sh"

if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'a directory that went away' 'there is no strace, or it may not trace'
else
    # ---- It is shown, and finished by what says so ----
    # Two of six files are in place.
    half() {
        rm -rf .cairn p q
        mkdir -p p/sub
        run cairn session start half
        run cairn session config files p
        for file in a b c d e sub/f; do echo v1 >"p/$file"; done
        run cairn checkpoint create one
        for file in a b c d e sub/f; do echo v2 $file >"p/$file"; done
        run cairn checkpoint create two
        strace -f -o strace.out -e trace=renameat2 -e inject=renameat2:signal=KILL:when=3 \
            cairn checkpoint restore 1 --yes >out 2>err
        ok 'the restore was killed' grep -q 'killed by SIGKILL' strace.out
        find p -type f -exec cat {} + | sort >files.then
    }
    half
    where='the restore of debug:1 (session half) was interrupted: 2 of 6 files'
    for command in 'checkpoint diff' 'checkpoint diff 2 --stat' 'checkpoint diff --worktree' 'session show' \
        'session list' 'session log' 'branch list' 'note list' 'checkpoint list' 'checkpoint list --session half' \
        'checkpoint files 1' 'session show half'; do
        exits 0 cairn $command
        says "$where" "cairn $command says that it is not finished"
        says '`cairn checkpoint restore --finish --session half` finishes it' 'and what finishes it'
    done
    exits 0 cairn checkpoint diff 1 --stat
    matches ' c$' 'and a comparison is with the files as they are'
    exits 0 cairn session show --json
    is "$(json_get '.unfinished_restores[0].checkpoint' out)" debug:1 'the session has it as JSON'
    is "$(json_get '.unfinished_restores[0].placed' out)" 2 'with how far it has come'
    exits 0 cairn doctor
    matches "warn *restore *the restore of debug:1" 'so does doctor'
    matches 'remedy: cairn checkpoint restore --finish --session half'
    exits 2 cairn checkpoint restore 2 --dry-run
    says 'would be finished first' 'a dry run does nothing'
    exits 0 cairn checkpoint verify
    find p -type f -exec cat {} + | sort >files.got
    ok 'nothing of that has touched a file' cmp files.then files.got

    # The user works on, in a file that is in place and in two that are not, and finishes.
    in_place=$(grep -lx v1 p/a p/b p/c p/d p/e p/sub/f | head -n 1)
    echo mine >>"$in_place"
    echo mine >>p/d
    echo mine >>p/sub/f
    exits 0 cairn checkpoint restore --finish
    says 'the restore of debug:1 (session half) that was interrupted is finished now'
    for file in "$in_place" p/d p/sub/f; do
        says "${file#p/} was changed meanwhile: what was there is kept beside it, as ${file##*/}.before-restore" "$file is named"
        is "$(cat "$file"; tail -n 1 "$file.before-restore")" "$(printf 'v1\nmine')" 'and kept'
    done
    is "$(cat p/b p/c p/e)" "$(printf 'v1\nv1\nv1')" 'all others are restored'
    exits 0 cairn session show
    ok 'then nothing is said any more' test ! -s err
    exits 0 cairn doctor
    ok 'nor by doctor' sh -c '! grep -q "the restore of" out'
    exits 0 cairn checkpoint restore --finish
    says 'nothing to finish'
    exits 2 cairn checkpoint restore
    exits 2 cairn checkpoint restore 1 --finish

    # A command that writes says that it has finished it.
    half
    echo mine >p/d
    exits 0 cairn note add 'a note'
    says 'the restore of debug:1 (session half) that was interrupted is finished now'
    says 'd was changed meanwhile: what was there is kept beside it, as d.before-restore'
    is "$(cat p/d p/d.before-restore)" "$(printf 'v1\nmine')" 'and has kept what was changed'
    half
    echo mine >p/d
    echo '{"session_id":"x","hook_event_name":"UserPromptSubmit","prompt":"go","cwd":"'"$PWD/p"'"}' >hook.json
    cairn session hook <hook.json >out 2>err
    says 'd was changed meanwhile' 'so does the hook of an agent'

    # A restore that is going on is none that was interrupted.
    half
    run cairn checkpoint restore --finish --json
    json_ok 'finishing it as JSON'

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
