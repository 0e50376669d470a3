# The workflows of docs/coming-from.md: each runs and has the result of the tool beside it,
# where that is installed; and what is edited and resumed, also if a part went away, has
# the result of a fresh directory.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
unset CAIRN_STORE MAKEFLAGS MAKELEVEL MFLAGS

# Each block as NUMBER.LANGUAGE, and those of cairn under the name of the workflow.
awk '/^```[a-z]/ && !file { file = ++n "." substr($0, 4); next }
    /^```/ && file { close(file); file = ""; next }
    file { print >file }' "$root/docs/coming-from.md"
for file in *.yaml; do
    grep -q '^tasks:' "$file" || continue
    name=$(sed -n 's/^name: //p' "$file")
    cp "$file" "${name:-test}.cairn"
done
is "$(echo ./*.cairn)" './ci.cairn ./daily.cairn ./report.cairn ./samples.cairn ./test.cairn' 'the workflows'

# ---- The programs that they call ----
programs=$PWD/programs
mkdir programs
program() { # NAME TEXT
    printf '#!/bin/sh\n%s\n' "$2" >"programs/$1"
    chmod +x "programs/$1"
}
program fetch 'seq 200 >"$1"'
program convert 'awk -v p="$2" "NR % 4 == p - 1" "$1"'
program publish ''
program notify 'echo "$1" >>notified'
program sample 'test ! -e no-sample && sed 3q "$1"'
program build 'echo "$1 $2"'
program run-tests 'test "$2" -gt 0 && ls app-* | wc -l'
program redis-server 'exec sleep 60'
program redis-cli 'test "$3" = ping'

# put NAME: a new directory NAME with the workflow and the programs of it, current
put() {
    rm -rf "${work:?}/$1" && mkdir "$work/$1" && cd "$work/$1" || exit 1
    cp "$work/$flow.cairn" "$flow.yaml"
    cp "$programs"/* .
    prepare
}
prepare() { :; }
work=$PWD

# edited LABEL RESULT EDIT [COMMAND]: run, edited and resumed, it has the RESULT of a new
# directory that was edited before. It leaves us in `was`.
edited() {
    put fresh && eval "$3"
    cairn run "$flow.yaml" -q 2>../err || tap_report 'not ok' "$1: it runs when it is new"
    put was
    cairn run "$flow.yaml" -q 2>../err || tap_report 'not ok' "$1: it runs"
    eval "$3"
    # shellcheck disable=SC2086
    cairn ${4:-resume} -q 2>../err || tap_report 'not ok' "$1: it goes on"
    ok "$1: as in a new directory" sh -c 'test -s "$1" && cmp "$1" "../fresh/$1"' sh "$2"
    is "$(planned --run "$(cairn status --json >../s.json && json_get .run ../s.json)")" '' "$1: nothing is left to do"
}

# ---- The pipeline that is there four times ----
flow=report
edited 'report, a part less' report.csv "sed -i 's/, 4\]/]/' report.yaml"
edited 'report, other names' report.csv "sed -i 's/\"part-/\"piece-/' report.yaml"
edited 'report, other data' report.csv "sed -i 's,./fetch raw,./fetch  raw,' report.yaml; sed -i s/200/100/ fetch"
put failing
sed -i 's/10s/0s/' report.yaml
echo 'exit 1' >>publish
exits 1 cairn run report.yaml
is "$(cat notified)" 'the report failed' 'whoever is to know of a failure does'
# beside NAME LANGUAGE COMMAND FILE: another tool that makes the same
beside() {
    put "$1"
    cp "$work"/*."$2" "$4"
    $3 >../out 2>../err
    is "$(sort -n report.csv 2>/dev/null | tr '\n' ' ')" "$(seq -s ' ' 200) " "$1 makes the same"
    sed -i 's/^PARTS := .*/PARTS := 1 2 3/; s/range(1, 5)/range(1, 4)/' "$4"
    $3 >../out 2>../err
    cp report.csv "../$1.csv"
}
put whole
cairn run report.yaml -q 2>err
is "$(sort -n report.csv | tr '\n' ' ')" "$(seq -s ' ' 200) " 'cairn makes all of it'
sed -i 's/, 4\]/]/' report.yaml
exits 0 cairn resume
is "$(wc -l <report.csv)" 150 'and three quarters of it with a part less'
if command -v make >/dev/null; then
    beside make make 'make -j4' Makefile
    is "$(wc -l <report.csv)" 200 'make does not see that a part is gone'
    rm report.csv
    make >../out 2>&1
    ok 'and has the result of cairn when it begins anew' cmp report.csv ../whole/report.csv
else
    skip 'the same by make' 'there is no make'
fi
if command -v snakemake >/dev/null; then
    beside snakemake python 'snakemake -j4' Snakefile
    ok 'and with a part less, too' cmp report.csv ../whole/report.csv
else
    skip 'the same by snakemake' 'there is no snakemake'
fi

# ---- Nextflow ----
flow=samples
prepare() {
    echo sample,reads >samples.csv
    for sample in a b c; do
        echo "$sample,$sample.txt" >>samples.csv
        seq 95 105 | sed "s/^/$sample/" >$sample.txt # those from 100 are long enough
    done
}
edited 'samples, one less' results/total.txt "sed -i /^b/d samples.csv"
edited 'samples, one more' results/total.txt "echo d,a.txt >>samples.csv"
edited 'samples, other reads' results/total.txt "echo a long line >>c.txt"
edited 'samples, a param' results/total.txt "sed -i 's/default: 4/default: 3/' samples.yaml" 'run samples.yaml'
put whole
cairn run samples.yaml -q 2>err
is "$(cat results/total.txt)" "$(cat ./*.txt | awk 'length >= 4' | wc -c)" 'all that is long enough is counted'
if command -v nextflow >/dev/null; then
    cp "$work"/*.groovy main.nf
    run nextflow run main.nf
    ok 'the same by nextflow' cmp results/total.txt ../was/results/total.txt
else
    skip 'the same by nextflow' 'there is no nextflow'
fi

# ---- Dagu ----
flow=daily
prepare() { :; }
edited 'daily, a part less' report.csv "sed -i 's/, 4\]/]/' daily.yaml"
edited 'daily, few rows' report.csv "sed -i s/200/50/ fetch; sed -i 's,/fetch raw,/fetch  raw,' daily.yaml"
ok 'daily, few rows: no sample' test "$(task_state sample)" = skipped
put was
touch no-sample
exits 0 cairn run daily.yaml
is "$(wc -l <report.csv)" 200 'a sample that fails: the join runs all the same'
ok 'no handler of failures' test ! -e notified
put was
echo 'exit 3' >>convert
exits 1 cairn run daily.yaml
is "$(cat notified)" failed 'the handler of failures'
put was
sed -i 's/5s/0s/' daily.yaml
printf '#!/bin/sh\ntest -e again || { touch again; exit 1; }\nseq 200 >"$1"\n' >fetch
exits 0 cairn run daily.yaml
ok 'it is tried again' test -s report.csv

# ---- GitHub's reusable workflows ----
flow=ci
prepare() {
    cp "$work/test.cairn" test.yaml
    PATH=$PWD:$path
}
path=$PATH
contents() { tar -tf app.tar | tr '\n' ' '; }
put whole
exits 0 cairn run ci.yaml
is "$(contents)" 'app-gcc-O0 app-gcc-O2 app-clang-O2 ' 'what the matrix makes is packed'
exits 0 cairn log package
says '3 tests passed' 'with the value of the included file'
sed -i 's/gcc, clang/gcc/; /exclude/d' ci.yaml
exits 0 cairn resume
is "$(contents)" 'app-gcc-O0 app-gcc-O2 ' 'a compiler less'
sed -i 's/passed=/passed=1/' test.yaml
is "$(planned)" 'package test/redis test/run' 'an edit of the included file: its tasks, and what needs them'
put whole
echo 'test "$1" != clang' >>build
exits 1 cairn run ci.yaml
says 'skipped test/run' 'nothing is tested if something was not built'
cd "$work" || exit 1
done_testing
