// Compiles the addon: `npm install` runs it, and so can you. Of the system it needs a C compiler, libcairn with its
// headers, and the headers of Node-API; what is missing is named. CC and CFLAGS are taken as usual; CAIRN_BUILD is the
// build directory of a source tree of cairn whose library is not installed.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const words = (text) => text.split(/\s+/).filter(Boolean);
const missing = (what, how) => {
  console.error(`@cairn/node cannot be built: ${what}\n  ${how}`);
  process.exit(1);
};
const output = (command, ...args) => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
};

function findCompiler() {
  const asked = words(process.env.CC ?? '');
  if (asked.length && !output(asked[0], '--version'))
    missing(`the compiler in CC (${asked[0]}) does not run`, 'Set CC to a C compiler, or unset it.');
  if (asked.length) return asked;
  const found = ['cc', 'gcc', 'clang'].find((name) => output(name, '--version'));
  return found ? [found] : missing('there is no C compiler (cc, gcc or clang)', 'Debian: apt-get install gcc libc6-dev');
}

function findNodeHeaders() {
  const places = [join(dirname(dirname(process.execPath)), 'include/node'), '/usr/include/node'];
  try {
    places.unshift(createRequire(import.meta.url)('node-api-headers').include_dir);
  } catch {
    // not installed: those of the system will do
  }
  return places.find((place) => existsSync(join(place, 'node_api.h'))) ??
    missing('node_api.h was not found', `npm install node-api-headers, or Debian: apt-get install libnode-dev. Looked in: ${places.join(', ')}`);
}

function findLibrary() {
  const tree = resolve(here, '../..');
  const build = process.env.CAIRN_BUILD ? resolve(process.env.CAIRN_BUILD) : join(tree, 'build');
  const library = existsSync(build) && readdirSync(build).find((name) => /^libcairn\.so\.\d+$/.test(name));
  if (library) {
    const include = [join(dirname(build), 'include'), join(tree, 'include')].find((place) => existsSync(join(place, 'cairn.h')));
    if (include) return [`-I${include}`, join(build, library), `-Wl,-rpath,${build}`];
  }
  if (process.env.CAIRN_BUILD) missing(`CAIRN_BUILD (${build}) has no libcairn.so`, 'Run make in the source tree of cairn.');
  const flags = output('pkg-config', '--cflags', '--libs', 'cairn');
  if (flags === undefined)
    missing('libcairn was not found', output('pkg-config', '--version') === undefined
      ? 'pkg-config is missing. Debian: apt-get install pkg-config'
      : 'Install cairn (make install), or set CAIRN_BUILD to the build directory of its source tree; in another prefix, set PKG_CONFIG_PATH to PREFIX/lib/pkgconfig.');
  const rpath = output('pkg-config', '--variable=libdir', 'cairn')?.trim();
  return [...words(flags), ...(rpath ? [`-Wl,-rpath,${rpath}`] : [])];
}

const [compiler, ...first] = findCompiler();
const sources = readdirSync(join(here, 'addon')).filter((name) => name.endsWith('.c')).map((name) => join(here, 'addon', name));
const headers = findNodeHeaders();
const library = findLibrary();
mkdirSync(join(here, 'build'), { recursive: true });
const out = join(here, 'build/cairn.node');
try {
  execFileSync(compiler, [...first, '-std=c11', '-D_GNU_SOURCE', '-O2', '-fPIC', '-shared', '-fvisibility=hidden', '-pthread',
    '-isystem', headers, ...words(process.env.CFLAGS ?? ''), '-o', out, ...sources, ...library], { stdio: 'inherit' });
} catch {
  missing('the compiler failed; its own words are above', 'An older libcairn than this package needs lacks functions: install the same version.');
}
