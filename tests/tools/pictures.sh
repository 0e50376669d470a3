#!/bin/sh
# Makes the pictures of docs/guide-page.md and README.md, of the store of scene.sh, by
# Chromium. Run from the project's root, after a build:
#
#   make pictures
set -u
docs=$PWD/docs tools=$PWD/tests/tools
PATH=$(cd "$BUILD" && pwd):$PATH
place=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$place"' EXIT
server=
mkdir "$place/project"
cd "$place/project" || exit
unset CAIRN_STORE CAIRN_SESSION
# shellcheck disable=SC1091
. "$tools/scene.sh"
cairn web --allow-changes >url 2>web.err &
server=$!
until [ -s url ]; do
    sleep 0.1
    kill -0 "$server" || { cat web.err >&2 && exit 1; }
done
id() { cairn checkpoint list --session 1 --json | tr '{' '\n' | sed -n "s/.*\"debug:\([0-9]*\).*\"message\":\"$1\".*/\1/p" | head -n 1; }
node --experimental-websocket --no-warnings "$tools/browser.mjs" "$(cat url)" 'document.title.startsWith("cairn: /")' \
    '=1260x800 light' '@/runs/1?zoom=70' "<$docs/page-run.webp #graph" \
    '=1180x800 light' '@/sessions/1' "<$docs/page-session.webp #courses" \
    '=1180x800 dark' "@/compare?from=$(id 'first measurements')&to=$(id 'warm the cache up')&view=sides" "<$docs/page-compare.webp details:last-of-type"
wc -c "$docs"/page-*.webp
