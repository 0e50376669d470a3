# Workflows recorded in production, converted and run with tasks that make their declared
# files: each task must start after all of its parents have ended.
. "$TESTS/cli/tap.sh"
convert="$BUILD/examples/wf2cairn"

# try FILE: in a directory of its own
try() {
    tap_name=$(basename "$1" .json)
    mkdir "$tap_name" && cd "$tap_name" || exit 1
    export CAIRN_STORE="$PWD/store"
    cp "$root/examples/montage/simulate.sh" .
    run "$convert" --simulate "$1"
    cp out cairn.json
    "$BUILD/tests/tools/json" flat "$1" >source.tsv
    awk -F '\t' '$1 ~ /^\.workflow\.specification\.tasks\[[0-9]+\]\.id$/ { n++ } END { print n }' source.tsv >tasks
    exits 0 cairn validate cairn.json
    exits 0 cairn run cairn.json
    is "$(grep -c '^start ' simulate.log)" "$(grep -c '^end ' simulate.log)" "$tap_name: what started also ended"
    is "$(grep '^end ' simulate.log | grep -vc '^end stage_in ')" "$(cat tasks)" "$tap_name: all $(cat tasks) tasks ran"
    # The edges come from the recorded file itself, not from the converted one.
    awk -F '\t' '
        $1 ~ /^\.workflow\.specification\.tasks\[[0-9]+\]\.id$/ {
            split($1, at, /[][]/); id[at[2]] = $2 }
        $1 ~ /^\.workflow\.specification\.tasks\[[0-9]+\]\.parents\[[0-9]+\]$/ {
            split($1, at, /[][]/); parents[at[2]] = parents[at[2]] " " $2 }
        END { for (i in id) { n = split(parents[i], p, " "); for (k = 1; k <= n; k++) print id[i], p[k] } }
    ' source.tsv >edges
    awk 'FILENAME == "simulate.log" { if ($1 == "start") start[$2] = $3; else end[$2] = $3; next }
        start[$1] == "" || end[$2] == "" || start[$1] < end[$2] { print $1 " started before its parent " $2 " ended" }
    ' simulate.log edges >early
    is "$(head -n 3 early)" '' "$tap_name: no task started early, over $(wc -l <edges) edges"
    exits 0 cairn resume
    says 'nothing to do'
    cd .. || exit 1
}

try "$root/examples/montage/sample.json"
is "$(wc -l <mosaic-sample/edges 2>/dev/null || wc -l <sample/edges)" 10 'the sample has ten edges'
instances=$root/../shared/data/wfinstances
if [ -d "$instances" ]; then
    for file in "$instances"/*.json; do
        try "$file"
    done
else
    skip 'recorded workflows' "there is no $instances"
fi

# Without --simulate the recorded command is what runs.
run "$convert" "$root/examples/montage/sample.json"
cp out plain.json
exits 0 cairn validate plain.json
is "$(json_get .tasks.diff_12.run plain.json)" 'mDiffFit p_1.fits p_2.fits d_12.fits' 'the recorded command'
exits 2 "$convert"
exits 1 "$convert" missing.json
echo '{"name": "x"}' >other.json
exits 1 "$convert" other.json
says 'WfFormat' 'a file of another kind is refused'

done_testing
