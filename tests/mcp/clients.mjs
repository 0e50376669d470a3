// clients.mjs MODE COMMAND [ARGUMENT]...: one client against a server, in an empty directory
// with a store of its own. MODE: v1, or of version 2 legacy, auto or a version to pin.
// Where COMMAND is an address (http://...), the server runs there, and $TOKEN is its token.
// Prints TAP lines without a number's plan; the caller counts.
import { writeFileSync } from 'node:fs';

const [mode, command, ...args] = process.argv.slice(2);
const overHttp = command.startsWith('http://');
const transport = ({ StdioClientTransport, StreamableHTTPClientTransport }) =>
    overHttp
        ? new StreamableHTTPClientTransport(new URL(command), {
              requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
          })
        : new StdioClientTransport({ command, args, env: process.env });
let client;
if (mode === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const stdio = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const http = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    client = new Client({ name: 'cairn-test', version: '0' });
    await client.connect(transport({ ...stdio, ...http }));
} else {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const stdio = await import('@modelcontextprotocol/client/stdio');
    const how = /^20/.test(mode) ? { pin: mode } : mode;
    client = new Client({ name: 'cairn-test', version: '0' }, { versionNegotiation: { mode: how } });
    await client.connect(transport({ ...stdio, StreamableHTTPClientTransport }));
}

const check = (good, name) => console.log(`${good ? 'ok' : 'not ok'} - ${mode}: ${name}`);
const { tools } = await client.listTools();
check(tools.length >= 70, `lists ${tools.length} tools`);

// Every answer is held against the tool's output schema by the client, which throws.
const called = new Set();
async function call(name, given, wantsError = false) {
    called.add(name);
    try {
        const result = await client.callTool({ name, arguments: given });
        check(Boolean(result.isError) === wantsError, `${name} ${JSON.stringify(given).slice(0, 60)}`);
        if (Boolean(result.isError) !== wantsError) console.log(`# ${JSON.stringify(result).slice(0, 500)}`);
        return result.structuredContent ?? {};
    } catch (error) {
        check(false, `${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 300)}`);
        return {};
    }
}
const until = async (name, given, done) => {
    for (let i = 0; i < 200; i++) {
        const result = await client.callTool({ name, arguments: given });
        if (done(result.structuredContent)) return;
        await new Promise((go) => setTimeout(go, 50));
    }
    check(false, `waited in vain for ${name}`);
};

await call('session_start', { name: 'bug' });
await call('board_add', { kind: 'hypothesis', text: 'the cache', prior: 0.3, tags: ['a'] });
await call('board_add', { kind: 'evidence', text: 'seen', hypothesis: 'h1', strength: 0.4 });
await call('board_add', { kind: 'belief', text: 'one', confidence: 0.8 });
await call('board_add', { kind: 'belief', text: 'two' });
await call('board_add', { kind: 'dependency', from: 'b1', to: 'b2' });
await call('board_add', { kind: 'gap', text: 'who?', criticality: 'high' });
await call('board_add', { kind: 'check', text: 'it holds', run: 'exit 1', retries: 0 });
await call('note_add', { text: 'remember' });
await call('board_add', { kind: 'note', txt: 'x' }, true);
for (const kind of ['hypothesis', 'evidence', 'belief', 'dependency', 'gap', 'note', 'command', 'check'])
    await call('board_list', { kind });
await call('board_show', { kind: 'hypothesis', id: 'h1' });
await call('board_update', { kind: 'note', id: 'n1', text: 'remember this' });
await call('board_set_status', { id: 'h1', status: 'testing' });
await call('board_remove', { kind: 'note', id: 'n1' });
await call('session_undo', {});
await call('check_run', { all: true });
const saved = await call('checkpoint_save', { summary: 'stale', context: { next: 'test' }, full_state: 'all', tokens: 9 });
const checkpoint = saved.id;
await call('checkpoint_save', { summary: 'again', trigger: 'tool-call' });
await call('checkpoint_list', {});
await call('checkpoint_get', { checkpoint });
await call('checkpoint_search', { query: 'stale', top_k: 3 });
await call('search', { query: 'cache', in: 'board' });
await call('checkpoint_resume', { level: 'summary' });
await call('checkpoint_resume', { checkpoint, level: 'full' });
await call('checkpoint_files', { checkpoint }, true);
await call('session_log', {});
await call('checkpoint_diff', { from: checkpoint });
await call('checkpoint_restore', { checkpoint });
await call('checkpoint_restore', { checkpoint, confirm: true });
await call('checkpoint_fork', { checkpoint, name: 'other' });
const extra = await call('checkpoint_save', { message: 'to be deleted' });
await call('checkpoint_save', { message: 'after it' });
await call('checkpoint_delete', { checkpoint: extra.id });
await call('checkpoint_delete', { checkpoint: 'debug:9999' }, true);
await call('session_report', {});
await call('session_show', {});
await call('session_list', { limit: 5 });
await call('session_end', {});
await call('session_switch', { session: 'bug' });

await call('run_plan', { file: 'flow.yaml' });
const { run } = await call('run_start', { file: 'flow.yaml', params: { day: 'monday' } });
await until('task_next', { run }, (next) => next?.next?.length === 2);
await call('task_next', { run });
const { token } = await call('task_claim', { run, task: 'one', holder: 'me' });
await call('task_renew', { run, task: 'one', token, lease: '5m' });
await call('task_complete', { run, task: 'one', token, outputs: {} });
await call('task_fail', { run, task: 'two', message: 'no' });
await until('run_status', { run }, (status) => status?.live === false);
await call('run_status', { run, tasks: true });
await call('run_list', {});
await call('run_explain', { task: 'hi', run });
await call('run_log', { task: 'hi', run });
await call('run_log', { run });
await call('run_resume', { run });
await call('run_cancel', { run });
await until('run_status', { run }, (status) => status?.live === false);
await call('checkpoint_get', { checkpoint: 'workflow:' + (await client.callTool({ name: 'run_status', arguments: { run } })).structuredContent.checkpoint });
await call('run_cancel', {}, true);

// Sets that are not offered by themselves.
await call('session_config', { name: 'files', value: process.cwd() });
await call('session_config', {});
writeFileSync('code.txt', 'good\n');
const good = (await call('checkpoint_save', { message: 'with files' })).id;
writeFileSync('code.txt', 'bad\n');
const bad = (await call('checkpoint_save', { message: 'with other files' })).id;
await call('checkpoint_cat', { checkpoint: good, path: 'code.txt' });
await call('checkpoint_cat', { checkpoint: good, path: 'none.txt' }, true);
await call('checkpoint_file_log', { path: 'code.txt', limit: 5 });
await call('checkpoint_grep', { pattern: 'go+d', paths: ['*.txt'] });
await call('checkpoint_blame', { path: 'code.txt' });
await call('checkpoint_bisect', { good, bad, command: ['grep', '-q', 'good', 'code.txt'] });
await call('checkpoint_at', { at: good, section: 'notes' });
await call('checkpoint_timeline', { limit: 3 });
await call('checkpoint_label', { checkpoint: good, label: 'good' });
await call('checkpoint_note', { checkpoint: good, text: 'it worked', severity: 'info' });
await call('checkpoint_restore', { checkpoint: good, confirm: true });
await call('checkpoint_undo_restore', { direction: 'undo', confirm: true });
await call('checkpoint_undo_restore', { direction: 'redo' });
await call('branch_start', { name: 'try' });
await call('branch_list', {});
await call('branch_switch', { name: 'main' });
await call('branch_merge', { name: 'try', take: 'union' });
await call('branch_start', { name: 'other-try' });
await call('branch_switch', { name: 'main' });
await call('branch_abandon', { name: 'other-try', reason: 'no' });
await call('belief_cascade', { id: 'b1', confidence: 0.4 });
await call('belief_cascade', { id: 'b1', confidence: 0.4, confirm: true });
const { message } = await call('message_add', { role: 'user', text: 'hello' });
await call('message_list', { limit: 5 });
await call('message_show', { message });
await call('exec', { command: ['sh', '-c', 'echo hi; exit 3'] });
await call('exec', { command: ['true'] });
await call('run_values', { run });
await call('run_validate', { file: 'flow.yaml' });
await call('run_validate', { file: 'none.yaml' }, true);
await call('run_graph', { file: 'flow.yaml' });
await call('run_rerun', { run, tasks: ['hi'], only: true });
await until('run_status', { run }, (status) => status?.live === false);
await call('run_resolve', { run, task: 'hi', outcome: 'done' }, true);
await call('run_undo', { run }, true);
await call('store_stats', {});
await call('store_verify', {});
await call('store_doctor', {});
await call('store_gc', { keep_runs: 1 });
await call('checkpoint_prune', { keep_last: 1 });
await call('checkpoint_recover', {});
await call('session_size', {});
check(tools.every((tool) => called.has(tool.name)), `every tool was called ${tools.filter((tool) => !called.has(tool.name)).map((tool) => tool.name)}`);

const list = await client.listResources();
check(list.resources.some((resource) => resource.uri === `cairn://run/${run}`), 'lists the run as a resource');
const read = await client.readResource({ uri: `cairn://run/${run}` });
check(JSON.parse(read.contents[0].text).run === run, 'reads it');
check((await client.listResourceTemplates()).resourceTemplates.length === 4, 'lists templates');
check((await client.listPrompts()).prompts.length === 2, 'lists prompts');
const prompt = await client.getPrompt({ name: 'debug-failed-run', arguments: { run: String(run) } });
check(prompt.messages[0].content.text.includes('"workflow":"flow"'), 'gets a prompt');
const completion = await client.complete({ ref: { type: 'ref/prompt', name: 'resume-work' }, argument: { name: 'level', value: 'f' } });
check(completion.completion.values[0] === 'full', 'completes an argument');
await client.callTool({ name: 'no_such_tool', arguments: {} }).then(() => check(false, 'an unknown tool'), (error) => check(error.code === -32602, 'an unknown tool'));
await client.close();
