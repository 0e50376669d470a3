# make: sanitize
# cairn web: who may come in, by which address, and what the pages have.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

exits 10 cairn web
exits 2 cairn web --json
exits 2 cairn web --listen 0.0.0.0:0
says 'would let other machines in'
exits 2 cairn web --listen nowhere
exits 2 cairn web --allow-host a:80

plant >planted
yaml=$(sed '$d' planted | sed "s/'/''/g; s/.*/'&'/" | paste -sd, -)
cat >cairn.yaml <<END
name: planted
on_failure: continue
params: {p: {default: none}}
tasks:
  long: {run: 'seq 1 40000'}
  each: {foreach: {text: [$yaml]}, env: {TEXT: '\${{ text }}'}, run: 'printf "%s\n" "\$TEXT"; cat planted; exit 1'}
  ask: {external: $(sed -n 7p planted | sed "s/.*/'&'/")}
END
run cairn run --no-wait --param "p=$(sed -n 2p planted)"
run cairn claim 1 ask --holder "$(sed -n 4p planted)"
run cairn session start "$(sed -n 6p planted)"
printf 'name: fine\ntasks: {a: {run: "seq -f %%050.0f 1 5000; exit ${BAD-0}"}}\n' >fine.yaml
BAD=1 exits 1 cairn run fine.yaml --output-limit 1k

# ---- Who may come in ----
cookie=none=
serve
ask GET /
is "$code" 401 'nobody without the address'
ok 'which says what to do' grep -q 'open the address that was printed last' body
ask GET /open/
is "$code" 401 'not without a token'
ask GET "/open/$(echo "${opened#/open/}" | tr 0-9a-f 1-9a-f0)"
is "$code" 401 'nor with another one'
ask HEAD "$opened"
is "$code" 401 'a HEAD does not use it up'
build GET "$opened"
"$BUILD/tests/tools/http" -n 8 "$port" <request >many
is "$(grep -c ' 200 ' many)/$(grep -c ' 401 ' many)" 1/7 'the address opens one of eight that come at once'
opened=$(newest)
ask GET "$opened"
is "$code" 200 'the next one is printed'
ok 'leads to the first page' grep -q 'content="0;url=/"' body
ok 'by a cookie' grep -qE "^Set-Cookie: cairn-$port=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict.\$" answer
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' answer)
for wrong in "$opened" "${opened}0" "/open/$(newest | cut -c 7-30)"; do
    ask GET "$wrong"
    is "$code" 401 'an address counts once, and whole'
done
ask GET /
is "$code" 200 'with the cookie'
for header in "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" \
    'X-Content-Type-Options: nosniff' 'Cache-Control: no-store' 'X-Frame-Options: DENY' \
    'Referrer-Policy: same-origin' 'Cross-Origin-Resource-Policy: same-origin'; do
    ok "the header $header" grep -qF "$header" answer
done
ok 'nobody else may read it' sh -c '! grep -qi Access-Control answer'
secret=${cookie#*=}
first=0
[ "${secret#0}" = "$secret" ] || first=1
n=0
for wrong in "cairn=$secret" "xcairn-$port=$secret" "cairn-$port=" "cairn-$port=${secret}0" \
    "cairn-$port=$first${secret#?}" "cairn-$port$secret" "cairn-$((port + 1))=$secret" "a=cairn-$port=$secret" \
    "cairn-$port=\"$secret\"" "CAIRN-$port=$secret"; do
    ask GET / "Cookie: $wrong"
    [ "$code" = 401 ] || { n=$((n + 1)) && echo "# $wrong: $code"; }
done
is "$n" 0 'no other cookie'
ask GET / "Cookie: a=b; $cookie; c=d"
is "$code" 200 'among others'
for wrong in "Host: evil.example" "Host: evil.example:$port" "Host: 127.0.0.1" "Host: 127.0.0.1.evil.example:$port" \
    "Host: localhost:$((port + 1))" 'Host:'; do
    ask GET / "$wrong"
    case $code in 400 | 403) ;; *) n=$((n + 1)) && echo "# $wrong: $code" ;; esac
done
is "$n" 0 'by no other name'
ask GET / "Host: localhost:$port"
is "$code" 200 'but by localhost'
for wrong in http://evil.example "http://127.0.0.1:$((port + 1))" null file:// "https://127.0.0.1:$port"; do
    ask GET / "Origin: $wrong"
    [ "$code" = 403 ] || { n=$((n + 1)) && echo "# $wrong: $code"; }
done
is "$n" 0 'from no other origin'
ask GET / "Origin: http://127.0.0.1:$port"
is "$code" 200 'but from its own'
for method in POST PUT DELETE OPTIONS PATCH TRACE; do
    ask $method /
    [ "$code" = 405 ] || [ "$code" = 501 ] || { n=$((n + 1)) && echo "# $method: $code"; }
done
is "$n" 0 'nothing but GET and HEAD'
ask GET / 'Content-Length: 5'
is "$code" 400 'no body'
ask GET / 'Transfer-Encoding: chunked'
is "$code" 400 'of any kind'
ask GET / "Cookie: $cookie" "Cookie: $cookie"
is "$code" 400 'no header twice'
for wrong in /x /runs /runs/ /runs/0 /runs/01 /runs/1/ /runs/-1 /runs/99999999999999999999 /runs/1/log/x \
    /../etc/passwd /%2e%2e/etc/passwd //evil.example /page-0000000000000000.css /runs/77 /runs/1/log \
    '/runs/1/log?task=none' '/runs/1/log?task=%00long' '/runs/1/log?task=%' '/runs/1/log?task=long&attempt=7'; do
    ask GET "$wrong"
    [ "$code" = 404 ] || [ "$code" = 400 ] || { n=$((n + 1)) && echo "# $wrong: $code"; }
done
is "$n" 0 'nothing else is there'
for wrong in /@ /@x /runs/1@ '/runs/1/log?task=long@x' '/?@' '/@HTTP/1.1' @; do
    build GET "$wrong"
    tr @ '\0' <request >nul
    mv nul request
    send
    [ "$code" = 404 ] || [ "$code" = 400 ] || { n=$((n + 1)) && echo "# a NUL in $wrong: $code"; }
done
is "$n" 0 'an address does not end at a NUL'

# ---- The pages ----
page 200 / 'the first page'
has 'ask is claimed by ' 'what needs somebody'
has '<a href="/runs/2">run 2</a>'
has '2 runs'
js=$(grep -o '/page-[0-9a-f]*.js' body)
ask GET "$(grep -o '/page-[0-9a-f]*.css' body | head -n 1)"
is "$code" 200 'the style'
ok 'may be kept' grep -q 'Cache-Control: private, max-age=31536000, immutable' answer
ok 'is one' grep -q 'Content-Type: text/css' answer
ask GET "$js"
is "$code" 200 'the script'
ok 'is one, too' grep -q 'Content-Type: text/javascript' answer
ask GET /favicon.ico
is "$code" 200 'a picture for its tab'
assets=$(sed -n 's/.*\.incbin "\(.*\)".*/\1/p' "$TESTS/../web/assets.S")
(cd "$TESTS/.." && cat $assets) >assets
ok 'all assets together have at most 60 KB' test "$(wc -c <assets)" -le 60000
ok 'and compressed 20 KB' test "$(gzip -9 <assets | wc -c)" -le 20000
page 200 '/?workflow=fine' 'the runs of one workflow'
has '1 run of fine'
page 404 '/?workflow=%3Cscript%3Ealert(1)%3C/script%3E&offset=1' 'of one that is not there'
page 200 /runs/1 'a run'
has 'class="run waiting">waiting, '
has '/runs/1/log?task=long'
page 200 /runs/2 'another run'
page 404 /runs/3 'one that is not there'
page 200 '/runs/1/log?task=long' 'the end of a log'
is "$(grep -cx 40000 body)$(grep -cx 1 body)" 10 'its last lines'
is "$(wc -l <body | awk '{ print $1 < 12000 }')" 1 'not all of them'
page 200 '/runs/1/log?task=long&from=0' 'its beginning'
is "$(grep -cx 40000 body)$(grep -cx 100 body)" 01 'and its first lines'
next=$(grep -o '/runs/1/log?task=long[^"]*from=65536' body | head -n 1 | sed 's/&amp;/\&/g')
page 200 "$next" 'what follows'
is "$(sed -n 's/.*bytes \([0-9]*\) to .*/\1/p' body)" 65536 'from where the first part ends'
page 200 '/runs/2/log?task=a' 'a log of which only begin and end were kept'
has 'of the middle were not kept: they are missing at byte '
page 200 '/runs/2' 'its run'
has 'Before these lines the middle of the log is missing'
page 200 '/runs/1/log?task=long&from=99999999' 'behind its end'
has 'There is nothing here.'
first=$(sed -n 1p planted)
id=$(cairn status --tasks --all --run 1 2>/dev/null | grep -o 'each\[[^ ]*' | head -n 1)
page 200 "/runs/1/log?task=$(printf '%s' "$id" | sed 's/%/%25/g; s/\[/%5B/; s/\]/%5D/; s/=/%3D/g')" 'a log with planted texts'
ok "$first is text" grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;' body

# ---- What changes meanwhile ----
follow() { # SECONDS PATH [-u TEXT]: what is sent about a page
    build GET "$2" Connection:
    seconds=$1
    shift 2
    "$BUILD/tests/tools/http" -t "$seconds" "$@" "$port" <request | tr -d '\r' >events
}
turn() { grep -o 'data-turn="[0-9]*"' body | tr -dc 0-9; }
cat >slow.yaml <<'END'
name: slow
tasks:
  a: {run: 'until [ -e go ]; do sleep 0.05; done'}
  b: {needs: [a], run: 'echo "<script>alert(1)</script>"'}
END
cairn run -q slow.yaml &
slow=$!
ok 'it has begun' wait_for 10 sh -c 'cairn status 3 2>/dev/null | grep -q running'
for _ in 1 2 3 4 5; do # the run may write something between the two
    ask GET /runs/3
    follow 20 "/runs/3/events?turn=$(turn)" -u 'data: foot' # its time goes on
    ! grep -q '^data: head$' events || continue
    break
done
is "$(sed -n 's/^data: \([a-z0-9]*\)$/\1/p' events | head -n 1)" facts 'only what has changed is sent'
ok 'as events' grep -q '^Content-Type: text/event-stream$' events
ask GET /runs/3
old=$(turn)
(follow 20 "/runs/3/events?turn=$old" -u 'completed, 2 of 2 tasks completed') &
sleep 0.3
: >go
wait $!
ok 'the end is seen' grep -q '^data: <header id="head">.*completed, 2 of 2 tasks completed' events
ok 'the row of a task' sh -c "grep -A1 '^data: r1\$' events | grep -q '^data: <tr id=\"r1\">.*completed'"
wait $slow
ask GET /runs/3
follow 1 "/runs/3/events?turn=$(turn)"
is "$(grep -c '^event' events)" 0 'nothing is sent while nothing happens'
follow 1 "/runs/3/events?turn=$old"
is "$(sed -n 's/^data: \([a-z0-9]*\)$/\1/p' events | tr '\n' ' ')" 'head facts todo n0 n1 path chart r0 r1 details foot ' 'who has an older page gets all of it'
is "$(grep -c '<script>' events)" 0 'as texts'
follow 1 "/events"
is "$(sed -n 's/^data: \([a-z0-9]*\)$/\1/p' events | tr '\n' ' ')" 'needs runs sessions foot ' 'the first page'
# A log, as it is written: of a line that is overwritten the last state, colours as classes.
cat >paint.yaml <<'EOF'
name: paint
tasks:
  a: {run: 'printf "plain \\033[1;31mred <b>\\033[0m 10%%\\r20%%\\nnext\\n"; until [ -e dry ]; do sleep 0.05; done; printf "\\033[38;2;1;2;3mx\\033[32;44mlast\\n"'}
EOF
cairn run -q paint.yaml &
paint=$!
ok 'a task writes' wait_for 10 sh -c 'cairn log a --run 4 2>/dev/null | grep -q next'
page 200 '/runs/4/log?task=a' 'its log'
has '20%' 'the last state of a line'
is "$(grep -c '10%' body)" 0 'without those before'
(follow 20 "/runs/4/log/events?task=a&turn=$(turn)" -u 'last</span>') &
sleep 0.3
: >dry
wait $!
ok 'what is written is sent' grep -qF 'data: x<span class="ink2">last</span>' events
wait $paint
page 200 '/runs/4/log?task=a' 'the log of an ended task'
follow 1 "/runs/4/log/events?task=a&turn=$(turn)"
is "$(grep -c '^event' events)" 0 'does not change'

# It sleeps: nothing is asked again and again while pages are open.
wakes() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$server/status"; }
build GET /events Connection:
"$BUILD/tests/tools/http" -t 4 -n 10 "$port" <request >many &
open=$!
sleep 1
woken=$(wakes)
sleep 1.5
ok 'the server sleeps while nothing happens' test $(($(wakes) - woken)) -le 3
wait $open
is "$(grep -c ' 200 ' many)" 10 'with ten pages open'
cairn run -q fine.yaml --fresh >/dev/null 2>&1 &
follow 20 "/events?turn=$(turn)" -u 'run 5'
ok 'and sees at once what another process does' grep -q 'run 5' events
wait $!
cookie_kept=$cookie
cookie=none=
ask GET /runs/3/events
is "$code" 401 'not without the cookie'
cookie=$cookie_kept
for wrong in /runs/3/task/events /x/events /events/events /runs/03/events; do
    ask GET "$wrong"
    is "$code" 404 "no events of $wrong"
done
build GET "/runs/3/events" Connection:
"$BUILD/tests/tools/http" -n 80 -u HTTP/1.1 "$port" <request >many
is "$(grep -c ' 200 ' many)/$(grep -c ' 503 ' many)" 64/16 'at most 64 are followed'
# Half a minute is given to all of a request, whatever comes of it meanwhile.
build GET /
{ head -c -2 request && seq -f 'X: %.0f' 100 && echo; } | sed 's/\r*$/\r/' >slow
"$BUILD/tests/tools/http" -t 60 -s 100 -n 20 "$port" <slow >slow.out &
slowly=$!
printf 'name: seen\ntasks: {a: {run: "until [ -e on ]; do sleep 0.05; done"}, b: {needs: [a], run: "exit 3"}}\n' >seen.yaml
printf 'name: killed\ntasks: {a: {run: "true"}, b: {needs: [a], run: "until [ -e again ]; do sleep 0.05; done"}}\n' >killed.yaml
browse 'a browser shows what happens' \
    '!(cairn run -q seen.yaml >/dev/null 2>&1 &)' \
    '/6 runs/.test(document.body.innerText)' 'location.href = "/runs/6"; true' \
    'document.querySelector("#head .run")?.textContent === "running, 0 of 2 tasks completed"' \
    'window.kept = true; document.querySelector("a.node").focus(); true' '!touch on' \
    'document.querySelector("#head .run").textContent === "failed, 1 of 2 tasks completed"' \
    'window.kept && document.activeElement.id === "n0"' \
    '[...document.querySelectorAll("a.node")].map((a) => a.getAttribute("class")).join() === "node completed critical,node failed critical"' \
    '/exit 3/.test(document.querySelector("#r1").innerText)' 'location.href = "/runs/1"; true' \
    'document.title.includes("planted")' 'document.scripts.length === 1 && !document.querySelector("img, iframe, base")' \
    'document.documentElement.scrollWidth <= innerWidth' \
    '@/' '!cairn run -q killed.yaml >/dev/null 2>&1 & echo $! >owner' '/7 runs/.test(document.body.innerText)' '@/runs/7' \
    'document.querySelector("#head .run").textContent === "running, 1 of 2 tasks completed"' 'window.kept = true' \
    '!kill -9 $(cat owner)' 'document.querySelector("#head .run").textContent === "interrupted, 1 of 2 tasks completed"' \
    '!cairn resume -q 7 >/dev/null 2>&1 &' 'document.querySelector("#head .run").textContent === "running, 1 of 2 tasks completed"' \
    '!touch again' 'document.querySelector("#head .run").textContent === "completed, 2 of 2 tasks completed"' 'window.kept'

# ---- Many, slow, and the end ----
n=0
for _ in 1 2 3 4 5; do
    ask GET /
    [ "$code" = 200 ] || n=$((n + 1))
done
is "$n" 0 'beside 20 that send a byte each tenth of a second'
wait $slowly
is "$(grep -c ' 200' slow.out)" 0 'which are cut off'
build GET /runs/1
"$BUILD/tests/tools/http" -n 200 "$port" <request >many
is "$(grep -c '^HTTP/1.1 200' many)" 200 '200 clients at once'
build GET / 'Cookie:'
"$BUILD/tests/tools/http" -n 200 "$port" <request >many
is "$(grep -c '^HTTP/1.1 401' many)" 200 'and 200 strangers'
head -c 20 request >half
"$BUILD/tests/tools/http" -t 2 -n 200 "$port" <half >many &
strangers=$!
"$BUILD/tests/tools/http" -t 2 -r 100 "$port" <request >/dev/null &
slow=$!
ask GET /
is "$code" 200 'beside 200 that say half of something, and one that does not read'
wait $strangers $slow
for n in 128 129 500 2000; do
    ask GET "/?$(yes 'a&' | head -n $((n - 1)) | tr -d '\n')a"
    is "$code" "$([ $n -le 128 ] && echo 200 || echo 400)" "an address of $n parts"
done
ok 'says why' grep -q 'at most 128 parts' body
printf 'GET / HTTP/1.1\r\nHost: a\r\nCookie: %s\r\n\r\n' "$(head -c 60000 /dev/zero | tr '\0' a)" >request
"$BUILD/tests/tools/http" "$port" <request >answer
ok 'headers have a bound' grep -qE '^HTTP/1.1 4' answer
mv .cairn away
ask GET /
is "$code" 500 'the store is gone'
mv away .cairn
ask GET /
is "$code" 200 'and is back'
before=$(cairn events 1 | wc -l)
stop
is "$status" 0 'SIGTERM ends it in order'
is "$(cairn events 1 | wc -l)" "$before" 'nothing was written'

serve --idle 1s
wait "$server"
is "$?" 0 'nobody came: it ends'
printf 'name: once\ntasks: {a: {once: true, check: "false", run: "kill -9 $PPID; sleep 5"}}\n' >once.yaml
run cairn run -q once.yaml
serve --allow-host proxy.example
enter
ask GET / 'Host: proxy.example'
is "$code" 200 'by the name that --allow-host gives'
has ': a is unknown: its check decides' 'nobody is asked to decide what a check decides'
stop
printf '#!/bin/sh\nprintf "%%s" "$1" >browsed\n' >browser
chmod +x browser
BROWSER=$PWD/browser serve --open
ok 'the browser is started' wait_for 10 test -s browsed
is "$(cat browsed)" "$(cat url)" 'with the address'
stop
done_testing
