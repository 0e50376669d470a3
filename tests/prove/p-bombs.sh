# shellcheck shell=sh disable=SC2154,SC2016
# Inputs of at most 8 KiB that ask for more than 2^20 of something: each command refuses
# them with a place and exit 2, 3 or 5, or ends within bounded processor time and memory.
set -u
if ! command -v prlimit >/dev/null; then
    echo 'skip|small inputs that unfold to much|there is no prlimit'
    exit 0
fi
if grep -q __asan_init "$BUILD/cairn"; then
    echo 'skip|small inputs that unfold to much|a build with sanitizers reserves more memory'
    exit 0
fi
TESTS=$root/tests
export TESTS LEVEL
top=$PWD
: >tries
: >bad

fail() {
    echo >>"$top/bad"
    echo "# $*"
    tail -n 3 err | cut -c1-300 | sed 's/^/#     /'
}
# Processor seconds, and whether it may succeed ("ends") or must refuse ("refuses").
try() { # ends|refuses SECONDS COMMAND...; reads `in`
    echo >>"$top/tries"
    wanted=$1 seconds=$2
    shift 2
    timeout 300 prlimit --cpu="$seconds" --as=2500000000 "$@" >out 2>err <in
    status=$?
    case $wanted-$status in
    *-2 | *-3 | *-5) grep -q '^cairn: ' err || fail "$* refuses without a word: exit $status" ;;
    ends-0 | ends-1) ;;
    *) fail "$* exits $status ($wanted)" ;;
    esac
    [ "$(wc -c <in)" -le 8192 ] || fail "$*: the input has $(wc -c <in) bytes"
}
repeat() { # TEXT TIMES
    awk -v text="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'
}
row() { # WHAT WAS DONE
    failed=$(wc -l <"$top/bad")
    echo "figure|Bounds|$1|$(wc -l <"$top/tries") inputs|0|0|0|$failed"
    [ "$failed" -eq 0 ] || all_bad=1
    : >"$top/tries"
    : >"$top/bad"
}
all_bad=0
: >in

# ---- Workflows ----

mkdir wf && cd wf || exit 1
mkdir one two three
: >in
workflow() { # ends|refuses; the text on stdin
    cat >in
    cp in w.yaml
    try "$1" 20 cairn validate w.yaml
    try "$1" 20 cairn plan w.yaml
    [ "$LEVEL" != full ] || try "$1" 20 cairn graph w.yaml --json
    rm -rf .cairn
}
tasks='name: a\ntasks:\n'
printf '%b  t: {run: x, foreach: {%s}}\n' "$tasks" \
    "$(for k in a b c d e f g h; do printf '%s: {range: [1, 9]}, ' $k; done)" | sed 's/, }/}/' | workflow refuses
{ printf '%b' "$tasks" && for i in $(seq 120); do printf '  t%d: {run: x, foreach: {i: {range: [1, 9999999]}}}\n' "$i"; done; } | workflow refuses
{ printf '%b' "$tasks" && for i in $(seq 90); do printf '  t%d: {run: x, foreach: {i: {range: [1, 3000]}, j: {range: [1, 3000]}}}\n' "$i"; done; } | workflow refuses
printf '%b  t: {run: x, foreach: {i: {range: [1, 9223372036854775807]}}}\n' "$tasks" | workflow refuses
printf '%b  t: {run: x, foreach: {i: {glob: "%s*"}}}\n' "$tasks" "$(repeat '*/../' 1500)" | workflow refuses
{ printf '%b' "$tasks" && for i in $(seq 40); do printf '  t%d: {run: x, foreach: {i: {glob: "%s*"}}}\n' "$i" "$(repeat '*/../' 25)"; done; } | workflow refuses
printf '%b  t: {run: x, foreach: {i: {glob: "%sb", allow_empty: true}}}\n' "$tasks" "$(repeat '*a' 3500)" | workflow ends
for open in '[' '{a: ' '- ' '? ' '!!a '; do
    { printf 'name: a\ntasks: ' && repeat "$open" 1500; } | workflow refuses
done
{ printf 'a: &a [x, x, x]\n' && for i in $(seq 200); do printf 'b%d: &b%d [*a, *a, *a]\n' "$i" "$i"; done; } | workflow refuses
for open in '(' '!' 'basename(' "contains('', " '-'; do
    printf '%b  t: {run: x, if: "%s1"}\n' "$tasks" "$(repeat "$open" 600)" | workflow refuses
done
printf 'name: a\nparams: {p: "1"}\ntasks: {t: {run: x, if: "%sparams.p"}}\n' "$(repeat 'params.p == 1 || ' 400)" | workflow ends
# Every one needs the two before: 2^80 ways from the last to the first.
{ printf '%b  a0: {run: x}\n  b0: {run: x}\n' "$tasks" && for i in $(seq 80); do
    printf '  a%d: {run: x, needs: [a%d, b%d]}\n  b%d: {run: x, needs: [a%d, b%d]}\n' "$i" $((i - 1)) $((i - 1)) "$i" $((i - 1)) $((i - 1))
done; } | workflow ends
{ printf '%b  t0: {run: x, foreach: {i: {range: [1, 9999]}}}\n' "$tasks" && for i in $(seq 99); do
    printf '  t%d: {run: x, needs: [t%d], foreach: {i: {range: [1, 9999]}}}\n' "$i" $((i - 1))
done; } | workflow ends
# 300 times a value of 1 MiB in one word.
{ printf '%b  v: {run: "printf v= >$CAIRN_OUTPUT; head -c 1000000 /dev/zero | tr \\"\\\\\\\\0\\" x >>$CAIRN_OUTPUT"}\n' "$tasks" &&
    printf '  t: {needs: [v], exec: [echo, "%s"]}\n' "$(repeat '${{ tasks.v.outputs.v }}' 300)"; } >in
cp in w.yaml
try ends 20 cairn run w.yaml
printf '%b  t: {run: x, inputs: [{glob: "%s*"}]}\n' "$tasks" "$(repeat '*/../' 1500)" >in
cp in w.yaml
try ends 20 cairn run w.yaml
cd ..
row 'workflows of at most 8 KiB: products, sums and globs of `foreach`, nesting, expressions, needs, values'

# ---- Expressions and patterns ----

mkdir text && cd text || exit 1
: >in
awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) printf "%s", rand() < .5 ? "a" : "b"; print "" }' >ab.txt
: >"$(repeat a 200)"
cairn session start s -q >/dev/null
cairn session config files . -q
cairn checkpoint create one -q >/dev/null
for e in '(a|b)*a(a|b){24}c' '((a*)*)*c' '(a|a)*(a|a)*(a|a)*c' '(.*)(.*)(.*)(.*)(.*)c' '[ab]*a[ab]{900}c' \
    '(a|ab|b)*(b|ba|a)*c' '(((((a?){9}){9}){9}){9}){9}' '((((a{50}){50}){50}){50}){50}' '(a*)\1*c' \
    '(((((((((a){30}b){30}c){30}){30}){30}){30}){30}){30}){30}'; do
    try ends 30 cairn checkpoint grep "$e"
    try ends 30 cairn checkpoint grep -i "$e" 1
done
for glob in "$(repeat '*a' 400)b" "$(repeat '**/' 400)b" "$(repeat '[a-z]*' 150)b" "$(repeat '*' 900)b" "$(repeat '?*' 400)b"; do
    printf '%s\n' "$glob" >in
    try ends 10 cairn checkpoint grep b --paths "$glob"
    cp in .cairnignore
    try ends 10 cairn checkpoint create ignored
done
: >.cairnignore
for query in "$(repeat '(' 7000)" "$(repeat 'a* ' 2700)" "$(repeat '"a" OR ' 1100)" "$(repeat 'NEAR(a b,' 800)" "$(repeat a 8000)"; do
    printf '%s' "$query" >in
    try ends 20 cairn search "$query"
done
cd ..
row 'expressions, patterns and queries: nested repetitions, back-references, stars'

# ---- What agents send ----

mkdir agent && cd agent || exit 1
: >in
cairn session start s -q >/dev/null
user='{"type":"user","uuid":"u","message":{"role":"user","content":'
transcript() { # the line on stdin
    cat >in
    cp in t.jsonl
    try ends 10 cairn session message import t.jsonl
    sed 's/^/{"hook_event_name":"Stop","session_id":"x","prompt":/; s/$/}/' t.jsonl | head -c 8192 >in
    try ends 10 cairn session hook
    { printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' && head -c 8000 t.jsonl && echo '}'; } >in
    try ends 10 cairn mcp
}
{ printf '%s' "$user" && repeat '[' 3900 && repeat ']' 3900 && echo '}}'; } | transcript
{ printf '%s' "$user" && repeat '{"a":' 1300 && printf 1 && repeat '}' 1300 && echo '}}'; } | transcript
{ printf '%s"' "$user" && repeat '\u0041' 1300 && echo '"}}'; } | transcript
{ printf '%s"x","usage":{"input_tokens":' "$user" && repeat 9 7000 && echo '}}}'; } | transcript
{ printf '%s"x","usage":{"input_tokens":1e999999999}}}\n' "$user"; } | transcript
{ printf '{' && repeat '"type":"user",' 550 && echo '"a":1}'; } | transcript
repeat '{}
' 2700 | transcript
{ printf '%s[' "$user" && repeat '{"type":"text","text":"x"},' 280 && echo '1]}}'; } | transcript
# 60 beliefs, of which each pair rests on both of the pair before.
: >in
for i in $(seq 60); do cairn belief add "b$i" --confidence 0.9 -q; done >/dev/null
for k in $(seq 1 2 57); do
    for x in $((k + 2)) $((k + 3)); do
        cairn belief depend "b$x" "b$k" -q
        cairn belief depend "b$x" "b$((k + 1))" -q
    done
done >/dev/null
try ends 5 cairn belief cascade b1 0.1 --preview
try ends 5 cairn belief show b60
try ends 5 cairn belief update b1 --confidence 0.2
try ends 5 cairn report
cd ..
row 'transcripts, hooks, requests over MCP, boards: nesting, numbers, members, beliefs that rest on each other in 2^29 ways'

# ---- Files of checkpoints ----

mkdir files && cd files || exit 1
(CAIRN_STORE=$PWD/.cairn timeout 3000 sh "$TESTS/cli/t-bombs.sh") >log 2>&1 || [ -s log ] || echo 'not ok' >log
grep '^not ok' -A 20 log | sed 's/^\([^#]\)/# \1/'
grep '^ok\|^not ok' log >"$top/tries"
grep '^not ok' log >"$top/bad"
cd ..
row 'exports and stores with shared, deep, wide, long and impossible directories: imported, listed, compared, restored, searched'
[ "$all_bad" -eq 0 ]
