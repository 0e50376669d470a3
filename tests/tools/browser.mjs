// browser.mjs URL STEP...: opens a page in Chromium and does each step: `!COMMAND` runs it, anything else
// is an expression that must become true within 10 seconds. Prints what did not, and errors of the page;
// the exit status is how many that were. By the DevTools protocol: node 20 needs --experimental-websocket.
import { execSync, spawn } from 'child_process';
import { mkdtempSync, rmSync } from 'fs';

const [url, ...steps] = process.argv.slice(2);
const profile = mkdtempSync('./profile-');
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--remote-debugging-port=0', `--user-data-dir=${profile}`], { stdio: ['ignore', 'ignore', 'pipe'] });
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
let last = 0, wrong = 0, session;
const complain = (text) => {
  console.log(text);
  wrong++;
};
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.id) waiting.get(message.id)(message.result);
  else if (message.method === 'Log.entryAdded') complain(`console: ${message.params.entry.text}`);
  else if (message.method === 'Runtime.exceptionThrown') complain(`exception: ${message.params.exceptionDetails.text}`);
};
const call = (method, params = {}) => new Promise((resolve) => {
  waiting.set(++last, resolve);
  socket.send(JSON.stringify({ id: last, method, params, sessionId: session }));
});
const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
session = (await call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
for (const domain of ['Page', 'Log', 'Runtime']) await call(`${domain}.enable`);
await call('Page.navigate', { url });
for (const step of steps) {
  if (step[0] === '!') {
    execSync(step.slice(1), { stdio: 'ignore' });
    continue;
  }
  const end = Date.now() + 10000;
  let value;
  while (Date.now() < end && value !== true) {
    value = (await call('Runtime.evaluate', { expression: step, returnByValue: true }))?.result?.value;
    if (value !== true) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  if (value !== true) complain(`not true: ${step}`);
}
socket.close();
browser.kill();
await new Promise((resolve) => browser.on('exit', resolve));
// Its other processes may write for a moment more; what is left goes with the test's directory.
try {
  rmSync(profile, { recursive: true, force: true, maxRetries: 30 });
} catch {}
process.exit(wrong);
