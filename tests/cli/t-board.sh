# The board of a session: hypotheses, evidence, beliefs, gaps, notes. Every command is a
# process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
confidence() { get .confidence cairn hypothesis show "$1"; }
# Is the number GOT within 1e-9 of WANTED?
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && d < 1e-9 && d > -1e-9) }'; }
status_of() { get .status cairn hypothesis show "$1"; }

exits 0 cairn session start board

# ---- Hypotheses: create, read, change, remove (R-01) ----
exits 0 cairn hypothesis add 'The cache is stale'
is "$(cat out)" h1 'add prints the id and nothing else'
silent_on err
exits 0 cairn hypothesis add 'The clocks differ' --prior 0.25 --tag time,hosts
is "$(cat out)" h2 'ids count'
exits 0 cairn hypothesis show h1
matches '^statement +The cache is stale$'
matches '^prior +0.5$' 'the prior is 0.5 unless given'
matches '^status +proposed$'
matches '^created +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}$' 'times are local'
exits 0 cairn hypothesis show h2 --json
json_ok 'an item as JSON'
is "$(json_get .id) $(json_get .item) $(json_get .statement)" 'h2 hypothesis The clocks differ' 'id, kind and text'
is "$(json_get .prior) $(json_get .confidence) $(json_get '.tags[1]')" '0.25 0.25 hosts' 'prior, confidence, tags'
is "$(json_get .closed) $(json_get .reason)" 'null null' 'what it does not have is null'
exits 0 cairn hypothesis list
matches '^h2 +proposed +0\.25 +\+0 -0 +The clocks differ$' 'a line of the list'
says '2 of 2 hypotheses'
is "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" 'h2 h1 ' 'newest first'
exits 0 cairn hypothesis list --sort number
is "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" 'h1 h2 ' 'or oldest first'
exits 0 cairn hypothesis list --tag hosts
is "$(awk 'NR > 1 { print $1 }' out)" h2 'by tag'
exits 0 cairn hypothesis list --tag host
is "$(cat out)" '' 'a tag matches as a whole'
exits 0 cairn hypothesis update h2 --statement 'The clocks of the hosts differ' --tag ''
is "$(get .statement cairn hypothesis show h2)" 'The clocks of the hosts differ' 'a field is changed'
is "$(get '.tags[0]' cairn hypothesis show h2)" '' 'an empty option takes a field away'
is "$(get .prior cairn hypothesis show h2)" 0.25 'the others stay'
exits 0 cairn hypothesis add 'wrong'
exits 0 cairn hypothesis remove h3
exits 10 cairn hypothesis show h3
exits 0 cairn hypothesis add 'again'
is "$(cat out)" h4 'the number of one that was removed is not used again'
exits 10 cairn hypothesis update h3 --prior 0.1
exits 10 cairn hypothesis remove h3
exits 2 cairn hypothesis update h4
exits 2 cairn hypothesis update h4 --statement ''
exits 2 cairn hypothesis add ''
exits 2 cairn hypothesis add
exits 2 cairn hypothesis show n1
says "h1, h2 and so on" 'an id of another kind is refused'
exits 2 cairn hypothesis remove 4
exits 2 cairn hypothesis list --status open
says 'proposed|testing|confirmed|rejected' 'what statuses there are'
exits 2 cairn hypothesis list --status testing --tag x
exits 0 cairn hypothesis add x --json
json_ok 'add as JSON'
is "$(json_get .id) $(json_get .changed) $(json_get .checkpoint)" 'h5 1 null' 'has the id'

# ---- Confidences are 0 to 1 (R-02) ----
for prior in 0 1 0.5 1e-3 0.123456789012345; do
    exits 0 cairn hypothesis update h5 --prior $prior
    ok "a prior of $prior is kept exactly" near "$(get .prior cairn hypothesis show h5)" $prior
done
for prior in nan NaN inf -0.1 1.0001 2 -1 many 0x1 '' ' 0.5' 0,5; do
    [ -z "$prior" ] || exits 2 cairn hypothesis add x --prior "$prior"
    exits 2 cairn belief add x --confidence "${prior:-nan}"
done
is "$(get .total cairn hypothesis list) $(get .total cairn belief list)" '4 0' 'nothing of that was stored'

# ---- Evidence: kinds, caps, Bayes (R-03, R-05, R-06) ----
exits 0 cairn hypothesis add 'tested' # h6
exits 0 cairn evidence add h6 'an experiment' --strength 1 --kind experiment
is "$(cat out)" e1 'evidence has an id'
says 'h6 is now at 0.90' 'what follows is told on stderr'
ok 'strength 1 of an experiment: 0.5 with 0.9 and 0.1 gives 0.9' near "$(confidence h6)" 0.9
exits 0 cairn evidence add h6 'another one, against' --strength -1 --kind experiment
ok 'the same against it: 0.5 again' near "$(confidence h6)" 0.5
for case in 'observation 0.5' 'experiment 1' 'reference 0.3' 'deduction 0.7'; do
    kind=${case% *}
    cap=${case#* }
    id=$(cairn evidence add h6 "$kind" --strength 1 --kind "$kind" 2>err)
    is "$(get .strength cairn evidence show "$id")" "$cap" "$kind: cut to $cap"
    [ "$cap" = 1 ] || ok "$kind: that it was cut is told" grep -q "strength 1 counts as $cap," err
    exits 0 cairn evidence update "$id" --strength -1
    is "$(get .strength cairn evidence show "$id")" "-$cap" "$kind: cut to -$cap"
    says 'h6 is now at 0.10 (it was at 0.90)' "$kind: and the new confidence"
    exits 0 cairn evidence remove "$id"
done
exits 0 cairn evidence add h6 'half of an observation' --strength 0.25
is "$(get .kind cairn evidence show "$(cat out)")" observation 'an observation unless said'
# Half of the cap: 0.7 and 0.3.
ok 'half of the cap gives 0.7' near "$(confidence h6)" 0.7
exits 0 cairn hypothesis show h6
matches '^confidence +0\.70, with 2 supporting and 1 refuting$'
is "$(sed -n '/^Confidence over time/,/^$/s/^[-0-9]* [:0-9]*  //p' out | paste -sd,)" '0.50  prior,0.90  e1 (+1.00),0.50  e2 (-1.00),0.70  e7 (+0.25)' 'how it came about'
cairn hypothesis show h6 --json >doc.json
is "$(json_get '.over_time[0].evidence' doc.json) $(json_get '.over_time[1].evidence' doc.json) $(json_get '.over_time[4]' doc.json)" 'null e1 ' 'as JSON, too'
ok 'ends where it is now' near "$(json_get '.over_time[3].confidence' doc.json)" "$(json_get .confidence doc.json)"
exits 0 cairn hypothesis list
matches '^h6 +proposed +0\.70 +\+2 -1 +tested$' 'the list counts both'
# A prior of 0 or 1 and evidence against it: the divisor is never 0.
exits 0 cairn hypothesis add 'impossible' --prior 0
exits 0 cairn evidence add h7 'but' --strength 1 --kind experiment
ok 'a prior of 0 stays' near "$(confidence h7)" 0

# ---- Evidence is checked before it is stored; taking it away takes its effect away (R-07) ----
before=$(get .total cairn evidence list)
exits 10 cairn evidence add h99 'of nothing' --strength 1
exits 2 cairn evidence add h6 'without strength'
says '--strength S, from -1 (refutes) to 1 (supports)' 'the strength is required, and how it is given is told'
for strength in 1.01 -1.5 7; do
    exits 2 cairn evidence add h6 x --strength $strength
    says "strength is $strength; give a number from -1" "a strength of $strength is refused"
done
exits 2 cairn evidence add h6 'x' --strength nan
exits 2 cairn evidence add h6 'x' --strength inf
exits 2 cairn evidence add h6 'x' --strength 1 --kind rumour
exits 2 cairn evidence add h6 '' --strength 1
exits 2 cairn evidence add e1 'x' --strength 1
is "$(get .total cairn evidence list)" "$before" 'nothing of that was stored'
exits 0 cairn evidence remove e2
ok 'removing what refuted it changes the confidence' test "$(confidence h6)" != 0.7
exits 0 cairn evidence remove e1
exits 0 cairn evidence list --hypothesis h6
last=$(awk 'NR == 2 { print $1 }' out)
is "$(awk 'NR > 1' out | wc -l)" 1 'evidence of one hypothesis'
exits 0 cairn evidence update "$last" --strength 0.5 --source 'a log file'
ok 'changing evidence changes the confidence' near "$(confidence h6)" 0.9
is "$(get .source cairn evidence show "$last")" 'a log file' 'and its source is told'
exits 0 cairn evidence remove "$last"
ok 'without evidence the confidence is the prior' near "$(confidence h6)" 0.5
says 'h6 is now at 0.50 (it was at 0.90)' 'which is told when the evidence goes'
exits 0 cairn evidence add h6 'seen once' --strength 0.9 --json
json_ok 'evidence that is added, as JSON'
is "$(json_get .strength) $(json_get .confidence_before)" '0.5 0.5' 'with the strength that counts'
ok 'and the confidence that follows' near "$(json_get .confidence)" 0.9
is "$(json_get .doubtful)" false 'it is not confirmed'
id=$(json_get .id)
exits 0 cairn hypothesis update h6 --prior 0.1
says 'h6 is now at 0.50 (it was at 0.90)' 'another prior tells it, too'
exits 0 cairn hypothesis update h6 --prior 0.5 --json
is "$(json_get .strength)" null 'a hypothesis has no strength'
ok 'but a confidence' near "$(json_get .confidence_before)" 0.5
exits 0 cairn evidence remove "$id" --json
is "$(json_get .strength)" null 'nor has what is removed'
ok 'what is left is told' near "$(json_get .confidence)" 0.5

# Evidence against what is confirmed is told.
exits 0 cairn hypothesis add 'settled'
settled=$(cat out)
exits 0 cairn hypothesis test "$settled"
exits 0 cairn hypothesis confirm "$settled"
exits 0 cairn evidence add "$settled" 'a little against it' --strength -0.001
says "$settled is confirmed, but now at 0.50" 'below 0.5 is told'
exits 0 cairn evidence add "$settled" 'more against it' --strength -1 --kind experiment
silent_on_doubt() { ! grep -q 'is confirmed, but' err; }
ok 'once' silent_on_doubt
exits 0 cairn evidence add "$settled" 'for it' --strength 1 --kind experiment
exits 0 cairn evidence add "$settled" 'for it again' --strength 1 --kind experiment
exits 0 cairn evidence add "$settled" 'against it again' --strength -1 --kind experiment --json
is "$(json_get .doubtful)" true 'as JSON, too'
for id in $(cairn evidence list --hypothesis "$settled" | awk 'NR > 1 { print $1 }'); do
    cairn evidence remove "$id" 2>>removed.err
done
exits 0 cairn hypothesis remove "$settled"
exits 2 cairn hypothesis remove h7
says 'e' 'a hypothesis with evidence is not removed'
matches 'needed by e[0-9]+' 'the evidence is named'

# ---- The moves of a hypothesis (R-04) ----
# STATUS VERB WANTED: what the verb makes of a hypothesis with that status.
move() {
    id=$(cairn hypothesis add "$1 $2")
    case $1 in
    testing) cairn hypothesis test "$id" ;;
    confirmed) cairn hypothesis test "$id" && cairn hypothesis confirm "$id" ;;
    rejected) cairn hypothesis reject "$id" ;;
    esac >move.out 2>&1
    is "$(status_of "$id")" "$1" "a hypothesis that is $1"
    run cairn hypothesis "$2" "$id"
    is "$status $(status_of "$id")" "$3" "$2: $3"
}
move proposed test '0 testing'
move proposed confirm '2 proposed'
move proposed reject '0 rejected'
move testing confirm '0 confirmed'
move testing reject '0 rejected'
move confirmed test '2 confirmed'
move confirmed reject '2 confirmed'
move rejected test '2 rejected'
move rejected confirm '2 rejected'
exits 2 cairn hypothesis confirm h1
matches 'proposed' 'a refusal names the status'
exits 0 cairn hypothesis test h1
says 'h1 is being tested'
matches 'checkpoint debug:[0-9]+-[0-9a-f]{12} was created by this' 'a change of status makes a checkpoint'
printf 'because the log\nsays so\n' >reason
cairn hypothesis confirm h1 --reason - <reason >out 2>err
is "$(get .status cairn hypothesis show h1)" confirmed 'confirmed'
exits 0 cairn hypothesis show h1
says 'because the log' 'a reason of several lines'
matches '^ +says so$' 'is indented'
ok 'with the time' test "$(get .closed cairn hypothesis show h1)" != null
exits 0 cairn hypothesis list --status confirmed
matches '^h1 +confirmed'
ok 'only those' test "$(grep -c ' proposed ' out)" -eq 0

# ---- Beliefs and what they rest on (R-10) ----
for text in A B C D; do
    exits 0 cairn belief add "$text" --confidence 0.6
done
exits 0 cairn belief list
matches '^b4 +0\.60 +D$'
exits 0 cairn belief depend b1 b2
is "$(cat out)" d1 'a dependency has an id'
exits 0 cairn belief depend b2 b3 --kind measurement
exits 0 cairn belief dependencies --sort number
matches '^d2 +b2 +b3 +measurement$' 'they are listed'
exits 2 cairn belief depend b1 b1
exits 2 cairn belief depend b3 b1
says 'b3 -> b1 -> b2 -> b3' 'a circle is refused, and all of it is named'
exits 2 cairn belief depend b1 b2
exits 10 cairn belief depend b1 b9
exits 2 cairn belief depend b1 h1
exits 2 cairn belief depend b1 b3 --kind magic
is "$(get .total cairn belief dependencies)" 2 'nothing of that was stored'
exits 2 cairn belief remove b2
matches 'needed by d1, d2' 'what needs a belief is named'
exits 0 cairn belief undepend d1
exits 0 cairn belief depend b3 b1
is "$(cat out)" d3 'without the first one it is no circle'
exits 0 cairn belief undepend d2
exits 0 cairn belief remove b2
exits 10 cairn belief show b2
exits 2 cairn belief undepend b1

# ---- Contradictions ----
exits 0 cairn belief add 'it was cold' --subject cache --claim warm --denied --confidence 0.9
cold=$(cat out)
exits 0 cairn belief add 'it was warm' --subject cache --claim warm --confidence 0.7
silent_on err
warm=$(cat out)
exits 0 cairn belief update "$warm" --confidence 0.71
says "$warm contradicts $cold" 'two beliefs over 0.7 that say the opposite'
matches 'checkpoint debug:[0-9]+' 'make a checkpoint'
exits 0 cairn belief update "$warm" --confidence 0.1
exits 0 cairn belief update "$warm" --confidence 0.8 --json
is "$(json_get .contradicts)" "$cold" 'the same in JSON'
exits 0 cairn belief show "$cold"
matches '^denied +yes$'
exits 0 cairn belief update "$cold" --denied no
is "$(get .denied cairn belief show "$cold")" false 'a flag is taken back'
exits 2 cairn belief update "$cold" --denied perhaps

# ---- Gaps (R-30 to R-33) ----
exits 0 cairn gap add 'low' --criticality low
exits 0 cairn gap add 'high' --criticality high --kind information
exits 0 cairn gap add 'medium'
exits 0 cairn gap list
is "$(awk 'NR > 1 { print $NF }' out | tr '\n' ' ')" 'high medium low ' 'open gaps, the most important first'
exits 0 cairn gap show g2
matches '^suggestion +research: ' 'with what to do about it'
# 0.5 criticality + 0.15 (1 - strength) + 0.05 age: no depth, no hypothesis, no age.
score=$(get .score cairn gap show g2)
ok "the score of a new one of high criticality ($score) is between 0.5 and 0.7" \
    awk -v s="$score" 'BEGIN { exit !(s >= 0.5 && s <= 0.7) }'
is "$(awk -v h="$score" -v l="$(get .score cairn gap show g1)" 'BEGIN { printf "%.2f", h - l }')" 0.35 \
    'high and low differ by half of 1.0 - 0.3'
exits 0 cairn gap fill g2 'web-3 and web-4'
says 'g2 filled'
matches 'checkpoint debug:[0-9]+' 'filling makes a checkpoint'
is "$(get .resolution cairn gap show g2)" 'web-3 and web-4' 'the answer'
exits 0 cairn gap list
ok 'a filled one is not among the open ones' test "$(grep -c '^g2 ' out)" -eq 0
says '2 of 2 gaps'
exits 0 cairn gap list --all
says '3 of 3 gaps'
matches '^g2 +filled +- ' 'with --all it is'
exits 0 cairn gap update g1 --criticality high --text 'not so low'
is "$(get .text cairn gap show g1)" 'not so low' 'a gap is changed'
exits 2 cairn gap update g1 --criticality none
exits 2 cairn gap fill g1 ''
exits 2 cairn gap fill g1
exits 10 cairn gap fill g9 x
exits 0 cairn gap remove g3
# Closing by itself: over 0.9, strictly.
exits 0 cairn hypothesis add 'nearly certain' --prior 0.5
sure=$(cat out)
exits 0 cairn gap add 'is it?' --hypothesis "$sure"
gap=$(cat out)
exits 0 cairn evidence add "$sure" 'one' --strength 1 --kind experiment
is "$(get .status cairn gap show "$gap")" open 'at 0.9 it stays open'
exits 0 cairn hypothesis update "$sure" --prior 0.53
is "$(get .status cairn gap show "$gap")" closed 'at 0.91 it closes'
says '1 more item changed' 'which is told'
exits 0 cairn gap add 'why so late?' --hypothesis "$sure"
late=$(cat out)
is "$(get .status cairn gap show "$late")" open 'one that is added after that is open'
exits 0 cairn gap remove "$late"
exits 0 cairn gap update g1 --hypothesis h6
exits 0 cairn gap update g1 --hypothesis ''
is "$(get .hypothesis cairn gap show g1)" null 'a gap leaves its hypothesis'

# ---- Notes (T-17) ----
exits 0 cairn note add 'plain'
exits 0 cairn note add 'tagged' --tag a,b --about h1,b1 --severity warning
exits 0 cairn note list --tag a
is "$(awk 'NR > 1 { print $1 }' out)" n2 'by tag'
exits 0 cairn note list --about b1
is "$(awk 'NR > 1 { print $1 }' out)" n2 'by what they are about'
is "$(get '.about[1]' cairn note show n2)" b1 'in JSON a list'
exits 10 cairn note add x --about h77
exits 2 cairn note add x --severity loud
exits 2 cairn note add x --about 'h1,,b1'
exits 0 cairn note update n2 --severity critical --about ''
is "$(get .severity cairn note show n2) $(get '.about[0]' cairn note show n2)" 'critical ' 'changed, and taken away'
exits 0 cairn note remove n1
exits 10 cairn note show n1

# ---- Texts from stdin ----
printf 'first line\n\nthird line\n' >text
cairn note add - <text >out 2>err
id=$(cat out)
exits 0 cairn note show "$id"
matches '^text +first line$'
matches '^ +third line$'
exits 0 cairn note list
matches '^n3 .* first line\.\.\.$' 'the list has the first line'
is "$(get .text cairn note show "$id")" 'first line\n\nthird line' 'the line break at the end is not part of it'
head -c 65536 /dev/zero | tr '\0' x | cairn note add - >out 2>err
is "$?" 0 '64 KiB fit'
is "$(get .text cairn note show "$(cat out)" | wc -c)" 65537 'whole'
head -c 65537 /dev/zero | tr '\0' x >long
run sh -c 'cairn note add - <long'
is "$status" 2 'one byte more does not'
says '64 KiB' 'which is told'
run sh -c 'printf "a\0b" | cairn note add -'
is "$status" 2 'nor does a NUL'
run sh -c 'printf "\377\376" | cairn note add -'
is "$status" 2 'nor what is no UTF-8'
exits 2 cairn note add -
says 'no text on stdin'
run sh -c 'echo x | cairn evidence add h1 - --strength 1 --source -'
is "$status" 2 'only one text is read from stdin'
run sh -c 'echo found | cairn gap fill g1 -'
is "$status $(get .resolution cairn gap show g1)" '0 found' 'an answer from stdin'
# Control characters are made visible.
exits 0 cairn note add "$(printf 'red \033[31m text')"
exits 0 cairn note show "$(cat out)"
says '^[[31m' 'control characters do not reach the terminal'
long=$(printf 'word %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
exits 0 cairn note add "$long"
id=$(cat out)
exits 0 cairn note list --limit 1
is "$(sed -n '2s/^.*:[0-9][0-9]  //p' out | wc -c)" 61 'a long text is cut to 60 characters in the list'
matches '\.\.\.$' 'which is shown'
is "$(get .text cairn note show "$id")" "$long" 'and whole in JSON'

# ---- Pages and JSON of lists ----
for i in 1 2 3 4 5 6 7 8; do
    cairn note add "page $i" >/dev/null
done
exits 0 cairn note list --json
json_ok 'a list as JSON'
is "$(json_get .limit) $(json_get .offset)" '10 0' 'pages are told'
exits 0 cairn note list --limit 2 --offset 1
is "$(awk 'NR > 1 { print $NF }' out | tr '\n' ' ')" '7 6 ' 'pages work'
exits 2 cairn note list --limit 101
for kind in hypothesis evidence belief gap note; do
    exits 0 cairn $kind list --json
    json_ok "$kind list prints JSON"
    silent_on err
done
exits 0 cairn belief dependencies --json
json_ok 'so does belief dependencies'
exits 10 cairn note show n999 --json
is "$(json_get .error.exit_status)" 10 'an error is a document'

exits 0 cairn note add 'of no hypothesis' --json
is "$(json_get .strength) $(json_get .confidence) $(json_get .confidence_before)" 'null null null' 'a note has none of it'
exits 0 cairn note remove "$(json_get .id)"

# ---- The board at a glance, and what belongs to an item ----
exits 0 cairn session start glance
exits 0 cairn session show
silent_on err
ok 'an empty board has no parts' sh -c '! grep -q -e Hypotheses -e gaps, -e Contradictions -e "Last checkpoint" out'
exits 0 cairn session show --json
json_ok 'as JSON'
is "$(json_get .board.hypotheses_total) $(json_get .board.gaps_total) $(json_get .board.contradictions_total) $(json_get .board.last_checkpoint)" '0 0 0 null' 'with what there is'
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cairn hypothesis add "cause $i" --prior "0.$((10 + i))" >>ids 2>&1
done
exits 0 cairn hypothesis reject h3
exits 0 cairn checkpoint create 'twelve causes'
exits 0 cairn gap add 'an important one' --criticality high --hypothesis h2
exits 0 cairn gap add 'another one' --criticality low
exits 0 cairn gap fill g2 'answered'
exits 0 cairn belief add 'it is warm' --confidence 0.9 --subject cache --claim warm
exits 0 cairn belief add 'it is cold' --confidence 0.9 --subject cache --claim warm --denied
exits 0 cairn belief add 'it is lukewarm' --confidence 0.5 --subject cache --claim warm
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    cairn evidence add h2 "seen $i" --strength 0.1 >>ids 2>&1
done
exits 0 cairn session show
is "$(sed -n '/^Hypotheses/,/^$/p' out | awk 'NR > 1 && $1 ~ /^h/ { print $1 }' | tr '\n' ' ')" 'h2 h12 h11 h10 h9 h8 h7 h6 h5 h4 ' 'ten hypotheses, the most likely first'
matches '^h2     0\.[0-9]*  proposed   cause 2$' 'a line of one'
matches '^and 2 more: cairn hypothesis list$' 'and how many there are'
is "$(sed -n '/^Open gaps/,/^$/p' out | awk 'NR > 1 && $1 != "" { print $1 }')" g1 'the open gap'
matches '^b1 contradicts b2$' 'the contradiction that remains'
ok 'the last checkpoint, which says of what it was made' grep -q '^debug:[0-9]*-[0-9a-f]*  .*  Auto: b2 contradicts b1: it is cold$' out
exits 0 cairn session show --json
json_ok 'all of it as JSON'
is "$(json_get '.board.hypotheses[0].id') $(json_get .board.hypotheses_total) $(json_get '.board.hypotheses[10].id')" 'h2 12 ' 'ten hypotheses there, too'
is "$(json_get '.board.gaps[0].id') $(json_get '.board.contradictions[0][1]')" 'g1 b2' 'gaps and contradictions'
exits 0 cairn hypothesis show h2
is "$(sed -n '/^Evidence/,/^$/p' out | grep -c '^e')" 10 'a hypothesis lists its evidence'
matches '^e1     \+0\.10  observation  seen 1$'
matches '^and 1 more: cairn evidence list --hypothesis h2$'
matches '^g1     0\.[0-9]*  an important one$' 'and its gaps'
exits 0 cairn hypothesis show h2 --json
is "$(json_get '.evidence[10]') $(json_get '.gaps[0]')" 'e11 g1' 'all ids as JSON'
exits 0 cairn hypothesis show h1
ok 'where there is none it lists none' sh -c '! grep -q -e ^Evidence -e ^Gaps out'
exits 0 cairn belief show b2
matches '^b1     it is warm$' 'a belief names what it contradicts'
exits 0 cairn belief show b2 --json
is "$(json_get '.contradicts[0]') $(json_get '.contradicts[1]')" 'b1 ' 'as JSON'
exits 0 cairn belief show b3
ok 'one that contradicts none' sh -c '! grep -q ^Contradicts out'
exits 0 cairn belief update b1 --confidence 0.3
exits 0 cairn session show
ok 'a contradiction that is settled is gone' sh -c '! grep -q "^b1 contradicts" out'

# ---- A change of nothing is none ----
lines=$(cairn session log | wc -l)
exits 0 cairn hypothesis update h2 --prior 0.12
says 'h2 is as it was: nothing has changed'
exits 0 cairn evidence update e1 --strength 0.1 --json
is "$(json_get .changed) $(json_get .strength)" '0 0.1' 'as JSON, too'
exits 2 cairn hypothesis reject h3
says 'rejected' 'what is rejected is not rejected again'
exits 0 cairn hypothesis test h12
exits 2 cairn hypothesis test h12
exits 0 cairn hypothesis confirm h12
exits 2 cairn hypothesis confirm h12
exits 0 cairn session undo
exits 0 cairn session undo
is "$(cairn session log | wc -l)" $((lines + 6)) 'and no turn is logged for it'

# ---- Messages say what they are about ----
exits 0 cairn hypothesis add 'a cause with a long statement: größer als achtzig Zeichen, so dass sie nicht in eine Zeile passt
and a second line'
long=$(cat out)
exits 0 cairn hypothesis test "$long"
exits 0 cairn session log
is "$(tail -n 1 out | sed 's/.*  Auto: /Auto: /')" "Auto: $long testing: a cause with a long statement: größer als achtzig Zeichen,..." 'a checkpoint in the log, with its message, cut to 80 characters'
exits 0 cairn hypothesis confirm "$long" --reason 'seen'
exits 0 cairn session undo
matches "^taken back: $long: status testing to confirmed; closed changed; reason seen$" 'undo says what it takes back'
exits 0 cairn note add 'not for long'
exits 0 cairn session undo
says 'taken back: n1 added: not for long'
exits 0 cairn session undo --json
json_ok 'as JSON'
is "$(json_get '.taken_back[0].id') $(json_get '.taken_back[0].verb') $(json_get .changed)" "$long changed 1" 'with what was taken back'
for i in 1 2 3 4 5 6; do
    cairn gap add "question $i" --hypothesis h12 >>ids 2>&1
done
exits 0 cairn evidence add h12 'it is that' --strength 1 --kind experiment
exits 0 cairn hypothesis update h12 --prior 0.9
says '6 more items changed'
exits 0 cairn checkpoint list
ok 'of several gaps the first is named' grep -q 'Auto: g3 closed: question 1  ' out
exits 0 cairn session undo
says '; and 2 more'
exits 0 cairn session switch board

# ---- Damage is named, and nothing of it is shown ----
sql=$BUILD/tests/tools/sql
"$sql" .cairn/cairn.db 'UPDATE item SET body = flip(body, 3) WHERE kind = 1 AND n = 1' >sql.out
exits 5 cairn hypothesis list
exits 5 cairn hypothesis show h1
says 'damaged'
exits 5 cairn hypothesis update h1 --prior 0.1
exits 5 cairn evidence add h1 'more' --strength 0.1
exits 5 cairn checkpoint create 'damaged'
exits 5 cairn doctor
exits 0 cairn hypothesis update h2 --prior 0.1
says 'h2 updated' 'what a change does not read keeps nobody from it'

exits 2 cairn evidence show h1
says "'h1' is not an id of kind evidence: those are e1, e2 and so on"
exits 2 cairn belief cascade b1 0.5 --preview --token x
says 'give --preview or --token, not both'
done_testing
