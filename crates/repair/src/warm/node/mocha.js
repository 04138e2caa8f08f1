// Runs the project's own Mocha repeatedly without loading it again.
'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');
const timeLimit = require('./time_limit.js');
const loader = require('./loader.js');

let Mocha = null;
let options = null;
let files = [];
let required = [];

/// Reads the options as Mocha does, and returns the test files.
function start(words) {
  const find = createRequire(`${process.cwd()}/`);
  const home = path.dirname(find.resolve('mocha/package.json'));
  Mocha = find(home);
  options = find(path.join(home, 'lib/cli/options.js')).loadOptions(words);
  const collect = find(path.join(home, 'lib/cli/collect-files.js'));
  const list = (value) => [].concat(value ?? []);
  const wanted = list(options._).concat(list(options.spec));
  const found = (collect.default ?? collect)({
    ignore: list(options.ignore),
    extension: list(options.extension),
    file: list(options.file),
    recursive: Boolean(options.recursive),
    sort: Boolean(options.sort),
    spec: wanted.length > 0 ? wanted : ['./test'],
  });
  files = found.files ?? found;
  required = list(options.require).map((name) => {
    const file = path.resolve(name);
    try {
      return find.resolve(file);
    } catch {
      return find.resolve(name);
    }
  });
  return files;
}

/// The root hooks of the modules that are loaded first.
async function rootHooks() {
  const all = { beforeAll: [], beforeEach: [], afterAll: [], afterEach: [] };
  for (const file of required) {
    const loaded = await loader.load(file);
    let hooks = loaded?.mochaHooks ?? loaded?.default?.mochaHooks;
    if (typeof hooks === 'function') hooks = await hooks();
    for (const kind of Object.keys(all)) if (hooks?.[kind]) all[kind].push(...[].concat(hooks[kind]));
  }
  return all;
}

function Silent() {}

/// Gives a test or hook a time limit.
function guarded(one) {
  const { fn } = one;
  if (typeof fn === 'function')
    one.fn = function run(...args) {
      return timeLimit.run(() => fn.apply(this, args));
    };
}

function keep(suite, run) {
  suite.tests = suite.tests.filter((test) => run.wants(test.fullTitle()));
  if (run.isGuarded) [...suite.tests, ...suite._beforeEach, ...suite._afterEach].forEach(guarded);
  for (const inner of suite.suites) keep(inner, run);
}

async function run(wanted, run, load) {
  const hooks = await rootHooks();
  const settings = { ui: options.ui, timeout: options.timeout, retries: options.retries, asyncOnly: options.asyncOnly };
  const mocha = new Mocha({ ...settings, reporter: Silent, rootHooks: hooks, cleanReferencesAfterRun: false });
  if (options.grep) mocha.grep(options.grep);
  if (options.fgrep) mocha.fgrep(options.fgrep);
  if (options.invert) mocha.invert();
  for (const file of wanted) {
    mocha.suite.emit('pre-require', globalThis, file, mocha);
    let exported;
    try {
      exported = await load(file);
    } catch {
      run.end(file, false);
      if (run.stopped) return;
      continue;
    }
    mocha.suite.emit('require', exported, file, mocha);
    mocha.suite.emit('post-require', globalThis, file, mocha);
  }
  keep(mocha.suite, run);
  await new Promise((resolve) => {
    const runner = mocha.run(resolve);
    runner.on('test', (test) => run.begin(test.fullTitle()));
    runner.on('pending', (test) => run.leave(test.fullTitle()));
    runner.on('pass', (test) => run.end(test.fullTitle(), true));
    runner.on('fail', (test, error) => {
      run.file = test.file ?? run.file;
      run.end(test.fullTitle(), false, error);
      if (run.stopped) runner.abort();
    });
  });
  mocha.dispose?.();
}

/// Its files run in one process.
module.exports = { start, run, isShared: true };
