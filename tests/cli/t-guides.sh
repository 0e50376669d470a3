# The snippets of the guides, taken from their own text: every workflow is valid, every
# command and option of theirs is there, and what "getting started" and the first example of
# the guide to flow show is run.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

# ---- Every workflow ----
# Each block as GUIDE.LINE.LANGUAGE.
blocks() { # GUIDE
    awk -v stem="$(basename "$1" .md)" '
        /^```[a-z]/ && !file { file = stem "." NR "." substr($0, 4); next }
        /^```/ && file { close(file); file = ""; next }
        file { print >file }' "$1"
}
for guide in "$root"/docs/guide-*.md; do
    blocks "$guide"
done
ok 'the guides have workflows' test "$(find . -name '*.yaml' | wc -l)" -ge 11
mkdir src && echo 'int main(void) { return 0; }' >src/main.c # for what makes tasks of files
for file in *.yaml; do
    exits 0 cairn validate "$file"
    ok "$file: without a warning" sh -c '! grep -q warning err'
done

# ---- Every command and option ----
# A line is "COMMAND OPTION...": words of cairn up to a pipe, a bracket or a comment.
cat ./*.sh ./*.console | grep -o '\(^\|[$(;&| ]\)cairn [a-z][^#|;)&<>]*' | sed 's/^[^c]*//' | grep -v '^cairn [a-z]*:' | sort -u >lines
ok 'the guides have commands' test "$(wc -l <lines)" -ge 60
cairn help all >overview
for group in $(sed -n 's/^  \([a-z]*\) COMMAND .*/\1/p' overview) checkpoint 'session message'; do
    echo "$group" >>groups
done
: >unknown
while read -r line; do
    # shellcheck disable=SC2086
    set -f && set -- $line && set +f
    shift
    command=$1
    grep -qx "$command" groups && command="$1 ${2-}"
    [ "$command" = 'session message' ] && command="$1 $2 ${3-}"
    # shellcheck disable=SC2086
    if ! cairn $command --help >help 2>/dev/null; then
        echo "$line: no command" >>unknown
        continue
    fi
    for word; do
        [ "$word" = -- ] && break
        option=${word%%=*}
        case $option in --[a-z]*) grep -q -e "$option\($\|[^a-z-]\)" help || echo "$line: $option" >>unknown ;; esac
    done
done <lines
is "$(cat unknown)" '' 'each command and option is there'

# ---- The head of a list ----
cairn session start heads >out
cairn checkpoint create one >out
cairn checkpoint list >list 2>err
for page in docs/guide-agents.md examples/agent/README.md; do
    is "$(grep '^ID  ' "$root/$page")" "$(head -n 1 list)" "$page: the columns of a list"
done
rm -rf .cairn

# ---- Getting started, as it is read ----
mkdir start && cd start || exit 1
cp ../guide-getting-started.*.yaml cairn.yaml
cat ../guide-getting-started.*.console | grep '^\$ ' | sed 's/^\$ //' >shown
ok 'it shows commands' test "$(wc -l <shown)" -ge 6
sed -i 's/sleep 1 /sleep 0.1 /' cairn.yaml
while read -r line; do
    case $line in
    *'kill -9'*) # as on a terminal, where the kill comes in the middle
        sh -c "$line" >out 2>err
        wait_for 20 sh -c 'cairn status | head -n 1 | grep -q "interrupted$\|completed$"'
        ;;
    *) exits 0 sh -c "$line" ;;
    esac
done <shown
exits 0 cairn status
says 'completed' 'after them the run is complete'
ok 'with its result' test -s words.txt
cd .. || exit 1

# ---- What it shows is what one sees ----
# Times, and the number of the run, differ.
seen() { sed 's/[0-9]*\.[0-9]*s/TIME/g; s/run [0-9][0-9]*/run N/g; s/resume [0-9][0-9]*/resume N/; /created a store/d'; }
shows() { # NAME: the block with `cairn run NAME.yaml` is what running its workflow shows
    cp "$(grep -l "^name: $1\$" ../*.yaml)" "$1.yaml"
    run cairn run "$1.yaml"
    is "$(seen <err | grep -v '^    | ')" "$(sed 1d "$(grep -l "cairn run $1" ../*.console)" | seen)" "the output of $1"
}
mkdir flow && cd flow || exit 1
for program in charge refund cancel-reservation; do
    printf '#!/bin/sh\nexit 0\n' >$program
done
printf '#!/bin/sh\necho 7\n' >reserve
printf '#!/bin/sh\nexit 1\n' >ship
chmod +x ./*
shows by-value
exits 0 cairn log join
is "$(cat out)" 'on we go, 0 rows are missing' 'a value that was not told'
shows booking
cd .. || exit 1

# ---- A matrix, and a file made from each file ----
mkdir -p pipelines/src && cd pipelines || exit 1
for name in matrix objects; do
    cp "$(grep -l "^name: $name\$" ../guide-pipelines.*.yaml)" $name.yaml
done
exits 0 cairn run matrix.yaml --param skip=alpine
is "$(cat report.txt)" "$(printf 'gcc 12 on debian\nclang 15 on debian\ngcc 14 on fedora')" 'the members that the guide says, without the one that a condition left out'
exits 0 cairn plan matrix.yaml --all
is "$(grep -c '^run  *test\[' out)" 4 'four members'
printf 'int value(void) { return 0; }\n' >src/value.c
printf 'int value(void);\nint main(void) { return value(); }\n' >src/main.v2.c
exits 0 cairn run objects.yaml
ok 'each object is named after its source' test -s build/value.o -a -s build/main.v2.o
ok 'and they are linked' ./program
echo 'int value(void) { return 3; }' >src/value.c
is "$(planned)" 'compile[source=src/value.c] link' 'an edit of one source compiles that one'
exits 0 cairn resume
run ./program
is "$status" 3 'with the new source in it'
cd .. || exit 1

# ---- A source is mended ----
mkdir -p mended/src && cd mended || exit 1
cp "$(grep -l '^name: pipeline$' ../guide-pipelines.*.yaml)" pipeline.yaml
cat >Makefile <<'END'
$(BUILD)/program: src/main.c
	mkdir -p $(BUILD) && cc -o $@ src/main.c
.PHONY: test
test:
	$(BUILD)/program
dist:
	: >dist.tar
END
echo 'int main(void) { return 1; }' >src/main.c
sed -i 's/\[gcc, clang\]/[gcc, cc]/' pipeline.yaml
exits 1 cairn run pipeline.yaml
exits 0 cairn plan
if grep -q 'declares no' err; then
    tap_report 'not ok' 'inputs that are declared are not missed'
fi
echo 'int main(void) { return 0; }' >src/main.c
exits 0 cairn resume
ok 'resume builds the mended source, and continues' test -e dist.tar
sed -i '/inputs:/d' pipeline.yaml
echo 'int main(void) { return 1; }' >src/main.c
exits 1 cairn run pipeline.yaml --fresh
echo 'int main(void) { return 0; }' >src/main.c
exits 0 cairn plan
says 'build declares no `inputs`: a change of what it reads does not run it again, `cairn rerun --run 9 build` does' 'without inputs the plan says so'
exits 1 cairn resume
says 'build declares no `inputs`' 'and resume'
exits 0 cairn rerun build
ok 'which is what the hint says' grep -q 'completed' err
cd .. || exit 1

# ---- What is shown stays right when it is edited ----
# edited NAME RESULT FILE SED [COMMAND]: FILE, run, edited and resumed, makes the RESULT
# that it makes in a fresh directory. `files` puts there what it needs.
files() { :; }
edited() {
    label=$1 result=$2 file=$3 edit=$4
    rm -rf was fresh && mkdir was fresh
    for where in was fresh; do
        cp "$file" $where/w.yaml
        (cd $where && files) || exit 75
    done
    sed -i "$edit" fresh/w.yaml
    ok "$label: the edit changes something" sh -c '! cmp -s "$1" fresh/w.yaml' sh "$file"
    (cd was && CAIRN_STORE=$PWD/.cairn cairn run w.yaml -q) 2>err || tap_report 'not ok' "$label: it runs"
    (cd fresh && CAIRN_STORE=$PWD/.cairn cairn run w.yaml -q) 2>err || tap_report 'not ok' "$label: it runs edited"
    cp fresh/w.yaml was
    (cd was && CAIRN_STORE=$PWD/.cairn cairn "${5:-resume}" ${5:+w.yaml} -q) 2>err
    ok "$label: there is a result" test -s "fresh/$result"
    ok "$label: the same as in a fresh directory" cmp "was/$result" "fresh/$result"
    (cd was && CAIRN_STORE=$PWD/.cairn cairn plan -q) 2>err >out
    is "$(cat out)" '' "$label: nothing is left to run"
}
awk '/^```yaml/ { on = 1; next } /^```/ { on = 0 } on' "$root/README.md" >readme.yaml
ok 'the README sums up' sh -c 'mkdir sum && cp readme.yaml sum && cd sum && CAIRN_STORE=$PWD/.cairn cairn run readme.yaml -q 2>/dev/null && awk "{ n += \$1 } END { exit n != 500500 }" report.txt'
edited 'README, fewer parts' report.txt readme.yaml 's/\[1, 8\]/[1, 4]/; s/% 8/% 4/'
is "$(awk '{ n += $1 } END { print n }' was/report.txt)" 500500 'README, fewer parts: the sum is right'
edited 'README, more parts' report.txt readme.yaml 's/\[1, 8\]/[1, 9]/; s/% 8/% 9/'
edited 'README, other names' report.txt readme.yaml 's/"part\./"piece./g'
edited 'README, a task renamed' report.txt readme.yaml 's/convert/turn/g'
edited 'README, other input' report.txt readme.yaml 's/seq 1000/seq 500/'
sed 's,head -c 400000 /dev/urandom | base64,seq 100000 | tr 0-9 a-j,; s/sleep 1 /sleep 0 /' guide-getting-started.*.yaml >start.yaml
edited 'getting started, fewer parts' words.txt start.yaml 's/, "03"\]/]/; s/, parts.03\]/]/; s,l/4,l/3,'
edited 'getting started, other names' words.txt start.yaml 's/part\.count/part.sums/g; s/}}\.count/}}.sums/'
edited 'getting started, another param' words.txt start.yaml 's/least: "4"/least: "5"/' run
cp "$(grep -l '^name: matrix$' guide-pipelines.*.yaml)" matrix.yaml
edited 'matrix, fewer members' report.txt matrix.yaml '/include:/d'
edited 'matrix, another value' report.txt matrix.yaml 's/clang, v: 15/tcc, v: 1/; s/cc: clang/cc: tcc/'
edited 'matrix, a param' report.txt matrix.yaml 's/skip: none/skip: alpine/' run
files() {
    mkdir src
    echo 'int main(void) { return 0; }' >src/main.c
    echo 'int value(void) { return 0; }' >src/value.c
}
cp "$(grep -l '^name: objects$' guide-pipelines.*.yaml)" objects.yaml
edited 'objects, in another directory' program objects.yaml 's,build,made,g'
cp -R was gone && cd gone || exit 1
rm src/value.c
CAIRN_STORE=$PWD/.cairn
export CAIRN_STORE
exits 0 cairn run w.yaml --fresh
ok 'objects: what a source that is gone has left is not linked' sh -c '! nm program | grep -q value'
says 'made/value.o were made by members of compile that are gone'
done_testing
