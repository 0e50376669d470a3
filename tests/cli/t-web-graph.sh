# make: sanitize
# The graph of a run in its page: groups that open, names that are found, its size, the critical
# path, all by addresses that can be copied; the chart's waits; how much time is left.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

cat >flow.yaml <<'END'
name: flow
jobs: 2
tasks:
  fetch: {run: "true"}
  big: {foreach: {n: {range: [1, 30]}}, needs: [fetch], run: "true"}
  mid: {foreach: {k: [a, b, c]}, needs: [big], run: "true"}
  flaky: {needs: [fetch], retries: {max: 1, delay: 1s}, run: 'test -e tried || { touch tried; exit 1; }'}
  last: {needs: [mid, flaky], run: "true"}
finally:
  sweep: {run: "true"}
END
exits 0 cairn run -q flow.yaml
run cairn status 1 --timing --json
path=$(grep -o '"critical_path":.*' out | grep -o '"task":"[^"]*"' | cut -d '"' -f 4 | tr '\n' ' ')
is "$path" 'fetch flaky last sweep ' 'what decided how long it took'
nodes() { grep -o '<a id="n[0-9]*" class="node[^"]*"' body | wc -l | tr -d ' '; }
of_class() { grep -o "<a id=\"n[0-9]*\" class=\"node [a-z ]*$1[^>]*><title>[^,:]*" body | sed 's/.*<title>//' | tr '\n' ' '; }

serve
enter
page 200 /runs/1 'the run'
is "$(nodes)" 8 'a large group is one node, a small one is not'
is "$(of_class critical)" "$path" 'the page marks the same critical path'
has 'last</a> 0.' 'and has it in words'
is "$(grep -c '<path class="critical"' body)" 1 'with its edges'
has ', attempt 2: completed, ' 'the second attempt'
has 'behind a wait of 1.' 'says how long it waited'
has '<line class="wait"' 'which is drawn'
has '<a class="same" href="/runs/1?zoom=140#graph">larger</a>'
open=$(grep -o '/runs/1?open=big[^"]*' body | sed 's/&amp;/\&/g; s/#.*//')
page 200 "$open" 'the group opened by its link'
is "$(nodes)" 37 'has its members'
page 200 '/runs/1?open=big+nothing&find=N%3D7&zoom=50' 'found, and smaller'
is "$(of_class found)" 'big[n=7] ' 'whatever the case of its letters'
has '1 task has it in the name: <a href="#n7">big[n=7]</a>'
is "$(sed -n 's/.*<svg width="\([0-9]*\)" height="\([0-9]*\)" viewBox="0 0 \([0-9]*\) \([0-9]*\)">.*/\1 \2 \3 \4/p' body | awk '{ print $3 - 2 * $1 < 2 && $4 - 2 * $2 < 2 }')" 1 'half as large'
page 200 '/runs/1?find=n%3D2' 'in a group that is not open'
is "$(of_class found)" 'big ' 'the group is marked'
has '11 tasks have it in the name'
page 200 '/runs/1?open=%2A' 'all open'
is "$(nodes)" 37 'all nodes'
page 200 '/runs/1?open=-' 'all closed'
is "$(nodes)" 6 'each group is one'
page 200 '/runs/1?open=%3Cscript%3E+%22&find=%22%3E%3Cscript%3E&zoom=99999999999' 'nonsense'
has '0 tasks have it in the name'
page 200 '/runs/1?zoom=0&open=&find=' 'nothing'
is "$(nodes)" 8 'as at first'

# A graph that is too large to be drawn at once can be asked for.
{
    echo 'name: wide'
    echo 'tasks:'
    seq -f '  t%.0f: {run: "true"}' 1600
} >wide.yaml
exits 0 cairn run -q wide.yaml --sync off
page 200 /runs/2 'a run with 1,600 tasks'
has 'more than a page can show'
has '<a class="same" href="/runs/2?open=%2A&amp;zoom=100#graph">open all groups</a>'
page 200 '/runs/2?open=%2A' 'all of them'
is "$(nodes)" 1600 'are nodes'

# ---- Live ----
cat >live.yaml <<'END'
name: live
jobs: 1
tasks: {each: {foreach: {n: {range: [1, 30]}}, run: 'test $n -lt 6 || until [ -e go ]; do sleep 0.05; done'}}
END
cairn run -q live.yaml &
live=$!
ok 'five are done' wait_for 20 sh -c 'cairn status 3 --json 2>/dev/null | grep -q "\"completed\":5"'
page 200 /runs/3 'a run that is at work'
has '<dt>Left</dt><dd>about ' 'says how long it may take'
browse 'a browser opens a group while the run goes on' '@/runs/3' \
    'document.querySelector("a.node").focus(); true' '^Enter' 'location.search === "?open=each&zoom=100" && document.querySelectorAll("a.node").length === 30' \
    'window.kept = true' '!touch go' '/completed, 30 of 30/.test(document.querySelector("#head .run").textContent)' \
    '[...document.querySelectorAll("a.node")].every((node) => node.classList.contains("completed"))' 'window.kept && document.querySelectorAll("a.node").length === 30' \
    '=400x900' 'document.querySelector(".wide.graph").scrollTo(0, 400); [...document.querySelectorAll("a.same")].find((a) => a.textContent === "larger").click(); true' \
    'window.kept === undefined && location.hash === "#graph" && document.querySelector(".wide.graph").scrollTop > 400' \
    'document.documentElement.scrollWidth <= innerWidth' 'history.back(); true' 'location.search === "?open=each&zoom=100"'
touch go
wait $live
stop
exits 0 cairn report --html 1 -o page.html
ok 'a report is inert' inert page.html
cp page.html body
is "$(of_class critical)" "$path" 'and has the critical path'
done_testing
