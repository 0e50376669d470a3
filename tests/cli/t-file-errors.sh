# Workflow files that are missing, unreadable or wrong: exit 3 (2 and 75 where the file
# itself is the trouble), the place, and what to do; and nothing is left behind.
. "$TESTS/cli/tap.sh"

# refused NAME 'TEXT'...: the workflow on stdin is refused, and the message has the texts
refused() {
    cat >"$1.yaml"
    exits 3 cairn validate "$1.yaml"
    tap_file_name=$1
    shift
    for tap_text; do
        says "$tap_text" "$tap_file_name: the message has: $tap_text"
    done
}

run cairn run missing.yaml
is "$status" 10 'a missing file is not found'
says 'no workflow file missing.yaml' 'and is named'
exits 2 cairn plan -
says '(`cairn plan FILE`)' 'what is no file is not suggested as one'
for command in run validate graph; do
    exits 2 cairn $command -
    says 'a workflow is not read from stdin: give the path of its file' "$command -"
done
says 'give the path' 'with what to do'
mkdir directory.yaml
mkfifo pipe.yaml
again='a workflow must be a regular file, because resume reads it again'
for command in run plan validate graph; do
    exits 2 cairn $command directory.yaml
    says "directory.yaml is a directory: $again" "$command: a directory is not a workflow"
    exits 2 timeout 20 cairn $command pipe.yaml
    says "pipe.yaml is a pipe: $again" "$command does not wait for a pipe"
    exits 2 cairn $command /dev/null
    says "/dev/null is a device: $again" "$command: nor is a device one"
done
exits 2 sh -c 'echo "name: x" | cairn run /dev/stdin'
says "/dev/stdin is a pipe: $again" 'what comes through a pipe on stdin is refused'
printf 'name: x\ntasks:\n  a: {run: "true"}\n' >stdin.yaml
exits 0 sh -c 'cairn validate /dev/stdin <stdin.yaml'
exits 2 sh -c 'exec 3<stdin.yaml; rm stdin.yaml; cairn run /dev/fd/3'
says "/dev/fd/3 has no name of its own: $again" 'a file that was removed cannot be read again'

# Nor do the lines of a foreach come from anything but a file.
mkfifo lines.pipe
for kind in 'lines.pipe is a pipe' '/dev/zero is a device' 'directory.yaml is a directory'; do
    printf 'name: x\ntasks:\n  a: {run: "true", foreach: {k: {lines: %s}}}\n' "${kind%% *}" >lines.yaml
    for command in validate run plan; do
        exits 3 timeout 20 cairn $command lines.yaml
        says "lines.yaml:3:41: " "$command tells the place"
        says "$kind" "$command: $kind"
    done
done

echo 'name: x' >secret.yaml
chmod 000 secret.yaml
if [ "$(id -u)" != 0 ]; then
    run cairn run secret.yaml
elif command -v setpriv >/dev/null; then
    chmod 755 . && run setpriv --reuid=65534 --regid=65534 --clear-groups cairn run "$PWD/secret.yaml"
fi
if [ "$(id -u)" != 0 ] || command -v setpriv >/dev/null; then
    ok 'an unreadable file is an error' test "$status" -ne 0
    says 'Permission denied' 'and says so'
    says 'secret.yaml' 'and is named'
else
    skip 'an unreadable file' 'root may read everything, and setpriv is missing'
fi
ok 'no store was made' test ! -e .cairn

: >empty.yaml
exits 3 cairn validate empty.yaml
says 'empty.yaml' 'an empty file is named'

refused syntax 'syntax.yaml:5:1' 'begins at 4:10' 'not closed' <<'END'
name: x
tasks:
  a:
    run: [echo
END
refused tab 'tab.yaml:3:' <<'END'
name: x
tasks:
	a: {run: echo}
END
refused no-tasks 'no-tasks.yaml' 'tasks' <<'END'
name: x
END
refused zero-tasks 'zero-tasks.yaml' 'task' <<'END'
name: x
tasks: {}
END
refused unknown-key 'unknown-key.yaml:5:5' 'neds' 'did you mean `needs`' '    neds: [a]' '^' <<'END'
name: x
tasks:
  a: {run: echo}
  b:
    neds: [a]
    run: echo
END
refused unknown-top 'unknown-top.yaml:2:1' 'job' 'jobs' <<'END'
name: x
job: 3
tasks:
  a: {run: echo}
END
refused duplicate-key 'duplicate-key.yaml:5:5' 'run' <<'END'
name: x
tasks:
  a:
    run: echo 1
    run: echo 2
END
refused duplicate-task 'duplicate-task.yaml:4:3' '`a`' <<'END'
name: x
tasks:
  a: {run: echo 1}
  a: {run: echo 2}
END
refused wrong-type 'wrong-type.yaml:3:' 'run' <<'END'
name: x
tasks:
  a: {run: {echo: 1}}
END
refused jobs-type 'jobs-type.yaml:2:' 'jobs' <<'END'
name: x
jobs: several
tasks:
  a: {run: echo}
END
refused timeout-type 'timeout-type.yaml:3:' 'timeout' <<'END'
name: x
tasks:
  a: {run: echo, timeout: soon}
END
refused bool-trap 'bool-trap.yaml:2:' 'no' <<'END'
name: x
env: {COUNTRY: no}
tasks:
  a: {run: echo}
END
refused two-commands 'two-commands.yaml:' 'exec' <<'END'
name: x
tasks:
  a: {run: echo, exec: [echo]}
END
refused no-command 'no-command.yaml:' '`a`' <<'END'
name: x
tasks:
  a: {needs: []}
END
refused cycle 'cycle' <<'END'
name: x
tasks:
  a: {run: echo, needs: [c]}
  b: {run: echo, needs: [a]}
  c: {run: echo, needs: [b]}
END
matches 'a -> [bc] -> [bc] -> a|b -> [ac] -> [ac] -> b|c -> [ab] -> [ab] -> c' 'the whole cycle is named'
refused self-need 'itself' <<'END'
name: x
tasks:
  a: {run: echo, needs: [a]}
END
refused unknown-need 'unknown-need.yaml:4:' 'compiel' 'compile' <<'END'
name: x
tasks:
  compile: {run: echo}
  link: {run: echo, needs: [compiel]}
END
refused bad-param 'whenn' <<'END'
name: x
params: {when: now}
tasks:
  a: {exec: [echo, "${{ params.whenn }}"]}
END
refused glob 'nothing-here' <<'END'
name: x
tasks:
  a: {foreach: {f: {glob: "nothing-here/*"}}, run: echo}
END
refused lines 'no-such-list' <<'END'
name: x
tasks:
  a: {foreach: {f: {lines: no-such-list}}, run: echo}
END
refused lines-directory 'directory.yaml is a directory' <<'END'
name: x
tasks:
  a: {foreach: {f: {lines: directory.yaml}}, run: echo}
END
refused pool 'pool' 'databse' <<'END'
name: x
pools: {database: 2}
tasks:
  a: {run: echo, pool: databse}
END
printf '{"name": "x", "tasks": {"a": {"run": "echo"}}}' >good.json
exits 0 cairn validate good.json
printf '{"name": "x", "tasks": {"a": {"runs": "echo"}}}' >bad.json
exits 3 cairn validate bad.json
says 'bad.json:1:' 'JSON is checked like YAML, with the place'

exits 3 cairn run cycle.yaml
exits 3 cairn validate cycle.yaml --json
json_ok 'what is wrong is JSON with --json'
exits 2 cairn run good.json --param nonsense
exits 2 cairn run good.json --param day=1
says 'day' 'a parameter that the workflow does not have is named'
ok 'nothing of it made a store' test ! -e .cairn

exits 0 cairn run good.json
rm good.json
mkfifo good.json
exits 2 timeout 20 cairn resume
says 'good.json is a pipe' 'a pipe in the place of the file of a run is not waited for'
rm -rf .cairn good.json

exits 2 cairn run
says 'no workflow file' 'without a file and without cairn.yaml'
ln -s cairn.yaml cairn.yaml
exits 75 cairn run
matches 'cairn.yaml: .*symbolic links' 'a cairn.yaml that cannot be looked at is not taken for none'

done_testing
