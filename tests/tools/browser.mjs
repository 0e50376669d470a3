// browser.mjs URL STEP...: opens a page in Chromium and does each step. By its first character:
//   !COMMAND             runs it
//   @PATH                goes there
//   =WIDTHxHEIGHT dark   how large the window is, and which colours the system has (dark or light)
//   >FILE                writes a picture of the whole page, as PNG or WebP
//   <FILE SELECTOR       one from the page's top to the end of the element that SELECTOR finds
//   +FILE RULE           runs axe-core, which is this file, or one rule of it; each violation is wrong
//   ^KEY                 presses a key
// Anything else is an expression that must become true within 10 seconds. Prints what did not, and errors of
// the page; the exit status is how many that were. By the DevTools protocol: node 20 needs
// --experimental-websocket.
import { execSync, spawn } from 'child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'fs';

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
let place = '', last = 0, wrong = 0, session;
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
await call('Emulation.setScrollbarsHidden', { hidden: true });
await call('Page.navigate', { url });
const evaluate = async (expression) => {
  const answer = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
  if (!answer) return undefined; // the page was left meanwhile
  const { result, exceptionDetails } = answer;
  return exceptionDetails ? exceptionDetails.text : result.value;
};
const become = async (expression, what = expression) => {
  const end = Date.now() + 10000;
  let value;
  while (Date.now() < end && (value = await evaluate(expression)) !== true) await new Promise((resolve) => setTimeout(resolve, 50));
  if (value !== true) complain(`not true${place && ` at ${place}`}: ${what}`);
};
const picture = async (file, clip) => {
  const format = file.endsWith('.webp') ? { format: 'webp', quality: 55 } : { format: 'png' };
  const { data } = await call('Page.captureScreenshot', { ...format, captureBeyondViewport: true, clip });
  writeFileSync(file, Buffer.from(data, 'base64'));
};
const kinds = {
  '!': (command) => execSync(command, { stdio: 'ignore' }),
  '@': async (path) => {
    place = path;
    await evaluate(`window.left = true; location.href = ${JSON.stringify(path)}`);
    await become('document.readyState === "complete" && window.left === undefined', `${path} is there`);
  },
  '=': async (text) => {
    const [, width, height, scheme] = text.match(/^([0-9]+)x([0-9]+)(?: (dark|light))?$/);
    await call('Emulation.setDeviceMetricsOverride', { width: +width, height: +height, deviceScaleFactor: 1, mobile: false });
    await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme ?? 'light' }] });
  },
  '>': (file) => picture(file),
  '<': async (text) => {
    const [, file, selector] = text.match(/^(\S+) (.+)$/);
    const [width, height] = await evaluate(`[innerWidth, Math.ceil(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().bottom + scrollY) + 8]`);
    await picture(file, { x: 0, y: 0, width, height, scale: 1 });
  },
  '+': async (text) => {
    const [file, rule] = text.split(' ');
    if (!(await evaluate('typeof axe === "object"'))) await evaluate(readFileSync(file, 'utf8') + '; true');
    const found = await evaluate(`axe.run(${rule ? `{ runOnly: ['${rule}'] }` : ''}).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary.replace(/\\s+/g, ' ').slice(0, 200)).slice(0, 3).join(' | ')))`);
    for (const text of Array.isArray(found) ? found : [`axe: ${found}`]) complain(`${place}: ${text}`);
  },
  '^': async (key) => {
    const text = key === 'Enter' ? { text: '\r' } : key.length === 1 ? { text: key } : {};
    const code = { Enter: 13, Backspace: 8, Tab: 9, Escape: 27 }[key];
    for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key, windowsVirtualKeyCode: code, ...(type === 'keyDown' ? text : {}) });
  },
};
for (const step of steps)
  if (kinds[step[0]]) await kinds[step[0]](step.slice(1));
  else await become(step);
socket.close();
browser.kill();
await new Promise((resolve) => browser.on('exit', resolve));
// Its other processes may write for a moment more; what is left goes with the test's directory.
try {
  rmSync(profile, { recursive: true, force: true, maxRetries: 30 });
} catch {}
process.exit(wrong);
