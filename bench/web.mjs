// What the pages of `cairn web` cost: one line per figure, as the other programs here print them.
//
//   node --experimental-websocket bench/web.mjs      WEB_TASKS=10000 WEB_ROUNDS=5; BUILD, BENCH_DIR
//
// web.run.*     a run of WEB_TASKS tasks in one group: its page as the server makes it, and opened in Chromium
//               (until its load event; skipped where there is no Chromium)
// web.tasks     the table of its tasks, sorted by duration
// web.idle.*    ten pages are open and nothing happens: wake-ups and processor of the server in ten seconds, memory
// web.seen      from the end of a task, as it is recorded, until an open page has been sent it
// web.rate      tasks a second of `cairn run` with one page open, over those without one, in turns
import { execFileSync, spawn } from 'child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'fs';

const tasks = Number(process.env.WEB_TASKS || 10000), rounds = Number(process.env.WEB_ROUNDS || 5);
const cairn = `${process.cwd()}/${process.env.BUILD || 'build'}/cairn`;
const dir = mkdtempSync(`${process.env.BENCH_DIR || '/tmp'}/cairn-bench-`);
process.chdir(dir);
process.env.CAIRN_STORE = `${dir}/.cairn`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const figure = (name, samples, unit) => {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  console.log(`${name.padEnd(34)} ${String(samples.length).padStart(9)} ${at(0.5).toFixed(2).padStart(12)} ${at(0.99).toFixed(2).padStart(12)} ${unit}`);
};
const run = (...words) => execFileSync(cairn, words, { stdio: ['ignore', 'pipe', 'ignore'] });
const workflow = (name, n) => writeFileSync(`${name}.yaml`, `name: ${name}
tasks:
  t: {foreach: {n: [${Array.from({ length: n }, (_, i) => i).join(', ')}]}, exec: ["true"]}
`);

// ---- The server, and a browser that has come in ----
const serve = async () => {
  const server = spawn(cairn, ['web'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const url = await new Promise((resolve) => server.stdout.once('data', (bytes) => resolve(String(bytes).trim())));
  return { server, url, base: new URL(url).origin };
};
const enter = async (url) => (await fetch(url)).headers.get('set-cookie').split(';')[0];
const stat = (pid) => ({
  wakes: Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^voluntary_ctxt_switches:\s*(\d+)/m)[1]),
  rss: Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s*(\d+)/m)[1]) / 1024,
  ticks: readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).reduce((a, b) => a + Number(b), 0),
});
const open = async (base, cookie, path) => {
  const html = await (await fetch(base + path, { headers: { cookie } })).text();
  const turn = html.match(/data-turn="(\d+)"/)[1];
  const stop = new AbortController();
  const stream = await fetch(`${base}${path === '/' ? '' : path}/events?turn=${turn}`, { headers: { cookie }, signal: stop.signal });
  return { reader: stream.body.getReader(), stop };
};
const close = async ({ reader, stop }) => {
  stop.abort();
  await reader.closed.catch(() => {});
};

const measure = async () => {
  console.log(`# cairn web: ${tasks} tasks\n${'# name'.padEnd(34)} ${'n'.padStart(9)} ${'median'.padStart(12)} ${'p99'.padStart(12)} unit`);
  workflow('many', tasks);
  run('run', '-q', 'many.yaml');
  const { server, url, base } = await serve();
  const cookie = await enter(url);
  const times = async (path) => {
    const ms = [];
    for (let i = 0; i < 4 * rounds; i++) {
      const begin = performance.now();
      await (await fetch(base + path, { headers: { cookie } })).text();
      ms.push(performance.now() - begin);
    }
    return ms;
  };
  figure('web.run.server', await times('/runs/1'), 'ms');
  figure('web.tasks', await times('/runs/1/tasks?sort=duration'), 'ms');
  figure('web.home', await times('/'), 'ms');

  // ---- Nothing happens ----
  const pages = [];
  for (let i = 0; i < 10; i++) pages.push(await open(base, cookie, '/runs/1'));
  await sleep(2000);
  const before = stat(server.pid);
  await sleep(10000);
  const after = stat(server.pid);
  figure('web.idle.wakes', [after.wakes - before.wakes], 'in 10 s');
  figure('web.idle.processor', [(after.ticks - before.ticks) / 10], '% of one');
  figure('web.idle.memory', [after.rss], 'MiB');
  for (const page of pages) await close(page);

  // ---- A task ends ----
  const seen = [];
  writeFileSync('one.yaml', 'name: one\ntasks: {a: {run: "sleep 0.4"}}\n');
  for (let i = 0; i < 2 * rounds; i++) {
    const process_ = spawn(cairn, ['run', '-q', '--fresh', 'one.yaml'], { stdio: 'ignore' });
    const ended = new Promise((resolve) => process_.on('exit', resolve));
    await sleep(200);
    const page = await open(base, cookie, `/runs/${2 + i}`);
    let text = '', at;
    while (!/class="run completed"/.test(text)) {
      const { value, done } = await page.reader.read();
      if (done) break;
      at = Date.now();
      text += Buffer.from(value);
    }
    await ended;
    await close(page);
    const events = String(run('events', String(2 + i), '--json')).trim().split('\n').map((line) => JSON.parse(line));
    seen.push(at - Date.parse(events.find((event) => event.type === 'run_finished').time));
  }
  figure('web.seen', seen, 'ms');

  // ---- A run beside an open page ----
  const rate = (watched) => async () => {
    const child = spawn(cairn, ['run', '-q', '--fresh', 'many.yaml'], { stdio: 'ignore' });
    const begin = performance.now();
    const ended = new Promise((resolve) => child.on('exit', () => resolve(performance.now())));
    let page;
    if (watched) {
      await sleep(30);
      const { runs } = JSON.parse(run('runs', '--limit', '1', '--json'));
      page = await open(base, cookie, `/runs/${runs[0].run}`);
      (async () => { while (!(await page.reader.read()).done); })().catch(() => {});
    }
    const seconds = ((await ended) - begin) / 1000;
    if (page) await close(page);
    return tasks / seconds;
  };
  const alone = [], beside = [];
  for (let i = 0; i < rounds; i++) {
    alone.push(await rate(false)());
    beside.push(await rate(true)());
  }
  figure('web.rate.alone', alone, 'tasks/s');
  figure('web.rate.beside', beside, 'tasks/s');
  figure('web.rate.ratio', beside.map((value, i) => value / alone[i]), 'beside/alone');
  server.kill();
};

// ---- In a browser: navigation and load as it measures them ----
const browse = async () => {
  const where = process.env.PATH.split(':').map((path) => `${path}/chromium`).find(existsSync);
  if (!where || typeof WebSocket === 'undefined') {
    console.log('# web.run.browser: skipped, there is no chromium, or no WebSocket (node --experimental-websocket)');
    return;
  }
  const { server, url, base } = await serve();
  const browser = spawn(where, ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
    '--remote-debugging-port=0', `--user-data-dir=${dir}/profile`], { stdio: ['ignore', 'ignore', 'pipe'] });
  const address = await new Promise((resolve) => {
    let text = '';
    browser.stderr.on('data', (bytes) => {
      const found = (text += bytes).match(/ws:\/\/\S+/);
      if (found) resolve(found[0]);
    });
  });
  const socket = new WebSocket(address);
  await new Promise((resolve) => (socket.onopen = resolve));
  const waiting = new Map();
  let last = 0, session;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) waiting.get(message.id)(message.result);
  };
  const call = (method, params = {}) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    socket.send(JSON.stringify({ id: last, method, params, sessionId: session }));
  });
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  session = (await call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
  await call('Page.enable');
  await call('Page.navigate', { url });
  await sleep(1000);
  const ms = [];
  for (let i = 0; i < rounds; i++) {
    await call('Page.navigate', { url: `${base}/runs/1?${i}` });
    let value = 0;
    while (!value) {
      await sleep(100);
      value = (await call('Runtime.evaluate', {
        expression: 'performance.getEntriesByType("navigation")[0].loadEventEnd',
        returnByValue: true,
      }))?.result?.value;
    }
    ms.push(value);
  }
  figure('web.run.browser', ms, 'ms');
  socket.close();
  browser.kill();
  await new Promise((resolve) => browser.on('exit', resolve));
  server.kill();
};

try {
  await measure();
  await browse();
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 30 });
}
process.exit(0);
