# cairn report --html: a run as one file. Nothing that was stored is anything but text in
# it; it refers to nothing outside, is whole, and stays small.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

. "$TESTS/cli/page.sh"

cat >cairn.yaml <<'END'
name: flow
jobs: 2
on_failure: continue
tasks:
  get: {run: 'echo rows=12 >>"$CAIRN_OUTPUT"; echo got it'}
  test: {foreach: {py: [a, b], os: [x, y]}, needs: [get], if: "os != 'y'", run: 'echo "log of $py"; test $py = a'}
  pack: {foreach: {py: [a, b]}, needs: ['test[py=${{ py }}]'], run: 'true'}
  flaky: {needs: [get], retries: 1, run: 'echo once; exit 7'}
finally:
  sweep: {run: 'seq 1 100'}
END
exits 10 cairn report --html
exits 1 cairn run
exits 0 cairn report --html -o page.html
says 'cairn: wrote page.html ('
ok 'the page is whole and inert' inert page.html
cp page.html out
: >err
says '<h1>flow <small>run 1</small></h1>' 'its name'
says 'class="run failed">failed, ' 'its state in words'
says 'exit 7' 'how a task ended'
says '>log of b' 'what it wrote'
says '<dt>rows</dt><dd>12</dd>' 'the values that it set'
says 'because of test[py=b,os=x]' 'why one was skipped'
says 'cairn resume 1' 'what to do next'
says 'The end of 292 bytes' 'a long log has its end'
is "$(grep -c "^82$" page.html)$(grep -c "^79$" page.html)" 10 '20 lines'
is "$(grep -o ' class="node ' page.html | wc -l)" 9 'a node for each task'
is "$(grep -o 'class="attempt ' page.html | wc -l)" "$(cairn status --tasks --all --json | tr '{' '\n' | sed -n 's/.*"attempts":\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }')" 'a bar for each attempt'
is "$(grep -c '<script\|http://\|https://\|url(' page.html)" 0 'nothing is loaded'
is "$(stat -c %a page.html)" 600 'for its owner'
exits 0 cairn report 1 --html
sed 's/as of.*//' out >a
is "$(sed 's/as of.*//' page.html | cmp - a)" '' 'the same on stdout, and each time'

exits 2 cairn report --html --json
says 'remove --json or --html'
exits 2 cairn report --html --session s 1
says 'takes one run, or --session NAME'
exits 10 cairn report --html --session s
exits 2 cairn report --html 1 2
says 'takes one run'
exits 2 cairn report -o page.md
says '-o is for --html'
exits 10 cairn report --html 99
exits 10 cairn report --html -o none/page.html
exits 2 cairn report --html -o /dev/full
cp page.html old.html
exits 75 sh -c 'ulimit -f 1; trap "" XFSZ; cairn report --html -o page.html'
ok 'what was there stays when writing fails' cmp page.html old.html

# What somebody wrote to be seen by a browser as something else, wherever it is shown.
mkdir 'a"><img src=x onerror=alert(1)>&lt;b&gt;' && cd 'a"><img src=x onerror=alert(1)>&lt;b&gt;' || exit 1
plant >planted
n=$(wc -l <planted)
yaml=$(sed '$d' planted | sed "s/'/''/g; s/\\\$/\$/g; s/.*/'&'/" | paste -sd, -)
cat >cairn.yaml <<END
name: planted
on_failure: continue
params: {p: {default: none}}
description: $(sed -n 1p planted | sed "s/.*/'&'/")
tasks:
  say: {description: $(sed -n 5p planted | sed "s/.*/'&'/"), run: 'cat planted; i=0; while read -r line; do i=\$((i + 1)); printf "v%s=%s\n" \$i "\$line" >>"\$CAIRN_OUTPUT"; done <good'}
  each: {foreach: {text: [$yaml]}, env: {TEXT: '\${{ text }}'}, run: 'printf "%s\n" "\$TEXT"; cat planted >&2; exit 1'}
  ask: {external: $(sed -n 7p planted | sed "s/.*/'&'/")}
  lost: {external: 'x'}
END
sed '$d' planted >good
unset CAIRN_STORE
run cairn run --no-wait --param "p=$(sed -n 2p planted)"
token=$(cairn claim 2 lost --holder "$(sed -n 4p planted)" --json | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
run cairn claim 2 ask --holder "$(sed -n 6p planted)"
run cairn fail 2 lost --token "$token" --message "$(cat planted)"
exits 0 cairn report --html -o ../planted.html
cd .. || exit 1
ok 'planted texts are texts' inert planted.html
is "$(grep -o ' class="node ' planted.html | wc -l)" "$((n + 2))" 'in nodes'
cp planted.html out
says '&lt;script&gt;alert(1)&lt;/script&gt;' 'they can be read'
says '\u202e' 'what turns a line is visible'
is "$(grep -c 'a&#34;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;lt;b&amp;gt;' planted.html)" 1 'in the name of a directory'
if command -v chromium >/dev/null; then
    chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$PWD/profile" \
        --disable-background-networking --dump-dom "file://$PWD/planted.html" >dom.html 2>/dev/null
    grep -oE '<(script|img|iframe|base|b onclick|math)' dom.html >found
    is "$(cat found)" '' 'a browser sees no tag either'
    is "$(grep -o '<title>[^<]*' dom.html | head -n 1)" '<title>waiting: run 2 of planted' 'and has the page'
    rm -rf profile
else
    skip 'what a browser sees' 'there is no chromium'
fi

# Values of secrets are in no page.
cat >secret.yaml <<'END'
name: secret
secrets: [TOKEN]
tasks:
  show: {secrets: [TOKEN], run: 'echo "the token is $TOKEN"; echo "t=$TOKEN" >>"$CAIRN_OUTPUT"; exit 1'}
END
TOKEN=hunter2hunter2 run cairn run secret.yaml
exits 0 cairn report --html -o page.html
is "$(grep -c hunter2 page.html)" 0 'no secret'
ok 'but what stands in its place' grep -q 'the token is \[REDACTED\]' page.html

# Without its file, and while it runs.
rm secret.yaml
exits 0 cairn report --html -o page.html
ok 'the page of a run whose file is gone' inert page.html
cat >slow.yaml <<'END'
name: slow
tasks:
  slow: {run: 'echo begun; until [ -e go ]; do sleep 0.05; done'}
END
cairn run slow.yaml >/dev/null 2>&1 &
ok 'it has begun' wait_for 10 sh -c 'cairn log slow 2>/dev/null | grep -q begun'
exits 0 cairn report --html -o page.html
: >go
wait
ok 'a page of what runs' inert page.html
cp page.html out
says 'class="run running">running, 0 of 1 task completed'
says '>begun'

# A session.
unset CAIRN_SESSION
mkdir session && cd session || exit 1
export CAIRN_STORE="$PWD/.cairn"
exits 0 cairn session start 'slow <login>'
mkdir files
run cairn session config files files
printf 'first\nb\n' >files/changed
run cairn hypothesis add 'the cache is stale'
run cairn belief add 'it is old' --confidence 0.8
run cairn belief add 'so it is slow' --confidence 0.6
run cairn belief depend b2 b1
run cairn session message add 'I will <look>'
run cairn checkpoint create 'the first' --tag one
run cairn evidence add h1 'seen in the log' --strength 0.5
printf 'second\nb\n' >files/changed
run cairn checkpoint create 'the second'
run cairn branch start try --from head
echo new >files/new
run cairn checkpoint create 'on a branch'
run cairn checkpoint restore head~1 --yes
exits 0 cairn report --html --session 'slow <login>' -o page.html
ok 'the page of a session is whole and inert' inert page.html
cp page.html out
: >err
says '<h1>slow &lt;login&gt; <small>session 1</small></h1>' 'its name'
says '>branch try</span>' 'its timeline'
says '</td><td>changed</td></tr>' 'with the files that changed'
says 'restored <a' 'restores'
says 'confidence over time' 'a chart'
says 'what beliefs rest on' 'a graph'
says '<section id="settings"><h2>Settings</h2>' 'its settings'
says '<th scope="row">size-budget</th><td>2G</td><td>default</td>' 'each with its value'
says '<h2>Newest checkpoints</h2>' 'what takes room'
says 'I will &lt;look&gt;' 'messages'
says '<section id="c2"><h3>debug:2-' 'checkpoints'
says 'href="#c2"' 'to which links lead'
says '1 piece of evidence added' 'what changed on the board'
says '<span class="old">-first</span>' 'and in files'
says '<span class="new">+new</span>' 'also on a branch, since where it begins'
is "$(grep -c '<script\|<form\|<button\|<input\|<img\|url(\|href="/' page.html)" 0 'nothing leads out of it'
exits 0 cairn report --html --session 1
moves='s/as of.*//; s/UTC<.time>, [0-9.]*[smh][0-9 smh]*<//'
sed "$moves" out >a
is "$(sed "$moves" page.html | cmp - a)" '' 'the same on stdout, and by its number'
# More than there is room for.
seq -f '%.0f <some & text>' 1 40000 | head -c 60000 >long
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for k in 1 2 3 4; do
        run sh -c 'cairn session message add - <long'
        sed "s/^/$n /" long | head -c 1${k}000 >files/long$k
    done
    run cairn checkpoint create "number $n"
done
exits 0 cairn report --html --session 1 -o page.html
ok 'a page with much in it' inert page.html
ok 'has less than 2 MB' test "$(wc -c <page.html)" -lt 2000000
cp page.html out
says 'messages before these left out' 'what is left out of messages'
says 'too long to be shown here' 'of files'
says 'What has changed is left out, so that the file stays small: <code>cairn checkpoint diff debug:' 'of checkpoints'
is "$(grep -o '<section id="c[0-9]*"' page.html | wc -l)" 23 'each checkpoint has its part'
cd .. || exit 1
unset CAIRN_STORE

# Bounds.
cat >wide.yaml <<'END'
name: wide
jobs: 8
on_failure: continue
tasks:
  a: {foreach: {n: {range: [1, 1000]}}, run: 'echo "the log of $n, with some words & signs <>"; [ $n != 77 ]'}
  b: {needs: [a], run: 'true'}
END
run cairn run -q --sync off wide.yaml
exits 0 cairn report --html -o page.html
ok 'the page of 1,000 tasks' inert page.html
ok 'has less than 2 MB' test "$(wc -c <page.html)" -lt 2000000
is "$(grep -o ' class="node ' page.html | wc -l)" 2 'a large group is one node'
is "$(grep -o '<th scope="row"' page.html | wc -l)" 1001 'and has a row for each member'
if [ "${CAIRN_TEST_LEVEL-short}" = full ]; then
    sed 's/1000/10000/' wide.yaml >wider.yaml
    run cairn run -q --sync off wider.yaml
    exits 0 cairn report --html -o page.html
    ok 'the page of 10,000 tasks' inert page.html
    ok 'is small' test "$(wc -c <page.html)" -lt 1000000
    is "$(grep -o '<th scope="row"' page.html | wc -l)" 3 'a row for the group, and for what failed'
fi
done_testing
