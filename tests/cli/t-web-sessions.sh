# make: sanitize
# cairn web: the pages about sessions and checkpoints. Nothing that was stored is anything
# but text in them.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

plant >planted
printf 'name: flow\ntasks: {a: {run: "true"}, b: {needs: [a], run: "exit ${B-0}"}}\n' >cairn.yaml
B=1 run cairn run -q
run cairn resume -q
run cairn session start "$(sed -n 6p planted)"
mkdir files
run cairn session config files files
cp planted files/contents
while IFS= read -r line; do
    name=$(printf '%s' "$line" | tr '/ ' '|_')
    cp planted "files/$name" 2>/dev/null
    run cairn hypothesis add "$line"
    run cairn session message add "$line"
    run cairn checkpoint create "$line" --tag "$(printf '%s' "$line" | tr ', ' '._')"
    run cairn checkpoint label head "$name"
    run cairn checkpoint note head "$line"
done <planted
has_planted() { # NAME [TEXT]: each planted text that is UTF-8 was shown
    sed '$d; s/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&#34;/g; s/'"'"'/\&#39;/g' planted >wanted
    is "$(while IFS= read -r line; do grep -qF -e "$line" body || echo "$line"; done <wanted)" '' "$1: all of them"
}
has_planted_names() { # as they are named in files
    sed '$d; s/[/]/|/g; s/ /_/g; s/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&#34;/g; s/'"'"'/\&#39;/g' planted >wanted
    is "$(while IFS= read -r line; do grep -qF -e ">$line</a>" body || echo "$line"; done <wanted)" '' "$1: all of them"
}
first=$(cairn checkpoint list --sort seq --session 1 --json | grep -o 'debug:[0-9]*' | head -n 1 | tr -dc 0-9)
last=$(cairn checkpoint list --session 1 --json | grep -o 'debug:[0-9]*' | head -n 1 | tr -dc 0-9)
run cairn session start other
run cairn session config files files
run cairn belief add 'old belief' --confidence 0.8 --subject s --claim c
run cairn belief add "$(sed -n 1p planted)"
run cairn belief add 'other belief' --confidence 0.8 --subject s --claim c --denied
run cairn belief depend b2 b1
for n in 1 2 3; do
    run cairn note add "note $n"
    printf 'line %s\nb\n' $n >files/changed
    run cairn checkpoint create "number $n"
done
run cairn branch start try --from head~1
run cairn hypothesis add 'the cache is stale'
run cairn evidence add h1 'seen in the log' --strength 0.5
rm files/contents
printf 'a\0b' >files/binary
mv files/changed files/moved
mkdir files/pictures
png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
echo $png | base64 -d >files/pictures/dot.png
printf '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>\0' >files/pictures/x.svg
printf '<html>\0' >files/pictures/x.png
printf 'GIF89a\1\0\1\0\0\0\0;' >files/pictures/x.gif
echo new >files/zz
run cairn session message add --role assistant 'I will look'
run cairn checkpoint create 'on another branch'
number() { cairn checkpoint list --session other --json | tr '{' '\n' | sed -n "s/.*\"debug:\([0-9]*\).*\"message\":\"$1\".*/\1/p" | head -n 1; }
one=$(number 'number 1') two=$(number 'number 2') try=$(number 'on another branch')

serve
enter
page 200 / 'the first page'
has '<a href="/sessions/2">other</a>' 'leads to the sessions'

# ---- The timeline ----
page 200 /timeline 'the timeline'
has '<form action="/compare">' 'a form that works without script'
is "$(grep -o "<input type=\"radio\" name=\"[a-z]*\" value=\"$try\"" body | wc -l)" 2 'each checkpoint can be chosen twice'
has "<tr class=\"group d1\"><th colspan=\"7\" scope=\"colgroup\">branch try <small>current position, from <a href=\"/checkpoints/$two\">" 'a branch where it begins, and the current position'
has 'branch try</span>' 'where it leaves its parent'
has '<a href="/runs/1">run 1</a> of flow' 'runs, too'
page 200 '/timeline?session=1' 'of one session'
has_planted 'messages of checkpoints'
page 200 '/timeline?session=2' 'of another one'
has '>changed</td>' 'the files that changed'
has '>binary, contents, moved and 6 more</td>' 'and how many'
page 200 '/timeline?run=1' 'of a run'
has '1 of 2 tasks'
page 404 '/timeline?run=7' 'of none'
page 404 '/timeline?session=7' 'of no session'

# ---- Comparing ----
page 200 "/compare?from=$two&to=$try" 'compared'
has '1 hypothesis added, 1 piece of evidence added, 1 message added'
has 'the cache is stale' 'what was added to the board'
has 'renamed changed -&gt; moved' 'a file that was renamed'
has '+ added binary, binary, 3 bytes' 'one that is binary'
has '- removed contents, +0 -14' 'one that is gone'
has '<span class="old">-&lt;script&gt;alert(1)&lt;/script&gt;</span>' 'lines of it, as text'
has 'I will look' 'messages'
is "$(grep -o '<img [^>]*>' body)" "<img src=\"/checkpoints/$try/picture?path=pictures%2Fdot.png\" alt=\"pictures/dot.png\">
<img src=\"/checkpoints/$try/picture?path=pictures%2Fx.gif\" alt=\"pictures/x.gif\">" 'pictures, of what is one by its bytes'
page 200 "/compare?from=$two&to=$try&view=sides" 'side by side'
has '<tr><td class="old"><i>1 -</i> &lt;script&gt;alert(1)&lt;/script&gt;</td><td class="none"></td></tr>' 'lines of both'
ask GET "/checkpoints/$try/picture?path=pictures%2Fdot.png"
is "$code" 200 'a picture'
ok 'is that and nothing else' sh -c 'grep -q "^Content-Type: image/png.\$" answer && grep -qi "^X-Content-Type-Options: nosniff.\$" answer'
echo $png | base64 -d >dot.png
ok 'byte for byte' cmp -s body dot.png
for wrong in x.svg x.png none; do
    ask GET "/checkpoints/$try/picture?path=pictures%2F$wrong"
    is "$code" "$([ $wrong = none ] && echo 404 || echo 400)" "$wrong is none"
done
page 200 "/checkpoints/$try/file?path=pictures%2Fdot.png" 'a file that is one'
has '<img '
page 200 "/compare?from=$one&to=$two&view=sides" 'a line that changed'
has '<tr><td class="old"><i>1 -</i> line 1</td><td class="new"><i>1 +</i> line 2</td></tr><tr><td class="same"><i>2  </i> b</td><td class="same"><i>2  </i> b</td></tr>' 'is beside itself'
page 200 "/compare?from=$try&to=$two" 'the other way round'
has '1 hypothesis removed'
has 'on the line of the first one alone' 'its messages, too'
page 200 "/compare?from=$first&to=$last" 'planted texts'
has_planted 'items and messages'
page 200 '/compare?from=1&to=workflow:7' 'checkpoints of a run'
has '<th scope="row">b</th><td>pending</td><td>completed</td>' 'by their tasks'
page 400 "/compare?from=1&to=$one" 'one of each kind'
page 400 '/compare?from=1' 'one alone'
has 'Choose two checkpoints'
page 404 '/compare?from=1&to=99' 'one that is not there'
page 400 "/compare?from=$one&to=%3Cscript%3Ealert(1)%3C/script%3E" 'something else'

# ---- One checkpoint ----
page 200 "/checkpoints/$try" 'a checkpoint'
has 'on another branch'
has "<a href=\"/checkpoints/$two\">debug:$two" 'leads to where its branch begins'
page 200 "/checkpoints/$last" 'with planted texts'
for n in $(seq "$first" "$last"); do
    ask GET "/checkpoints/$n"
    cat body
done >all
mv all body
has_planted 'notes, labels and tags'
page 200 /checkpoints/1 'one of a run'
has '<a href="/runs/1">run 1</a>'

# ---- Sessions ----
page 200 /sessions/1 'a session'
page 200 '/sessions/1/items?kind=hypothesis' 'all hypotheses'
has_planted 'hypotheses'
page 200 /sessions/1/messages 'its messages'
has_planted 'messages'
is "$(grep -o 'class="mark"><a href="/checkpoints/[0-9]*"' body | wc -l)" 13 'the checkpoint behind each'
page 200 '/sessions/1/item?id=h1' 'one item'
has '&lt;script&gt;alert(1)&lt;/script&gt;'
page 200 /sessions/1/settings 'settings'
has '<th scope="row">files</th><td>files</td><td>set</td>'
has 'The directory whose files each checkpoint holds' 'with what each is for'
page 200 /sessions/2/size 'what takes room'
has '<th scope="row">messages</th>'
page 200 /sessions/2 'the other one'
has 'class="course0"' 'confidence over time as a picture'
is "$(grep -o 'class="node belief[^"]*"' body | tr '\n' ' ')" 'class="node belief" class="node belief against" ' 'beliefs and what they rest on'
has 'b1, 0.80, contradicts b3</text>'
has 'on branch try'
has '<td>proposed</td><td>0.' 'hypotheses with their confidence'
has '/items?kind=evidence'
page 200 '/sessions/2/item?id=h1' 'a hypothesis'
has 'seen in the log' 'has its evidence'
has '<td>h1</td><td>0.90</td><td>e1</td></tr>' 'and how its confidence came about'
page 200 "/sessions/2/messages?at=$two" 'messages of a checkpoint'
has '0 on this line'
seq -f '{"role": "user", "content": "message %g"}' 1 100 >many.jsonl
run cairn session start talks
run cairn session message import many.jsonl
run cairn checkpoint create 'after 100'
run cairn session message add 'message 101'
page 200 /sessions/3 'a long conversation'
is "$(grep -o 'id="m[0-9]*"' body | sed -n '1p;$p' | tr -dc '0-9\n' | tr '\n' ' ')" '72 101 ' 'its end'
older=$(grep -o '/sessions/3/messages?[^"]*' body | sed 's/&amp;/\&/g')
page 200 "$older" 'what comes before'
is "$(grep -o 'id="m[0-9]*"' body | sed -n '1p;$p' | tr -dc '0-9\n' | tr '\n' ' ')" '42 71 ' 'exactly'
page 200 '/sessions/3/messages?skip=18446744073709551615' 'too far'

# ---- Files ----
page 200 "/checkpoints/$last/files" 'the files of a checkpoint'
has_planted_names 'names of files'
grep -o '/checkpoints/[0-9]*/file?path=[^"]*' body | grep -v contents | sed 's/&amp;/\&/g' >paths
is "$(wc -l <paths)" 13 'each leads to its content'
page 200 "$(head -n 1 paths)" 'a file with such a name'
has '<span id="L1"><i>1</i> &lt;script&gt;alert(1)&lt;/script&gt;</span>' 'its lines are text'
history=$(grep -o '/sessions/1/history?path=[^"]*' body)
raw=$(grep -o '/checkpoints/[0-9]*/raw?path=[^"]*' body)
page 200 "$history" 'its versions'
has '<td>added</td>'
ask GET "$raw"
is "$code" 200 'it can be saved'
ok 'and is not shown' grep -qE '^Content-Disposition: attachment; filename="[A-Za-z0-9_.-]+".$' answer
ok 'nor looked at for what it could be' grep -q '^Content-Type: application/octet-stream' answer
ok 'byte for byte' cmp -s body planted
page 200 "/checkpoints/$try/file?path=binary" 'a binary content'
has 'binary: it can be saved'
ask GET "/checkpoints/$try/raw?path=binary"
is "$(od -An -c body | tr -d ' ')" 'a\0b' 'that is what is saved'
page 200 "/checkpoints/$try" 'the page of a checkpoint'
has "<a href=\"/checkpoints/$try/files\">" 'leads to its files'
page 200 "/checkpoints/$two/blame?path=changed" 'since when each line is there'
has "<a href=\"/checkpoints/$two/file?path=changed#L1\">1</a></td><td><code>line 2</code>" 'a line that changed'
has "<a href=\"/checkpoints/$one/file?path=changed#L2\">2</a></td><td><code>b</code>" 'and one that did not'
page 200 "/checkpoints/$last/blame?path=contents" 'of planted texts'
has '<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>'
page 200 '/sessions/2/history?path=changed' 'a file that changed'
is "$(grep -o '<td>changed</td>\|<td>added</td>\|<td>removed</td>' body | wc -l)" 4 'in four versions'
has 'All checkpoints were looked at.'
page 200 "/sessions/2/history?path=changed&from=$two" 'a part of them'
is "$(grep -o '<td>changed</td>\|<td>added</td>\|<td>removed</td>' body | wc -l)" 2 'the older ones'
has 'All others were looked at.'
page 200 "/sessions/2/grep?pattern=line&from=$two&nth=18446744073709551615" 'a part of a search'
page 200 '/sessions/1/grep?pattern=%3Cscript%3Ealert(1)%3C%2Fscript%3E' 'lines of all versions'
has '<input type="search" name="pattern" value="&lt;script&gt;alert(1)&lt;/script&gt;">' 'what was looked for, as text'
has '#L1">contents:1</a>' 'each leads to its line'
page 200 "/sessions/2/grep?pattern=LINE+%5B23%5D&regex=1&case=1&at=$two" 'by a pattern, in one checkpoint'
has '<code>line 2</code>'
page 200 '/sessions/2/grep?pattern=%28&regex=1' 'by one that is wrong'
mkdir -p files/dir/sub
seq 1 30000 >files/dir/sub/long
run cairn session switch other
run cairn checkpoint create 'long'
run cairn session switch talks
long=$(number long)
page 200 "/checkpoints/$long/files?path=dir" 'a directory'
has "<a href=\"/checkpoints/$long/files?path=dir%2Fsub\">sub/</a>"
page 200 "/checkpoints/$long/file?path=dir%2Fsub%2Flong" 'a long file'
next=$(grep -o '/checkpoints/[0-9]*/file?[^"]*from=[0-9]*' body | sed 's/&amp;/\&/g')
line=$(sed -n 's/.*<span id="L\([0-9]*\)">.*/\1/p' body | tail -n 1)
page 200 "$next" 'what follows'
has "<span id=\"L$((line + 1))\"><i>$((line + 1))</i> $((line + 1))</span>" 'with the line that follows'

# ---- Search ----
page 200 /search 'the search'
page 200 '/search?q=%3Cscript%3Ealert(1)%3C/script%3E' 'a planted text'
has 'value="&lt;script&gt;alert(1)&lt;/script&gt;"' 'is text in the form'
has '&lt;[script]&gt;' 'and where it was found'
page 200 '/search?q=stale+cache&in=board' 'in one section'
has "<a href=\"/sessions/2/item?id=h1\">hypothesis h1</a>" 'leads to the item'
has '<option selected>board</option>'
page 200 '/search?q=look&in=messages' 'messages'
has '<a href="/sessions/2/message?n=1">message 1</a>' 'leads to the message'
page 200 '/sessions/2/message?n=1' 'which is there'
has 'I will look'
page 200 '/search?q=flow&in=runs' 'runs'
has '<a href="/runs/1">run 1</a>' 'leads to the run'
page 200 '/search?q=line&in=files' 'files'
ok 'leads to the content' grep -qE '<a href="/checkpoints/[0-9]*/file[?]path=(changed|moved)">' body
page 200 '/search?q=number&in=sessions' 'checkpoints'
has "<a href=\"/checkpoints/$one\">checkpoint debug:$one" 'leads to the checkpoint'
page 200 '/search?q=number&in=sessions&until=1+hour+ago' 'until an hour ago'
has 'Nothing was found.'
page 200 '/search?q=number&since=%3Cb%3E' 'since nothing that is a time'
page 200 '/search?q=x&tag=none' 'with a tag that nothing has'
has 'Nothing was found.'
for wrong in "/checkpoints/$try/files?path=none" "/checkpoints/$try/file" "/checkpoints/$try/file?path=none" \
    "/checkpoints/$try/file?path=..%2Fplanted" "/checkpoints/$try/blame?path=binary" "/checkpoints/$try/blame" "/checkpoints/$try/picture?path=..%2F..%2Fdot.png" "/checkpoints/$try/raw?path=..%2F..%2Fetc%2Fpasswd" \
    "/checkpoints/$try/raw?path=%2Fetc%2Fpasswd" "/checkpoints/$long/file?path=dir" /checkpoints/1/files \
    '/sessions/1/history?path=none' /sessions/9/grep /sessions /sessions/ /sessions/9 /sessions/1/x /sessions/1/item '/sessions/1/item?id=h99' \
    '/sessions/1/items?kind=x' '/sessions/9/messages' '/sessions/1/messages?at=99' /checkpoints /checkpoints/ /checkpoints/0 /checkpoints/01 /checkpoints/99 /checkpoints/1/x /timeline/ \
    /timeline/events /compare/events /checkpoints/1/events; do
    ask GET "$wrong"
    [ "$code" = 404 ] || [ "$code" = 400 ] || { echo "# $wrong: $code" && bad=1; }
done
is "${bad-0}" 0 'nothing else is there'

# ---- In a browser ----
narrow='document.documentElement.scrollWidth <= innerWidth'
browse 'a browser shows what happens' \
    'location.href = "/timeline"; true' 'document.title === "timeline"' "$narrow" \
    "document.querySelector('[name=from][value=\"$two\"]').click(); document.querySelector('[name=to][value=\"$try\"]').click(); true" \
    'document.querySelector("main button").click(); true' "location.search === '?from=$two&to=$try'" \
    '/1 hypothesis added/.test(document.body.innerText)' "$narrow" \
    'history.back(); true' 'document.title === "timeline"' \
    'document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true })); document.activeElement.id === "find"' \
    'document.activeElement.value = "stale"; document.activeElement.form.submit(); true' \
    'location.search === "?q=stale" && /hypothesis h1/.test(document.body.innerText)' "$narrow" "location.href = '/compare?from=$first&to=$last'; true" \
    'document.title === "compare"' 'location.href = "/sessions/3"; true' 'document.title === "talks"' 'window.kept = true' \
    '!cairn note add "<b>new</b>" && cairn session message add "message 102"' \
    'document.querySelector("#board").innerText.includes("<b>new</b>") && document.querySelector("#m102") !== null' \
    'window.kept' "$narrow" 'history.back(); true' 'document.title === "compare"' 'document.querySelector("img, iframe, base") === null && document.scripts.length === 1' "$narrow"

# ---- Damage is named where it is, and the rest is shown ----
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE message SET body = x'00' WHERE n = 5"
page 200 /sessions/1 'a session with a damaged message'
has '<b>Damaged:</b> '
has '&lt;/style&gt;&lt;script&gt;' 'its board is there'
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE branch SET name = 'other' WHERE branch = 3"
page 200 / 'the first page'
has '<b>Damaged:</b> branch 3 of session 2 ' 'names the row'
has '<a href="/sessions/3">talks</a>' 'the others are there'
has '<a href="/runs/1">run 1</a>' 'runs are there'
page 200 /timeline 'the timeline'
has '<b>Damaged:</b> branch 3 of session 2 '
has '<a href="/sessions/3">talks</a>' 'the others are there'
has '<a href="/runs/1">run 1</a>' 'has the runs, too'
is "$(grep -o '<b>Damaged:' body | wc -l | tr -d ' ')" 1 'names it once'
has 'branch main <small>current position' 'and has the branches of the others'
page 200 '/timeline?session=3' 'the timeline of another session'
has '<b>Damaged:</b> branch 3 of session 2 '
has 'branch main <small>current position' 'has its branch'
page 200 /sessions/3 'its page'
has '<b>Damaged:</b> branch 3 of session 2 '
has 'message 101' 'shows what it has'
run cairn checkpoint timeline
is "$status" 5 'as the command says'
says 'talks' out
says '* branch main  current' out
run cairn checkpoint timeline --json
is "$status" 5 'also as JSON'
is "$(json_get '.sessions[0].tree[0].name' out)" main 'which has the others'
ok 'and names it' grep -q '"damaged":"branch 3 of session 2 is damaged' out
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE session SET name = 'else' WHERE session = 1"
page 200 / 'the first page, when the row of a session is damaged'
has ' is damaged: its checksum does not match' 'names one'
has '<a href="/sessions/3">talks</a>' 'the others are there'
run cairn session list --limit 2
is "$status" 5 'the list says it'
says '3 sessions' err
says 'talks' out
run cairn session list --json
is "$status" 5 'also as JSON'
is "$(json_get '.sessions[0].name' out)" talks 'which has the others'
ok 'and names it' grep -q '"damaged":"the row of session 1 is damaged' out
stop
is "$status" 0 'it ends in order'
done_testing
