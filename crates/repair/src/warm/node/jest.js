// Runs Jest tests if the configuration is simple: with Jest's own assertions and mocks, on the runner of
// `node_test.js`. Everything else that Jest does (module mocks, fake timers, snapshots, other environments) is left
// to Jest.
'use strict';

const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const util = require('node:util');
const command = require('./command.js');
const loader = require('./loader.js');
const nodeTest = require('./node_test.js');

const TESTS = /(^|\/)__tests__\/.*\.[cm]?jsx?$|(^|[/.])(spec|test)\.[cm]?jsx?$/;
const BEYOND =
  /\bjest\s*\.\s*(?!fn\b|spyOn\b|isMockFunction\b|mocked\b|\w+AllMocks\b)\w+|@jest-environment|toMatch\w*Snapshot/;
/// Settings that do not affect which tests pass.
const HARMLESS = /^(verbose|coverage\w*|collectCoverage\w*|silent|bail|maxWorkers|reporters|notify|displayName)$/;
const CONFIGS = ['js', 'ts', 'mjs', 'cjs', 'json'].map((end) => `jest.config.${end}`);
const BABEL = ['babel.config.js', 'babel.config.cjs', 'babel.config.json', '.babelrc', '.babelrc.js', '.babelrc.json'];

function settings(manifest) {
  const file = CONFIGS.find((name) => fs.existsSync(name));
  if (file !== undefined) return /\.(js|cjs|json)$/.test(file) ? require(path.resolve(file)) : null;
  return manifest.jest ?? {};
}

/// The test files. Null if Jest itself is needed.
function start(words) {
  const find = createRequire(`${process.cwd()}/`);
  const manifest = JSON.parse(fs.readFileSync('package.json', 'utf8'));
  const config = settings(manifest);
  const isPlain = ([key, value]) => HARMLESS.test(key) || (key === 'testEnvironment' && value === 'node');
  if (config === null || typeof config !== 'object' || !Object.entries(config).every(isPlain)) return null;
  if (words.some((word) => !/^--(verbose|ci|runInBand|silent|coverage(=\w+)?|no-cache|forceExit)$|^-i$/.test(word)))
    return null;
  const files = command.all().filter((file) => TESTS.test(path.relative(process.cwd(), file)));
  if (files.some((file) => BEYOND.test(fs.readFileSync(file, 'utf8')))) return null;
  process.env.NODE_ENV ??= 'test';
  process.env.JEST_WORKER_ID = '1';
  if (manifest.babel || BABEL.some((name) => fs.existsSync(name))) {
    const babel = find('@babel/core');
    const caller = { name: 'babel-jest', supportsStaticESM: false, supportsDynamicImport: false };
    loader.state.transform = (text, filename) =>
      babel.transformSync(text, { filename, caller, retainLines: true }).code;
  }
  const loaded = find('expect');
  const { ModuleMocker } = find('jest-mock');
  globals(loaded.expect ?? loaded.default ?? loaded, new ModuleMocker(globalThis));
  return files;
}

/// The title of an `each` test with the values of its row.
function titled(title, row, at) {
  const values = [].concat(row);
  const named = title.replace(/\$(\w+)/g, (whole, key) =>
    row !== null && typeof row === 'object' && key in row
      ? typeof row[key] === 'string'
        ? row[key]
        : util.inspect(row[key])
      : whole,
  );
  const whole = named.replace(/%#/g, String(at));
  const count = (whole.match(/%[sdifjoOp]/g) ?? []).length;
  return util.format(whole.replace(/%p/g, '%j'), ...values.slice(0, count));
}

function rows(table, values) {
  if (table.raw === undefined) return table;
  const names = table[0].split('|').map((name) => name.trim());
  const made = [];
  for (let at = 0; at < values.length; at += names.length) {
    made.push(Object.fromEntries(names.map((name, index) => [name, values[at + index]])));
  }
  return made;
}

function withEach(declare) {
  const made = (...args) => declare(...args);
  made.each =
    (table, ...values) =>
    (title, fn, ...rest) =>
      rows(table, values).forEach((row, at) => {
        const args = Array.isArray(row) ? row : [row];
        declare(
          titled(title, row, at),
          fn.length > args.length ? (done) => fn(...args, done) : () => fn(...args),
          ...rest,
        );
      });
  return made;
}

function globals(expect, mocker) {
  const { api } = nodeTest;
  const test = withEach((name, fn) => api(String(name), fn));
  const describe = withEach((name, fn) => api.describe(String(name?.name ?? name), fn));
  for (const [made, real] of [
    [test, api],
    [describe, api.describe],
  ]) {
    made.skip = withEach((name, fn) => real.skip(String(name), fn));
    made.only = withEach((name, fn) => real.only(String(name), fn));
    made.todo = () => {};
  }
  const jest = {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    mocked: (value) => value,
    isMockFunction: mocker.isMockFunction.bind(mocker),
  };
  for (const kind of ['clear', 'reset', 'restore']) {
    jest[`${kind}AllMocks`] = () => {
      mocker[`${kind}AllMocks`]();
      return jest;
    };
  }
  const all = { test, it: test, xit: test.skip, xtest: test.skip, fit: test.only, describe, xdescribe: describe.skip };
  Object.assign(all, { fdescribe: describe.only, expect, jest, beforeEach: api.beforeEach, afterEach: api.afterEach });
  Object.assign(all, { beforeAll: api.before, afterAll: api.after });
  Object.assign(globalThis, all);
  loader.state.instead.set('@jest/globals', all);
  nodeTest.dialect.isJest = true;
  nodeTest.dialect.before = () =>
    expect.setState({ assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null });
  nodeTest.dialect.after = () => {
    const [first] = expect.extractExpectedAssertionsErrors();
    if (first) throw first.error;
  };
}

module.exports = { start, run: nodeTest.run };
