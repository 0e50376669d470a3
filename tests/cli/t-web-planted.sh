# More than 100 texts that somebody wrote to be seen as something else (tests/data/planted), in
# every field that can be shown: found as nothing but text in every view, and in a report.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION

while IFS= read -r line; do printf '%b\n' "$line"; done <"$TESTS/data/planted" >planted
ok 'there are 100' test "$(wc -l <planted)" -ge 100
ok 'a session takes them' test "$("$BUILD/tests/tools/sow" .cairn planted)" -ge 1200
mkdir files
i=0
while IFS= read -r line; do
    i=$((i + 1))
    name=$(printf '%s' "$line" | tr '/' '|')
    cp planted "files/$name" 2>/dev/null || cp planted "files/$i"
done <planted
printf '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>' >files/picture.svg
printf '\211PNG\r\n\032\n<script>alert(1)</script>\0' >files/picture.png
run cairn session config files files
exits 0 cairn checkpoint create 'with files'
from=$(cat out)
tac planted >files/-
mv files/picture.svg files/moved.svg
printf '\211PNG\r\n\032\n<svg onload=alert(1)>\0' >files/picture.png
exits 0 cairn checkpoint create 'with other files'
to=$(cat out)
# What a workflow file can have: what is printable, and no expression.
LC_ALL=C grep -avE '[^ -~]|[$][{][{]' planted >printable
ok 'most of them are printable' test "$(wc -l <printable)" -ge 70
quoted() { sed "s/'/''/g; s/.*/'&'/" printable; }
one() { quoted | sed -n "$1p"; }
cat >cairn.yaml <<END
name: planted
description: $(one 1)
on_failure: continue
jobs: 4
params: {p: {default: none}}
tasks:
  say: {description: $(one 5), run: 'cat planted; i=0; while IFS= read -r line; do i=\$((i + 1)); printf "v%s=%s\n" \$i "\$line" >>"\$CAIRN_OUTPUT"; done <printable'}
  each: {foreach: {text: [$(quoted | paste -sd, -)]}, env: {TEXT: '\${{ text }}'}, run: 'printf "%s\n" "\$TEXT"; cat planted >&2; exit 1'}
  ask: {external: $(one 7)}
  lost: {external: $(one 8)}
END
run cairn run -q --no-wait --sync off --param "p=$(sed -n 2p printable)"
run cairn claim 1 ask --holder "$(sed -n 6p printable)"
run cairn fail 1 lost --message "$(cat printable)"
run cairn run -q --no-wait --sync off --param "p=$(sed -n 9p printable)"
is "$(cairn runs --json >s; json_get .total s)" 2 'and two runs'
cairn search script >/dev/null 2>&1

# ---- All views that links lead to, a few of each kind ----
KIND_MOST=8
serve --allow-changes
enter
for start in / /sessions/1 /sessions/1/messages /timeline '/search?q=script' '/search?q=alert' '/sessions/1/grep?pattern=alert' '/sessions/1/size'; do echo "$start"; done >queue
cp queue seen
: >all
: >wrong
pages=0
while [ -s queue ] && [ $pages -lt 400 ]; do
    path=$(head -n 1 queue)
    sed -i 1d queue
    ask GET "$path"
    [ "$code" = 200 ] || echo "$path: $code" >>wrong
    pages=$((pages + 1))
    sed "s/ id=\"/ id=\"p$pages-/g; s/ href=\"#/ href=\"#p$pages-/g" body >>all
    grep -oE ' href="/[^"]*"' body | sed 's/ href="//; s/"$//; s/#.*//; s/&amp;/\&/g' |
        grep -vE '^/(page-|checkpoints/[0-9]*/(raw|picture))' >found
    awk -v most=$KIND_MOST '
        { kind = $0; gsub(/=[^&]*/, "=", kind); gsub(/[0-9]+/, "N", kind) }
        FILENAME == "seen" { seen[$0]; n[kind]++; next }
        !($0 in seen) && n[kind]++ < most { seen[$0]; print }' seen found >new
    cat new >>queue
    cat new >>seen
done
echo "# $pages pages"
ok 'many pages' test $pages -ge 100
is "$(cat wrong)" '' 'each is there'
for kind in '/$' '/runs/[0-9]+$' '/log[?]' '/task[?]' '/tasks' '/plan' '/runs/[0-9]+/audit' '^/audit' '/timeline' '/compare[?]' '/checkpoints/[0-9]+$' '/files' '/file[?]' '/blame' '/history' \
    '/sessions/[0-9]+$' '/messages' '/items' '/item[?]' '/settings' '/size' '/search'; do
    grep -qE "$kind" seen || echo "$kind"
done >missing
is "$(cat missing)" '' 'of every kind of view'
ok 'all are whole and inert' inert all "$served"
sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&#34;/g; s/'"'"'/\&#39;/g' printable >wanted
is "$(while IFS= read -r line; do [ "$(grep -cF -e "$line" all)" -ge 5 ] || echo "$line"; done <wanted)" '' 'each text is there, as text'
for text in '\u202e' '\u2066' '\u200b' '\u2028' '^[]0;title^G' '\xff' '\u2069' '\ufffe' '\U000e0041'; do
    ok "what cannot be seen is seen: $text" grep -qF -e "$text" all
done
cp all body
key=$(key)
post "key=$key&act=complete&run=1&task=ask"
ok 'a preview is inert, too' inert body "$served"
for view in '' '&view=sides'; do
    page 200 "/compare?from=$from&to=$to$view" "files compared$view"
    has '&lt;script&gt;alert(1)&lt;/script&gt;'
done

# ---- In a browser: nothing of it has become an element, or has run ----
grep -vE '^/(search|compare)' seen | awk '{ kind = $0; gsub(/=[^&]*/, "=", kind); gsub(/[0-9]+/, "N", kind) } n[kind]++ < 2' | head -n 40 >chosen
set -- '=400x900 light'
while IFS= read -r path; do
    set -- "$@" "@$path" \
        '[...document.querySelectorAll("*")].every((e) => !/^(iframe|base|object|embed|math|template|foreignobject|use|animate|video|audio|marquee|meta|script|style|link)$/i.test(e.localName) || document.head.contains(e))' \
        '[...document.querySelectorAll("*")].every((e) => e.getAttributeNames().every((name) => !/^(on|style|srcdoc|formaction|xlink)/.test(name)))' \
        '[...document.scripts].every((s) => /^.page-[0-9a-f]{16}.js$/.test(s.getAttribute("src"))) && [...document.links].every((a) => a.origin === location.origin)' \
        'document.documentElement.scrollWidth <= innerWidth'
done <chosen
browse 'planted texts in a browser' "$@"
stop

# ---- In a report ----
exits 0 cairn report --html 1 -o page.html
ok 'the report is inert' inert page.html
is "$(while IFS= read -r line; do grep -qF -e "$line" page.html || echo "$line"; done <wanted)" '' 'and has them all'
is "$(grep -c '<script\|src=\"' page.html)" 0 'it loads nothing'
exits 0 cairn report --html --session 1 -o page.html
ok 'that of a session is, too' inert page.html
ok 'it has less than 2 MB' test "$(wc -c <page.html)" -lt 2000000
is "$(while IFS= read -r line; do grep -qF -e "$line" page.html || echo "$line"; done <wanted)" '' 'and has them all'
is "$(grep -c '<script\|src=\"\|href=\"/' page.html)" 0 'it loads nothing'
done_testing
