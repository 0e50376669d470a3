# cairn report: what happened in a session, as Markdown (T-102).
. "$TESTS/cli/tap.sh"

has() { ok "the report has: $1" grep -qxF -e "$1" out; }
lacks() { ok "the report has no $1" sh -c '! grep -qF -e "$1" out' sh "$1"; }

exits 0 cairn session start 'slow *login*'

# ---- Without a checkpoint: from the start of the session ----
exits 0 cairn report
has '# Debugging session slow \*login\*'
ok 'from the start' grep -q '^| from | the start | [0-9-]* [0-9:]* UTC |  |$' out
ok 'an empty session has nothing in it' grep -q '^\*\*no difference; ' out
lacks '## '
exits 0 cairn hypothesis add 'The session cache is stale' --prior 0.3
exits 0 cairn hypothesis add 'The clocks differ' --prior 0.2
exits 0 cairn hypothesis add 'Nobody looks at this one'
exits 0 cairn hypothesis test h1
exits 0 cairn belief add 'web-3 was restarted' --confidence 0.6
exits 0 cairn gap add 'Which hosts?' --criticality high --hypothesis h1
exits 0 cairn note add 'from before'
exits 0 cairn report
has '- **n1 added**: from before'
has '- **g1 added** (kind other, criticality high, hypothesis h1): Which hosts?'
ok 'what an automatic checkpoint was made of' grep -q '^| debug:1-[0-9a-f]* | .* | hypothesis-status | ' out
exits 0 cairn report --json
is "$(json_get .from) $(json_get .to)" 'null null' 'from the start until now'
exits 0 cairn checkpoint create 'before the | upgrade'
from=$(cat out)

# ---- Nothing has happened ----
exits 0 cairn report "$from"
has '# Debugging session slow \*login\*'
ok 'it names the checkpoint and its message' grep -q "^| from | $from | [0-9-]* [0-9:]* UTC | before the .| upgrade |\$" out
ok 'and now' grep -q '^| to | now | ' out
ok 'nothing is different' grep -q '^\*\*no difference; ' out
lacks '## '

# ---- Everything has ----
exits 0 cairn evidence add h1 'slow on web-3 alone' --strength 0.5 --source grafana
exits 0 cairn evidence add h2 'both say 12:00' --strength -0.9 --kind experiment
exits 0 cairn hypothesis confirm h1 --reason 'fast again once it was empty'
exits 0 cairn hypothesis reject h2 --reason 'they agree
to the *second*'
exits 0 cairn belief update b1 --confidence 0.9
exits 0 cairn belief add 'web-4 was not' --confidence 0.8 --tag hosts
exits 0 cairn belief depend b2 b1
exits 0 cairn gap fill g1 'web-3 and web-4'
exits 0 cairn gap add 'Since when?'
printf '# I am no heading\n[link](http://x) <b>\n\n- no list\n=====\n| no | table |\n\033[31mred\n' >note
cairn note add - --severity critical --about h1 <note >/dev/null 2>&1
exits 0 cairn note remove n1
exits 0 cairn checkpoint create 'after it'
to=$(cat out)
exits 0 cairn report "$from" "$to"
cp out whole
ok 'a line that sums it up' grep -q '^\*\*2 hypotheses changed, 2 pieces of evidence added, .* later\*\*$' out
is "$(grep '^## ' out | tr '\n' ' ')" '## Hypotheses ## Evidence ## Beliefs ## Dependencies ## Gaps ## Notes ## Checkpoints ' 'headings are those of the report alone'
has '- **h1 confirmed**: The session cache is stale'
has '  - reason: fast again once it was empty'
ok 'what became of its confidence' grep -q '^  - confidence: 0.30 → 0.[0-9]*$' out
has '- **h2 rejected**: The clocks differ'
has '    to the \*second\*'
lacks 'Nobody looks'
has '- **e1 added** (hypothesis h1, kind observation, strength 0.50, source grafana): slow on web-3 alone'
has '- **e2 added** (hypothesis h2, kind experiment, strength -0.90): both say 12:00'
has '- **b1 changed**: web-3 was restarted'
has '  - confidence: 0.60 → 0.90'
has '- **b2 added** (confidence 0.80, tags hosts): web-4 was not'
ok 'what depends on what' grep -q '^- \*\*d1 added\*\* (kind implication): b2 -> b1' out
has '- **g1 filled**: Which hosts?'
has '  - resolution: web-3 and web-4'
has '- **g2 added** (kind other, criticality medium): Since when?'
has '- **n1 removed**: from before'
has '- **n2 added** (severity critical, about h1): \# I am no heading'
has '  \[link\](http\://x) \<b>'
has '  \- no list'
has '  \====='
has '  \| no \| table \|'
has '  ^\[\[31mred'
has "| $to | $(sed -n "s/^| to | $to | \(.* UTC\) | .*/\1/p" out) | manual | after it |"
seq() { echo "$1" | sed 's/debug:\([0-9]*\)-.*/\1/'; }
is "$(grep -c '^| debug:' out)" "$(($(seq "$to") - $(seq "$from")))" 'a row for each checkpoint since'
lacks 'before the | upgrade'
exits 0 cairn report "$from" "$to" --json
json_ok 'as JSON'
is "$(json_get .from) $(json_get .to)" "$from $to" 'with both ids'
ok 'and the page' sh -c 'grep -qF "**h1 confirmed**" out'

# ---- From one until now, over a restore ----
exits 0 cairn report "$from"
sed 1,8d whole >rest.whole
ok 'until now it is the same' sh -c 'sed 1,8d out | cmp -s - rest.whole'
exits 0 cairn checkpoint restore "$from" --yes
exits 0 cairn note add 'on the new branch'
exits 0 cairn checkpoint create 'there'
there=$(cat out)
exits 0 cairn report "$from"
has '- **n3 added**: on the new branch'
lacks "$to"
exits 0 cairn report "$to" "$there"
has 'The two are on different branches.'
has '- **h1 testing**: The session cache is stale'

# ---- Tasks that failed ----
cat >failing.yaml <<'END'
name: failing
on_failure: continue
tasks:
  convert:
    foreach: {part: [1, 2, 3, 4]}
    run: |
      test "$part" = 1 || test -e "repaired-$part" || { printf '# converting\n\n**no** such part %s\n' "$part" >&2; exit 3; }
END
exits 1 cairn run failing.yaml -j 1
exits 0 cairn report "$there"
has '## Tasks that failed'
has '### Run 1'
ok 'the task and its end' grep -q '^- \*\*convert.\[part=2.\]\*\*, attempt 1: exit 3; noted in debug:[0-9]*-[0-9a-f]*, the run.s own checkpoint is workflow:[0-9]*; still failed$' out
has '      # converting'
has '      **no** such part 2'
is "$(grep -c '^### ' out)" 1 'one part for the run'
ok 'one row for checkpoints of the same state' grep -q '^| debug:[0-9]*-[0-9a-f]* to debug:[0-9]*-[0-9a-f]* | .* UTC | task-failed | Auto: 3 tasks of run 1 failed |$' out
is "$(grep -c '| task-failed |' out)" 1 'and no other'
touch repaired-2 repaired-3
exits 1 cairn resume 1
exits 0 cairn report "$there"
ok 'what completed since' grep -q '^- \*\*convert.\[part=2.\]\*\*, attempt 1: exit 3; .*; \*completed in attempt 2\*, [0-9-]* [0-9:]* UTC$' out
ok 'and what did not' grep -q '^- \*\*convert.\[part=4.\]\*\*, attempt 1: exit 3; .*; still failed in attempt 2$' out
cairn note add 'in between' >/dev/null 2>&1
exits 1 cairn run --fresh failing.yaml
exits 0 cairn report "$there"
is "$(grep '^### ' out | tr '\n' ' ')" '### Run 1 ### Run 2 ' 'each run has a part'
exits 0 cairn report
has '### Run 2'

# A run that was collected is not there to ask.
touch repaired-4
exits 0 cairn resume 2
exits 0 cairn report
ok 'a run that was mended' grep -q '^- \*\*convert.\[part=4.\]\*\*, attempt 1: exit 3; .*; \*completed in attempt 2\*, ' out
exits 0 cairn run --fresh failing.yaml
exits 0 cairn gc --keep-runs 1
exits 10 cairn status 2
exits 0 cairn report
ok 'is not said to have an end' grep -q '^- \*\*convert.\[part=4.\]\*\*, attempt 1: exit 3; .*; its outcome is not in this store$' out

# ---- What cannot be ----
exits 2 cairn report "$to" "$from"
says "cairn report $from $to"
exits 10 cairn report 999
exits 10 cairn report --session nobody
exits 10 cairn report workflow:1
exits 0 cairn session start other
exits 0 cairn checkpoint create 'of another session'
other=$(cat out)
exits 2 cairn report "$from" "$other"
exits 10 cairn report "$from" --session other
says 'is not one of session other'
exits 0 cairn report --session 'slow *login*'
has '# Debugging session slow \*login\*'
exits 0 cairn report
has '# Debugging session other'
CAIRN_SESSION='slow *login*' cairn report >out 2>err
has '# Debugging session slow \*login\*'
exits 0 cairn report "$from"
has '# Debugging session slow \*login\*'
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) - 3) WHERE seq = $(seq "$there")" >sql.out
exits 5 cairn report "$there"
exits 0 cairn report "$from"
ok 'a damaged one in between is named' grep -q '^| debug:[0-9]* | | | damaged |$' out

done_testing
