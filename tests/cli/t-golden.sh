# shellcheck shell=sh disable=SC2154
# make: long
# Golden stores: what older releases have written is read for ever, as it is and after a
# newer cairn has gone on with it. tests/data/store-vN.db.zst is the store (made with
# tests/tools/golden.sh), store-vN.answers.zst what the commands said of it when it was
# new: every field of it must still be there, with the same value; more may be.
#
# GOLDEN_RECORD=FILE.db.zst sh tests/cli/t-golden.sh >FILE.answers   records the answers
. "${TESTS:?}/cli/tap.sh"
export TZ=UTC LC_ALL=C
unset GOLDEN_SECRET

unpack() { # FILE.db.zst
    rm -rf .cairn
    mkdir -m 700 .cairn
    "$BUILD/tests/tools/unpack" "$1" .cairn/cairn.db
}

# A command's answer is a document, or several. They are collected, and made to lines all
# at once, since each costs a process already.
answer() { # CAIRN'S ARGUMENTS
    code=0
    echo '{"asked": true}' >>documents
    cairn "$@" --json >>documents 2>words </dev/null || code=$?
    printf '%s\texit\t%s\n' "$*" "$code" >>asked
}
# Its name, a path in the JSON, the value. What tells of this moment or of this machine is
# left out.
answers() {
    "$BUILD/tests/tools/json" flat documents | awk -F '\t' '
        function finish(  i, line) {
            for (i = 0; i < n; i++) {
                line = (of[n - 1] > of[0] ? "[" of[i] - of[0] "]" : "") text[i]
                if (line !~ /^\.duration_ms/ && line !~ /\.spent_ms/)
                    print name[at] "\t" line
            }
            n = 0
        }
        FNR == NR { name[NR] = $1; print; next }
        { match($0, /^\[[0-9]+\]/); rest = substr($0, RLENGTH + 1) }
        rest == ".asked\ttrue" { finish(); at++; next }
        { of[n] = substr($0, 2, RLENGTH - 2) + 0; text[n++] = rest }
        END { finish() }' asked -
    rm asked documents
}

# What a checkpoint holds of files, if it holds some, and the content of each.
files_of() { # SEQ
    cairn checkpoint files "debug:$1" --json >held 2>words </dev/null || return 0
    answer checkpoint files "debug:$1"
    "$BUILD/tests/tools/json" flat held | sed -n 's/^\.entries\[[0-9]*\]\.path\t//p' >paths
    while read -r path; do
        printf 'checkpoint cat debug:%s:%s\tsha256\t%s\n' "$1" "$path" \
            "$(cairn checkpoint cat "debug:$1:$path" 2>words </dev/null | sha256sum | cut -c1-64)"
    done <paths
}

# All that concerns single runs and checkpoints: true for ever.
answers_of_runs() {
    for run in $1; do
        answer status "$run"
        answer status "$run" --tasks
        answer events "$run"
        answer next "$run" --claimed
        answer artifact list "$run"
        answer checkpoint list --run "$run" --limit 100
    done
    cairn checkpoint list --limit 100 --json >list 2>/dev/null
    "$BUILD/tests/tools/json" flat list | sed -n 's/^\.checkpoints\[[0-9]*\]\.seq\t//p' | sort -n >seqs
    while read -r seq; do
        [ "$seq" -gt "$2" ] || answer checkpoint show "$seq" --tasks
        [ "$seq" -gt "$2" ] || files_of "$seq"
    done <seqs
    for run in $1; do
        cairn status "$run" --tasks --json >list 2>/dev/null
        "$BUILD/tests/tools/json" flat list |
            sed -n 's/^\.tasks\[[0-9]*\]\.\(id\|task\)\t//p' | sort -u >tasks
        while read -r task; do
            answer log "$task" --run "$run"
        done <tasks
    done
}

# Of sessions, which nothing here goes on with but at the end.
answers_of_sessions() {
    answer session list --limit 100
    cairn session list --limit 100 --json >list 2>/dev/null
    "$BUILD/tests/tools/json" flat list | sed -n 's/^\.sessions\[[0-9]*\]\.session\t//p' | sort -n >sessions
    while read -r session; do
        answer session show "$session"
        answer session log --session "$session" --limit 100
        answer branch list --session "$session"
        answer session message list --session "$session" --last 0
        for kind in hypothesis evidence belief gap note; do
            answer "$kind" list --session "$session" --limit 100
        done
    done <sessions
}

# And what changes with the next run.
answers_of_all() {
    answer runs --limit 100
    answer checkpoint timeline --limit 100
    answer checkpoint verify
    answer events --maintenance
    for run in $1; do
        answer plan --run "$run"
        answer graph --run "$run"
    done
}

numbers() { # how many runs, the newest checkpoint
    cairn runs --limit 100 --json >list
    "$BUILD/tests/tools/json" flat list | sed -n 's/^\.runs\[[0-9]*\]\.run\t//p' | sort -n | tr '\n' ' '
}
newest() {
    cairn checkpoint list --limit 1 --json >list
    json_get '.checkpoints[0].seq' list
}

if [ -n "${GOLDEN_RECORD-}" ]; then
    unpack "$GOLDEN_RECORD"
    runs=$(numbers)
    answers_of_all "$runs"
    answers_of_runs "$runs" "$(newest)"
    answers_of_sessions
    answers
    exit
fi

missing() { # WANTED GOT: the lines that are not there any more
    sort "$1" >wanted.sorted
    sort "$2" >got.sorted
    comm -23 wanted.sorted got.sorted >missing
    head -n 20 missing | sed 's/^/# not said any more: /'
    [ ! -s missing ]
}

# Each answer is a process, which a sanitizer makes slow: there, the first and the newest.
set -- "$root"/tests/data/store-v*.db.zst
if ldd "$BUILD/cairn" | grep -q libasan; then
    first=$1
    shift $(($# - 1))
    set -- "$first" "$1"
fi
for store; do
    name=$(basename "$store" .db.zst)
    # What is said otherwise on purpose since then: a suggestion that can be typed, a
    # notice about an output whose task is gone, no end of an attempt whose end nobody
    # saw, no command that has an unknown option by chance, and a list with a number in it.
    other=
    [ "$name" != store-v7-language ] || other='/^plan --run 4\t/d'
    "$BUILD/tests/tools/unpack" "${store%.db.zst}.answers.zst" "$name.all"
    sed -e '/: `cairn resolve\( RUN TASK\)\{0,1\}` decides$/d' \
        -e '/^plan --run 6\t\.notices\t\[\]$/d' -e "$other" \
        -e '/^status 4\( --tasks\)\{0,1\}\t\.[a-z_]*\[0\]\.ended\t/d' \
        -e 's/so whether it changed cannot be told/so it is not known whether it changed/' \
        -e 's/ --limit here: it belongs after `cairn runs`/ --limit/' "$name.all" >"$name.wanted"
    unpack "$store"
    cp .cairn/cairn.db before
    runs=$(numbers)
    newest=$(newest)
    { answers_of_all "$runs" && answers_of_runs "$runs" "$newest" && answers_of_sessions && answers; } >"$name.got"
    ok "$name: $(wc -l <"$name.wanted") answers of $(echo "$runs" | wc -w) runs are the same" \
        missing "$name.wanted" "$name.got"
    # A number in its list was malformed when this was recorded.
    [ "$name" != store-v7-language ] || is "$(planned --run 4)" \
        'convert[part=two,kind=x] convert[part=5,kind=x] index[part=two] index[part=5] join' \
        "$name: the members of the list with a number"
    ok "$name: reading left it as it was" cmp before .cairn/cairn.db

    [ "$name" != store-v9-threads ] ||
        is "$("$BUILD/tests/tools/threads" .cairn show | sha256sum | cut -c1-64)" \
            3d000c6edc6d1d4f9089c9af1c548054cd2613c1101ea96712c1c817cb2c4afb \
            "$name: the states of all threads"

    # A newer cairn writes into it: another workflow, then each unfinished run.
    printf 'name: newcomer\ntasks: {n: {cwd: /, run: echo new}}\n' >newcomer.yaml
    exits 0 cairn run newcomer.yaml
    { answers_of_runs "$runs" "$newest" && answers_of_sessions && answers; } >"$name.later"
    grep -Ev "^(plan|graph|runs|checkpoint timeline|checkpoint verify|events --maintenance)" "$name.wanted" >wanted.runs
    ok "$name: the same after a newer cairn wrote into it" missing wanted.runs "$name.later"
    exits 0 cairn checkpoint verify
    cairn runs --limit 100 --json >list
    "$BUILD/tests/tools/json" flat list >flat
    for run in $runs; do
        at=$(sed -n "s/^\(\.runs\[[0-9]*\]\)\.run	$run\$/\1/p" flat)
        state=$(awk -F '\t' -v path="$at.state" '$1 == path { print $2 }' flat)
        [ "$state" != interrupted ] && [ "$state" != unfinished ] || echo "$run"
    done >open
    for run in $(cat open); do
        if [ "$name" = store-v8-calls ]; then
            ln -sfn .cairn pages.cairn
            touch calm
            "$BUILD/examples/callbacks" resume "$run" >resumed 2>&1 </dev/null
        else
            cairn resume "$run" --no-wait -q >resumed 2>&1 </dev/null
        fi
        code=$?
        ok "$name: run $run goes on (exit $code)" test "$code" -le 1 -o "$code" -eq 7 -o "$code" -eq 8
        exits 0 cairn status "$run"
    done
    ok "$name: some run went on" test -s open
    if [ -s sessions ]; then
        exits 0 cairn note add 'said later' --session first
        exits 0 cairn checkpoint create 'said later' --session first
    else
        exits 0 cairn session start first
        exits 0 cairn note add 'in a store that had no sessions'
    fi
    exits 0 cairn checkpoint verify

    # One of the next format is refused, and nothing of it is touched.
    unpack "$store"
    printf '\377' | dd of=.cairn/cairn.db bs=1 seek=62 conv=notrunc status=none
    cp .cairn/cairn.db before
    for command in runs 'resume 1' 'run newcomer.yaml' doctor 'checkpoint verify' 'checkpoint prune --keep 1'; do
        # shellcheck disable=SC2086
        run cairn $command
        ok "$name: newer: cairn $command fails" test "$status" -ne 0
        says 'newer cairn' err
    done
    ok "$name: newer: untouched" cmp before .cairn/cairn.db
    is "$(ls -A .cairn)" 'cairn.db' "$name: newer: no file was added"
done
done_testing
