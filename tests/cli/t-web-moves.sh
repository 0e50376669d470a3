# cairn web --allow-changes: restores, forks, checkpoints, labels and notes of sessions; each is
# shown before it is done, by the command's own --dry-run, and done only as it was shown.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

head_id() { cairn checkpoint list --session "$1" --json | grep -o 'debug:[0-9]*' | head -n 1 | tr -dc 0-9; }
plant >planted
run cairn session start "$(sed -n 1p planted)"
mkdir files
run cairn session config files files
echo one >files/x
run cairn hypothesis add "$(sed -n 2p planted)"
run cairn checkpoint create "$(sed -n 3p planted)"
first=$(head_id 1)
echo two >files/x
echo new >files/y
run cairn hypothesis add 'the second one'
run cairn checkpoint create two
second=$(head_id 1)

serve
enter
page 200 "/checkpoints/$first" 'a checkpoint, when pages only show'
is "$(grep -c 'method="post"' body)" 0 'has no buttons'
page 200 '/timeline?session=1' 'nor has the timeline'
is "$(grep -c 'method="post"' body)" 0 'any'
stop

serve --allow-changes
enter
page 200 "/checkpoints/$first" 'a checkpoint'
key=$(key)
has '<button>Restore...</button>'
has '<button>Fork...</button>'
has '<button>Label...</button>'
has '<button>Note...</button>'

# ---- The dry run, and what it allows ----
restore="key=$key&act=restore&session=1&checkpoint=$first"
post "$restore"
is "$code" 200 'the preview of a restore'
ok 'is whole and inert' inert body "$served"
has "<code>cairn checkpoint restore --dry-run --session 1 $first</code>" 'by a dry run'
has 'items     0 added, 0 changed, 1 removed' 'what it says'
has 'files     0 added, 1 changed, 1 removed'
has '- removed</td><th scope="row">h2</th>' 'the board, item by item'
has '   1    1  x' 'and file by file'
has '   1    0  y'
has "<code>cairn checkpoint restore --yes --session 1 $first</code>" 'the command that does it'
has "<button>Restore checkpoint $first</button>" 'the button names it'
is "$(cat files/x files/y)" 'two
new' 'nothing was done'
is "$(head_id 1)" "$second" 'nothing was stored'
is "$(cairn events --maintenance 2>/dev/null | grep -c web:)" 0 'a preview is not noted'
nonce=$(nonce)
echo three >files/x
post "$restore&nonce=$nonce"
is "$code" 409 'a file was changed since'
has 'Things have changed since you looked'
has '   1    1  x' 'the new preview'
nonce=$(nonce)
run cairn note add 'one more'
post "$restore&nonce=$nonce"
is "$code" 409 'the board was changed since'
has '- removed</td><th scope="row">n1</th>'
nonce=$(nonce)
refused 409 'the nonce of another checkpoint' "key=$key&act=restore&session=1&checkpoint=$second&nonce=$nonce"
post "$restore"
nonce=$(nonce)
run cairn session start elsewhere
run cairn note add 'elsewhere'
run cairn session switch 1
post "$restore&nonce=$nonce"
is "$code" 200 'a change in another session changes nothing of it'
has 'Done: Restore checkpoint'
has "restored  debug:$first-" 'what the command has printed'
has 'to take it back: cairn checkpoint undo-restore' 'and how it is taken back'
ok 'is inert' inert body "$served"
is "$(cat files/x)" one 'the file is as it was'
ok 'the other one is gone' test ! -e files/y
run cairn hypothesis list
is "$(grep -c 'the second one' out)" 0 'and so is the board'
run cairn events --maintenance
says "web: cairn checkpoint restore --session 1 $first" 'the log says who asked'
refused 409 'once' "$restore&nonce=$nonce"

# ---- Back and forward ----
page 200 '/timeline?session=1' 'the timeline of the session'
has '<h2>Restores</h2>' 'shows restores'
has "restored <a href=\"/checkpoints/$first\">" 'of which checkpoint'
has '<button>Undo the last restore...</button>'
undo="key=$key&act=undo-restore&session=1"
redo="key=$key&act=redo-restore&session=1"
refused 409 'there is nothing to redo' "$redo"
has 'there is nothing to redo'
ok 'which is inert' inert body "$served"
post "$undo"
has 'files     1 added, 1 changed, 0 removed' 'what an undo would do'
has '+ added</td><th scope="row">h2</th>' 'item by item'
has '   0    1  y' 'file by file'
post "$undo&nonce=$(nonce)"
is "$code" 200 'undone'
is "$(cat files/x files/y)" 'three
new' 'all is there again'
post "$redo"
post "$redo&nonce=$(nonce)"
is "$code" 200 'redone'
is "$(cat files/x)" one 'and as it was before'
page 200 '/timeline?session=1' 'the timeline'
is "$(sed 's/<li>/\n&/g' body | grep -c '^<li><time')" 3 'has all three'

# ---- Fork ----
fork="key=$key&act=fork&session=1&checkpoint=$second"
post "$fork"
has ', which begins at debug:' 'a branch is named'
post "$fork&nonce=$(nonce)&name=other%20way"
is "$code" 200 'begun by another name'
run cairn branch list --session 1
says 'other way' 'it is there'
is "$(cat files/x)" two 'with its files'

# ---- Create, label, note ----
create="key=$key&act=create&session=1"
post "$create"
has 'Its whole state is stored' 'the preview of a checkpoint'
post "$create&nonce=$(nonce)&text=--it%27s+%3Cb%3Ehere&tag=a,b"
is "$code" 200 'made'
third=$(head_id 1)
page 200 "/checkpoints/$third" 'its page'
has '--it&#39;s &lt;b&gt;here' 'has its message'
has '<span class="tag">b</span>' 'and tags'
label="key=$key&act=label&checkpoint=$third"
post "$label"
post "$label&nonce=$(nonce)&text=keep"
is "$code" 200 'labelled'
page 200 "/checkpoints/$third" 'its page'
has '<button>Remove the label keep...</button>'
post "key=$key&act=note&checkpoint=$third&text=--force"
has "cairn checkpoint note $third -- --force</code>" 'what would be taken for an option stands behind --'
post "key=$key&act=note&checkpoint=$third&nonce=none&text=a+%26%20b"
is "$code" 409 'a nonce of nobody'
has '<input type="text" name="text" value="a &amp; b">' 'keeps what was typed'
post "key=$key&act=note&checkpoint=$third"
post "key=$key&act=note&checkpoint=$third&nonce=$(nonce)&text="
is "$code" 409 'an empty note'
has 'This was not done: Add a note to checkpoint'
post "key=$key&act=note&checkpoint=$third"
post "key=$key&act=note&checkpoint=$third&nonce=$(nonce)&text=a+%3Cscript%3E"
is "$code" 200 'a note'
post "key=$key&act=unlabel&checkpoint=$third&label=keep"
post "key=$key&act=unlabel&checkpoint=$third&label=keep&nonce=$(nonce)"
is "$code" 200 'the label is taken off'
page 200 "/checkpoints/$third" 'its page'
has 'a &lt;script&gt;' 'the note is text'
is "$(grep -c 'Remove the label' body)" 0 'no label is left'
run cairn events --maintenance
says "web: cairn checkpoint label $third keep" 'each was noted'
says "web: cairn checkpoint fork --session 1 $second"
says "web: cairn checkpoint create --session 1 '--it"

# ---- What is refused ----
for wrong in act=restore 'act=restore&session=1' "act=restore&checkpoint=$first" 'act=undo-restore' 'act=label' \
    "act=unlabel&checkpoint=$first" "act=restore&session=1&checkpoint=x" "act=restore&session=1&checkpoint=$first%20--force" 'act=create&session=0'; do
    refused 400 "$wrong" "key=$key&$wrong"
done
refused 409 'a checkpoint of another session' "key=$key&act=restore&session=2&checkpoint=$first"
has 'is not one of session elsewhere'
refused 409 'no such checkpoint' "key=$key&act=restore&session=1&checkpoint=999"
refused 409 'no such session' "key=$key&act=create&session=9"
refused 403 'no key' "act=restore&session=1&checkpoint=$first"
refused 403 'from another site' "$restore" 'Sec-Fetch-Site: cross-site'
ask GET "/act?act=restore&session=1&checkpoint=$first&key=$key"
is "$code" 404 'nothing is done by a link'

# ---- Two at once, and a server that is killed between the two ----
post "$restore"
one=$(nonce)
post "$restore"
two=$(nonce)
post "$restore&nonce=$one"
is "$code" 200 'one of two pages'
post "$restore&nonce=$two"
is "$code" 409 'the other one has seen another state'
post "$undo"
nonce=$(nonce)
kill -9 "$server"
wait "$server"
before=$(cairn checkpoint list --session 1 --json | wc -c)
serve --allow-changes --listen "127.0.0.1:$port"
enter
refused 403 'the key of the server that was killed' "$undo&nonce=$nonce"
page 200 '/timeline?session=1' 'the new server'
key=$(key)
post "key=$key&act=undo-restore&session=1&nonce=$nonce"
is "$code" 409 'does not know its nonce'
is "$(cairn checkpoint list --session 1 --json | wc -c)" "$before" 'nothing was done'

# ---- Cleaning up ----
run cairn session start crowded
for n in 1 2 3 4 5; do
    run cairn note add "note $n"
    run cairn checkpoint create --trigger code-modified "number $n"
done
crowded=$(cairn session list --json | grep -o '"session":[0-9]*' | head -n 1 | tr -dc 0-9)
run cairn session config keep-last 2
run cairn session config keep-days off
run cairn session config keep-hourly off
page 200 "/sessions/$crowded/size" 'what takes room'
has '<button>Delete old checkpoints...</button>'
prune="key=$key&act=prune&session=$crowded"
post "$prune"
is "$code" 200 'the preview of a clean-up'
ok 'is whole and inert' inert body "$served"
has "<code>cairn checkpoint prune --dry-run --session $crowded</code>" 'by a dry run'
has 'would delete 3 of 5 checkpoints, 2 stay, ' 'what it says'
nonce=$(nonce)
run cairn session config keep-last 3
post "$prune&nonce=$nonce"
is "$code" 409 'a setting was changed since'
has 'would delete 2 of 5 checkpoints, 3 stay, '
is "$(cairn checkpoint list --session "$crowded" --json | grep -o '"debug:[0-9]*' | sort -u | wc -l | tr -d ' ')" 5 'nothing was deleted'
post "$prune&nonce=$(nonce)"
is "$code" 200 'cleaned up'
has 'deleted 2 of 5 checkpoints'
is "$(cairn checkpoint list --session "$crowded" --json | grep -o '"debug:[0-9]*' | sort -u | wc -l | tr -d ' ')" 3 'three stay'
run cairn events --maintenance
says "web: cairn checkpoint prune --session $crowded" 'it was noted'
refused 400 'no session' "key=$key&act=prune"
run cairn session switch 1

# ---- Settings ----
page 200 /sessions/1/settings 'settings'
ok 'are whole and inert' inert body "$served"
has '<button>Set schedule...</button>'
is "$(grep -cE 'Set (files|redact|environment|hook[.][a-z-]*)[.][.][.]' body)" 0 'but none for what is stored of the machine'
set="key=$key&act=set&session=1&setting"
post "$set=schedule"
is "$code" 200 'the preview of a setting'
ok 'is whole and inert' inert body "$served"
has 'schedule is now off, the default, and would be what you fill in below.' 'it says how it is'
has '<button>Set schedule of session 1</button>' 'the button names it'
is "$(cairn session config schedule --session 1)" off 'nothing was done'
nonce=$(nonce)
post "$set=interval&nonce=$nonce&value=10m"
is "$code" 409 'the nonce is for one setting'
post "$set=schedule"
nonce=$(nonce)
run cairn session config schedule 20m --session 1
post "$set=schedule&nonce=$nonce&value=10m"
is "$code" 409 'somebody else has set it since'
has 'schedule is now 20m and would be'
nonce=$(nonce)
post "$set=schedule&nonce=$nonce&value=10m"
is "$code" 200 'it is set'
has '<code>cairn session config --session 1 schedule 10m</code>' 'by a command'
has '<a href="/sessions/1/settings">settings of session 1</a>' 'and leads back'
is "$(cairn session config schedule --session 1)" 10m 'as it was asked for'
is "$(cairn events --maintenance | grep -c 'web: cairn session config --session 1 schedule 10m')" 1 'it is noted'
post "$set=schedule"
nonce=$(nonce)
post "$set=schedule&nonce=$nonce&value=%3Cscript%3E"
is "$code" 409 'a value that is none is refused'
has 'This was not done'
ok 'inertly' inert body "$served"
is "$(cairn session config schedule --session 1)" 10m 'and changes nothing'
for name in files redact environment hook.checkpoint; do
    post "$set=$name&value=x"
    is "$code" 409 "$name is not set by a page"
    has 'A page does not set'
done
post "$set=nothing"
is "$code" 409 'there is no such setting'
run cairn session config schedule off --session 1

# ---- In a browser ----
narrow='document.documentElement.scrollWidth <= innerWidth'
browse 'a browser restores and takes it back' \
    "location.href = '/checkpoints/$second'; true" "document.title.startsWith('debug:$second')" "$narrow" \
    '[...document.querySelectorAll("button")].find((b) => b.textContent === "Restore...").click(); true' \
    'document.title === "Restore"' "$narrow" \
    "[...document.querySelectorAll('main button')].find((b) => b.textContent === 'Restore checkpoint $second').click(); true" \
    'document.title === "done" && /restored  debug/.test(document.body.innerText)' "$narrow" \
    'location.href = "/timeline?session=1"; true' 'document.title === "timeline"' "$narrow" \
    '[...document.querySelectorAll("button")].find((b) => b.textContent === "Undo the last restore...").click(); true' \
    'document.title === "Undo the last restore"' "$narrow" \
    'document.querySelector("form.act button").click(); true' 'document.title === "done"' \
    'history.go(-2); true' 'document.title === "timeline"'
stop
is "$status" 0 'it ends in order'

# ---- A restore that was interrupted ----
if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'a restore that was interrupted' 'there is no strace, or it may not trace'
else
    mkdir half
    run cairn session start 'half way'
    run cairn session config files half
    half=$(cairn session show --json >shown; json_get .session shown)
    for file in a b c d; do echo v1 >"half/$file"; done
    run cairn checkpoint create one
    from=$(head_id "$half")
    for file in a b c d; do echo v2 >"half/$file"; done
    strace -f -o strace.out -e trace=renameat2 -e inject=renameat2:signal=KILL:when=3 \
        cairn checkpoint restore "$from" --yes >out 2>err
    ok 'it was killed' grep -q 'killed by SIGKILL' strace.out
    serve --allow-changes
    enter
    for path in / "/sessions/$half" "/checkpoints/$from" "/timeline?session=$half"; do
        page 200 "$path" "$path"
        has "the restore of debug:$from " 'names it'
        has "(session half way) was interrupted: 2 of 4 files"
        has '<code>cairn checkpoint restore --finish --session &#39;half way&#39;'
        [ "$path" = "/sessions/$half" ] && key=$(key)
    done
    page 200 /sessions/1 'another session'
    is "$(grep -c 'was interrupted' body)" 0 'has nothing of it'
    for fields in "act=create&text=x" 'act=set&setting=schedule&value=10m'; do
        post "key=$key&session=$half&$fields"
        is "$code" 200 'a preview'
        ok 'is whole and inert' inert body "$served"
        has 'was interrupted: 2 of 4 files' 'says so'
        has 'This command would finish it first.' 'and what becomes of it'
        nonce=$(nonce)
    done
    is "$(cat half/*)" 'v1
v1
v2
v2' 'nothing was done'
    post "key=$key&session=$half&act=set&setting=schedule&value=10m&nonce=$nonce"
    is "$(cat half/*)" 'v1
v1
v1
v1' 'it is finished'
    page 200 / 'the first page'
    is "$(grep -c 'was interrupted' body)" 0 'has nothing of it any more'
    stop
fi

# ---- The end, while a command is at work ----
# Its hook waits for the file `go`.
run cairn session start slow
run cairn session config hook-timeout 60s
slow=$(cairn session show --json >shown; json_get .session shown)
run cairn session config hook.checkpoint "touch '$PWD/begun'; n=0; while ! test -e '$PWD/go' && test \$((n += 1)) -lt 1000; do sleep 0.03; done; touch '$PWD/ended'"
# ---- Checks ----
serve --allow-changes
enter
run cairn session start checks -q
checks=$(cairn session list --json --limit 1 >s; json_get '.sessions[0].session' s)
run cairn check add "good $(sed -n 1p planted)" --run 'echo "<b>it holds</b>"'
run cairn check add bad --run 'echo it does not; exit 3' --retries 0
run cairn check add long --run 'touch begun; until [ -e go ]; do sleep 0.05; done; echo at last; exit 1' --retries 0
page 200 "/sessions/$checks" 'a session with checks'
has '<button>Run v1...</button>' 'a button for each'
has '<button>Run all checks...</button>' 'and for all'
check="key=$(key)&act=check&session=$checks&item"
post "$check=v1"
is "$code" 200 'what would run'
ok 'a preview that is inert' inert body "$served"
has '<pre class="command">echo &#34;&lt;b&gt;it holds&lt;/b&gt;&#34;</pre>' 'its whole command'
has "In the directory $PWD " 'and where'
has "<code>cairn check run --session $checks v1</code>"
nonce=$(nonce)
run cairn check update v1 --run 'true'
post "$check=v1&nonce=$nonce"
is "$code" 409 'another command than was shown does not run'
has 'Things have changed since you looked'
post "$check=v1&nonce=$(nonce)"
is "$code" 200 'as it was shown, it does'
has 'v1     passed' 'what it printed'
post "$check=v2"
post "$check=v2&nonce=$(nonce)"
is "$code" 200 'one that does not pass is done, too'
has 'Done: Run check v2'
has '1 attempt, exit 3'
rm -f begun go
post "$check=v3"
post "$check=v3&nonce=$(nonce)"
is "$code" 200 'one that takes long'
has 'It goes on: Run check v3' 'is answered before its end'
page 200 "/sessions/$checks/item?id=v3" 'its page'
has 'This runs: check v3, begun ' 'says so'
has 'pending'
page 200 "/sessions/$checks" 'and that of the session'
has 'This runs: check v3, begun '
refused 409 'not twice at once' "$check=v3"
has 'It runs already'
ok 'it is at work' wait_for 20 test -e begun
touch go
ok 'its end is on the board' wait_for 20 sh -c 'cairn check show v3 | grep -q "at last"'
gone_on() { page_of "/sessions/$checks" && ! grep -q 'This runs' body; }
page_of() { ask GET "$1" && [ "$code" = 200 ]; }
ok 'and it goes on no more' wait_for 20 gone_on
refused 409 'what is no check' "$check=h1"
refused 409 'one that is not there' "$check=v9"
refused 400 'none is named' "key=$(page_of "/sessions/$checks" && key)&act=check&session=$checks"
all="key=$(page_of "/sessions/$checks" && key)&act=check-all&session=$checks"
post "$all"
has "<code>cairn check run --all --session $checks</code>" 'all of them'
post "$all&nonce=$(nonce)"
has '1 passed, 2 not'
run cairn events --maintenance
says "web: cairn check run --session $checks v3" 'it was noted'
create="key=$(page_of "/sessions/$checks" && key)&act=create&session=$checks&text"
post "$create=a%00b"
is "$code" 400 'a NUL in what was typed is refused'
post "$create=%zz"
is "$code" 400 'and what is not encoded as a form is'
rm -f begun go
run cairn check add 'at the end' --run 'touch begun; until [ -e go ]; do sleep 0.05; done'
page_of "/sessions/$checks"
post "$check=v4"
post "$check=v4&nonce=$(nonce)"
has 'It goes on'
ok 'it is at work' wait_for 20 test -e begun
kill -INT "$server"
ok 'the server waits for it' wait_for 20 grep -q 'waited for.*: cairn check run --session' web.err
touch go
wait "$server"
is "$?" 0 'and ends'
run cairn check show v4
says 'passed' 'its end was recorded'
run cairn session end

begin() { # SECONDS-OF-THE-SERVER...
    rm -f begun go ended
    serve --allow-changes "$@"
    enter
    page 200 "/sessions/$slow" 'a session'
    create="key=$(key)&act=create&session=$slow"
    post "$create"
    { post "$create&text=x&nonce=$(nonce)"; } &
    form=$!
    ok 'a command is at work' wait_for 20 test -e begun
}
end() { # NAME
    wait "$form"
    sed -n '1s/^HTTP.1.1 \([0-9]*\).*/\1/p' answer >code
    is "$(cat code)" 200 "$1: who asked is answered"
    has 'Done: Create a checkpoint'
    wait "$server"
    is "$?" 0 'and the server ends in order'
}
begin
kill -INT "$server"
ok 'it says what it waits for' wait_for 20 grep -q 'waited for.*: cairn checkpoint create --session' web.err
ok 'the command goes on' test ! -e ended
touch go
end 'Ctrl-C'
begin --idle 1s
sleep 2
ok 'an answer that is owed is no idle time' kill -0 "$server"
touch go
end 'idle'
begin
kill -TERM "$server"
ok 'it waits again' wait_for 20 grep -q 'waited for' web.err
kill -INT "$server"
wait "$server"
is "$?" 0 'a second signal ends it'
ok 'and it says what was ended' grep -q 'ended before it was done: cairn checkpoint create --session' web.err
touch go
wait "$form"
done_testing
