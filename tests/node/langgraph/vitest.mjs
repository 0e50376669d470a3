// The few things of vitest that the validation suite uses, as globals, and its own `expect`: vitest itself is large.
import * as kit from '@vitest/expect';

const { chai, GLOBAL_EXPECT } = kit;
chai.use(kit.JestExtend);
chai.use(kit.JestChaiExpect);
chai.use(kit.JestAsymmetricMatchers);

const expect = (value, message) => chai.expect(value, message);
Object.assign(expect, chai.expect);
Object.assign(expect, globalThis[kit.ASYMMETRIC_MATCHERS_OBJECT]);
globalThis[GLOBAL_EXPECT] = expect;
kit.setState({ assertionCalls: 0 }, expect);
expect.soft = expect;

const suite = (name, parent) => ({ name, parent, children: [], beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] });
const root = suite('');
let current = root;

// "%s" and "$name", as vitest has them.
const titled = (title, row) => (Array.isArray(row) ? row : [row]).reduce((text, value) => text.replace('%s', String(value)), title)
  .replace(/\$(\w+)/g, (all, name) => (row?.[name] === undefined ? all : String(row[name])));
const each = (define) => (rows) => (title, body) => {
  for (const row of rows) define(titled(title, row), () => body(...(Array.isArray(row) ? row : [row])));
};

export function describe(name, body) {
  const outer = current;
  current = suite(name, outer);
  outer.children.push(current);
  body();
  current = outer;
}
export const it = (name, test) => current.children.push({ name, test });
describe.each = each(describe);
it.each = each(it);
it.skip = (name) => current.children.push({ name, skipped: true });
const hooks = Object.fromEntries(['beforeAll', 'afterAll', 'beforeEach', 'afterEach'].map((kind) => [kind, (hook) => void current[kind].push(hook)]));
Object.assign(globalThis, { describe, it, test: it, expect, ...hooks });

const outermost = (of) => (of ? [...outermost(of.parent), of] : []);

// Runs everything in its order: { passed, skipped, failed: [[name, error]] }.
export async function run() {
  const result = { passed: 0, skipped: 0, failed: [] };
  const stack = [{ of: root, at: -1 }];
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top.at < 0) for (const hook of top.of.beforeAll) await hook();
    const child = top.of.children[++top.at];
    if (child === undefined) {
      for (const hook of top.of.afterAll) await hook();
      stack.pop();
    } else if (child.children) stack.push({ of: child, at: -1 });
    else if (child.skipped) result.skipped++;
    else {
      const chain = outermost(top.of);
      try {
        for (const { beforeEach } of chain) for (const hook of beforeEach) await hook();
        await child.test();
        result.passed++;
      } catch (error) {
        result.failed.push([[...chain.map(({ name }) => name), child.name].filter(Boolean).join(' > '), error]);
      }
      for (const { afterEach } of chain.reverse()) for (const hook of afterEach) await hook().catch((error) => result.failed.push([child.name, error]));
    }
  }
  return result;
}
