# shellcheck shell=sh
# A store to look at, in this directory: a run with everything that a run can show, and a
# session with a board, messages, branches, files and pictures. For tests of pages, and for
# the pictures of the guide. `cairn` is in PATH.
dot=iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAMAAABg3Am1AAAABlBMVEXw8PUoWsiqzP4aAAAAQUlEQVR42u3UsQ0AMAjEQLz/0qnocSQkined6/hUpXQpOvl8SMAJcAKcACksACkCboD90/DX6vfgF+c37X+NlL56tmQBtluSt0wAAAAASUVORK5CYII=
disc=iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAMAAABg3Am1AAAABlBMVEXw8PUojEZ3rjKkAAAAWUlEQVR42u3VMQoAIAwEQff/nxY7C0U2aEDI1ZlO71qrjDBHnp8Jq9j7vWAfe78UIIUF4ARIYQFIYQFIUaDALfD+eSd8Ud8aCUXmu9W3t9+HwAL5jQus6Ifp6A4E3k2frT8AAAAASUVORK5CYII=
cat >release.yaml <<'END'
name: release
description: Build, test and publish the packages
jobs: 3
on_failure: continue
params: {version: {default: 2.4.0}}
tasks:
  fetch: {description: Get the sources, run: 'echo "cloned 1,204 files"; echo rows=1204 >>"$CAIRN_OUTPUT"'}
  generate: {needs: [fetch], run: 'sleep 0.1; echo 12 files'}
  compile: {foreach: {arch: [amd64, arm64, riscv64]}, needs: [generate], run: 'sleep 0.2; echo "built for $arch"'}
  docs: {needs: [fetch], run: 'sleep 0.3; echo 42 pages'}
  test: {foreach: {arch: [amd64, arm64, riscv64]}, needs: ['compile[arch=${{ arch }}]'], retries: 1, run: 'echo "211 tests"; if [ "$arch" = riscv64 ] && [ ! -e fixed ]; then printf "\033[31mFAIL\033[0m  atomics: expected 4, got 3\n" >&2; exit 1; fi; printf "\033[32mok\033[0m\n"'}
  sign: {needs: [docs], external: 'sign the packages of 2.4.0 on the machine that has the key'}
  publish: {needs: [test, sign], run: 'true'}
finally:
  sweep: {run: 'echo clean'}
END
cairn run -q --no-wait release.yaml >/dev/null 2>&1
mkdir src src/images
printf '%s\n' 'import time' '' 'LIMIT = 30' '' 'def login(user):' '    time.sleep(0.5)' '    return lookup(user)' >src/login.py
printf '%s\n' '# Notes' '' 'The login is slow since Tuesday.' >src/notes.md
echo $dot | base64 -d >src/images/latency.png
echo 'cache' >src/names
cairn session start 'slow login' >/dev/null 2>&1
{
    cairn session config files src
    cairn session message add 'Logging in takes ten seconds since Tuesday. Why?'
    cairn session message add --role assistant --tokens-in 1200 --tokens-out 80 'I look at what changed on Tuesday, and at the cache.'
    cairn hypothesis add 'The session cache is cold after each deploy' --prior 0.4
    cairn hypothesis add 'DNS answers slowly from the new hosts' --prior 0.3
    cairn hypothesis add 'The password hash costs more since the upgrade' --prior 0.3
    cairn checkpoint create 'what may be the cause' --tag start
    cairn evidence add h1 'hit rate 12 % in the ten minutes after a deploy' --strength 0.5
    cairn evidence add h2 'dig answers within 2 ms from every host' --strength -0.8 --kind experiment
    cairn gap add 'Is the hit rate low between deploys, too?' --criticality high --hypothesis h1
    cairn gap add 'Which hosts were added on Tuesday?' --hypothesis h2
    cairn belief add 'The load balancer is as before' --confidence 0.9 --subject balancer --claim unchanged
    cairn belief add 'Requests reach all hosts alike' --confidence 0.8
    cairn belief add 'One host is not the cause' --confidence 0.75
    cairn belief add 'The balancer was replaced on Tuesday' --confidence 0.8 --subject balancer --claim unchanged --denied
    cairn belief depend b2 b1
    cairn belief depend b3 b2
    cairn check add 'the login answers within a second' --run 'true' --hypothesis h1
    cairn check run v1
    cairn note add 'Ask the night shift what they saw'
    cairn exec -- sh -c 'echo 9.8 s'
    cairn checkpoint create 'first measurements'
    cairn evidence add h3 'the hash takes 0.1 s, as before' --strength -0.9 --kind experiment
    sed -i 's/0.5/0.05/; s/LIMIT = 30/LIMIT = 10/' src/login.py
    printf '%s\n' '' 'def warm():' '    for user in recent():' '        lookup(user)' >>src/login.py
    echo $disc | base64 -d >src/images/latency.png
    mv src/names src/keys
    cairn session message add --role assistant --tokens-in 2100 --tokens-out 240 'The cache is cold after each deploy. I warm it up when the server starts.'
    cairn checkpoint create 'warm the cache up' --tag fix
    cairn checkpoint label head keep
    cairn branch start alternative --from head~2
    cairn evidence add h2 'one resolver times out' --strength 0.6 --kind experiment
    cairn checkpoint create 'another look at DNS'
    cairn branch switch main
    cairn search login
} >/dev/null 2>&1
