// The thread in which tests run. It may hang or die at any time: whoever started it knows what to do then.
'use strict';

const path = require('node:path');
const programs = require('node:child_process');
const { syncBuiltinESMExports } = require('node:module');
const { promisify } = require('node:util');
const { parentPort, workerData } = require('node:worker_threads');
const { createRequire } = require('node:module');
const command = require('command');
const modules = require('modules');
const own = require('own');

const { performance } = require('node:perf_hooks');
const now = performance.now.bind(performance);
const post = parentPort.postMessage.bind(parentPort);

const EVENTS = ['exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'warning'];
const timers = new Set();
let framework = null;
let files = [];
let clean = null;
let active = null;
/// What is known of the tests, once for all candidates.
let plan = null;

/// A name as a report has it: on one line, and not too long.
function plain(name) {
  return name.replace(/\s+/g, ' ').trim().slice(0, 900);
}

/// One pass over some tests.
function begin({ names = null, stops = false, tolerated = new Set(), watch = null }) {
  const wanted = names === null || [...names].some((name) => / hook(?: |$)/.test(name)) ? null : [...names];
  return {
    results: new Map(),
    where: new Map(),
    file: null,
    stopped: false,
    /// Tests that started other programs, and whether the present one does.
    starting: new Set(),
    isStarting: false,
    wants(name) {
      if (wanted === null) return true;
      const short = plain(name);
      return names.has(short)
        || wanted.some((one) => one.startsWith(`${short} > `) || short.startsWith(`${one} > `));
    },
    begin(name) {
      watch?.begin(plain(name));
    },
    end(name, ok) {
      const short = plain(name.startsWith('/') ? path.relative(modules.state.root, name) : name);
      watch?.end(short, ok);
      this.results.set(short, ok && this.results.get(short) !== false);
      if (this.isStarting) this.starting.add(short);
      this.isStarting = false;
      if (!ok && stops && !tolerated.has(short)) this.stopped = true;
    },
  };
}

/// Notes what is there before a pass.
function keep() {
  clean = {
    names: new Set(Object.getOwnPropertyNames(globalThis)),
    listeners: new Set(EVENTS.flatMap((event) => process.listeners(event))),
  };
}

/// What the last pass left behind.
function tidy() {
  for (const timer of timers) clearTimeout(timer);
  timers.clear();
  if (clean === null) return;
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!clean.names.has(name)) delete globalThis[name];
  }
  for (const event of EVENTS) {
    for (const listener of process.listeners(event)) {
      if (!clean.listeners.has(listener)) process.removeListener(event, listener);
    }
  }
}

async function pass(edit, wanted, options) {
  modules.renew(edit);
  const run = begin(options);
  active = run;
  try {
    await framework.run(wanted, run, (file) => {
      run.file = file;
      return modules.load(file);
    });
  } catch {
    run.end('<run>', false);
    run.stopped = true;
  }
  active = null;
  tidy();
  return run;
}

/// A function that starts programs, which says so.
function noted(real) {
  const start = function start(...args) {
    if (active) active.isStarting = true;
    return real.apply(this, args);
  };
  const described = Object.getOwnPropertyDescriptors(real);
  const promised = described[promisify.custom];
  if (promised) promised.value = noted(promised.value);
  return Object.defineProperties(start, described);
}

/// Keeps what tests do from reaching beyond their pass.
function shield() {
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (_, encoding, done) => {
      const told = typeof encoding === 'function' ? encoding : done;
      if (told) process.nextTick(told);
      return true;
    };
  }
  for (const kind of ['setTimeout', 'setInterval', 'setImmediate']) {
    const real = globalThis[kind];
    globalThis[kind] = (fn, ...rest) => {
      const timer = real(fn, ...rest);
      if (kind !== 'setImmediate' && timers.size < 100_000) timers.add(timer);
      return timer;
    };
    Object.defineProperties(globalThis[kind], Object.getOwnPropertyDescriptors(real));
  }
  for (const kind of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']) {
    programs[kind] = noted(programs[kind]);
  }
  syncBuiltinESMExports();
  process.exit = (code) => {
    const error = new Error(`process.exit(${code})`);
    if (active) active.stopped = active.end('<exit>', false) ?? true;
    throw error;
  };
  process.on('uncaughtException', (error) => own.interrupt(error));
  process.on('unhandledRejection', (error) => own.interrupt(error));
}

function load({ argv, framework: name }) {
  const found = command.find(argv, name);
  if (found === null) throw new Error('the command is not understood');
  Object.assign(process.env, found.env);
  if (name === 'node') {
    const taken = command.ofNode(found.words);
    if (taken === null) throw new Error('an option changes how modules are loaded');
    const preload = createRequire(`${process.cwd()}/`);
    for (const required of taken.required) preload(required);
    modules.state.instead.set('node:test', own.api);
    framework = own;
    return taken.files;
  }
  if (name === 'mocha') {
    framework = require('mocha');
    return framework.start(found.words);
  }
  if (name === 'jest') {
    framework = require('jest');
    own.dialect.root = modules.state.root;
    const taken = framework.start(found.words);
    if (taken === null) throw new Error('more of Jest is needed than is known here');
    return taken;
  }
  throw new Error('there is no way to run this framework here');
}

/// All tests once, and how long the failing ones take when everything is warm.
async function start({ failing, passing }) {
  const began = now();
  const run = await pass(null, files, {});
  const all = now() - began;
  keep();
  const names = failing.filter((name) => run.results.get(plain(name)) === false);
  const lost = failing.filter((name) => run.results.get(plain(name)) !== false);
  if (lost.length > 0) return { why: `these fail elsewhere only: ${lost.slice(0, 3).join(', ')}` };
  const wrong = passing.filter((name) => run.results.get(plain(name)) !== true);
  if (wrong.length > passing.length / 10) return { why: `these pass elsewhere only: ${wrong.slice(0, 3).join(', ')}` };
  const wanted = new Set(names.map(plain));
  const known = [...run.results].filter(([name, ok]) => !ok && !wanted.has(name)).map(([name]) => name);
  // Where the failing tests are, found out file by file.
  const near = [];
  for (const file of files) {
    const seen = await pass(null, [file], { names: wanted });
    if ([...seen.results.keys()].some((name) => wanted.has(name))) near.push(file);
  }
  const again = now();
  const alone = await pass(null, near, { names: wanted });
  const ms = now() - again;
  if (names.some((name) => alone.results.get(plain(name)) !== false)) return { why: 'tests depend on each other' };
  const passed = [...run.results].filter(([, ok]) => ok).map(([name]) => name);
  plan = { failing: names, near, known, passed, ms, all, starting: alone.starting };
  return plan;
}

/// The failing tests first, and all where those pass.
async function judge({ edit }) {
  const tolerated = new Set(plan.known);
  const names = new Set(plan.failing.map(plain));
  const first = await pass(edit, plan.near, { names, stops: true, tolerated });
  if (modules.state.invalid) return 'invalid';
  if (first.stopped || ![...names].every((name) => first.results.get(name) === true)) return 'fails';
  post({ stage: 'all' });
  const rest = files.filter((file) => !plan.near.includes(file));
  const run = await pass(edit, [...plan.near, ...rest], { stops: true, tolerated });
  const holds = [...names, ...plan.passed].every((name) => run.results.get(name) === true);
  return !run.stopped && holds ? 'passes' : 'fails';
}

async function follow({ wall_ms }) {
  const coverage = require('coverage');
  const names = new Set(plan.failing.map(plain));
  if ([...names].every((name) => plan.starting.has(name))) throw new Error('what other programs do is not followed');
  const until = now() + wall_ms * 0.8;
  const watch = coverage.start(names, () => now() < until);
  const rest = files.filter((file) => !plan.near.includes(file));
  for (const file of [...plan.near, ...rest]) {
    if (now() > until) break;
    await pass(null, [file], { watch: watch.of() });
  }
  return watch.end();
}

/// What the files answer without an edit, and with each, to the same inputs. The last answers may lack where the time was
/// up.
async function behave({ edits, wall_ms }) {
  const { recorder, varied, answers } = require('behave');
  const until = now() + wall_ms * 0.9;
  const watched = recorder();
  modules.state.wrap = { files: new Set(edits.map(({ file }) => file)), make: watched.wrap };
  // With an edit, as no failing test gets to its end without one.
  await pass(edits[0], plan.near, {});
  modules.state.wrap = null;
  keep();
  const inputs = varied(watched.calls);
  const found = [];
  for (const [at, edit] of [null, ...edits].entries()) {
    modules.renew(edit);
    const left = Math.max(200, (until - now()) / (edits.length + 1 - at));
    found.push(await answers(inputs, modules.load, now() + left));
    tidy();
  }
  return { inputs: inputs.length, found };
}

const WORK = { start, judge, follow, behave };

parentPort.on('message', async (asked) => {
  try {
    plan = asked.plan ?? plan;
    if (asked.work === 'warm') {
      await pass(null, asked.plan.near, {});
      keep();
      post({ answer: true });
    } else {
      post({ answer: await WORK[asked.work](asked) });
    }
  } catch (error) {
    post({ why: String(error?.message ?? error).slice(0, 500) });
  }
});

try {
  modules.state.root = workerData.root;
  modules.state.importReal = workerData.bridges.importReal;
  modules.state.resolveReal = workerData.bridges.resolveReal;
  modules.install();
  shield();
  files = load(workerData);
  if (files.length === 0) throw new Error('no files of tests were found');
} catch (error) {
  post({ dead: String(error?.message ?? error).slice(0, 500) });
}
