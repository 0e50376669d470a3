// What the pages of `cairn web` cost: one line per figure, as the other programs here print them, with its goal.
//
//   node --experimental-websocket bench/web.mjs [run many log session idle seen shown rate]      (nothing: all)
//                                                    WEB_TASKS=10000 WEB_MANY=100000 WEB_CHECKPOINTS=10000
//                                                    WEB_LOG_MIB=1024 WEB_ROUNDS=5; BUILD, BENCH_DIR
//
// Each page below as the server makes it (.server: from the request to its last byte; .processor: of the server), and
// in Chromium by its own trace, where there is one: .load until the load event, .scroll the longest task of the page's
// main thread while all of it is scrolled through.
//
// web.home, web.run, web.tasks     a run of WEB_TASKS tasks in one group, the table of its tasks, sorted by duration
// web.many, web.many_tasks         the same of a run of WEB_MANY tasks (0: not made)
// web.log, web.log_begin, web.log_middle
//                                  the end, the beginning and the middle of a log of WEB_LOG_MIB, all of which is kept;
//                                  web.log.memory: of the server behind that
// web.timeline, web.branch, web.session, web.compare, web.files, web.versions, web.grep, web.search
//                                  a session of WEB_CHECKPOINTS checkpoints with files (0: not made)
// web.idle.*    ten pages are open and nothing happens: wake-ups of the server in 30 seconds, in which each page gets two
//               comments, and its processor and memory
// web.seen      from the end of a task, as it is recorded, until an open page has been sent it
// web.shown     the same until it is on the screen of Chromium (the frame behind the change of the page)
// web.rate      tasks a second of `cairn run` with one page open, over those without one, in turns; processor of the
//               server in that time, in percent of that of the run
//
// A signal, and a process that fails, end the processes that were started here, and remove the directory.
import { execFileSync, spawn } from 'child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'fs';

const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const tasks = number('WEB_TASKS', 10000), many = number('WEB_MANY', 100000), rounds = number('WEB_ROUNDS', 5);
const checkpoints = number('WEB_CHECKPOINTS', 10000), logMib = number('WEB_LOG_MIB', 1024);
const build = `${process.cwd()}/${process.env.BUILD || 'build'}`, cairn = `${build}/cairn`;
const dir = mkdtempSync(`${process.env.BENCH_DIR || '/tmp'}/cairn-bench-`);
process.chdir(dir);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const figure = (name, samples, unit, goal = '') => {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  console.log(`${name.padEnd(34)} ${String(samples.length).padStart(9)} ${at(0.5).toFixed(2).padStart(12)} ${at(0.99).toFixed(2).padStart(12)} ${unit}${goal && `  goal ${goal}`}`);
};
const run = (...words) => execFileSync(cairn, words, { stdio: ['ignore', 'pipe', 'pipe'] });

// ---- Processes ----
const children = new Set();
let ending = false;
const end = async (status) => {
  if (ending) return;
  ending = true;
  for (const child of children) child.kill();
  for (let i = 0; children.size && i < 1000; i++) await sleep(10);
  for (const child of children) child.kill('SIGKILL');
  process.chdir('/');
  rmSync(dir, { recursive: true, force: true, maxRetries: 30 });
  process.exit(status);
};
const fail = (text) => {
  if (!ending) console.error(text);
  end(1);
};
process.on('SIGHUP', () => end(129));
process.on('SIGINT', () => end(130));
process.on('SIGTERM', () => end(143));
// .ended becomes when it ended. One that serves does not end before stop(), and another ends well: otherwise all ends.
const start = (program, words, serves = false) => {
  if (ending) throw new Error('the end has begun');
  const child = spawn(program, words, { stdio: ['ignore', serves ? 'pipe' : 'ignore', 'pipe'] });
  const what = [program, ...words].join(' ').slice(0, 200);
  let said = '', at;
  children.add(child);
  child.stderr.on('data', (bytes) => (said = (said + bytes).slice(-4000)));
  child.on('error', (error) => {
    children.delete(child);
    fail(`${what}: ${error.message}`);
  });
  child.on('exit', () => {
    at = performance.now();
    children.delete(child);
  });
  child.ended = new Promise((resolve) => child.on('close', (code, signal) => {
    if (!child.stopped && (serves || code !== 0)) fail(`${what}: ended with ${signal ?? code}\n${said.trim()}`);
    else resolve(at);
  }));
  return child;
};
const stop = (child) => {
  child.stopped = true;
  child.kill();
  return child.ended;
};
// What a stream of a server says first that matches.
const first = (child, stream, expression) => new Promise((resolve) => {
  let text = '';
  const late = setTimeout(() => fail(`${child.spawnfile}: no address within a minute\n${text.trim()}`), 60000);
  stream.on('data', (bytes) => {
    const found = (text += bytes).match(expression);
    if (!found) return;
    clearTimeout(late);
    resolve(found[0]);
  });
});
// A run is there; a machine that is busy takes its time.
const begun = async (number) => {
  while ((JSON.parse(run('runs', '--limit', '1', '--json')).runs[0]?.run ?? 0) < number) await sleep(20);
};
const workflow = (name, n) => writeFileSync(`${name}.yaml`, `name: ${name}
tasks:
  t: {foreach: {n: {range: [1, ${n}]}}, exec: ["true"]}
`);

// ---- The server, and a browser that has come in ----
const serve = async () => {
  const server = start(cairn, ['web'], true);
  const url = await first(server, server.stdout, /^http:\S+(?=\n)/);
  return { server, url, base: new URL(url).origin };
};
const enter = async (url) => (await fetch(url)).headers.get('set-cookie').split(';')[0];
const TICK_MS = 10; // of /proc/PID/stat, on Linux for all programs
const ticksOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 15).reduce((a, b) => a + Number(b), 0);
const stat = (pid) => ({
  wakes: Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^voluntary_ctxt_switches:\s*(\d+)/m)[1]),
  rss: Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s*(\d+)/m)[1]) / 1024,
  most: Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmHWM:\s*(\d+)/m)[1]) / 1024,
  ticks: ticksOf(pid),
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

// ---- Pages ----
const measurePages = async ({ server, base, cookie }, pages) => {
  for (const [name, path] of pages) {
    const ms = [], before = ticksOf(server.pid);
    for (let i = 0; i < 2 * rounds; i++) {
      const begin = performance.now();
      const answer = await fetch(base + path, { headers: { cookie } });
      await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      ms.push(performance.now() - begin);
    }
    figure(`${name}.server`, ms, 'ms', '<= 300');
    figure(`${name}.processor`, [((ticksOf(server.pid) - before) * TICK_MS) / (2 * rounds)], 'ms');
  }
};

// ---- In a browser ----
const browser = async () => {
  const where = process.env.PATH.split(':').map((path) => `${path}/chromium`).find(existsSync);
  if (!where || typeof WebSocket === 'undefined') {
    console.log('# .load and .scroll: skipped, there is no chromium, or no WebSocket (node --experimental-websocket)');
    return null;
  }
  const chromium = start(where, ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
    '--remote-debugging-port=0', `--user-data-dir=${dir}/profile`], true);
  const address = await first(chromium, chromium.stderr, /ws:\/\/\S+(?=\n)/);
  const socket = new WebSocket(address);
  await new Promise((resolve) => (socket.onopen = resolve));
  const waiting = new Map();
  let last = 0, session, trace = [], complete = () => {};
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) waiting.get(message.id)(message.result);
    else if (message.method === 'Tracing.dataCollected') trace.push(...message.params.value);
    else if (message.method === 'Tracing.tracingComplete') complete();
  };
  const call = (method, params = {}) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    socket.send(JSON.stringify({ id: last, method, params, sessionId: session }));
  });
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  session = (await call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
  await call('Page.enable');
  const evaluate = async (expression) =>
    (await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true }))?.result?.value;
  const go = async (url) => {
    await call('Page.navigate', { url });
    let value = 0;
    while (!value) {
      await sleep(50);
      value = await evaluate('document.location.href !== "about:blank" && performance.getEntriesByType("navigation")[0]?.loadEventEnd');
    }
    return value;
  };
  // All of the page, a part of a screen in each frame; then the tasks of its main thread that the browser has traced.
  const scroll = async () => {
    trace = [];
    await call('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', '__metadata'] } });
    await evaluate(`new Promise((done) => {
      const end = performance.now() + 5000;
      const step = () => {
        scrollBy(0, innerHeight / 3);
        if (performance.now() < end && innerHeight + scrollY < document.documentElement.scrollHeight - 1) requestAnimationFrame(step);
        else requestAnimationFrame(() => done(true));
      };
      requestAnimationFrame(step);
    })`);
    const ended = new Promise((resolve) => (complete = resolve));
    await call('Tracing.end');
    await ended;
    const main = new Set(trace.filter((event) => event.name === 'thread_name' && event.args.name === 'CrRendererMain').map((event) => `${event.pid}.${event.tid}`));
    return Math.max(0, ...trace.filter((event) => event.ph === 'X' && main.has(`${event.pid}.${event.tid}`)).map((event) => event.dur / 1000));
  };
  const leave = () => {
    socket.close();
    return stop(chromium);
  };
  return { go, scroll, evaluate, leave };
};
const browsePages = async (tool, { base, url }, pages) => {
  if (!tool) return;
  await tool.go(url);
  await sleep(1000);
  for (const [name, path] of pages) {
    const load = [], longest = [];
    for (let i = 0; i < rounds; i++) {
      load.push(await tool.go(`${base}${path}${path.includes('?') ? '&' : '?'}round=${i}`));
      longest.push(await tool.scroll());
    }
    figure(`${name}.load`, load, 'ms', '<= 300');
    figure(`${name}.scroll`, longest, 'ms', '<= 50');
  }
};
// A store of its own for each, so that one does not slow the others down.
const enterStore = (name) => {
  mkdirSync(`${dir}/${name}`);
  process.chdir(`${dir}/${name}`);
  process.env.CAIRN_STORE = `${dir}/${name}/.cairn`;
};
const inStore = async (name, make, pages, memory) => {
  enterStore(name);
  await make();
  const at = await serve();
  at.cookie = await enter(at.url);
  await measurePages(at, pages);
  if (memory) figure(memory, [stat(at.server.pid).most], 'MiB at most', '<= 30');
  await stop(at.server);
  const tool = await browser();
  const again = await serve();
  await browsePages(tool, again, pages);
  await stop(again.server);
  await tool?.leave();
};

const makeRun = (n) => () => (workflow('many', n), start(cairn, ['run', '-q', 'many.yaml']).ended);
const measureRun = () => inStore('run', makeRun(tasks),
  [['web.home', '/'], ['web.run', '/runs/1'], ['web.tasks', '/runs/1/tasks?sort=duration']]);
const measureMany = () => inStore('many', makeRun(many), [['web.many', '/runs/1'], ['web.many_tasks', '/runs/1/tasks?sort=duration']]);
const measureLog = () => inStore('log', () => {
  writeFileSync('log.yaml', `name: log\ntasks: {a: {run: "seq -f 'line %012.0f of a log, as tasks write them' 1 100000000 2>/dev/null | head -c ${logMib * 1048576}"}}\n`);
  return start(cairn, ['run', '-q', `--output-limit=${logMib}M`, 'log.yaml']).ended;
}, [['web.log', '/runs/1/log?task=a'], ['web.log_begin', '/runs/1/log?task=a&from=0'],
  ['web.log_middle', `/runs/1/log?task=a&from=${logMib * 524288}`]], 'web.log.memory');
const measureSession = () => inStore('session', () => start(`${build}/bench/sessions`, ['make', '.', String(checkpoints)]).ended,
  [['web.timeline', '/timeline'], ['web.branch', '/timeline?session=1'], ['web.session', '/sessions/1'],
    ['web.compare', `/compare?from=1&to=${checkpoints}`], ['web.files', `/checkpoints/${checkpoints}/files`],
    ['web.versions', '/sessions/1/history?path=f1.c'], ['web.grep', '/sessions/1/grep?pattern=nowhere'], ['web.search', '/search?q=changed']]);

// A frame is drawn behind the change that the page has got, and only then is the clock read.
const makeOne = () => (writeFileSync('one.yaml', 'name: one\ntasks: {a: {run: "sleep 2"}}\n'), makeRun(1)());
const measureShown = async () => {
  enterStore('shown');
  await makeOne();
  const tool = await browser();
  if (!tool) return;
  const again = await serve(), next = 2;
  await tool.go(again.url);
  const shown = [];
  for (let i = 0; i < 2 * rounds; i++) {
    const { ended } = start(cairn, ['run', '-q', '--fresh', 'one.yaml']);
    await begun(next + i);
    await tool.go(`${again.base}/runs/${next + i}`);
    const at = await tool.evaluate(`new Promise((done) => {
      const look = () => (document.querySelector('.run.completed') ? requestAnimationFrame(() => setTimeout(() => done(Date.now()))) : setTimeout(look, 1));
      look();
    })`);
    await ended;
    const events = String(run('events', String(next + i), '--json')).trim().split('\n').map((line) => JSON.parse(line));
    shown.push(at - Date.parse(events.find((event) => event.type === 'run_finished').time));
  }
  figure('web.shown', shown, 'ms', '<= 300');
  await stop(again.server);
  await tool.leave();
};

const measureIdle = async () => {
  enterStore('idle');
  await makeRun(tasks)();
  const { server, url, base } = await serve();
  const cookie = await enter(url);
  const pages = [];
  for (let i = 0; i < 10; i++) pages.push(await open(base, cookie, '/runs/1'));
  await sleep(6000); // fetch() closes a connection that it has kept for four seconds, which wakes the server
  const before = stat(server.pid);
  await sleep(30000);
  const after = stat(server.pid);
  figure('web.idle.wakes', [after.wakes - before.wakes], 'in 30 s', '<= 2');
  figure('web.idle.processor', [((after.ticks - before.ticks) * TICK_MS) / 300], '% of one', '<= 5');
  figure('web.idle.memory', [after.rss], 'MiB', '<= 30');
  for (const page of pages) await close(page);
  await stop(server);
};

const measureSeen = async () => {
  enterStore('seen');
  await makeOne();
  const { server, url, base } = await serve();
  const cookie = await enter(url);
  const seen = [];
  for (let i = 0; i < 2 * rounds; i++) {
    const { ended } = start(cairn, ['run', '-q', '--fresh', 'one.yaml']);
    await begun(2 + i);
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
  figure('web.seen', seen, 'ms', '<= 300');
  await stop(server);
};

// A run beside an open page, and one without.
const measureRate = async () => {
  enterStore('rate');
  await makeRun(1)();
  const { server, url, base } = await serve();
  const cookie = await enter(url);
  const n = many || tasks;
  workflow('beside', n);
  const share = [];
  let last = 1;
  const rate = (watched) => async () => {
    const ours = ticksOf(server.pid);
    const child = start(cairn, ['run', '-q', '--fresh', 'beside.yaml']);
    const begin = performance.now();
    let used = 0;
    const look = setInterval(() => { try { used = Math.max(used, ticksOf(child.pid)); } catch { /* it has just ended */ } }, 200);
    let page;
    last++;
    if (watched) {
      await begun(last);
      page = await open(base, cookie, `/runs/${last}`);
      (async () => { while (!(await page.reader.read()).done); })().catch(() => {});
    }
    const seconds = ((await child.ended) - begin) / 1000;
    clearInterval(look);
    if (page) await close(page);
    if (watched) share.push(((ticksOf(server.pid) - ours) / used) * 100);
    return n / seconds;
  };
  const alone = [], beside = [];
  for (let i = 0; i < rounds; i++) {
    alone.push(await rate(false)());
    beside.push(await rate(true)());
  }
  figure('web.rate.alone', alone, 'tasks/s');
  figure('web.rate.beside', beside, 'tasks/s');
  figure('web.rate.ratio', beside.map((value, i) => value / alone[i]), 'beside/alone', '>= 0.97');
  figure('web.rate.processor', share, '% of the run\'s', '<= 3');
  await stop(server);
};

const parts = { run: measureRun, many: many > 0 && measureMany, log: logMib > 0 && measureLog,
  session: checkpoints > 0 && measureSession, idle: measureIdle, seen: measureSeen, shown: measureShown, rate: measureRate };
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in parts));
try {
  if (unknown.length) throw new Error(`there is no part ${unknown.join(', ')}: ${Object.keys(parts).join(' ')}`);
  console.log(`# cairn web: ${tasks} and ${many} tasks, ${checkpoints} checkpoints, a log of ${logMib} MiB\n${'# name'.padEnd(34)} ${'n'.padStart(9)} ${'median'.padStart(12)} ${'p99'.padStart(12)} unit`);
  for (const [name, measure] of Object.entries(parts))
    if (measure && (!wanted.length || wanted.includes(name))) await measure();
  await end(0);
} catch (error) {
  fail(error.stack);
}
