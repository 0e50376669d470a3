# shellcheck shell=sh disable=SC2154,SC2016
# Random workflows with services: cairn, and in a third of the cases its guard, is killed
# at random moments and the run resumed, until it completes. Each task looks whether its
# services are alive, and has their ports; some only complete by their fallback; each resume is held against its plan; what is left at the end
# against an unbroken run.
set -u
rounds=${ROUNDS:-4}
[ "$LEVEL" != full ] || rounds=150
tries=0 kills=0 lost=0 repeated=0 undetected=0 failed=0
fail() { # counter, words
    eval "$1=\$(($1 + 1))"
    shift
    echo "# round $round: $*"
}

# A workflow of some services and tasks. What sleeps has the number of the round in it, so
# that it is found.
generate() { # SEED
    awk -v seed="$1" -v mark="$mark" '
        function chance(p) { return rand() < p }
        BEGIN {
            srand(seed)
            services = 1 + int(rand() * 3)
            tasks = 5 + int(rand() * 5)
            print "name: w\njobs: " 1 + int(rand() * 3) "\ntasks:"
            for (i = 1; i <= services; i++) {
                behind[i] = chance(0.4) ? 1 + int(rand() * 3) : 0 # a task that it needs
                needs = behind[i] ? "t" behind[i] : ""
                if (i > 1 && chance(0.4)) {
                    over = 1 + int(rand() * (i - 1))
                    needs = needs (needs == "" ? "" : ", ") "s" over
                    if (behind[over] > behind[i])
                        behind[i] = behind[over]
                }
                printf "  s%d:\n    service: true\n    needs: [%s]\n", i, needs
                ports[i] = chance(0.5)
                if (ports[i])
                    print "    port: [a, b]"
                printf "    run: |\n      rm -f up.s%d\n      echo \"ran s%d\" >>log\n", i, i
                printf "      sleep 0.0%d\n      echo \"$CAIRN_ATTEMPT $$\" >up.s%d\n", 1 + int(rand() * 8), i
                printf "      exec sleep %s\n", mark
                # Of this very start: the file of an earlier one may still be there.
                printf "    ready: {run: \"grep -q ^$CAIRN_ATTEMPT. up.s%d\", every: 10ms}\n", i
            }
            for (k = 1; k <= tasks; k++) {
                needs = ""; looks = ""; env = ""
                for (j = 1; j < k; j++)
                    if (chance(0.25))
                        needs = needs (needs == "" ? "" : ", ") "t" j
                for (i = 1; i <= services; i++)
                    if (behind[i] < k && chance(0.4)) {
                        needs = needs (needs == "" ? "" : ", ") "s" i
                        looks = looks sprintf("      read -r n pid <up.s%d; kill -0 \"$pid\"\n", i)
                        if (ports[i]) { # the same in both forms
                            env = env (env == "" ? "" : ", ") sprintf("P%d: \"${{ tasks.s%d.ports.b }}\"", i, i)
                            looks = looks sprintf("      test \"$P%d\" -gt 0 -a \"$P%d\" = \"$CAIRN_PORT_S%d_B\"\n", i, i, i)
                        }
                    }
                printf "  t%d:\n    needs: [%s]\n    env: {%s}\n", k, needs, env
                if (chance(0.3))
                    printf "    run: exit 1\n    retries: %d\n    fallback: |\n", int(rand() * 2)
                else
                    print "    run: |"
                printf "      echo \"ran t%d\" >>log\n%s", k, looks
                printf "      sleep 0.0%d\n%s      echo \"ok t%d\" >>log\n", int(rand() * 10), looks, k
            }
        }'
}
states() { cairn status --tasks 2>/dev/null | awk '/^  / { print $2, $1 }' | sort; }
planned() { cairn plan "$@" 2>/dev/null | awk '$1 == "run" && !/taken over/ { print $2 }' | sort; }
alive() { pgrep -f "sleep $mark\$" >/dev/null; }
pause() { awk -v seed="$1" -v most="$2" 'BEGIN { srand(seed); printf "%.3f", rand() * most }'; }

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    mark=7701.$round$$
    mkdir r$round && cd r$round || exit 1
    generate $((SEED + round)) >w.yaml
    # Unbroken.
    CAIRN_STORE=$PWD/one cairn run w.yaml >said 2>&1 || { fail failed "the unbroken run failed: $(tail -n 1 said)"; cat w.yaml said | sed 's/^/# /'; }
    CAIRN_STORE=$PWD/one states >want
    sort log 2>/dev/null | uniq -d | grep -q . && fail repeated 'something ran twice in the unbroken run'
    alive && fail undetected 'a service outlives the unbroken run'
    # Killed.
    rm -f log up.*
    step=0
    export CAIRN_STORE="$PWD/two"
    while :; do
        step=$((step + 1))
        tries=$((tries + 1))
        : >log
        planned w.yaml >plan
        [ $step -le 5 ] || break
        cairn run w.yaml >said 2>&1 &
        pid=$!
        sleep "$(pause $((SEED * 7 + round * 100 + step)) 0.35)"
        guard=$(pgrep -P $pid -x cairn-guard)
        [ $(((SEED + round + step) % 3)) -ne 0 ] || [ -z "$guard" ] || kill -KILL "$guard" 2>/dev/null
        kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
        wait $pid 2>/dev/null
        status=$?
        sed -n 's/^ran //p' log | sort -u >ran
        comm -23 ran plan | grep -q . && fail repeated "step $step ran what was not planned: $(comm -23 ran plan | tr '\n' ' ')"
        # A task whose services were away has failed, unless cairn was killed before.
        [ $status -ge 128 ] || [ $status -eq 0 ] || fail failed "step $step exits with $status: $(tail -n 2 said)"
        [ $status -ne 0 ] || break
    done
    [ $step -le 5 ] || cairn run w.yaml >said 2>&1 || fail failed "the last resume failed: $(tail -n 2 said)"
    sed -n 's/^ran //p' log | sort >ran
    if ! cmp -s plan ran; then
        fail repeated "planned $(tr '\n' ' ' <plan), ran $(tr '\n' ' ' <ran)"
    fi
    alive && fail undetected 'a service outlives the last resume'
    states >have
    cmp -s want have || fail lost "ended as $(tr '\n' ' ' <have), unbroken as $(tr '\n' ' ' <want)"
    [ "$(planned --run "$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')")" = '' ] || fail repeated 'more is planned after the end'
    unset CAIRN_STORE
    cd ..
done
echo "figure|G3 G4 G5 G8 G9|random workflows with services: cairn and its guard killed, resumed, each task looks for its services, each resume held against its plan|$rounds workflows, $tries runs, $kills kills|$lost|$repeated|$undetected|$failed"
[ $((lost + repeated + undetected + failed)) -eq 0 ] && [ $kills -gt 0 ]
