# Every view of cairn web as people see it: nothing that axe-core finds, light and dark, nothing
# wider than the window at 400, 1,600 and 2,000 pixels, and a picture of each in build/web to be
# looked at; and all of it by the keyboard.
. "$TESTS/cli/tap.sh"
. "$TESTS/cli/page.sh"
unset CAIRN_SESSION CAIRN_STORE

. "$TESTS/tools/scene.sh"
number() { cairn checkpoint list --session 1 --json | tr '{' '\n' | sed -n "s/.*\"debug:\([0-9]*\).*\"message\":\"$1\".*/\1/p" | head -n 1; }
old=$(number 'first measurements') new=$(number 'warm the cache up')
cat >views <<END
home /
run /runs/1
run-found /runs/1?open=compile&find=test&zoom=70
log /runs/1/log?task=test%5Barch%3Driscv64%5D
task /runs/1/task?task=test%5Barch%3Driscv64%5D
tasks /runs/1/tasks
plan /runs/1/plan
audit /runs/1/audit
audit-store /audit
timeline /timeline
timeline-session /timeline?session=1
compare /compare?from=$old&to=$new
compare-sides /compare?from=$old&to=$new&view=sides
compare-run /compare?from=workflow:1&to=workflow:4
checkpoint /checkpoints/$new
files /checkpoints/$new/files
file /checkpoints/$new/file?path=login.py
picture /checkpoints/$new/file?path=images%2Flatency.png
blame /checkpoints/$new/blame?path=login.py
history /sessions/1/history?path=login.py
grep /sessions/1/grep?pattern=login
session /sessions/1
messages /sessions/1/messages
message /sessions/1/message?n=1
items /sessions/1/items?kind=hypothesis
item /sessions/1/item?id=h1
belief /sessions/1/item?id=b1
settings /sessions/1/settings
size /sessions/1/size
search /search?q=login
END

serve --allow-changes
enter
while read -r name path; do
    page 200 "$path" "$name"
done <views
# What the test installs for itself, where there is a network.
axe=$BUILD/web/package/axe.min.js
mkdir -p "$BUILD/web"
if ! [ -e "$axe" ] && command -v npm >/dev/null; then
    (cd "$BUILD/web" && npm pack --silent axe-core@4.10.3 && tar xzf axe-core-4.10.3.tgz package/axe.min.js) >npm.out 2>&1
fi
set --
while read -r name path; do
    set -- "$@" '=400x900 light' "@$path" 'document.documentElement.scrollWidth <= innerWidth' ">$BUILD/web/$name-400.png"
    [ ! -e "$axe" ] || set -- "$@" "+$axe"
    set -- "$@" '=2000x1200 dark' 'document.documentElement.scrollWidth <= innerWidth' ">$BUILD/web/$name-2000.png"
    [ ! -e "$axe" ] || set -- "$@" "+$axe color-contrast"
    set -- "$@" '=400x900 dark' ">$BUILD/web/$name-400-dark.png" '=1600x1000 light' 'document.documentElement.scrollWidth <= innerWidth' \
        ">$BUILD/web/$name-1600.png" '=1600x1000 dark' ">$BUILD/web/$name-1600-dark.png"
done <views
[ -e "$axe" ] || skip 'axe-core' 'npm could not get it'
browse 'every view in a browser' "$@"
# What Tab comes to is seen, within the window, is drawn with an outline, and follows on what was before it in the page.
seen='(() => { const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e); return e !== document.body && box.width > 0 && box.top >= -1 && box.bottom <= innerHeight + 1 && style.outlineStyle !== "none" && (!window.before || !!(window.before.compareDocumentPosition(e) & 4)) && (window.before = e, true); })()'
set -- '=1180x900 light' '@/runs/1'
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do set -- "$@" '^Tab' "$seen"; done
browse 'Tab goes through a run' "$@"
browse 'past what stands on every page' '@/runs/1' '^Tab' 'document.activeElement.textContent === "to the content" && document.activeElement.getBoundingClientRect().top >= 0' \
    '^Enter' 'location.hash === "#main"' '^Tab' 'document.querySelector("main").contains(document.activeElement)'
browse 'by the keyboard alone' '@/sessions/1' '^j' 'document.activeElement.textContent === "h1"' '^j' 'document.activeElement.textContent === "h2"' \
    '^k' 'document.activeElement.textContent === "h1"' '^?' 'document.getElementById("keys").open' '^j' '^?' 'document.getElementById("keys").open === false' \
    '^Enter' 'location.search === "?id=h1"' '^/' 'document.activeElement.id === "find"' '^j' 'document.activeElement.value === "j"' \
    '^Backspace' '^l' '^o' '^g' '^i' '^n' '^Enter' 'location.search === "?q=login" && document.readyState === "complete"' '^j' 'document.activeElement.closest(".hits li") !== null'
stop
done_testing
